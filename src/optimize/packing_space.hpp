#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "gpu/inventory.hpp"
#include "optimize/gpu_options.hpp"
#include "optimize/instance_packing.hpp"

namespace septule::optimize {

/// Whether something on the GPU is held.
bool is_open(const gpu::ObservedGpu& gpu);

/// GPUs of equal state and what each of them can do. Internal to the optimizers.
struct GpuClass {
  std::vector<std::size_t> gpus;  ///< indices into Inventory::gpus, ascending
  std::vector<GpuOption> options;
  bool is_open = false;  ///< something on it is held
};

/// A packing problem after everything that concerns one GPU alone has been worked out.
struct PackingSearchSpace {
  std::vector<RequestKind> kinds;
  std::vector<GpuClass> classes;
  int demand = 0;       ///< requested instances in all
  int usable_gpus = 0;  ///< MIG on, profile table known, state legal by the catalogue
};
PackingSearchSpace search_space_of(const gpu::Inventory& inventory,
                                   const RequestList& request,
                                   IdleRule idle_rule);

/// Why nothing was possible: the demand that is too high even alone, else slices in total, else the
/// arrangement; and GPUs that cannot be used at all.
std::string packing_limit(const gpu::Inventory& inventory,
                          const PackingSearchSpace& space,
                          const PackingProblem& problem);

/// The same as a kBlocked sentence that names who holds instances.
Error packing_failure(const gpu::Inventory& inventory,
                      const PackingSearchSpace& space,
                      const PackingProblem& problem);

}  // namespace septule::optimize
