#include "sched/policies/target_finder.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.hpp"
#include "plan/job_speeds.hpp"

namespace septule::sched {

namespace {

// Objectives are whole multiples of 1e-9, or means of up to seven such.
constexpr double kEqualWithin = 5e-9;

/// What a belief is worth to the optimizers: 0 where the job does not fit.
double usable_speed(double speed) {
  return speed >= plan::kSpeedMin ? std::min(speed, plan::kSpeedMax) : 0;
}

/// Puts the instances into canonical order; `chosen` is by job.
void set_places(std::span<const gpu::PlacedProfile> chosen, TargetPlaces& places) {
  places.instances.clear();
  for (const gpu::PlacedProfile& placed : chosen) {
    places.instances.push_back(placed);
  }
  std::ranges::sort(places.instances, [](const gpu::PlacedProfile& a, const gpu::PlacedProfile& b) {
    return std::pair(a.start, a.profile) < std::pair(b.start, b.profile);
  });
  for (std::size_t job = 0; job < chosen.size(); ++job) {
    const auto* found = std::ranges::find(places.instances, chosen[job]);
    places.instance_of[job] = static_cast<int>(found - places.instances.begin());
  }
}

}  // namespace

TargetFinder::TargetFinder(const gpu::Geometry& geometry,
                           PartitionChoice choice,
                           plan::ObjectiveKind objective)
    : geometry_(&geometry),
      objective_(objective),
      table_(optimize::PartitionTable::paper(geometry)) {
  if (choice == PartitionChoice::kEverything) {
    Result<optimize::SliceAssigner> made = optimize::SliceAssigner::make(geometry, {});
    SEPTULE_CHECK(made.has_value(), "only boards with a profile table are scheduled");
    assigner_.emplace(std::move(made).value());
  }
}

void TargetFinder::find(const TargetJobs& jobs, TargetPlaces& places) {
  places.is_feasible = false;
  if (jobs.speeds.empty()) {
    return;
  }
  if (assigner_.has_value()) {
    find_anywhere(jobs, places);
  } else {
    find_in_table(jobs, places);
  }
}

void TargetFinder::find_in_table(const TargetJobs& jobs, TargetPlaces& places) {
  table_.solve({.jobs = std::span(jobs.speeds.begin(), jobs.speeds.end()),
                .objective = objective_,
                .current = std::span(jobs.current.begin(), jobs.current.end())},
               answer_);
  places.is_feasible = answer_.is_feasible;
  if (!answer_.is_feasible) {
    return;
  }
  places.instances.clear();
  for (const gpu::PlacedProfile& placed : answer_.instances) {
    places.instances.push_back(placed);
  }
  places.instance_of = answer_.instance_of;
}

std::optional<double> TargetFinder::present_value(const TargetJobs& jobs) const {
  double sum = 0;
  double least = plan::kSpeedMax;
  for (std::size_t job = 0; job < jobs.speeds.size(); ++job) {
    const std::optional<gpu::PlacedProfile> place =
        job < jobs.current.size() ? jobs.current[job] : std::nullopt;
    if (!place.has_value()) {
      return std::nullopt;
    }
    const double speed = usable_speed(jobs.speeds[job]->on(place->profile));
    if (speed == 0) {
      return std::nullopt;
    }
    sum += objective_ == plan::ObjectiveKind::kMeanSlowdown ? 1 / speed : speed;
    least = std::min(least, speed);
  }
  switch (objective_) {
    case plan::ObjectiveKind::kMeanSlowdown:
      return sum / static_cast<double>(jobs.speeds.size());
    case plan::ObjectiveKind::kMaxMin:
      return least;
    case plan::ObjectiveKind::kSumOfSpeeds:
    case plan::ObjectiveKind::kWeightedSum:
      break;
  }
  return sum;
}

void TargetFinder::find_anywhere(const TargetJobs& jobs, TargetPlaces& places) {
  optimize::SpeedMatrix matrix(static_cast<int>(jobs.speeds.size()));
  for (std::size_t job = 0; job < jobs.speeds.size(); ++job) {
    for (std::size_t p = 0; p < geometry_->profiles().size(); ++p) {
      const ProfileIndex profile(static_cast<int>(p));
      const bool is_set = matrix.set_speed(
          static_cast<int>(job), profile, usable_speed(jobs.speeds[job]->on(profile)));
      SEPTULE_CHECK(is_set, "a bounded speed is valid");
    }
  }
  SEPTULE_CHECK(assigner_.has_value(), "a finder of any layout has an assigner");
  assigner_->solve(matrix, objective_, assignment_);
  places.is_feasible = assignment_.is_feasible();
  if (!places.is_feasible) {
    return;
  }
  const std::optional<double> present = present_value(jobs);
  const double gain = !present.has_value()             ? 1
                      : plan::is_maximised(objective_) ? assignment_.objective - *present
                                                       : *present - assignment_.objective;
  InlineVector<gpu::PlacedProfile, optimize::kAssignedJobsMax> chosen;
  for (std::size_t job = 0; job < jobs.speeds.size(); ++job) {
    chosen.push_back(gain > kEqualWithin
                         ? assignment_.slots[job].placed
                         : checked_value(jobs.current[job], "a present value has all places"));
  }
  set_places(std::span(chosen.begin(), chosen.end()), places);
}

}  // namespace septule::sched
