#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/inline_vector.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/group_time.hpp"
#include "optimize/window_optimizer.hpp"
#include "plan/schedule.hpp"

namespace septule::optimize {

/// Jobs with their seats in a template. A plain value.
struct SeatedGroup {
  std::size_t sharing = 0;  ///< index into SharingCatalogue::templates
  /// Job of each seat: seats of its first domain, then of its second, and so on; as many as the
  /// template's concurrency, none empty.
  InlineVector<std::size_t, gpu::kSeatsMax> jobs;

  friend bool operator==(const SeatedGroup&, const SeatedGroup&) = default;
};

/// How the GPU is cut for a template: its layout with the compute instances of its domains; nothing
/// = MIG off.
GpuCut cut_of(const gpu::SharingCatalogue& catalogue, std::size_t sharing);

/// kBlocked, naming the first job that can run alone in no template of one seat, and why.
Status check_each_fits(const GroupTimer& timer);

/// What one group takes by the problem's clock; nothing = impossible there.
std::optional<Duration> group_time(const GroupTimer& timer, const SeatedGroup& group);

/// What groups in sequence take, switches between cuts included; nothing if one is impossible.
std::optional<Duration> groups_time(const GroupTimer& timer, std::span<const SeatedGroup> groups);

/// Lays groups out in time: before each, the GPU is switched to its cut (destructions, then a
/// change of MIG mode, then creations, one after another; what both cuts have stays); then all its
/// jobs start; the next switch begins when its last job has ended. An instance stays one instance
/// of the schedule as long as it exists. With kSteadyState each run is laid out over its group's
/// time, at the one speed that does its work in it.
///
/// Groups are those of a window problem, every job in one of them, and possible (group_time() has a
/// value for each); anything else is a programmer error. Same `groups`, same schedule; its makespan
/// is groups_time().
plan::Schedule make_group_schedule(const GroupTimer& timer, std::span<const SeatedGroup> groups);

}  // namespace septule::optimize
