#include "interop/study_file.hpp"

#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/interop_support.hpp"

namespace septule::interop {
namespace {

using test::refusal;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<OptionRecord>& options() {
  static const std::vector<OptionRecord> records = {
      {.name = "gpus", .value = "CLUSTERS"},
      {.name = "policies", .value = "NAMES"},
      {.name = "seeds", .value = "SEEDS"},
      {.name = "costs", .value = "KIND", .choices = {"nominal", "calibrated"}},
      {.name = "checkpoint-factor", .value = "X", .min = 0, .max = 1000},
      {.name = "check"}};
  return records;
}

Result<std::vector<StudyFileEntry>> read(std::string_view text) {
  return parse_study_file({text, "study.yaml"}, options());
}

TEST(StudyFile, ScalarsListsAndFlags_BecomeOptionTexts) {
  // What stands in the file is what would stand on the command line, with its line.
  const auto entries = read(
      "gpus: 8xA100-40GB\npolicies: [nopart, miso]\nseeds:\n  - 1\n  - 4-9\ncheck: true\n"
      "checkpoint-factor: 2\n");
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 5U);
  EXPECT_EQ((*entries)[0].text, "8xA100-40GB");
  EXPECT_EQ((*entries)[1].text, "nopart,miso");
  EXPECT_EQ((*entries)[1].line, 2);
  EXPECT_EQ((*entries)[2].text, "1,4-9");
  EXPECT_EQ((*entries)[3].name, "check");
  EXPECT_EQ((*entries)[4].text, "2");
}

TEST(StudyFile, FlagSetToFalse_IsLeftOut) {
  // A flag that is off is not given, so that a command line may still give it.
  const auto entries = read("check: false\n");
  ASSERT_TRUE(entries);
  EXPECT_TRUE(entries->empty());
}

TEST(StudyFile, Faults_NameFileLineAndKey) {
  // Every refusal says where, what and what would be valid.
  struct Case {
    const char* text;
    const char* place;
    const char* what;
  };
  constexpr std::array kCases = std::to_array<Case>({
      {"gpus: 8xA100-40GB\npolices: miso\n", "study.yaml:2", "near it: policies"},
      {"nothing: 1\n", "study.yaml:1", "is no option of a study"},
      {"costs: cheap\n", "study.yaml:1: /costs", "nominal, calibrated"},
      {"\ncheckpoint-factor: -1\n", "study.yaml:2: /checkpoint-factor", "from 0 to 1000"},
      {"check: maybe\n", "study.yaml:1: /check", "true"},
      {"check: 1\n", "study.yaml:1: /check", "true"},
      {"seeds: []\n", "study.yaml:1: /seeds", "empty list"},
      {"seeds: [1, [2]]\n", "study.yaml:1: /seeds", "no single value"},
      {"seeds: [\"1,2\"]\n", "study.yaml:1: /seeds", "no single value"},
      {"seeds: {a: 1}\n", "study.yaml:1: /seeds", "expected a value"},
      {"seeds:\n", "study.yaml:1: /seeds", "expected a value"},
      {"- seeds\n", "study.yaml:1", "expected a map"},
      {"seeds: 1\nseeds: 2\n", "study.yaml:2", "seeds"},
  });
  for (const Case& one : kCases) {
    EXPECT_THAT(refusal(read(one.text)), AllOf(HasSubstr(one.place), HasSubstr(one.what)))
        << one.text;
  }
}

}  // namespace
}  // namespace septule::interop
