#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/partition.hpp"
#include "plan/window.hpp"

namespace septule::plan {

/// A memory domain with its lifetime: a GPU instance, or the whole GPU with MIG off. Times count
/// from the begin of the schedule.
struct ScheduledInstance {
  std::optional<gpu::PlacedProfile> placed;   ///< nothing = the whole GPU, MIG off
  std::vector<gpu::ComputeInstance> compute;  ///< empty for the whole GPU
  SimTime create_begin;  ///< == usable_from where nothing had to be done (it was there already)
  SimTime usable_from;   ///< creation (and a change of MIG mode before it) is over
  SimTime usable_until;  ///< its destruction begins; == gone_at where it is not destroyed
  SimTime gone_at;       ///< destruction is over; the makespan where it is not destroyed
};

/// A stretch of a run at one speed.
struct RatePiece {
  SimTime from;
  SimTime until;    ///< > from
  double rate = 0;  ///< relative to alone on the whole GPU, MIG off; > 0
};

/// One job's run: without a break, in one seat.
struct ScheduledRun {
  std::size_t job = 0;       ///< index into the window
  std::size_t instance = 0;  ///< index into Schedule::instances
  int compute = 0;           ///< index into its compute instances; 0 for the whole GPU
  std::optional<ActiveThreadPercentage> atp;
  std::vector<RatePiece> pieces;  ///< without gaps; not empty

  SimTime begin() const { return pieces.front().from; }
  SimTime end() const { return pieces.back().until; }
};

/// Jobs that begin together and between whose groups there is a barrier.
struct ScheduledGroup {
  std::string template_name;      ///< of gpu::SharingTemplate
  SimTime begin;                  ///< its jobs start; switching to its partition is over
  SimTime end;                    ///< the last of its jobs has ended
  std::vector<std::size_t> jobs;  ///< ascending
};

/// What one GPU does with a window of jobs: instances over time and runs in them. A sequence of
/// groups with barriers has `groups`; a timeline without barriers (FAR, refilling) has none. A
/// value; schedule_checker.hpp judges it.
struct Schedule {
  const gpu::Geometry* geometry = nullptr;  ///< owned by the Catalogue
  std::vector<ScheduledInstance> instances;
  std::vector<ScheduledRun> runs;  ///< by job; each job of the window once
  std::vector<ScheduledGroup> groups;
  Duration makespan;   ///< until the last run ends
  Duration recutting;  ///< sum of all intervals in which instances are made or unmade
};

/// Fills in what follows from the rest: runs ordered by job, makespan, recutting, and the end of
/// instances that stay (usable_until and gone_at SimTime::never()), which becomes the makespan (or
/// their usable_from, where that is later).
void finish_schedule(Schedule& schedule);

/// Instances and runs as lines, in order, for messages and tests:
///   "4g.20gb@0 0 s - 1 s - 9 s - 9 s" (create_begin, usable_from, usable_until, gone_at)
///   "  a 1 s - 4 s x 0.5 (50 %)"
/// Any schedule is taken; indices that name nothing are printed as numbers.
std::string schedule_text(const Schedule& schedule, std::span<const WindowJob> jobs);

}  // namespace septule::plan
