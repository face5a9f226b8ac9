// Whole simulations: trials of `miso` on 40 GPUs, one run of 100,000 jobs on 10,000 GPUs, and how
// the cost of an event grows with the size of the cluster (docs/benchmarks.md). Jobs are drawn by
// the recipe of the paper at a constant load: one in 400 s per GPU. Counters: events_per_s,
// events_per_job, and bytes_peak, the most memory the process has held so far.
#include <string_view>
#include <sys/resource.h>

#include <benchmark/benchmark.h>

#include "cluster_input.hpp"

namespace septule {
namespace {

using bench::drawn;
using bench::Input;
using bench::input_of;

void run(benchmark::State& state, const Input& input) {
  std::int64_t events = 0;
  for (auto unused : state) {
    const Result<job::RunRecord> record = sim::simulate(input.setup);
    if (!record) {
      state.SkipWithError(record.error().message.c_str());
      return;
    }
    events += record->events;
  }
  const auto total = static_cast<double>(events);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  state.counters["bytes_peak"] = static_cast<double>(used.ru_maxrss) * 1024;
  state.counters["events_per_job"] = total / static_cast<double>(state.iterations()) /
                                     static_cast<double>(input.workload.jobs.size());
  state.counters["events_per_s"] = benchmark::Counter(total, benchmark::Counter::kIsRate);
}

/// One trial of the paper's large study: 1,000 jobs, 40 GPUs.
void trial(benchmark::State& state, std::string_view policy) {
  const Result<job::Workload> base = job::miso_workload("miso-1000");
  const Result<std::vector<job::Arrival>> arrivals = job::artifact_arrivals(1000, 1);
  SEPTULE_CHECK(base.has_value() && arrivals.has_value(), "the built-in study is valid");
  run(state, *input_of(policy, job::with_arrivals(*base, *arrivals), 40));
}

/// Ten jobs per GPU at constant load: only the size of the cluster differs.
void growth(benchmark::State& state, std::string_view policy) {
  const int gpus = static_cast<int>(state.range(0));
  run(state, *input_of(policy, drawn(10 * gpus, gpus), gpus));
}

BENCHMARK_CAPTURE(trial, nopart, "nopart")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(trial, miso, "miso")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(trial, septule, "septule")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(growth, miso, "miso")
    ->Arg(100)
    ->Arg(1000)
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace septule
