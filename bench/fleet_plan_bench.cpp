// Fleets of generated tenants on A100-80GB (serve/fleet_generator.hpp says how they are drawn), in
// numbers of tenants: the fewest GPUs, and the greatest goodput of a given number of GPUs
// (docs/benchmarks.md). Counters: GPUs, compute slices, their bounds, and gaps in percent.
#include <cstdint>

#include <benchmark/benchmark.h>

#include "gpu/builtin_catalogue.hpp"
#include "serve/fleet_generator.hpp"
#include "serve/fleet_plan.hpp"

namespace septule::serve {
namespace {

struct Fleet {
  gpu::Catalogue gpus = gpu::load_builtin_catalogue();
  LayoutLattice lattice =
      LayoutLattice::make(**gpus.find("A100-80GB"), gpu::ProfileSet::kPlain).value();
};

double percent_above(double value, double bound) {
  return 100 * (value - bound) / value;
}

/// Arguments: tenants, whole GPUs of load per 100 tenants, seed.
void min_gpus(benchmark::State& state) {
  const Fleet fleet;
  const FleetProblem problem =
      generate_fleet(fleet.lattice,
                     {.tenant_count = static_cast<int>(state.range(0)),
                      .load_mean = static_cast<double>(state.range(1)) / 100,
                      .seed = static_cast<std::uint64_t>(state.range(2))});
  FleetPlan plan;
  for (auto _ : state) {
    plan = plan_min_gpus(problem, {}).value();
  }
  state.counters["gpus"] = plan.gpus;
  state.counters["gpus_bound"] = plan.gpus_bound;
  state.counters["gap_percent"] = percent_above(plan.gpus, plan.gpus_bound);
  state.counters["gpcs"] = plan.gpcs;
  state.counters["gpcs_bound"] = plan.gpcs_bound;
  state.counters["optimal"] = plan.is_optimal ? 1 : 0;
  state.counters["units"] = static_cast<double>(plan.units_spent);
}

/// Arguments: tenants, GPUs, whole GPUs of load per 100 tenants, seed.
void max_goodput(benchmark::State& state) {
  const Fleet fleet;
  FleetProblem problem = generate_fleet(fleet.lattice,
                                        {.tenant_count = static_cast<int>(state.range(0)),
                                         .load_mean = static_cast<double>(state.range(2)) / 100,
                                         .seed = static_cast<std::uint64_t>(state.range(3))});
  problem.gpu_count = static_cast<int>(state.range(1));
  FleetPlan plan;
  for (auto _ : state) {
    plan = plan_max_goodput(problem, {}).value();
  }
  state.counters["gpus"] = plan.gpus;
  state.counters["goodput"] = plan.goodput_rps;
  state.counters["goodput_bound"] = plan.goodput_bound;
  state.counters["gap_percent"] = percent_above(plan.goodput_bound, plan.goodput_rps);
  state.counters["optimal"] = plan.is_optimal ? 1 : 0;
  state.counters["units"] = static_cast<double>(plan.units_spent);
}

BENCHMARK(min_gpus)
    ->Args({11, 180, 1})
    ->Args({30, 100, 1})
    ->Args({100, 100, 1})
    ->Args({100, 100, 2})
    ->Args({100, 100, 3})
    ->Args({300, 135, 1})
    ->Args({300, 165, 2})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(max_goodput)
    ->Args({11, 20, 250, 1})
    ->Args({100, 100, 130, 1})
    ->Args({300, 500, 210, 1})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace septule::serve
