// The learned window agent (docs/benchmarks.md): one decision, a whole window of 12 decided, and
// the answer with its schedule. Windows are drawn before the clock runs and used in rotation;
// nothing that was worked out for a window before is used again.
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.hpp"
#include "base/work_budget.hpp"
#include "learn/q_network.hpp"
#include "learn/slice_models.hpp"
#include "learn/window_agent.hpp"
#include "learn/window_features.hpp"
#include "learn/window_support.hpp"

namespace septule {
namespace {

constexpr std::size_t kInputs = 64;  // a power of two
constexpr std::size_t kJobs = 12;
constexpr std::int64_t kUnits = std::int64_t{1} << 40U;

/// The weights that come with Septule, or drawn ones where there are none: the work is the same.
learn::NetworkWeights weights() {
  auto builtin = learn::builtin_weights(learn::kWindowNetName);
  return builtin.has_value() ? std::move(builtin).value() : test::drawn_window_net(1);
}

struct Inputs {
  test::WindowGpu gpu;
  learn::PartitionSpace space = test::EpisodeBench::space_of(gpu);
  std::vector<std::unique_ptr<test::GeneratedWindow>> windows;

  Inputs() {
    for (std::size_t i = 0; i < kInputs; ++i) {
      windows.push_back(std::make_unique<test::GeneratedWindow>(gpu, 1000 + i, kJobs));
    }
  }
};

const Inputs& inputs() {
  static const Inputs made;
  return made;
}

/// From jobs, model and templates to groups of jobs in their seats.
void decide_window(benchmark::State& state) {
  const auto agent = learn::WindowAgent::make(weights());
  SEPTULE_CHECK(agent.has_value(), "the weights are valid");
  const std::vector<std::size_t> all = test::EpisodeBench::all(kJobs);
  std::size_t at = 0;
  std::int64_t worked_out = 0;
  for (auto unused : state) {
    const learn::WindowRows rows(inputs().space, inputs().windows[at]->problem, all);
    learn::SeatingTimes times(inputs().space, rows);
    WorkBudget budget(kUnits);
    std::size_t groups = 0;
    for (const learn::ClosedGroup& closed : (*agent)->roll_out(times, budget)) {
      groups += learn::seated_groups(times, closed).size();
    }
    benchmark::DoNotOptimize(groups);
    worked_out += times.worked_out();
    at = (at + 1) & (kInputs - 1);
  }
  state.counters["times"] =
      benchmark::Counter(static_cast<double>(worked_out), benchmark::Counter::kAvgIterations);
}

/// The same, with the templates looked through, checks, order of groups and schedule.
void answer_window(benchmark::State& state) {
  const auto agent = learn::WindowAgent::make(weights());
  SEPTULE_CHECK(agent.has_value(), "the weights are valid");
  std::size_t at = 0;
  for (auto unused : state) {
    WorkBudget budget(kUnits);
    const auto answer = (*agent)->optimize(inputs().windows[at]->problem, budget);
    benchmark::DoNotOptimize(answer.has_value());
    at = (at + 1) & (kInputs - 1);
  }
}

/// One decision: the first and largest of a window, what is seen and the network's pass.
void decide_first_step(benchmark::State& state) {
  const auto network = learn::QNetwork::make(weights());
  SEPTULE_CHECK(network.has_value(), "the weights are valid");
  const std::vector<std::size_t> all = test::EpisodeBench::all(kJobs);
  std::size_t at = 0;
  learn::QNetwork::Scratch scratch;
  learn::Observation seen;
  std::array<float, learn::kActions> values{};
  for (auto unused : state) {
    const learn::WindowRows rows(inputs().space, inputs().windows[at]->problem, all);
    learn::SeatingTimes times(inputs().space, rows);
    const learn::PartitionEnv env(times);
    network->begin(rows, scratch);
    learn::observe(env, seen);
    network->values(seen, scratch, values);
    benchmark::DoNotOptimize(values);
    at = (at + 1) & (kInputs - 1);
  }
}

/// The network's pass alone.
void network_pass(benchmark::State& state) {
  const auto network = learn::QNetwork::make(weights());
  SEPTULE_CHECK(network.has_value(), "the weights are valid");
  test::EpisodeBench bench(inputs().gpu, inputs().windows[0]->problem);
  const learn::PartitionEnv env(bench.times);
  learn::QNetwork::Scratch scratch;
  network->begin(bench.rows, scratch);
  learn::Observation seen;
  learn::observe(env, seen);
  std::array<float, learn::kActions> values{};
  for (auto unused : state) {
    network->values(seen, scratch, values);
    benchmark::DoNotOptimize(values);
  }
}

BENCHMARK(decide_window)->Unit(benchmark::kMicrosecond);
BENCHMARK(answer_window)->Unit(benchmark::kMicrosecond);
BENCHMARK(decide_first_step)->Unit(benchmark::kMicrosecond);
BENCHMARK(network_pass)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace septule
