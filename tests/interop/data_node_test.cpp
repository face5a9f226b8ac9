#include "interop/data_node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/data_builder.hpp"
#include "interop/interop_support.hpp"

namespace septule::interop {
namespace {

using test::refusal;

TEST(DataReader, Integer_AcceptsOnlyWholeNumbersInRange) {
  // Both ends of the range are in, texts and fractions are not.
  const auto list = read_json({"[0, 9, 10, -1, 1.0, \"1\", 99999999999999999999]", "t"});
  ASSERT_TRUE(list) << list.error().message;
  const DataReader reader("t");
  EXPECT_EQ(*reader.integer(list->items[0], "/x", 0, 9), 0);
  EXPECT_EQ(*reader.integer(list->items[1], "/x", 0, 9), 9);
  EXPECT_EQ(refusal(reader.integer(list->items[2], "/x", 0, 9)),
            "t:1: /x: is the number 10; expected a whole number from 0 to 9");
  for (std::size_t i = 3; i < list->items.size(); ++i) {
    EXPECT_NE(refusal(reader.integer(list->items[i], "/x", 0, 9)), "") << i;
  }
}

TEST(DataReader, Fields_MustBeKnownAndThere) {
  // A missing and an unknown field are told apart.
  const auto map = read_json({"{\"a\": 1,\n\"bb\": true}", "t"});
  ASSERT_TRUE(map) << map.error().message;
  const DataReader reader("t");
  EXPECT_TRUE(reader.expect_map(*map, "", {"a", "bb"}));
  const Status unknown = reader.expect_map(*map, "/p", {"a", "b"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message,
            "t:2: /p: unknown field \"bb\"; did you mean b? known: a and b");
  EXPECT_TRUE(reader.required(*map, "", "a"));
  EXPECT_EQ(refusal(reader.required(*map, "", "c")), "t:1: the field \"c\" is missing");
  EXPECT_TRUE(*reader.boolean(*map->find("bb"), ""));
  EXPECT_EQ(refusal(reader.boolean(*map->find("a"), "/a")),
            "t:1: /a: is the number 1; expected true or false");
}

}  // namespace
}  // namespace septule::interop
