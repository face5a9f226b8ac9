// The emulated device: time of one call (docs/benchmarks.md). A whole re-cut of one GPU, from two
// 3g to 4g + 2g + 1g and back with MPS and clients, over many GPUs in turn, so that no GPU's state
// stays in the first-level cache. Counters: calls in one iteration, nanoseconds per call.
#include <array>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.hpp"
#include "device/emulated_device.hpp"
#include "gpu/builtin_catalogue.hpp"

namespace septule {
namespace {

using device::EmulatedDevice;
using port::DeviceCode;

struct Cut {
  gpu::PlacedProfile placed;
  gpu::ComputeInstance compute;
};

int build(EmulatedDevice& device,
          GpuIndex gpu,
          std::span<const Cut> cuts,
          std::vector<GpuInstanceId>& ids) {
  ids.clear();
  for (const Cut& cut : cuts) {
    const auto created = device.create_gpu_instance(gpu, cut.placed);
    SEPTULE_CHECK(created.code == DeviceCode::kOk, "the instance fits");
    benchmark::DoNotOptimize(device.create_compute_instance(gpu, created.id, cut.compute).code);
    benchmark::DoNotOptimize(device.attach_client(gpu, created.id));
    ids.push_back(created.id);
  }
  benchmark::DoNotOptimize(device.take_latency(gpu));
  return 3 * static_cast<int>(cuts.size()) + 1;
}

int clear(EmulatedDevice& device, GpuIndex gpu, std::span<const GpuInstanceId> ids) {
  for (const GpuInstanceId id : ids) {
    benchmark::DoNotOptimize(device.detach_client(gpu, id));
    benchmark::DoNotOptimize(device.destroy_compute_instance(gpu, id, ComputeInstanceId(0)));
    const DeviceCode code = device.destroy_gpu_instance(gpu, id);
    SEPTULE_CHECK(code == DeviceCode::kOk, "the instance is free");
  }
  benchmark::DoNotOptimize(device.take_latency(gpu));
  return 3 * static_cast<int>(ids.size()) + 1;
}

Cut cut(const gpu::Geometry& geometry, std::string_view name, int start) {
  const ProfileIndex profile =
      checked_value(geometry.find_profile(name), "the benchmark names known profiles");
  return {.placed = {.profile = profile, .start = MemorySlices(start)},
          .compute = gpu::full_compute_instance(geometry, profile)};
}

void recut(benchmark::State& state, const device::FaultPlan& faults) {
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::Geometry& geometry = **catalogue.find("A100-40GB");
  const std::vector<const gpu::Geometry*> gpus(static_cast<std::size_t>(state.range(0)), &geometry);
  auto made = EmulatedDevice::make(gpus, gpu::load_builtin_latencies(), {.faults = faults});
  SEPTULE_CHECK(made.has_value(), "the options are valid");
  EmulatedDevice& device = **made;
  const std::array<Cut, 2> halves{cut(geometry, "3g.20gb", 0), cut(geometry, "3g.20gb", 4)};
  const std::array<Cut, 3> thirds{
      cut(geometry, "4g.20gb", 0), cut(geometry, "2g.10gb", 4), cut(geometry, "1g.5gb", 6)};
  const std::array<Cut, 7> sevenths{cut(geometry, "1g.5gb", 0),
                                    cut(geometry, "1g.5gb", 1),
                                    cut(geometry, "1g.5gb", 2),
                                    cut(geometry, "1g.5gb", 3),
                                    cut(geometry, "1g.5gb", 4),
                                    cut(geometry, "1g.5gb", 5),
                                    cut(geometry, "1g.5gb", 6)};
  std::vector<GpuInstanceId> ids;
  ids.reserve(sevenths.size());
  int gpu = 0;
  std::int64_t calls = 0;
  for (auto unused : state) {
    const GpuIndex index(gpu);
    calls += build(device, index, halves, ids);
    calls += clear(device, index, ids);
    calls += build(device, index, thirds, ids);
    calls += clear(device, index, ids);
    calls += build(device, index, sevenths, ids);
    calls += clear(device, index, ids);
    gpu = gpu + 1 < device.gpu_count() ? gpu + 1 : 0;
  }
  // Inverted rate: seconds per call.
  state.counters["per_call"] = benchmark::Counter(
      static_cast<double>(calls), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// A node of eight, made anew: a simulation makes one for each node of each trial.
void construction(benchmark::State& state) {
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::LatencyTable latencies = gpu::load_builtin_latencies();
  const std::vector<const gpu::Geometry*> gpus(8, *catalogue.find("A100-40GB"));
  for (auto unused : state) {
    benchmark::DoNotOptimize(EmulatedDevice::make(gpus, latencies, {}).has_value());
  }
}

BENCHMARK(construction);
BENCHMARK_CAPTURE(recut, no_faults, device::FaultPlan{})->Arg(1)->Arg(40)->Arg(10000);
/// Faults that are drawn and (all but) never come.
BENCHMARK_CAPTURE(recut,
                  rare_faults,
                  device::FaultPlan{.in_use = {.numerator = 1, .denominator = 1ULL << 62U}})
    ->Arg(40);

}  // namespace
}  // namespace septule
