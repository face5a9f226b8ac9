// Places for the jobs of one GPU where moves cost something: time of one solve(), for 1 to 7 jobs
// (docs/benchmarks.md). Inputs are random problems in rotation, made before the clock runs.
#include <cstdint>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "gpu/builtin_catalogue.hpp"
#include "optimize/placed_assignment.hpp"

namespace septule {
namespace {

using optimize::PlacedAnswer;
using optimize::PlacedAssigner;
using optimize::PlacedProblem;

constexpr std::size_t kInputs = 1024;  // a power of two

/// Speeds that grow with compute slices, some noise; all jobs but the last run somewhere, as the
/// answer to the problem without the last has them.
std::vector<PlacedProblem> random_inputs(const gpu::Geometry& geometry, int job_count) {
  std::mt19937_64 engine(7);
  const PlacedAssigner assigner(geometry);
  std::vector<PlacedProblem> inputs;
  for (std::size_t i = 0; i < kInputs; ++i) {
    PlacedProblem problem;
    for (int j = 0; j < job_count; ++j) {
      PlacedProblem::Job job;
      for (std::size_t p = 0; p < geometry.profiles().size(); ++p) {
        const double slices = geometry.profiles()[p].slices.value();
        job.value[p] = 0.1 * slices + 0.003 * static_cast<double>(engine() % 100);
      }
      job.move_cost = 0.05;
      PlacedAnswer answer;
      assigner.solve(problem, answer);
      for (std::size_t k = 0; k < problem.jobs.size(); ++k) {
        problem.jobs[k].current = answer.places[k];
      }
      problem.jobs.push_back(job);
    }
    inputs.push_back(problem);
  }
  return inputs;
}

void solve(benchmark::State& state) {
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::Geometry& geometry = **catalogue.find("A100-40GB");
  const PlacedAssigner assigner(geometry);
  const std::vector<PlacedProblem> inputs =
      random_inputs(geometry, static_cast<int>(state.range(0)));
  PlacedAnswer answer;
  std::size_t next = 0;
  for (auto _ : state) {
    assigner.solve(inputs[next], answer);
    benchmark::DoNotOptimize(answer);
    next = (next + 1) & (kInputs - 1);
  }
}
BENCHMARK(solve)->DenseRange(1, 7);

}  // namespace
}  // namespace septule
