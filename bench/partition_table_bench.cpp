// MISO's optimizer over the paper's table: time of one solve() (docs/benchmarks.md). Inputs are
// random tables in rotation, made before the clock runs.
#include <array>
#include <optional>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "gpu/builtin_catalogue.hpp"
#include "optimize/partition_table.hpp"

namespace septule {
namespace {

using optimize::PartitionAnswer;
using optimize::PartitionTable;

constexpr std::size_t kInputs = 1024;  // a power of two

struct Input {
  std::vector<predict::SpeedRow> rows;
  std::vector<const predict::SpeedRow*> jobs;
};

std::vector<Input> random_inputs(const gpu::Geometry& geometry, std::size_t job_count) {
  std::mt19937_64 engine(7);
  std::vector<Input> inputs(kInputs);
  for (Input& input : inputs) {
    input.rows.resize(job_count);
    for (predict::SpeedRow& row : input.rows) {
      for (std::size_t p = 0; p < geometry.profiles().size(); ++p) {
        const double slices = geometry.profiles()[p].slices.value();
        row.speed[p] = 0.001 * (100 * slices + static_cast<double>(engine() % 100));
      }
      input.jobs.push_back(&row);
    }
  }
  return inputs;
}

void solve(benchmark::State& state, plan::ObjectiveKind objective) {
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::Geometry& geometry = **catalogue.find("A100-40GB");
  const PartitionTable table = PartitionTable::paper(geometry);
  const std::vector<Input> inputs =
      random_inputs(geometry, static_cast<std::size_t>(state.range(0)));
  const std::vector<std::optional<gpu::PlacedProfile>> current(
      static_cast<std::size_t>(state.range(0)));
  std::size_t at = 0;
  PartitionAnswer answer;
  for (auto unused : state) {
    table.solve({.jobs = inputs[at].jobs, .objective = objective, .current = current}, answer);
    benchmark::DoNotOptimize(answer);
    at = (at + 1) & (kInputs - 1);
  }
}

BENCHMARK_CAPTURE(solve, sum, plan::ObjectiveKind::kSumOfSpeeds)->DenseRange(1, 7);
BENCHMARK_CAPTURE(solve, mean_slowdown, plan::ObjectiveKind::kMeanSlowdown)->DenseRange(1, 7);

}  // namespace
}  // namespace septule
