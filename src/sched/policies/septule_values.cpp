#include "sched/policies/septule_values.hpp"

#include <algorithm>
#include <cmath>

#include "base/portable_math.hpp"

namespace septule::sched {

namespace {

/// Keeps log(speed) above zero for all speeds from e^-30 (1e-13) on.
constexpr double kLogOffset = 30;
/// Of a place in which a job fits but is believed to stand still: better than none.
constexpr double kLeastUtility = 1e-9;

std::size_t at(job::JobId job) {
  return static_cast<std::size_t>(job.value());
}

const gpu::PlacedProfile* place_of(const GpuGoal& goal, job::JobId job) {
  if (goal.purpose != GoalPurpose::kRun) {
    return nullptr;
  }
  const Slot* slot = goal.find(job);
  if (slot == nullptr || slot->instance == Slot::kWholeGpu) {
    return nullptr;
  }
  return &goal.instances[static_cast<std::size_t>(slot->instance)];
}

}  // namespace

SeptuleValues::SeptuleValues(const gpu::Geometry& geometry,
                             const AdmissionTable& admission,
                             SeptuleAim aim,
                             const SeptuleTuning& tuning,
                             int jobs_max)
    : geometry_(&geometry),
      admission_(&admission),
      aim_(aim),
      tuning_(tuning),
      ages_(static_cast<std::size_t>(jobs_max)) {}

int SeptuleValues::smallest_rank(const SeptuleCall& call, job::JobId job) const {
  return admission_->rank_of(
      call.context.predictor.smallest(job).value_or(admission_->whole_profile()));
}

bool SeptuleValues::is_all_known(const SeptuleCall& call, const GpuGoal& goal) {
  return std::ranges::all_of(goal.slots,
                             [&](const Slot& slot) { return is_known(call, slot.job); });
}

predict::SpeedRow SeptuleValues::row(const SeptuleCall& call, job::JobId job) const {
  if (const predict::SpeedRow* known = call.context.predictor.speeds(job); known != nullptr) {
    return *known;
  }
  return assumed_row(call, job, Shape::kRoot);
}

predict::SpeedRow SeptuleValues::assumed_row(const SeptuleCall& call,
                                             job::JobId job,
                                             Shape shape) const {
  predict::SpeedRow row;
  const double all = geometry_->compute_slices().value();
  for (int rank = smallest_rank(call, job); rank < admission_->rank_count(); ++rank) {
    const ProfileIndex profile = admission_->profile_of(rank);
    const double part = geometry_->profile(profile).slices.value() / all;
    row.speed[static_cast<std::size_t>(profile.value())] = shape == Shape::kFlat   ? 1
                                                           : shape == Shape::kRoot ? std::sqrt(part)
                                                                                   : part;
  }
  return row;
}

// ---- values

double SeptuleValues::useful_seconds(const SeptuleCall& call, job::JobId job) const {
  const Age& its = ages_[at(job)];
  return its.useful_s + its.speed * (call.context.now - its.since).to_seconds();
}

void SeptuleValues::run_at(const SeptuleCall& call, job::JobId job, double speed) {
  Age& its = ages_[at(job)];
  its.useful_s = useful_seconds(call, job);
  its.since = call.context.now;
  its.speed = speed;
}

double SeptuleValues::weight(const SeptuleCall& call, job::JobId job) const {
  const double useful = useful_seconds(call, job);
  if (aim_ == SeptuleAim::kSpeed) {
    return std::sqrt(tuning_.age_scale_s / (useful + tuning_.age_scale_s));
  }
  const double passed = (call.context.now - call.view.job(job).spec->submit).to_seconds();
  const double slowdown =
      std::max(1.0, (passed + tuning_.slowdown_scale_s) / (useful + tuning_.slowdown_scale_s));
  return slowdown * slowdown;
}

double SeptuleValues::utility(double speed) const {
  if (!(speed > 0)) {
    return kLeastUtility;
  }
  return std::max(kLeastUtility,
                  aim_ == SeptuleAim::kSpeed ? speed : kLogOffset + portable_log(speed));
}

double SeptuleValues::value_at(const SeptuleCall& call, const GpuGoal& goal, job::JobId job) const {
  const gpu::PlacedProfile* place = place_of(goal, job);
  return place == nullptr ? 0 : weight(call, job) * utility(row(call, job).on(place->profile));
}

double SeptuleValues::value_of(const SeptuleCall& call, const GpuGoal& goal) const {
  double value = 0;
  for (const Slot& slot : goal.slots) {
    value += value_at(call, goal, slot.job);
  }
  return value;
}

double SeptuleValues::move_cost(const SeptuleCall& call,
                                const GpuGoal& goal,
                                job::JobId job) const {
  const gpu::PlacedProfile* place = place_of(goal, job);
  if (place == nullptr) {
    return 0;
  }
  // The share of its horizon that a moved job stands still costs so much of its speed; and of the
  // logarithm of its speed, to first order, the share itself.
  const double share = tuning_.move_factor * loss_s_ / horizon_s();
  const double worth =
      aim_ == SeptuleAim::kSpeed ? utility(row(call, job).on(place->profile)) : 1.0;
  return weight(call, job) * worth * share;
}

void SeptuleValues::add(const SeptuleCall& call,
                        const GpuGoal* goal,
                        job::JobId job,
                        const predict::SpeedRow& speeds,
                        SeptuleProblem& out) const {
  optimize::PlacedProblem::Job entry;
  const double importance = weight(call, job);
  // Never below the smallest profile in which it fits, whatever is believed of its speed there.
  for (int rank = smallest_rank(call, job); rank < admission_->rank_count(); ++rank) {
    const auto profile = static_cast<std::size_t>(admission_->profile_of(rank).value());
    entry.value[profile] = importance * utility(speeds.speed[profile]);
  }
  if (goal != nullptr) {
    if (const gpu::PlacedProfile* place = place_of(*goal, job); place != nullptr) {
      entry.current = *place;
      entry.move_cost = move_cost(call, *goal, job);
    }
  }
  out.problem.jobs.push_back(entry);
  out.jobs.push_back(job);
}

void SeptuleValues::pose(const SeptuleCall& call, const GpuGoal& goal, SeptuleProblem& out) const {
  out.clear();
  for (const Slot& slot : goal.slots) {
    add(call, &goal, slot.job, row(call, slot.job), out);
  }
}

void SeptuleValues::add_arrival(const SeptuleCall& call,
                                job::JobId job,
                                SeptuleProblem& out) const {
  add(call, nullptr, job, row(call, job), out);
}

// ---- learning

void SeptuleValues::learn_loss(Duration seen) {
  loss_s_ += tuning_.blend * (seen.to_seconds() - loss_s_);
}

void SeptuleValues::learn_horizon(Duration seen) {
  horizon_s_ += tuning_.blend * (seen.to_seconds() - horizon_s_);
}

double SeptuleValues::horizon_s() const {
  return std::clamp(horizon_s_, tuning_.horizon_min_s, tuning_.horizon_max_s);
}

}  // namespace septule::sched
