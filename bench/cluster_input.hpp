#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "base/check.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "job/workload.hpp"
#include "predict/speed_book.hpp"
#include "sched/policy_registry.hpp"
#include "sim/cluster_sim.hpp"

// Clusters and workloads of the benchmarks of whole simulations: jobs drawn by the recipe of the
// paper at a constant load, one in 400 s per GPU.
namespace septule::bench {

inline constexpr double kGapPerGpuS = 400;

/// Everything a run points to.
struct Input {
  gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  gpu::LatencyTable latencies = gpu::load_builtin_latencies();
  job::Workload workload;
  std::unique_ptr<predict::SpeedBook> book;
  sim::SimSetup setup;
};

inline std::unique_ptr<Input> input_of(std::string_view policy, job::Workload workload, int gpus) {
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

inline job::Workload drawn(int jobs, int gpus) {
  job::GenerateOptions options;
  options.jobs = jobs;
  options.duration_max = seconds_to_duration(7200);
  options.arrivals.gap = seconds_to_duration(kGapPerGpuS / gpus);
  options.arrivals.is_rate_constant = true;
  Result<job::Workload> workload = job::generate_workload(options);
  SEPTULE_CHECK(workload.has_value(), "the options of the benchmark are valid");
  return std::move(workload).value();
}

}  // namespace septule::bench
