// The exact method for windows of jobs: costs given, costs worked out with the law model, windows
// of 12 and 16 (docs/benchmarks.md). Inputs are drawn before the clock runs.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/group_sequence.hpp"
#include "optimize/group_table.hpp"
#include "optimize/switch_costs.hpp"
#include "optimize/window_dp.hpp"
#include "optimize/window_heuristics.hpp"
#include "optimize/window_methods.hpp"
#include "predict/law_co_run.hpp"

namespace septule {
namespace {

using optimize::WindowProblem;

constexpr std::int64_t kUnits = 1'000'000'000;
constexpr std::size_t kInputs = 8;

const gpu::Geometry& a100() {
  static const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  return **catalogue.find("A100-80GB");
}

gpu::SharingCatalogue make_templates(const gpu::SharingOptions& options) {
  auto result = gpu::make_sharing_catalogue(a100(), options);
  SEPTULE_CHECK(result.has_value(), "the A100 has templates");
  return std::move(result).value();
}

/// Up to four jobs together, percentages 25, 50 and 75.
const gpu::SharingCatalogue& templates() {
  static const gpu::SharingCatalogue made = make_templates({});
  return made;
}

/// The same with up to seven jobs where there is no MPS.
const gpu::SharingCatalogue& seven_templates() {
  static const gpu::SharingCatalogue made = make_templates({.concurrency_max = 7});
  return made;
}

const optimize::SwitchCosts& switches() {
  static const optimize::SwitchCosts costs =
      optimize::make_switch_costs(a100(), gpu::load_builtin_latencies());
  return costs;
}

/// A window of jobs with drawn laws.
struct Window {
  std::vector<plan::WindowJob> jobs;
  std::unique_ptr<predict::LawCoRunModel> model;
  WindowProblem problem;
};

std::unique_ptr<Window> draw_window(const gpu::SharingCatalogue& catalogue,
                                    std::size_t job_count,
                                    Rng rng) {
  auto window = std::make_unique<Window>();
  std::vector<predict::LawJob> laws;
  for (std::size_t job = 0; job < job_count; ++job) {
    predict::LawJob law;
    const double memory = 0.6 * rng.uniform();
    const double serial = 0.3 * rng.uniform();
    law.law = {.serial = serial,
               .compute = 1 - memory - serial,
               .memory = memory,
               .usable = 0.2 + 0.8 * rng.uniform()};
    law.kernel = Duration::nanoseconds(5000 + static_cast<std::int64_t>(rng.below(500000)));
    laws.push_back(law);
    window->jobs.push_back(
        {.name = "job" + std::to_string(job),
         .user = "u",
         .trust = "",
         .memory = Bytes::mebibytes(1024 + rng.below(12 * 1024)),
         .solo = Duration::milliseconds(5000 + static_cast<std::int64_t>(rng.below(95000)))});
  }
  auto model = predict::LawCoRunModel::make(a100(), laws, catalogue.domains);
  SEPTULE_CHECK(model.has_value(), "the laws drawn are valid");
  window->model = std::move(model).value();
  window->problem = {.jobs = window->jobs,
                     .model = window->model.get(),
                     .catalogue = &catalogue,
                     .traits = {},
                     .rules = {},
                     .clock = optimize::GroupClock::kSpeedUp,
                     .costs = &switches(),
                     .initial = std::nullopt};
  return window;
}

std::vector<std::unique_ptr<Window>> draw_windows(
    std::size_t job_count, const gpu::SharingCatalogue& catalogue = templates()) {
  std::vector<std::unique_ptr<Window>> windows;
  for (std::size_t i = 0; i < kInputs; ++i) {
    windows.push_back(draw_window(catalogue, job_count, Rng(17).stream("window", i)));
  }
  return windows;
}

void costs_given(benchmark::State& state) {
  std::vector<optimize::GroupCosts> inputs;
  for (const auto& window : draw_windows(static_cast<std::size_t>(state.range(0)))) {
    WorkBudget budget(kUnits);
    const auto table = optimize::GroupTable::make(window->problem, budget);
    SEPTULE_CHECK(table.has_value(), "the windows drawn can run");
    inputs.push_back(table->costs());
  }
  std::size_t at = 0;
  for (auto unused : state) {
    WorkBudget budget(kUnits);
    benchmark::DoNotOptimize(optimize::find_best_sequence(inputs[at++ % kInputs], budget));
  }
}

void table_only(benchmark::State& state) {
  const auto windows = draw_windows(static_cast<std::size_t>(state.range(0)));
  std::size_t at = 0;
  for (auto unused : state) {
    WorkBudget budget(kUnits);
    benchmark::DoNotOptimize(optimize::GroupTable::make(windows[at++ % kInputs]->problem, budget));
  }
}

void whole(benchmark::State& state) {
  const auto windows = draw_windows(static_cast<std::size_t>(state.range(0)));
  const optimize::WindowDp exact;
  std::size_t at = 0;
  for (auto unused : state) {
    WorkBudget budget(kUnits);
    benchmark::DoNotOptimize(exact.optimize(windows[at++ % kInputs]->problem, budget));
  }
}

void whole_of_seven(benchmark::State& state) {
  const auto windows = draw_windows(static_cast<std::size_t>(state.range(0)), seven_templates());
  const optimize::WindowDp exact;
  std::size_t at = 0;
  for (auto unused : state) {
    WorkBudget budget(kUnits);
    benchmark::DoNotOptimize(exact.optimize(windows[at++ % kInputs]->problem, budget));
  }
}

template <class Method>
void heuristic(benchmark::State& state) {
  const auto windows = draw_windows(static_cast<std::size_t>(state.range(0)));
  const Method method;
  const optimize::WindowDp exact;
  double ratios = 0;
  std::size_t at = 0;
  for (auto unused : state) {
    WorkBudget budget(kUnits);
    benchmark::DoNotOptimize(method.optimize(windows[at++ % kInputs]->problem, budget));
  }
  if (state.range(0) > static_cast<std::int64_t>(optimize::kTableJobsMax)) {
    return;
  }
  for (const auto& window : windows) {
    WorkBudget budget(kUnits);
    const auto some = method.optimize(window->problem, budget);
    const auto best = exact.optimize(window->problem, budget);
    SEPTULE_CHECK(some.has_value(), "the windows drawn can run");
    SEPTULE_CHECK(best.has_value(), "the windows drawn can run");
    ratios += some->time.to_seconds() / best->time.to_seconds() / kInputs;
  }
  state.counters["time_to_exact"] = ratios;
}

/// All methods and the lower bound, as `septule window --method all`; tells how far the answer is
/// from the bound.
void portfolio(benchmark::State& state) {
  const auto windows = draw_windows(static_cast<std::size_t>(state.range(0)));
  const auto all = optimize::make_window_portfolio({});
  SEPTULE_CHECK(all.has_value(), "the list of methods is made");
  double ratios = 0;
  double gains = 0;
  std::size_t at = 0;
  for (auto unused : state) {
    const WindowProblem& problem = windows[at++ % kInputs]->problem;
    WorkBudget budget(kUnits);
    const auto answer = (*all)->optimize(problem, budget);
    SEPTULE_CHECK(answer.has_value(), "the windows drawn can run");
    double solo = 0;
    for (const plan::WindowJob& job : problem.jobs) {
      solo += job.solo.to_seconds();
    }
    gains += solo / answer->time.to_seconds();
    ratios += answer->certificate.lower_bound.has_value()
                  ? answer->time.to_seconds() / answer->certificate.lower_bound->to_seconds()
                  : 0;
  }
  state.counters["gain"] = gains / static_cast<double>(at);
  state.counters["time_to_bound"] = ratios / static_cast<double>(at);
}

BENCHMARK(costs_given)->Arg(8)->Arg(12)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK(table_only)->Arg(8)->Arg(12)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK(whole)->Arg(8)->Arg(12)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK(portfolio)->Arg(12)->Arg(50)->Unit(benchmark::kMillisecond);
BENCHMARK(whole_of_seven)->Arg(12)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(heuristic, optimize::GreedyOptimizer)
    ->Arg(12)
    ->Arg(200)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(heuristic, optimize::BeamOptimizer)
    ->Arg(12)
    ->Arg(200)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace septule
