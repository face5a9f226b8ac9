#include "serve/batching_queue.hpp"

#include <array>
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.hpp"

namespace septule::serve {
namespace {

constexpr Duration ms(std::int64_t count) {
  return Duration::milliseconds(count);
}
constexpr SimTime at_ms(std::int64_t count) {
  return SimTime::nanoseconds(count * 1000000);
}

/// A batch of b takes base + b x each milliseconds.
ServiceTimes linear_times(int batch, std::int64_t base, std::int64_t each) {
  std::vector<std::pair<int, Duration>> measured;
  for (int b = 1; b <= batch; ++b) {
    measured.emplace_back(b, ms(base + each * b));
  }
  return ServiceTimes(measured);
}

BatchingOptions patient() {
  return {.slo = ms(1000000), .late = LateRule::kAnswered};
}

std::vector<Answer> run(BatchingQueue& queue, std::span<const std::int64_t> arrivals_ms) {
  std::vector<Answer> answers;
  for (const std::int64_t arrival : arrivals_ms) {
    queue.advance(at_ms(arrival), answers);
    EXPECT_TRUE(queue.arrive(at_ms(arrival)));
  }
  queue.advance(SimTime::never(), answers);
  return answers;
}

TEST(BatchingQueue, WhenIdle_LaunchesAtOnceThenFormsBatches) {
  // Aim: the documented rule, step by step, with a batch limit of 3.
  BatchingQueue queue(linear_times(3, 10, 0), patient());
  const auto answers = run(queue, std::array<std::int64_t, 6>{0, 1, 2, 3, 4, 25});
  const std::array<std::int64_t, 6> finished = {10, 20, 20, 20, 30, 40};
  ASSERT_EQ(answers.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(answers[i].finished, at_ms(finished[i])) << i;
  }
}

TEST(BatchingQueue, Slack_WaitsUntilFullOrDue) {
  // Aim: full at once; else at the last moment that keeps the oldest in time in a full batch.
  BatchingQueue queue(linear_times(2, 10, 5),
                      {.slo = ms(100), .launch = LaunchRule::kSlack, .late = LateRule::kDropped});
  const auto answers = run(queue, std::array<std::int64_t, 3>{0, 30, 200});
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0].finished, at_ms(50));
  EXPECT_EQ(answers[1].finished, at_ms(50));
  EXPECT_EQ(answers[2].finished, at_ms(200 + 80 + 15));
}

TEST(BatchingQueue, Timeout_LaunchesWhatThereIs) {
  // Aim: the oldest waits exactly the time-out.
  BatchingQueue queue(linear_times(4, 10, 0),
                      {.slo = ms(100),
                       .launch = LaunchRule::kTimeout,
                       .timeout = ms(7),
                       .late = LateRule::kAnswered});
  const auto answers = run(queue, std::array<std::int64_t, 3>{0, 5, 8});
  EXPECT_EQ(answers[0].finished, at_ms(17));
  EXPECT_EQ(answers[1].finished, at_ms(17));
  EXPECT_EQ(answers[2].finished, at_ms(27));
}

TEST(BatchingQueue, LateRequests_AreDroppedOrAnsweredLate) {
  // Aim: both rules; who cannot make it gives way to who can.
  const std::array<std::int64_t, 3> arrivals = {0, 1, 50};
  BatchingQueue drops(linear_times(1, 60, 0), {.slo = ms(100)});
  const auto dropped = run(drops, arrivals);
  ASSERT_EQ(dropped.size(), 3U);
  EXPECT_TRUE(dropped[0].is_answered);
  EXPECT_FALSE(dropped[1].is_answered);
  EXPECT_EQ(dropped[1].finished, at_ms(60));
  EXPECT_TRUE(dropped[2].is_answered);
  EXPECT_EQ(dropped[2].finished, at_ms(120));
  BatchingQueue answers(linear_times(1, 60, 0), {.slo = ms(100), .late = LateRule::kAnswered});
  const auto late = run(answers, arrivals);
  EXPECT_TRUE(late[1].is_answered);
  EXPECT_EQ(late[2].finished, at_ms(180));
}

TEST(BatchingQueue, NotReady_LaunchesFromReadyOn) {
  // Aim: what came before waits for the processes.
  BatchingOptions options = patient();
  options.ready = at_ms(100);
  BatchingQueue queue(linear_times(8, 10, 0), options);
  const auto answers = run(queue, std::array<std::int64_t, 2>{0, 50});
  EXPECT_EQ(answers[0].finished, at_ms(110));
  EXPECT_EQ(answers[1].finished, at_ms(110));
}

TEST(BatchingQueue, FullLine_RefusesRequests) {
  // Aim: the written limit.
  BatchingOptions options = patient();
  options.waiting_max = 2;
  BatchingQueue queue(linear_times(1, 10, 0), options);
  EXPECT_TRUE(queue.arrive(at_ms(0)));
  EXPECT_TRUE(queue.arrive(at_ms(0)));
  EXPECT_FALSE(queue.arrive(at_ms(0)));
  EXPECT_EQ(queue.take_waiting().size(), 2U);
  EXPECT_EQ(queue.waiting_count(), 0U);
}

RC_GTEST_PROP(BatchingQueue, Properties, (std::uint64_t seed)) {
  // Aim: FIFO, batch limits, at most k batches at a time, nobody before arrival + service, all
  // accounted for, equal outcomes however often it is asked.
  Rng rng(seed);
  const int batch = static_cast<int>(1 + rng.below(6));
  BatchingOptions options;
  options.processes = static_cast<int>(1 + rng.below(4));
  options.slo = ms(static_cast<std::int64_t>(20 + rng.below(100)));
  options.launch = static_cast<LaunchRule>(rng.below(3));
  options.timeout = ms(5);
  options.late = rng.chance(1, 2) ? LateRule::kDropped : LateRule::kAnswered;
  const ServiceTimes times = linear_times(batch, 5, 2);
  BatchingQueue often(times, options);
  BatchingQueue seldom(times, options);
  std::vector<Answer> first;
  std::vector<Answer> second;
  std::int64_t now = 0;
  const int requests = 200;
  for (int i = 0; i < requests; ++i) {
    now += static_cast<std::int64_t>(rng.below(8));
    often.advance(at_ms(now), first);
    RC_ASSERT(often.arrive(at_ms(now)));
    RC_ASSERT(seldom.arrive(at_ms(now)));
    if (rng.chance(1, 10)) {
      seldom.advance(at_ms(now), second);
    }
  }
  often.advance(SimTime::never(), first);
  seldom.advance(SimTime::never(), second);
  RC_ASSERT(first.size() == static_cast<std::size_t>(requests));
  RC_ASSERT(second.size() == first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    RC_ASSERT(first[i].finished == second[i].finished);
    RC_ASSERT(first[i].is_answered == second[i].is_answered);
    if (i > 0) {  // RC_ASSERT evaluates both sides of ||
      RC_ASSERT(first[i - 1].arrived <= first[i].arrived);
    }
    if (!first[i].is_answered) {
      RC_ASSERT(options.late == LateRule::kDropped);
      continue;
    }
    RC_ASSERT(first[i].finished >= first[i].arrived + times.of(1));
    if (options.late == LateRule::kDropped) {
      RC_ASSERT(first[i].finished <= first[i].arrived + options.slo);
    }
    const auto together = std::count_if(first.begin(), first.end(), [&](const Answer& other) {
      return other.is_answered && other.finished == first[i].finished;
    });
    RC_ASSERT(together <= static_cast<std::ptrdiff_t>(batch) * options.processes);
  }
}

/// Mean number waiting in M/D/k, exactly: the number in the system at times D apart is a Markov
/// chain, n' = max(n - k, 0) + Poisson(rate D).
double mean_waiting_mdk(double load, int processes) {
  constexpr int kStates = 400;
  std::vector<double> arrivals(kStates, 0);
  arrivals[0] = std::exp(-load);
  for (int n = 1; n < kStates; ++n) {
    arrivals[static_cast<std::size_t>(n)] = arrivals[static_cast<std::size_t>(n - 1)] * load / n;
  }
  std::vector<double> now(kStates, 0);
  now[0] = 1;
  for (int step = 0; step < 3000; ++step) {
    std::vector<double> next(kStates, 0);
    for (int n = 0; n < kStates; ++n) {
      const int left = std::max(0, n - processes);
      for (int a = 0; left + a < kStates && a < 60; ++a) {
        const int after = left + a;
        next[static_cast<std::size_t>(after)] +=
            now[static_cast<std::size_t>(n)] * arrivals[static_cast<std::size_t>(a)];
      }
    }
    now = next;
  }
  double mean = 0;
  for (int n = 0; n < kStates; ++n) {
    mean += n * now[static_cast<std::size_t>(n)];
  }
  return mean - load;
}

TEST(BatchingQueue, OneProcessBatchOne_WaitsAsPollaczekAndKhinchinSay) {
  // Aim: M/D/1, mean wait = rho D / (2 (1 - rho)).
  for (const double rho : {0.3, 0.6, 0.8}) {
    const auto figures = simulate_tail(linear_times(1, 10, 0),
                                       patient(),
                                       {.rate_rps = rho * 100, .slo = ms(1), .requests = 1000000});
    const double wait = figures.mean->to_seconds() - 0.010;
    const double expected = rho * 0.010 / (2 * (1 - rho));
    EXPECT_NEAR(wait, expected, 0.02 * expected) << rho;
  }
}

TEST(BatchingQueue, ManyProcessesBatchOne_WaitAsTheMarkovChainSays) {
  // Aim: M/D/k for k = 2 and 4 (and that the chain gives the M/D/1 formula).
  EXPECT_NEAR(mean_waiting_mdk(0.6, 1), 0.36 / 0.8, 1e-6);
  for (const int processes : {2, 4}) {
    const double load = 0.75 * processes;
    BatchingOptions options = patient();
    options.processes = processes;
    const auto figures = simulate_tail(linear_times(1, 10, 0),
                                       options,
                                       {.rate_rps = load * 100, .slo = ms(1), .requests = 1000000});
    const double expected = mean_waiting_mdk(load, processes) / (load * 100);
    EXPECT_NEAR(figures.mean->to_seconds() - 0.010, expected, 0.03 * expected) << processes;
  }
}

TEST(BatchingQueue, EqualSeeds_GiveEqualTails) {
  // Aim: determinism, and that the seed matters.
  const TailLoad load{.rate_rps = 80, .slo = ms(50), .seed = 7, .requests = 5000};
  const BatchingOptions options{.slo = ms(50)};
  const auto one = simulate_tail(linear_times(4, 10, 1), options, load);
  const auto two = simulate_tail(linear_times(4, 10, 1), options, load);
  EXPECT_EQ(one.p99, two.p99);
  EXPECT_EQ(one.attainment, two.attainment);
  TailLoad other = load;
  other.seed = 8;
  EXPECT_NE(simulate_tail(linear_times(4, 10, 1), options, other).mean, one.mean);
}

TEST(BatchingQueue, ValidateTail_TellsGoodFromOverloaded) {
  // Aim: an admitted point keeps its SLO at its planned load, and does not beyond its throughput.
  ModelProfile profile;
  profile.rows = {
      {.slices = ComputeSlices(1), .batch = 1, .throughput_rps = 100, .latency = ms(10)},
      {.slices = ComputeSlices(1), .batch = 8, .throughput_rps = 400, .latency = ms(20)}};
  const OperatingPoint point{.batch = 8, .throughput_rps = 400, .latency = ms(20)};
  TailLoad load{.rate_rps = 300, .slo = ms(60)};
  const auto good = validate_tail(profile, ComputeSlices(1), point, load);
  ASSERT_TRUE(good);
  EXPECT_GT(good->attainment, 0.999);
  EXPECT_LE(*good->p99, ms(50));
  load.rate_rps = 800;
  const auto bad = validate_tail(profile, ComputeSlices(1), point, load);
  EXPECT_NEAR(bad->attainment, 0.5, 0.05);
  EXPECT_FALSE(validate_tail(profile, ComputeSlices(2), point, load));
}

TEST(LatencyHistogram, Quantiles_AreWithinTheStatedError) {
  // Aim: against sorted values over nine orders of magnitude; nothing when empty.
  EXPECT_FALSE(LatencyHistogram().quantile(0.5));
  EXPECT_FALSE(LatencyHistogram().mean());
  Rng rng(3);
  LatencyHistogram histogram;
  std::vector<std::int64_t> values;
  for (int i = 0; i < 20001; ++i) {
    values.push_back(static_cast<std::int64_t>(std::exp(21 * rng.uniform())));
    histogram.add(Duration::nanoseconds(values.back()));
  }
  std::sort(values.begin(), values.end());
  for (const double part : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0}) {
    const auto rank = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(part * 20001)));
    const auto exact = static_cast<double>(values[rank - 1]);
    EXPECT_NEAR(static_cast<double>(histogram.quantile(part)->to_nanoseconds()),
                exact,
                0.008 * exact + 0.5);
  }
}

}  // namespace
}  // namespace septule::serve
