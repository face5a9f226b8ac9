#include "interop/data_builder.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/interop_support.hpp"

namespace septule::interop {
namespace {

using test::refusal;
using ::testing::HasSubstr;

using Kind = DataNode::Kind;

TEST(DataBuilder, JsonAndYaml_GiveTheSameTree) {
  // One JSON text is YAML as well; kinds, lines and order must agree.
  const std::string text = "{\"a\": [1, -2.5, true,\n null, \"x\"],\n\"b\": {\"c\": \"7\"}}";
  for (const bool is_json : {true, false}) {
    const auto read = is_json ? read_json({text, "t"}) : read_yaml({text, "t"});
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->kind, Kind::kMap);
    const DataNode* list = read->find("a");
    ASSERT_NE(list, nullptr);
    ASSERT_EQ(list->items.size(), 5U);
    EXPECT_EQ(list->items[0].integer, 1);
    EXPECT_EQ(list->items[1].number, -2.5);
    EXPECT_EQ(list->items[1].kind, Kind::kNumber);
    EXPECT_TRUE(list->items[2].boolean);
    EXPECT_EQ(list->items[2].line, 1);
    EXPECT_EQ(list->items[3].kind, Kind::kNull);
    EXPECT_EQ(list->items[3].line, 2);
    EXPECT_EQ(list->items[4].text, "x");
    EXPECT_EQ(read->members[1].line, 3);
    EXPECT_EQ(read->find("b")->find("c")->kind, Kind::kString);
  }
}

TEST(DataBuilder, JsonNumberBeforeLineEnd_CountsForItsOwnLine) {
  // The lexer reads one character past a number.
  const auto read = read_json({"[\n1\n,\n2\n]", "t"});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->items[0].line, 2);
  EXPECT_EQ(read->items[1].line, 4);
}

TEST(DataBuilder, NestingLimit_IsExact) {
  // 32 lists are accepted, 33 are not, in both languages and through aliases.
  for (const bool is_json : {true, false}) {
    const auto nested = [&](int depth) {
      const auto count = static_cast<std::size_t>(depth);
      const std::string text = std::string(count, '[') + std::string(count, ']');
      return is_json ? read_json({text, "t"}) : read_yaml({text, "t"});
    };
    EXPECT_TRUE(nested(32));
    EXPECT_THAT(refusal(nested(33)), HasSubstr("t:1: lists and maps are nested deeper than 32"));
  }
  const std::string half = std::string(20, '[') + std::string(20, ']');
  EXPECT_THAT(refusal(read_yaml({"- &a " + half + "\n- " + std::string(20, '[') + "*a" +
                                     std::string(20, ']') + "\n",
                                 "t"})),
              HasSubstr("t:2: lists and maps are nested deeper than 32"));
}

TEST(DataBuilder, RepeatedTexts_AreCounted) {
  // An alias of a long text is as costly as writing it again.
  std::string text = "- &a " + std::string(200000, 'x') + "\n";
  for (int i = 0; i < 30; ++i) {
    text += "- *a\n";
  }
  EXPECT_THAT(refusal(read_yaml({text, "t"})), HasSubstr("bytes of texts, aliases repeated"));
}

TEST(DataBuilder, YamlNames_MustBePlain) {
  // No empty, complex or aliased names of fields.
  EXPECT_THAT(refusal(read_yaml({"~: 1\n", "t"})), HasSubstr("a field without a name"));
  EXPECT_THAT(refusal(read_yaml({"- &a x\n- *a : 1\n", "t"})),
              HasSubstr("t:2: an alias as the name"));
  EXPECT_THAT(refusal(read_yaml({"? {a: b}\n: 1\n", "t"})), HasSubstr("a list or map as the name"));
}

}  // namespace
}  // namespace septule::interop
