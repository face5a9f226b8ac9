#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "optimize/group_time.hpp"
#include "optimize/window_optimizer.hpp"
#include "plan/schedule.hpp"

namespace septule::optimize {

/// A stretch of a schedule in which the GPU is cut by one template. A plain value.
struct LaidPhase {
  std::size_t shape = 0;  ///< index into SharingCatalogue::templates
  Duration length;        ///< from the first start to the last end
};

/// A schedule's instances, made and unmade between phases, and where the phases lie. `schedule` has
/// no runs and no groups yet. A plain value.
struct PhaseLayout {
  plan::Schedule schedule;
  std::vector<SimTime> begins;  ///< of each phase; switching is over
  /// Index into schedule.instances by phase and domain of its template.
  std::vector<std::vector<std::size_t>> instances;
};

/// Lays phases one after another from how the GPU is cut at the begin, with what switching costs
/// (switch_costs.hpp): what the next phase has too stays; the rest is unmade, then what is missing
/// is made, one after another. Changing MIG mode belongs to the making of the whole GPU or of the
/// first instance. The makespan is the end of the last phase.
PhaseLayout lay_out_phases(const WindowProblem& problem, std::span<const LaidPhase> phases);

/// Adds a run for each of `jobs` (one for each seat of the domain, kNoJob for none) that begin
/// together in an instance, by the problem's clock. With kSteadyState each is laid out over its
/// group's time, at the one speed that does its work in it. Possible jobs only (GroupTimer::time()
/// has a value); `group` needs its begin and end.
void lay_out_together(const GroupTimer& timer,
                      std::size_t domain,
                      std::span<const std::size_t> jobs,
                      const plan::ScheduledGroup& group,
                      std::size_t instance,
                      std::vector<plan::ScheduledRun>& out);

}  // namespace septule::optimize
