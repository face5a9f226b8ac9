#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "gpu/inventory.hpp"
#include "optimize/defragmentation.hpp"
#include "optimize/instance_packing.hpp"
#include "optimize/placement_blockers.hpp"

namespace septule::optimize {

/// What keeps one instance off one GPU.
enum class FitLimit {
  kNone,             ///< it fits
  kMigOff,           ///< MIG is off
  kNoProfileTable,   ///< nobody has published what this board can be cut into
  kUnknownProfile,   ///< the model has no such profile
  kStateNotLegal,    ///< what the GPU holds is not possible by its catalogue entry
  kComputeSlices,    ///< capacity: too few compute slices are free in total
  kMemorySlices,     ///< capacity: too few memory slices are free in total
  kProfileMaximum,   ///< budget: as many of this profile as the driver allows
  kInstanceMaximum,  ///< budget: as many GPU instances as the GPU can hold
  kEngineBudget,     ///< budget: too few decoders, encoders, JPEG or optical-flow engines are free
  kFragmentation,    ///< enough is free in total, but every possible placement is partly taken
};
/// "fits", "mig-off", "capacity", "budget", "fragmentation", ... for people and JSON.
std::string_view fit_limit_name(FitLimit limit);

/// A place where an instance fits now.
struct FitPlace {
  gpu::PlacedProfile placed;
  bool is_reused = false;  ///< an idle instance of the profile stands there already
  /// Compute slices of the plain profiles that still fit on the GPU afterwards, descending.
  std::vector<int> room;
};

/// One requested instance (of RequestList::items) on one GPU, on its own.
struct GpuFit {
  GpuIndex gpu;
  std::size_t item = 0;
  FitLimit limit = FitLimit::kNone;
  std::string reason;                     ///< one sentence with figures; empty if it fits
  std::vector<FitPlace> places;           ///< where it fits, by start
  std::vector<BlockedPlacement> blocked;  ///< fragmentation: who is in the way of each placement
};

/// Busy instances of one GPU whose jobs' end makes the request fit.
struct FreeingSet {
  GpuIndex gpu;
  std::vector<gpu::PlacedProfile> instances;  ///< by start
  std::vector<std::string> names;             ///< "1g.5gb@5 (job 17)"
  std::vector<DestroyedInstance> idle;        ///< idle instances to destroy as well
  std::vector<PackedInstance> places;         ///< where the request then goes
};

/// Whether a request fits a node now, and if not, why and what would help.
struct FitExplanation {
  bool is_fitting = false;
  /// Fitting: the recommended places (as pack_instances() with policy pack, idle ones kept).
  std::vector<PackedInstance> recommended;
  std::vector<GpuFit> gpus;  ///< by GPU, then item
  /// Not fitting: one sentence for the whole node.
  std::string reason;

  /// Not fitting: the fewest idle instances whose destruction is enough, which disturbs nobody.
  /// Nothing: destroying idle instances alone does not help.
  std::optional<std::vector<DestroyedInstance>> idle_enough;
  /// Not fitting: every single instance whose job's end frees it, by GPU and start; if no single
  /// one does, the smallest set on one GPU (ties: lowest GPU, then lowest starts); empty if even
  /// ending every job of one GPU does not. Idle ones are destroyed along unless `idle_enough`.
  std::vector<FreeingSet> freeing;
  bool is_freeing_complete = true;  ///< false: the work budget ended before all were tried
  /// Not fitting: the least moves, or why there are none.
  std::optional<Defragmentation> moves;
  std::string moves_refused;
};

/// Exact. Fails with kInvalidInput if the inventory is empty, with kTimedOut if the budget ends
/// before it is known whether the request fits.
Result<FitExplanation> explain_fit(const gpu::Inventory& inventory,
                                   const RequestList& request,
                                   WorkBudget& budget);

/// One instance on one GPU (the part of explain_fit() that asks no other GPU).
GpuFit explain_fit_on(const gpu::ObservedGpu& gpu, const RequestedInstances& item);

}  // namespace septule::optimize
