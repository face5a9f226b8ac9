// The generated batch of HPC and deep-learning jobs.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "job/workload.hpp"

namespace septule::job {
namespace {

TEST(MixedWorkload, Always_IsValidAndTheSame) {
  // Aim: what the simulator asks of a workload holds, and two calls give the same jobs.
  const Workload one = mixed_workload();
  const Workload other = mixed_workload();
  EXPECT_TRUE(check_workload(one));
  ASSERT_EQ(one.jobs.size(), 4000U);
  ASSERT_EQ(one.signatures.size(), 48U);
  for (std::size_t i = 0; i < one.jobs.size(); ++i) {
    EXPECT_EQ(one.jobs[i].work, other.jobs[i].work);
    EXPECT_EQ(one.jobs[i].signature, other.jobs[i].signature);
  }
}

TEST(MixedWorkload, EveryKind_ObeysTheLaw) {
  // Aim: steps get no shorter on smaller slices and at most as the share of memory or SMs says;
  // kernels and memory are known; families differ as their fits do.
  std::map<std::string, double> speed_1g;
  for (const PerfSignature& kind : mixed_workload().signatures) {
    ASSERT_EQ(kind.times.size(), 5U);
    for (std::size_t i = 1; i < kind.times.size(); ++i) {
      EXPECT_GE(kind.times[i].step, kind.times[i - 1].step) << kind.name;
    }
    const double slowdown =
        kind.times.back().step.to_seconds() / kind.times.front().step.to_seconds();
    EXPECT_LE(slowdown, 8.01) << kind.name;
    EXPECT_GE(kind.kernel_count.value_or(0), 2) << kind.name;
    ASSERT_TRUE(kind.need.has_value());
    EXPECT_GE(*kind.need, Bytes::mebibytes(300));
    EXPECT_LE(*kind.need, Bytes::mebibytes(14 * 1024));
    speed_1g[kind.family] += 1 / slowdown / 16;
  }
  ASSERT_EQ(speed_1g.size(), 3U);
  EXPECT_GT(speed_1g["train"], speed_1g["infer"]);
}

TEST(BatchArrivals, Seeds_DrawPartsWithoutReplacement) {
  // Aim: each seed has its own part of the jobs, each job once, all at 0; 0 means all; a larger
  // number is refused with both numbers.
  ArrivalOptions options{.kind = ArrivalKind::kBatch, .gap = {}, .batch_jobs = 30};
  const auto one = draw_arrivals(100, options, 1);
  const auto other = draw_arrivals(100, options, 2);
  ASSERT_TRUE(one.has_value());
  ASSERT_TRUE(other.has_value());
  ASSERT_EQ(one->size(), 30U);
  std::set<int> jobs;
  std::set<int> others;
  for (std::size_t i = 0; i < one->size(); ++i) {
    EXPECT_EQ((*one)[i].submit, SimTime());
    jobs.insert((*one)[i].job);
    others.insert((*other)[i].job);
  }
  EXPECT_EQ(jobs.size(), 30U);
  EXPECT_NE(jobs, others);
  options.batch_jobs = 0;
  EXPECT_EQ(draw_arrivals(100, options, 1)->size(), 100U);
  options.batch_jobs = 101;
  const auto refused = draw_arrivals(100, options, 1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("101 jobs; expected 1 to 100"), std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace septule::job
