#pragma once

#include <span>
#include <vector>

#include "base/result.hpp"
#include "serve/admission.hpp"
#include "serve/fleet_problem.hpp"

namespace septule::serve {

/// A service ParvaGPU is to deploy. `tenant` lives on.
struct ParvaGpuService {
  const Tenant* tenant = nullptr;
  double rate_rps = 0;
};

/// One instance of its deployment. `start` is its own count of slots, not NVIDIA's memory slices:
/// it tests only whether another instance starts there, so that its instances overlap if read as
/// placements. The sizes on each GPU are legal together.
struct ParvaGpuInstance {
  int gpu = 0;
  int service = 0;  ///< index into the services given
  int start = 0;
  ComputeSlices slices;
  int batch = 1;
  int processes = 1;
  double throughput_rps = 0;
  friend bool operator==(const ParvaGpuInstance&, const ParvaGpuInstance&) = default;
};

/// ParvaGPU's scheduler (SC'24, arXiv 2409.14447) as its code has it, after the description in
/// serving.md 3.4, for seven-slice GPUs: its configurator takes instances of the size with the most
/// throughput per compute slice and a smaller one for the rest, its allocator puts them best-fit,
/// largest first, and its compaction breaks up what little used GPUs hold. Reproduces the six
/// published deployments row for row from all rows of its table. Services are taken by name. By
/// GPU, then start; GPUs that compaction emptied are left out, the others keep their numbers.
/// Fails with kInvalidInput where a service has no admissible row (latency < 0.45 of the SLO in
/// whole ms), naming it. Cost: instances times GPUs.
Result<std::vector<ParvaGpuInstance>> deploy_parvagpu(std::span<const ParvaGpuService> services,
                                                      SuspectRows suspect,
                                                      int processes_max);

/// The same as a fleet plan, to be compared with ours: without bounds, served by the problem's
/// throughputs. Its tenants are the services, in order. Fails with kNotFound where a GPU's sizes
/// are no layout of the lattice.
Result<FleetPlan> parvagpu_plan(const FleetProblem& problem,
                                std::span<const ParvaGpuInstance> instances);

}  // namespace septule::serve
