// Windows of generated jobs on an A100-80GB, without compute instances that share a GPU instance:
// methods local and refill and the bound, for 12, 50 and 200 jobs (docs/benchmarks.md). Counters:
// gain over time sharing, and how far the answer is above the bound in percent. Classes: any, and
// windows of one class.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <benchmark/benchmark.h>

#include "gpu/builtin_catalogue.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/local_search.hpp"
#include "optimize/refill.hpp"
#include "optimize/window_bound.hpp"
#include "predict/job_generator.hpp"
#include "predict/law_co_run.hpp"

namespace septule {
namespace {

using optimize::WindowProblem;

/// A window with all that its problem points to.
struct Window {
  gpu::Catalogue gpus = gpu::load_builtin_catalogue();
  gpu::SharingCatalogue templates;
  std::vector<plan::WindowJob> jobs;
  std::unique_ptr<predict::CoRunModel> model;
  WindowProblem problem;
  double solo_s = 0;
};

/// `job_class` = 0: any; else JobClass + 1.
std::unique_ptr<Window> make_window(std::size_t count, int job_class) {
  auto window = std::make_unique<Window>();
  const gpu::Geometry& geometry = **window->gpus.find("A100-80GB");
  window->templates =
      gpu::make_sharing_catalogue(geometry,
                                  {.families = {gpu::SharingFamily::kTimeSharing,
                                                gpu::SharingFamily::kMpsOnly,
                                                gpu::SharingFamily::kMigPrivate,
                                                gpu::SharingFamily::kMigMpsPrivate}})
          .value();
  const predict::JobGenerator generator(geometry, 11);
  const auto wanted =
      job_class == 0 ? std::nullopt : std::optional(static_cast<predict::JobClass>(job_class - 1));
  std::vector<predict::LawJob> laws;
  const std::vector<predict::GeneratedJob> pool = generator.pool(count, wanted).value();
  for (const predict::GeneratedJob& job : pool) {
    laws.push_back(job.law);
    plan::WindowJob& own = window->jobs.emplace_back();
    own.name = job.name;
    own.user = "u";
    own.memory = job.memory;
    own.solo = job.traits.solo;
    window->solo_s += own.solo.to_seconds();
  }
  window->model = predict::LawCoRunModel::make(geometry, laws, window->templates.domains).value();
  window->problem.jobs = window->jobs;
  window->problem.model = window->model.get();
  window->problem.catalogue = &window->templates;
  window->problem.clock = optimize::GroupClock::kSpeedUp;
  return window;
}

/// Seconds; nothing = no bound.
std::optional<double> bound_s(const Window& window) {
  WorkBudget budget(INT64_MAX);
  const auto bound = optimize::bound_window(window.problem, budget);
  return bound.has_value() && bound->has_value() ? std::optional((*bound)->lower_bound.to_seconds())
                                                 : std::nullopt;
}

template <class Method>
void solve(benchmark::State& state, std::int64_t units_per_job) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto window = make_window(count, static_cast<int>(state.range(1)));
  double time_s = 0;
  for (auto _ : state) {
    WorkBudget budget(units_per_job * static_cast<std::int64_t>(count));
    time_s = Method().optimize(window->problem, budget)->time.to_seconds();
  }
  state.counters["gain"] = window->solo_s / time_s;
  if (const auto bound = bound_s(*window); bound.has_value()) {
    state.counters["gap_percent"] = 100 * (time_s / *bound - 1);
  }
}

void local(benchmark::State& state) {
  solve<optimize::LocalOptimizer>(state, optimize::LocalOptimizer::kUnitsPerJob);
}
void refill(benchmark::State& state) {
  solve<optimize::RefillOptimizer>(state, optimize::RefillOptimizer::kUnitsDefault / 12);
}
void bound(benchmark::State& state) {
  const auto window = make_window(static_cast<std::size_t>(state.range(0)), 0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(bound_s(*window));
  }
}
const std::vector<std::vector<std::int64_t>> sizes_and_classes = {{12, 50, 200}, {0}};
const std::vector<std::vector<std::int64_t>> classes_of_50 = {{50}, {1, 2, 3, 4}};
BENCHMARK(local)->ArgsProduct(sizes_and_classes)->Unit(benchmark::kMillisecond);
BENCHMARK(local)->ArgsProduct(classes_of_50)->Unit(benchmark::kMillisecond);
BENCHMARK(refill)->ArgsProduct(sizes_and_classes)->Unit(benchmark::kMillisecond);
BENCHMARK(refill)->ArgsProduct(classes_of_50)->Unit(benchmark::kMillisecond);
BENCHMARK(bound)->Arg(12)->Arg(16)->Arg(50)->Arg(200)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace septule
