#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "job/csv_rows.hpp"
#include "job/metrics.hpp"
#include "job/workload.hpp"
#include "support/shared_data.hpp"

namespace septule::job {
namespace {

constexpr Duration kTwoHours = Duration::milliseconds(7200000);

GenerateOptions options_with(int jobs, std::uint64_t seed) {
  return {.jobs = jobs,
          .seed = seed,
          .duration_max = kTwoHours,
          .arrivals = {.kind = ArrivalKind::kPoisson, .gap = Duration::milliseconds(60000)}};
}

TEST(HeliosDuration_CutAtTwoHours, HasTheRegressionValues) {
  // workloads.md section 4: 10/25/50/75/90/95/99 % of durations cut at two hours.
  const std::vector<std::pair<double, double>> known = {
      {0.10, 11}, {0.25, 53}, {0.50, 167}, {0.75, 514}, {0.90, 1624}, {0.95, 2797}, {0.99, 5929}};
  for (const auto& [u, seconds] : known) {
    EXPECT_EQ(std::round(helios_duration(u, kTwoHours).to_seconds()), seconds) << u;
  }
}

TEST(HeliosDuration_EveryPublishedPoint, IsMet) {
  // Uncut, the inverse at a published probability is the published duration.
  SEPTULE_REQUIRE_SHARED(path, "data/traces/distributions/published_cdfs.csv");
  int points = 0;
  for (const auto& row : test::csv_rows(path)) {
    const double fraction = test::number_of(row, "cdf_pct") / 100;
    if (row.at("population") == "Helios" && row.at("metric") == "gpu_job_duration_s" &&
        fraction < 1) {
      ++points;
      const double seconds = test::number_of(row, "x");
      EXPECT_NEAR(helios_duration(fraction, Duration::milliseconds(2097200000)).to_seconds(),
                  seconds,
                  1e-6 * seconds);
    }
  }
  EXPECT_EQ(points, 21);
}

TEST(HeliosDuration_AllDraws, AscendWithinTheCut) {
  // Monotone, never above the cut, never nothing; also for cuts below the first point.
  for (const std::int64_t cut_ms : {200, 1000, 1001, 60000, 7200000, 2000000000, 2100000000}) {
    Duration before;
    for (int i = 0; i < 2000; ++i) {
      const Duration drawn = helios_duration(i / 2000.0, Duration::milliseconds(cut_ms));
      ASSERT_GE(drawn, before);
      ASSERT_GT(drawn, Duration());
      ASSERT_LE(drawn, Duration::milliseconds(cut_ms));
      before = drawn;
    }
  }
}

TEST(GenerateWorkload_OneSeed, IsSoundAndRepeatable) {
  // Passes its checker; the same seed gives the same, another one something else.
  const Workload first = *generate_workload(options_with(500, 1));
  const Workload again = *generate_workload(options_with(500, 1));
  const Workload other = *generate_workload(options_with(500, 2));
  EXPECT_TRUE(check_workload(first).is_ok());
  ASSERT_EQ(first.jobs.size(), 500U);
  int differences = 0;
  for (std::size_t i = 0; i < 500; ++i) {
    EXPECT_EQ(first.jobs[i].name, again.jobs[i].name);
    EXPECT_EQ(first.jobs[i].work, again.jobs[i].work);
    EXPECT_EQ(first.jobs[i].submit, again.jobs[i].submit);
    EXPECT_EQ(first.jobs[i].gpus, 1);
    differences += first.jobs[i].work != other.jobs[i].work ? 1 : 0;
  }
  EXPECT_GT(differences, 450);
}

TEST(GenerateWorkload_ManyJobs, HasTheSharesAskedFor) {
  // Median duration of the curve, every signature and user drawn, gangs of 2, 4 and 8.
  GenerateOptions options = options_with(20000, 3);
  options.gang_share = 0.2;
  const Workload workload = *generate_workload(options);
  std::vector<double> durations;
  std::set<int> signatures;
  std::set<int> users;
  std::set<int> sizes;
  int gangs = 0;
  for (const JobSpec& job : workload.jobs) {
    durations.push_back(job.work.to_seconds());
    signatures.insert(job.signature.value());
    users.insert(job.user.value());
    sizes.insert(job.gpus);
    gangs += job.gpus > 1 ? 1 : 0;
  }
  EXPECT_NEAR(quantile(durations, 0.5), 167, 8);
  EXPECT_NEAR(quantile(durations, 0.9), 1624, 90);
  EXPECT_EQ(signatures.size(), 32U);
  EXPECT_EQ(users.size(), 10U);
  EXPECT_EQ(sizes, (std::set<int>{1, 2, 4, 8}));
  EXPECT_NEAR(gangs, 4000, 250);
}

TEST(GenerateWorkload_GangShare, ChangesNothingElse) {
  // Gangs come from a stream of their own.
  GenerateOptions options = options_with(200, 3);
  const Workload alone = *generate_workload(options);
  options.gang_share = 0.5;
  const Workload gangs = *generate_workload(options);
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(alone.jobs[i].work, gangs.jobs[i].work);
    EXPECT_EQ(alone.jobs[i].submit, gangs.jobs[i].submit);
    EXPECT_EQ(alone.jobs[i].signature, gangs.jobs[i].signature);
  }
}

TEST(GenerateWorkload_PhaseAndPriorityShare, ChangeNothingElse) {
  // Phases and priorities come from streams of their own, and a larger share only adds some.
  GenerateOptions options = options_with(300, 3);
  options.gang_share = 0.2;
  const Workload alone = *generate_workload(options);
  options.phase_share = 0.3;
  options.priority_share = 0.3;
  const Workload some = *generate_workload(options);
  options.phase_share = 0.6;
  options.priority_share = 1;
  const Workload more = *generate_workload(options);
  for (std::size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(alone.jobs[i].name, some.jobs[i].name);
    EXPECT_EQ(alone.jobs[i].work, some.jobs[i].work);
    EXPECT_EQ(alone.jobs[i].submit, some.jobs[i].submit);
    EXPECT_EQ(alone.jobs[i].signature, some.jobs[i].signature);
    EXPECT_EQ(alone.jobs[i].gpus, some.jobs[i].gpus);
    EXPECT_EQ(alone.jobs[i].user, some.jobs[i].user);
    EXPECT_TRUE(alone.jobs[i].phases.empty());
    EXPECT_EQ(alone.jobs[i].priority, 0);
    EXPECT_EQ(more.jobs[i].priority, 1);
    if (!some.jobs[i].phases.empty()) {
      ASSERT_EQ(more.jobs[i].phases.size(), 1U);
      EXPECT_EQ(more.jobs[i].phases[0].begins_at, some.jobs[i].phases[0].begins_at);
      EXPECT_EQ(more.jobs[i].phases[0].signature, some.jobs[i].phases[0].signature);
    }
  }
}

TEST(GenerateWorkload_ManyPhases, AreUniformAndAChange) {
  // One change each, to another signature, at a fraction that is uniform between 0 and 1.
  GenerateOptions options = options_with(20000, 4);
  options.phase_share = 0.5;
  options.priority_share = 0.25;
  const Workload workload = *generate_workload(options);
  EXPECT_TRUE(check_workload(workload).is_ok());
  std::vector<double> begins;
  std::set<int> signatures;
  int urgent = 0;
  for (const JobSpec& job : workload.jobs) {
    urgent += job.priority;
    if (job.phases.empty()) {
      continue;
    }
    ASSERT_EQ(job.phases.size(), 1U);
    EXPECT_NE(job.phases[0].signature, job.signature);
    begins.push_back(job.phases[0].begins_at);
    signatures.insert(job.phases[0].signature.value());
  }
  EXPECT_NEAR(static_cast<double>(begins.size()), 10000, 350);
  EXPECT_NEAR(urgent, 5000, 300);
  EXPECT_NEAR(quantile(begins, 0.1), 0.1, 0.02);
  EXPECT_NEAR(quantile(begins, 0.5), 0.5, 0.025);
  EXPECT_NEAR(quantile(begins, 0.9), 0.9, 0.02);
  EXPECT_EQ(signatures.size(), 32U);
}

TEST(GenerateWorkload_WrongOptions, AreRefused) {
  // Each message gives the value and what would be valid.
  const auto message = [](void (*change)(GenerateOptions&)) {
    GenerateOptions options = options_with(10, 1);
    change(options);
    const Result<Workload> made = generate_workload(options);
    return made.has_value() ? std::string() : made.error().message;
  };
  EXPECT_EQ(message([](GenerateOptions& o) { o.jobs = 0; }),
            "a workload of 0 jobs; expected 1 to 1000000");
  EXPECT_EQ(message([](GenerateOptions& o) { o.jobs = 1000001; }),
            "a workload of 1000001 jobs; expected 1 to 1000000");
  EXPECT_EQ(message([](GenerateOptions& o) { o.duration_max = Duration::milliseconds(999); }),
            "a longest duration of 0.999 s; expected at least 1 s");
  EXPECT_EQ(message([](GenerateOptions& o) { o.gang_share = 1.5; }),
            "a share of gangs of 1.5; expected 0 to 1");
  EXPECT_EQ(
      message([](GenerateOptions& o) { o.gang_share = std::numeric_limits<double>::quiet_NaN(); }),
      "a share of gangs of nan; expected 0 to 1");
  EXPECT_EQ(message([](GenerateOptions& o) { o.phase_share = -0.1; }),
            "a share of jobs with a phase of -0.1; expected 0 to 1");
  EXPECT_EQ(message([](GenerateOptions& o) { o.priority_share = 2; }),
            "a share of jobs of priority 1 of 2; expected 0 to 1");
  EXPECT_EQ(message([](GenerateOptions& o) { o.users = 0; }), "0 users; expected 1 to 1000000");
  EXPECT_NE(message([](GenerateOptions& o) { o.arrivals.kind = ArrivalKind::kTrace; }), "");
  EXPECT_NE(message([](GenerateOptions& o) { o.arrivals.gap = Duration(); }), "");
}

}  // namespace
}  // namespace septule::job
