#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/partition.hpp"

namespace septule::gpu {

/// Who has an instance in hand. Only idle instances may be destroyed or re-cut.
enum class Hold {
  kIdle,     ///< nobody: may be reused or destroyed
  kBusy,     ///< a job, MPS server or monitor holds it
  kForeign,  ///< made by an operator or another tool: never touched, also when idle
};
std::string_view hold_name(Hold hold);

/// A compute instance as seen on a node.
struct ObservedComputeInstance {
  ComputeInstance instance;
  std::optional<ComputeInstanceId> id;
  Hold hold = Hold::kIdle;
  std::string holder;  ///< "job 17 (alice)", a process; empty if idle or not known
};

/// A GPU instance as seen on a node.
struct ObservedInstance {
  PlacedProfile placed;
  std::optional<GpuInstanceId> id;
  Hold hold = Hold::kIdle;  ///< of the GPU instance itself; see effective_hold()
  std::string holder;
  bool is_movable = false;  ///< its jobs may be stopped and restarted elsewhere
  /// Absent: not listed (a paste of -lgi without -lci), which is not the same as none.
  std::optional<std::vector<ObservedComputeInstance>> compute_instances;

  /// The strongest hold of the GPU instance and its compute instances (foreign > busy > idle).
  Hold effective_hold() const;
  /// Every holder named, without repetition; "unknown holder" if held and nobody is named.
  std::vector<std::string> holders() const;
};

/// One GPU as seen. `geometry` is owned by the Catalogue and never null.
struct ObservedGpu {
  GpuIndex index;
  std::string uuid;  ///< empty = not known
  const Geometry* geometry = nullptr;
  bool is_mig_enabled = true;
  std::vector<ObservedInstance> instances;  ///< canonical order: by start

  Layout layout() const;
  /// Instances with their compute instances; one full compute instance where they are not listed.
  Partition partition() const;
};

/// What exists on a node. GPUs by index, each index once.
struct Inventory {
  std::string node;  ///< empty = not named
  std::vector<ObservedGpu> gpus;
};

/// For messages: "1g.5gb@5" (idle), "1g.5gb@5 (job 17)" (busy), "1g.5gb@5 (foreign: bob)".
std::string observed_text(const ObservedGpu& gpu, const ObservedInstance& instance);

/// What one GPU should look like.
struct DesiredGpu {
  GpuIndex index;
  bool is_mig_enabled = true;
  Partition partition;
};

}  // namespace septule::gpu
