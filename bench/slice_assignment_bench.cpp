// The per-GPU optimizer: time of one solve() (docs/benchmarks.md). Inputs are random tables in
// rotation, made before the clock runs, so that no branch predictor learns one of them by heart.
// Counters median_ns, p99_ns: over batches of 16 solves; callgrind: see docs/benchmarks.md.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "optimize/slice_assignment.hpp"

namespace septule {
namespace {

using optimize::CurrentInstance;
using optimize::InstanceUse;
using optimize::SliceAssigner;
using optimize::SliceAssignment;
using optimize::SpeedMatrix;
using plan::ObjectiveKind;

constexpr std::size_t kInputs = 1024;  // a power of two
constexpr int kBatch = 16;

/// Speeds that grow with the profile's compute slices, one in ten not; the smallest profile may be
/// too small.
std::vector<SpeedMatrix> random_inputs(const gpu::Geometry& geometry, int job_count) {
  std::mt19937_64 engine(7);
  std::vector<SpeedMatrix> inputs;
  for (std::size_t i = 0; i < kInputs; ++i) {
    SpeedMatrix matrix(job_count);
    for (int job = 0; job < job_count; ++job) {
      const auto scale = static_cast<double>(60 + engine() % 40);
      for (std::size_t p = 0; p < geometry.profiles().size(); ++p) {
        const double slices = geometry.profiles()[p].slices.value();
        const auto noise = static_cast<double>(engine() % 100);
        const bool is_odd = engine() % 10 == 0;
        const double speed = is_odd ? 0.01 * (noise + 1) : 0.001 * (scale * slices + noise);
        const bool is_too_small = slices < 2 && engine() % 20 == 0;
        SEPTULE_CHECK(
            matrix.set_speed(job, ProfileIndex(static_cast<int>(p)), is_too_small ? 0 : speed),
            "the speed is in range");
      }
    }
    inputs.push_back(matrix);
  }
  return inputs;
}

/// Runs the rotation and reports median and 99th percentile per solve.
void measure(benchmark::State& state,
             const SliceAssigner& assigner,
             const std::vector<SpeedMatrix>& inputs,
             ObjectiveKind objective) {
  std::vector<double> samples;
  samples.reserve(1U << 20U);
  SliceAssignment answer;
  std::size_t at = 0;
  for (auto unused : state) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kBatch; ++i) {
      assigner.solve(inputs[at], objective, answer);
      benchmark::DoNotOptimize(answer);
      at = (at + 1) & (kInputs - 1);
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(took.count() * 1e-9 / kBatch);
    if (samples.size() < samples.capacity()) {
      samples.push_back(took.count() / kBatch);
    }
  }
  if (samples.empty()) {
    return;
  }
  std::ranges::sort(samples);
  state.counters["median_ns"] = samples[samples.size() / 2];
  state.counters["p99_ns"] = samples[samples.size() * 99 / 100];
  state.counters["multisets"] = static_cast<double>(assigner.multiset_count());
  state.counters["kept_sets"] = static_cast<double>(assigner.kept_set_count());
}

SliceAssigner make_assigner(const gpu::Geometry& geometry, const SliceAssigner::Options& options) {
  Result<SliceAssigner> assigner = SliceAssigner::make(geometry, options);
  SEPTULE_CHECK(assigner.has_value(), "the options are valid");
  return std::move(assigner).value();
}

void empty_gpu(benchmark::State& state, gpu::ProfileSet set, ObjectiveKind objective) {
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::Geometry& geometry = **catalogue.find("A100-40GB");
  const SliceAssigner assigner = make_assigner(geometry, {.profiles = set, .current = {}});
  measure(state, assigner, random_inputs(geometry, static_cast<int>(state.range(0))), objective);
}

/// A frozen 2g with nobody of ours, one pinned job in a 1g; the rest of the GPU is free.
void frozen(benchmark::State& state, gpu::ProfileSet set) {
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::Geometry& geometry = **catalogue.find("A100-40GB");
  const std::vector<CurrentInstance> current{
      {.placed = {.profile = *geometry.find_profile("2g.10gb"), .start = MemorySlices(0)},
       .use = InstanceUse::kFrozen,
       .job = std::nullopt},
      {.placed = {.profile = *geometry.find_profile("1g.5gb"), .start = MemorySlices(2)},
       .use = InstanceUse::kPinned,
       .job = 0}};
  const SliceAssigner assigner = make_assigner(geometry, {.profiles = set, .current = current});
  measure(state,
          assigner,
          random_inputs(geometry, static_cast<int>(state.range(0))),
          ObjectiveKind::kSumOfSpeeds);
}

/// Seven reusable 1g instances, three of them with jobs, and costs for every change: the most
/// states an A100 has.
void reusable(benchmark::State& state, gpu::ProfileSet set, ObjectiveKind objective) {
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::Geometry& geometry = **catalogue.find("A100-40GB");
  std::vector<CurrentInstance> current;
  for (int i = 0; i < 7; ++i) {
    current.push_back(
        {.placed = {.profile = *geometry.find_profile("1g.5gb"), .start = MemorySlices(i)},
         .use = InstanceUse::kReusable,
         .job = i < static_cast<int>(state.range(0)) && i < 3 ? std::optional(i) : std::nullopt});
  }
  const SliceAssigner assigner =
      make_assigner(geometry,
                    {.profiles = set,
                     .current = current,
                     .costs = {.create = 0.02, .destroy = 0.01, .move = 0.05}});
  measure(state, assigner, random_inputs(geometry, static_cast<int>(state.range(0))), objective);
}

void construction(benchmark::State& state, gpu::ProfileSet set) {
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::Geometry& geometry = **catalogue.find("A100-40GB");
  for (auto unused : state) {
    const SliceAssigner assigner = make_assigner(geometry, {.profiles = set, .current = {}});
    benchmark::DoNotOptimize(assigner.multiset_count());
  }
}

constexpr auto kPlain = gpu::ProfileSet::kPlain;
constexpr auto kAll = gpu::ProfileSet::kAll;

BENCHMARK_CAPTURE(empty_gpu, plain_sum, kPlain, ObjectiveKind::kSumOfSpeeds)
    ->DenseRange(1, 7)
    ->UseManualTime();
BENCHMARK_CAPTURE(empty_gpu, all_sum, kAll, ObjectiveKind::kSumOfSpeeds)
    ->DenseRange(1, 7)
    ->UseManualTime();
BENCHMARK_CAPTURE(empty_gpu, plain_slowdown, kPlain, ObjectiveKind::kMeanSlowdown)
    ->DenseRange(1, 7)
    ->UseManualTime();
BENCHMARK_CAPTURE(empty_gpu, all_slowdown, kAll, ObjectiveKind::kMeanSlowdown)
    ->DenseRange(1, 7)
    ->UseManualTime();
BENCHMARK_CAPTURE(empty_gpu, plain_max_min, kPlain, ObjectiveKind::kMaxMin)
    ->DenseRange(1, 7)
    ->UseManualTime();
BENCHMARK_CAPTURE(empty_gpu, all_max_min, kAll, ObjectiveKind::kMaxMin)
    ->DenseRange(1, 7)
    ->UseManualTime();
BENCHMARK_CAPTURE(frozen, plain_sum, kPlain)->DenseRange(1, 5)->UseManualTime();
BENCHMARK_CAPTURE(frozen, all_sum, kAll)->DenseRange(1, 5)->UseManualTime();
BENCHMARK_CAPTURE(reusable, plain_sum, kPlain, ObjectiveKind::kSumOfSpeeds)
    ->DenseRange(1, 7)
    ->UseManualTime();
BENCHMARK_CAPTURE(reusable, all_sum, kAll, ObjectiveKind::kSumOfSpeeds)
    ->DenseRange(1, 7)
    ->UseManualTime();
BENCHMARK_CAPTURE(reusable, all_max_min, kAll, ObjectiveKind::kMaxMin)
    ->DenseRange(1, 7, 3)
    ->UseManualTime();
BENCHMARK_CAPTURE(construction, plain, kPlain)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(construction, all, kAll)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace septule
