// Moldable tasks on an A100: FAR, the layout bound and our search, for drawn tasks
// (docs/benchmarks.md). Inputs are drawn before the clock runs.
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "optimize/moldable_bound.hpp"
#include "optimize/moldable_far.hpp"
#include "optimize/moldable_generator.hpp"
#include "optimize/moldable_search.hpp"
#include "optimize/switch_costs.hpp"

namespace septule::optimize {
namespace {

constexpr std::size_t kInputs = 8;

const MoldableGpu& a100() {
  static const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  static const MoldableGpu gpu = [] {
    const gpu::Geometry& geometry = **catalogue.find("A100-40GB");
    Result<MoldableGpu> made =
        MoldableGpu::make(geometry, make_switch_costs(geometry, gpu::load_builtin_latencies()));
    SEPTULE_CHECK(made.has_value(), "the A100 has a tree");
    return *std::move(made);
  }();
  return gpu;
}

/// Arguments: number of tasks, mix.
std::vector<MoldableProblem> inputs(const benchmark::State& state) {
  std::vector<MoldableProblem> problems;
  const Rng root(2026);
  for (std::size_t input = 0; input < kInputs; ++input) {
    Rng rng = root.stream("bench", input);
    problems.push_back(draw_moldable_tasks(a100(),
                                           {static_cast<std::size_t>(state.range(0)),
                                            static_cast<MoldableMix>(state.range(1)),
                                            Duration::milliseconds(1000),
                                            Duration::milliseconds(100000)},
                                           rng));
  }
  return problems;
}

template <class Run>
void run_all(benchmark::State& state, const Run& run) {
  const std::vector<MoldableProblem> problems = inputs(state);
  std::size_t at = 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(run(problems[at++ % kInputs]));
  }
  state.SetLabel(std::string(moldable_mix_name(static_cast<MoldableMix>(state.range(1)))));
}

void far(benchmark::State& state) {
  run_all(state, [](const MoldableProblem& problem) {
    WorkBudget budget(kMoldableUnits);
    return far_schedule(problem, budget).has_value();
  });
}

void layout_bound(benchmark::State& state) {
  run_all(state, [](const MoldableProblem& problem) { return moldable_bounds(problem)->best(); });
}

void search(benchmark::State& state) {
  run_all(state, [](const MoldableProblem& problem) {
    WorkBudget budget(kMoldableUnits);
    return search_moldable(problem, budget).has_value();
  });
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"tasks", "mix"})
      ->ArgsProduct({{10, 20, 30, 50, 100},
                     {static_cast<int>(MoldableMix::kGood), static_cast<int>(MoldableMix::kBad)}})
      ->Unit(benchmark::kMillisecond);
}
BENCHMARK(far)->Apply(sizes);
BENCHMARK(layout_bound)->Apply(sizes);
BENCHMARK(search)->Apply(sizes);

}  // namespace
}  // namespace septule::optimize
