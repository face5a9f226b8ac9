#include "report/study.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "support/study_builder.hpp"

namespace septule::report {
namespace {

constexpr auto kJct = &job::RunFigures::mean_jct_s;

/// A policy with these mean JCTs at seeds 1, 2, ...; 0 = no job finished.
PolicyReport policy_with(const std::vector<double>& jcts) {
  PolicyReport policy;
  for (std::size_t i = 0; i < jcts.size(); ++i) {
    job::RunFigures run;
    run.mean_jct_s = jcts[i];
    run.jobs_done = jcts[i] > 0 ? 1 : 0;
    run.jobs_rejected = 2;
    policy.runs.push_back(run);
    policy.seeds.push_back(i + 1);
  }
  return policy;
}

TEST(PolicyInterval, Runs_GiveMeanAndStudentInterval) {
  // 1, 2, 3: mean 2, standard error 1/sqrt(3), t(2) = 4.302653.
  const auto interval = policy_interval(policy_with({1, 2, 3}), kJct);
  ASSERT_TRUE(interval.has_value());
  EXPECT_DOUBLE_EQ(interval->mean, 2);
  EXPECT_NEAR(interval->low.value_or(0), 2 - 4.302653 / std::sqrt(3.0), 1e-5);
  EXPECT_NEAR(interval->high.value_or(0), 2 + 4.302653 / std::sqrt(3.0), 1e-5);
}

TEST(PolicyInterval, OneRun_HasNoBounds) {
  // One value says nothing about its spread.
  const auto interval = policy_interval(policy_with({7}), kJct);
  ASSERT_TRUE(interval.has_value());
  EXPECT_FALSE(interval->low.has_value());
  EXPECT_FALSE(interval->high.has_value());
}

TEST(PolicyInterval, FixedJobsEqualForAllSeeds_HaveNoBounds) {
  // Equal runs of equal jobs are one observation; drawn jobs that agree, or runs that differ, are
  // several.
  PolicyReport policy = policy_with({7, 7, 7});
  EXPECT_TRUE(policy_interval(policy, kJct)->low.has_value());
  policy.has_fixed_jobs = true;
  EXPECT_FALSE(policy_interval(policy, kJct)->low.has_value());
  EXPECT_DOUBLE_EQ(policy_interval(policy, kJct)->mean, 7);
  EXPECT_FALSE(paired_ratio(policy, policy, kJct)->low.has_value());
  PolicyReport other = policy_with({7, 7, 8});
  other.has_fixed_jobs = true;
  EXPECT_TRUE(policy_interval(other, kJct)->low.has_value());
  EXPECT_TRUE(paired_ratio(other, policy, kJct)->low.has_value());
}

TEST(PolicyInterval, RunWithoutFinishedJob_IsLeftOutOfTimesOnly) {
  // A mean JCT of 0 would pass for a very good one; the count of jobs is still one.
  const PolicyReport policy = policy_with({10, 0, 10});
  EXPECT_DOUBLE_EQ(policy_interval(policy, kJct)->mean, 10);
  EXPECT_DOUBLE_EQ(policy_interval(policy, &job::RunFigures::jobs_rejected)->mean, 2);
  EXPECT_FALSE(policy_interval(policy_with({0}), kJct).has_value());
  EXPECT_FALSE(policy_interval(policy_with({}), kJct).has_value());
}

TEST(PairedRatio, Seeds_ArePairedByValueNotByPlace) {
  // Half at each seed is -50 % without any spread, in whatever order the seeds come.
  const PolicyReport base = policy_with({100, 400, 1000});
  PolicyReport half = policy_with({500, 50, 200});
  half.seeds = {3, 1, 2};
  const auto ratio = paired_ratio(half, base, kJct);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_DOUBLE_EQ(ratio->mean, -0.5);
  EXPECT_DOUBLE_EQ(ratio->low.value_or(0), -0.5);
  EXPECT_DOUBLE_EQ(ratio->high.value_or(0), -0.5);
}

TEST(PairedRatio, MissingPartners_AreLeftOut) {
  // Seeds of one side only, runs without jobs and bases of 0 make no pair.
  const PolicyReport base = policy_with({100, 0, 300});
  PolicyReport other = policy_with({110, 5, 5});
  other.seeds = {1, 2, 9};
  const auto ratio = paired_ratio(other, base, kJct);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_NEAR(ratio->mean, 0.1, 1e-12);
  EXPECT_FALSE(ratio->low.has_value());
  other.seeds = {7, 8, 9};
  EXPECT_FALSE(paired_ratio(other, base, kJct).has_value());
  EXPECT_FALSE(paired_ratio(base, base, &job::RunFigures::checkpoints).has_value());
}

TEST(PairedRatio, PolicyAgainstItself_IsZero) {
  // The identity, on drawn figures.
  const StudyReport study = test::made_up_study();
  const auto ratio = paired_ratio(study.policies[1], study.policies[1], kJct);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_EQ(ratio->mean, 0);
  EXPECT_EQ(ratio->low, 0);
}

TEST(PolicyDeathTest, SeedsAndRunsOfDifferentLength_AreAProgrammerError) {
  // They belong together one by one.
  PolicyReport policy = policy_with({1, 2});
  policy.seeds.pop_back();
  EXPECT_DEATH((void)policy_interval(policy, kJct), "one seed per run");
}

TEST(SeedsText, Seeds_AreWrittenAsRanges) {
  // Ranges from three seeds on; the order does not matter.
  EXPECT_EQ(seeds_text({}), "no seed");
  EXPECT_EQ(seeds_text({4}), "seed 4");
  EXPECT_EQ(seeds_text({3, 1, 2}), "seeds 1-3");
  EXPECT_EQ(seeds_text({1, 2}), "seeds 1, 2");
  EXPECT_EQ(seeds_text({1, 2, 3, 7, 101, 102, 103}), "seeds 1-3, 7, 101-103");
}

TEST(JobLabel, UnknownNames_LeaveTheNumber) {
  // Names may be missing, and an id may be beyond them.
  RepresentativeRun run;
  run.job_names = {"a", ""};
  EXPECT_EQ(job_label(run, job::JobId(0)), "job 0 (a)");
  EXPECT_EQ(job_label(run, job::JobId(1)), "job 1");
  EXPECT_EQ(job_label(run, job::JobId(2)), "job 2");
  EXPECT_EQ(job_name(run, job::JobId(-1)), "");
}

}  // namespace
}  // namespace septule::report
