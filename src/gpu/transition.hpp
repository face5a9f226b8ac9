#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/inventory.hpp"
#include "gpu/latency.hpp"
#include "gpu/layout_request.hpp"
#include "gpu/partition.hpp"

namespace septule::gpu {

enum class StepKind {
  kEnableMig,
  kDisableMig,
  kDestroyComputeInstance,
  kDestroyGpuInstance,
  kCreateGpuInstance,
  kCreateComputeInstance,
};
std::string_view step_name(StepKind kind);

/// One driver operation. Steps are executed in order; each is safe to repeat after re-reading.
struct Step {
  StepKind kind = StepKind::kEnableMig;
  GpuIndex gpu;
  const Geometry* geometry = nullptr;               ///< never null
  PlacedProfile placed;                             ///< the GPU instance meant (not for MIG mode)
  std::optional<GpuInstanceId> gpu_instance_id;     ///< known for existing instances only
  std::optional<ComputeInstance> compute_instance;  ///< for the compute-instance steps
  std::optional<ComputeInstanceId> compute_instance_id;
  /// True for kDestroyComputeInstance when the compute instances were not listed: destroy whatever
  /// the GPU instance holds.
  bool is_every_compute_instance = false;
  Duration estimate;
  Evidence estimate_evidence = Evidence::kInferred;
};

/// A part of the goal that cannot be reached now, and who is in the way.
struct UndoneGoal {
  std::string wanted;                 ///< "3g.20gb@4", "MIG off", "1c.3g.20gb@4/1"
  std::vector<std::string> blockers;  ///< "1g.5gb@5 (job 17)"
  std::string reason;                 ///< one sentence
};

/// How one GPU gets from what it is to what it should be.
struct GpuTransition {
  GpuIndex gpu;
  const Geometry* geometry = nullptr;
  std::vector<PlacedProfile>
      kept;  ///< instances not touched (their compute instances may be re-cut)
  std::vector<std::string> kept_unwanted;  ///< stay although the goal lacks them: busy, foreign, or
                                           ///< only in the way of something undone
  std::vector<Step> steps;
  std::vector<UndoneGoal> undone;
  Partition reached;  ///< what the GPU looks like after the steps
  bool is_mig_enabled_after = true;
  Duration estimate;
  Evidence estimate_evidence = Evidence::kVerified;

  bool is_complete() const { return undone.empty(); }
};

struct Transition {
  std::vector<GpuTransition> gpus;  ///< by index; GPUs that need nothing are listed too

  bool is_complete() const;
  bool is_empty() const;  ///< no steps and nothing undone
  std::size_t step_count() const;
};

/// Plans the steps from `from` to `to`. GPUs named in `to` must exist in `from` (kNotFound
/// otherwise); GPUs of `from` that `to` does not name are left alone and not listed. Per GPU:
/// wanted instances that exist (same profile and placement) stay; busy and foreign instances are
/// never touched; an idle instance that the goal lacks goes, unless all it makes room for is
/// blocked. Order: destroy compute instances, destroy GPU instances, create GPU instances (largest
/// first, explicit placements), create compute instances. A goal that is not legal is
/// kInvalidInput. Each GPU's `reached` is checked with partition_checker before it is returned.
Result<Transition> plan_transition(const Inventory& from,
                                   std::span<const DesiredGpu> to,
                                   const LatencyTable& latencies);

/// Places a request on a GPU that already holds instances so that as little as possible changes:
/// fewest busy or foreign instances in the way first, then fewest instances destroyed, then fewest
/// created, then canonical order. Starts given in the request are kept. The request describes the
/// *whole* GPU afterwards. Exact: looks at every legal layout of the GPU. kBlocked if the request
/// fits no empty GPU at all.
Result<Partition> place_near(const ObservedGpu& gpu, const LayoutRequest& request);

}  // namespace septule::gpu
