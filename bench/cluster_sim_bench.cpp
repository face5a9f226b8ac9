// Whole simulations: trials of `miso` on 40 GPUs, one run of 100,000 jobs on 10,000 GPUs, and how
// the cost of an event grows with the size of the cluster (docs/benchmarks.md). Jobs are drawn by
// the recipe of the paper at a constant load: one in 400 s per GPU. Counters: events_per_s,
// events_per_job, and bytes_peak, the most memory the process has held so far.
#include <memory>
#include <string_view>
#include <sys/resource.h>
#include <utility>

#include <benchmark/benchmark.h>

#include "base/check.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "job/workload.hpp"
#include "predict/speed_book.hpp"
#include "sched/policy_registry.hpp"
#include "sim/cluster_sim.hpp"

namespace septule {
namespace {

constexpr double kGapPerGpuS = 400;

/// Everything a run points to.
struct Input {
  gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  gpu::LatencyTable latencies = gpu::load_builtin_latencies();
  job::Workload workload;
  std::unique_ptr<predict::SpeedBook> book;
  sim::SimSetup setup;
};

std::unique_ptr<Input> input_of(std::string_view policy, job::Workload workload, int gpus) {
  auto input = std::make_unique<Input>();
  input->workload = std::move(workload);
  const gpu::Geometry& geometry = **input->catalogue.find("A100-40GB");
  Result<predict::SpeedBook> book = predict::SpeedBook::make(geometry, input->workload.signatures);
  SEPTULE_CHECK(book.has_value(), "the built-in signatures are valid");
  input->book = std::make_unique<predict::SpeedBook>(std::move(book).value());
  input->setup.geometry = &geometry;
  input->setup.latencies = &input->latencies;
  input->setup.gpu_count = gpus;
  input->setup.workload = &input->workload;
  input->setup.book = input->book.get();
  input->setup.policy = *sched::find_policy(policy);
  input->setup.policy_setup.characterisation =
      sched::default_characterisation(sched::Setting::kPaper);
  return input;
}

job::Workload drawn(int jobs, int gpus) {
  job::GenerateOptions options;
  options.jobs = jobs;
  options.duration_max = seconds_to_duration(7200);
  options.arrivals.gap = seconds_to_duration(kGapPerGpuS / gpus);
  options.arrivals.is_rate_constant = true;
  Result<job::Workload> workload = job::generate_workload(options);
  SEPTULE_CHECK(workload.has_value(), "the options of the benchmark are valid");
  return std::move(workload).value();
}

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
