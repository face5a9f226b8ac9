#include "sim/serving_study.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/serving_support.hpp"

namespace septule::sim {
namespace {

using test::whole_seconds;

/// Two tenants whose rates change every 20 s.
struct StudyBench {
  test::ServingBench bench;
  ServingStudySpec spec;

  StudyBench() {
    bench.add("a", 10, 1);
    bench.add("b", 10, 1);
    bench.rates[0] = {.step = whole_seconds(20), .values = {10, 40, 10, 40, 10, 40}};
    bench.rates[1] = {.step = whole_seconds(20), .values = {40, 10, 40, 10, 40, 10}};
    for (std::size_t i = 0; i < 2; ++i) {
      bench.tenants[i].tenant.rate = bench.rates[i];
    }
    spec = {
        .lattice = &bench.lattice,
        .tenants = bench.tenants,
        .rates = bench.rates,
        .policies = {{.name = "reactive-greedy"}, {.name = "reactive-greedy", .label = "again"}},
        .windows = {{Duration(), whole_seconds(60)}, {whole_seconds(40), whole_seconds(60)}},
        .seeds = {1, 2}};
  }
};

TEST(ServingStudy, EveryPolicyMeetsEveryWindowAndSeed) {
  // Aim: order of runs, equal policies give equal figures, intervals over four runs.
  StudyBench made;
  made.spec.options.mode = ServingMode::kRequest;
  const auto study = ServingStudy::make(made.spec);
  ASSERT_TRUE(study) << study.error().message;
  ASSERT_EQ(study->trials().size(), 8U);
  EXPECT_EQ(study->trials()[5].policy, 1U);
  EXPECT_EQ(study->trials()[5].window, 0U);
  EXPECT_EQ(study->trials()[5].seed, 2U);
  std::vector<job::ServingRecord> records;
  for (const ServingTrial& trial : study->trials()) {
    auto record = study->run_trial(trial);
    ASSERT_TRUE(record) << record.error().message;
    records.push_back(std::move(record).value());
  }
  EXPECT_EQ(records[0].digest, records[4].digest);
  EXPECT_NE(records[0].digest, records[1].digest);
  const auto summaries = study->summarise(records);
  ASSERT_EQ(summaries.size(), 2U);
  EXPECT_EQ(summaries[1].label, "again");
  EXPECT_EQ(summaries[0].runs, 4);
  EXPECT_GT(summaries[0].goodput.mean, 0);
  ASSERT_TRUE(summaries[0].p99_ms && summaries[0].goodput.low);
  EXPECT_LT(*summaries[0].goodput.low, summaries[0].goodput.mean);
  const auto relative = summaries[0].relative_to(summaries[1]);
  ASSERT_TRUE(relative);
  EXPECT_DOUBLE_EQ(relative->mean, 1);
}

TEST(ServingStudy, InvalidSpecs_AreNamed) {
  // Aim: each field that may be missing or wrong.
  StudyBench made;
  ServingStudySpec spec = made.spec;
  spec.seeds.clear();
  EXPECT_THAT(ServingStudy::make(spec).error().message, testing::HasSubstr("a seed"));
  spec = made.spec;
  spec.windows[0].length = Duration::milliseconds(10);
  EXPECT_THAT(ServingStudy::make(spec).error().message, testing::HasSubstr("whole seconds"));
  spec = made.spec;
  spec.policies[0].name = "reactive-greeedy";
  EXPECT_EQ(ServingStudy::make(spec).error().code, ErrorCode::kNotFound);
  spec = made.spec;
  spec.rates = spec.rates.first(1);
  EXPECT_THAT(ServingStudy::make(spec).error().message, testing::HasSubstr("2 tenants but"));
}

TEST(ServingStudy, CutRate_KeepsWhatHoldsAtEachSecond) {
  // Aim: on a step and within one.
  const serve::RateSeries rate{.step = whole_seconds(3), .values = {1, 2, 3, 4}};
  for (const std::int64_t begin : {0, 3, 4, 8}) {
    const auto cut = cut_rate(rate, {whole_seconds(begin), whole_seconds(4)});
    for (std::int64_t second = 0; second < 4; ++second) {
      EXPECT_EQ(cut.at(SimTime() + whole_seconds(second)),
                rate.at(SimTime() + whole_seconds(begin + second)));
    }
  }
}

}  // namespace
}  // namespace septule::sim
