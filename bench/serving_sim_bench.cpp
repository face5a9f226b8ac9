// The serving simulator without a policy's cost: a day of four tenants in fluid mode, and requests
// per second in request mode (docs/benchmarks.md).
#include <benchmark/benchmark.h>

#include "sim/serving_support.hpp"

namespace septule::sim {
namespace {

void fill(test::ServingBench& bench, std::int64_t seconds, double utilisation) {
  for (int i = 0; i < 4; ++i) {
    bench.add("t" + std::to_string(i), 50, 100 * utilisation);
  }
  bench.options.length = test::whole_seconds(seconds);
  const auto layout = [&](int shift) {
    std::vector<serve::ServingInstance> instances;
    const int starts[] = {0, 2, 4, 6};
    const int slices[] = {2, 2, 2, 1};
    for (int i = 0; i < 4; ++i) {
      instances.push_back(
          test::instance_at(bench.lattice, slices[i], starts[i], {test::serves((i + shift) % 4)}));
    }
    return test::one_gpu(std::move(instances));
  };
  bench.options.initial = layout(0);
  for (std::int64_t second = 100; second < seconds; second += 100) {
    bench.policy.orders[second] = layout(static_cast<int>(second / 100 % 4));
  }
}

void fluid_day(benchmark::State& state) {
  test::ServingBench bench;
  fill(bench, 86400, 0.7);
  for (auto _ : state) {
    bench.policy.seen.clear();
    bench.policy.tenants_seen.clear();
    benchmark::DoNotOptimize(bench.run(bench.policy));
  }
}
BENCHMARK(fluid_day)->Unit(benchmark::kMillisecond);

void requests_by_load(benchmark::State& state) {
  test::ServingBench bench;
  fill(bench, 1000, 0.01 * static_cast<double>(state.range(0)));
  bench.options.mode = ServingMode::kRequest;
  double requests = 0;
  for (auto _ : state) {
    bench.policy.seen.clear();
    bench.policy.tenants_seen.clear();
    for (const auto& tenant : bench.run(bench.policy)->tenants) {
      requests += tenant.arrived;
    }
  }
  state.counters["requests/s"] = benchmark::Counter(requests, benchmark::Counter::kIsRate);
}
BENCHMARK(requests_by_load)->Arg(70)->Arg(150)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace septule::sim
