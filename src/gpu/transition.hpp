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
  /// Instances not touched (their compute instances may be re-cut), in canonical order.
  std::vector<PlacedProfile> kept;
  /// Stay although the goal lacks them: busy, foreign, or only in the way of something undone. GPU
  /// instances ("1g.5gb@5 (job 17)"), and compute instances of kept ones ("1c.3g.20gb@4/1 (job
  /// 3)").
  std::vector<std::string> kept_unwanted;
  std::vector<Step> steps;
  std::vector<UndoneGoal> undone;
  /// What the GPU looks like after the steps. Where compute instances were not listed and stay, one
  /// full compute instance is assumed.
  Partition reached;
  bool is_mig_enabled_after = true;
  Duration estimate;
  Evidence estimate_evidence = Evidence::kVerified;

  /// Whether all that is wanted is there afterwards.
  bool is_complete() const { return undone.empty(); }
  /// Whether nothing else is there either.
  bool is_exact() const { return undone.empty() && kept_unwanted.empty(); }
};

struct Transition {
  std::vector<GpuTransition> gpus;  ///< by index; GPUs that need nothing are listed too

  bool is_complete() const;
  bool is_empty() const;  ///< no steps and nothing undone
  std::size_t step_count() const;
};

/// Plans the steps from `from` to `to`. GPUs named in `to` must exist in `from` (kNotFound
/// otherwise); GPUs of `from` that `to` does not name are left alone and not listed. Per GPU:
/// - Wanted instances that exist (same profile and placement) stay, whoever holds them.
/// - Busy and foreign instances are never touched. A wanted instance in whose way they are is
/// undone;
///   where a profile's maximum or an engine budget is short, the larger instance is created first.
/// - An idle instance that the goal lacks goes, unless all that it makes room for is undone.
/// - Inside a kept GPU instance the same rules hold for its compute instances. A GPU instance that
/// is
///   itself busy or foreign (not only one of its compute instances) is not re-cut. Compute
///   instances that were not listed pass for one full one; if the goal is another, all of them go
///   first.
/// - MIG mode is switched on before all else, and off only if no instance is busy or foreign.
/// Order: destroy compute instances, destroy GPU instances, create GPU instances (largest first,
/// explicit placements), create compute instances. A goal or a current state that is not legal, or
/// a GPU named twice, is kInvalidInput. Each GPU's `reached` is checked with partition_checker
/// before it is returned. Cost: quadratic in the instances of a GPU.
Result<Transition> plan_transition(const Inventory& from,
                                   std::span<const DesiredGpu> to,
                                   const LatencyTable& latencies);

/// Places a request on a GPU that already holds instances so that as little as possible changes:
/// fewest busy or foreign instances in the way (not part of the layout, and no room beside it)
/// first, then fewest idle instances destroyed, then fewest created, then fewest busy or foreign
/// compute instances in the way, then fewest compute instances destroyed or created in kept
/// instances, then canonical order. Starts given in the request are kept. The request describes the
/// *whole* GPU afterwards. An instance asked for without compute instances keeps those it has when
/// it exists already and has any: what the user did not speak of is not re-cut; else it gets one
/// full one. Exact: looks at every legal layout of the GPU. If the request fits no empty GPU at
/// all, the error of place_layout_request() (kBlocked; kInvalidInput for compute instances that fit
/// nowhere). A current state that is not legal is kInvalidInput.
Result<Partition> place_near(const ObservedGpu& gpu, const LayoutRequest& request);

}  // namespace septule::gpu
