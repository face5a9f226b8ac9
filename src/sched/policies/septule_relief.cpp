#include "sched/policies/septule_relief.hpp"

#include "base/check.hpp"

namespace septule::sched {

namespace {
constexpr double kTie = 1e-12;
}  // namespace

void SeptuleRelief::pull(const SeptuleCall& call, GpuId gpu) {
  for (int round = 0; round < kRoundsMax; ++round) {
    const GpuGoal& goal = goals_->peek(call, gpu);
    if (goal.purpose != GoalPurpose::kRun ||
        (goal.mode == GpuGoal::Mode::kWholeGpu && !goal.slots.empty())) {
      return;
    }
    const std::optional<Pull> best = best_pull(call, goal);
    if (!best.has_value()) {
      return;
    }
    values_->pose(call, goal, posed_);
    values_->add_arrival(call, best->job, posed_);
    goals_->run(call, gpu, posed_, best->here, "relief");
    goals_->drop(call, best->donor, best->job, "relief");
    goals_->optimise(call, best->donor);
  }
}

std::optional<SeptuleRelief::Pull> SeptuleRelief::best_pull(const SeptuleCall& call,
                                                            const GpuGoal& goal) {
  std::optional<Pull> best;
  std::size_t looked = 0;
  for (std::size_t count = SeptuleGoals::kJobsMax; count >= goal.slots.size() + kLead; --count) {
    for (auto donor = goals_->first_with(count, 0); donor.has_value();
         donor = goals_->first_with(count, donor->value() + 1)) {
      if (looked == values_->tuning().donors_max) {
        return best;
      }
      if (goals_->can_change(call, *donor)) {
        ++looked;
        consider(call, goal, *donor, best);
      }
    }
  }
  return best;
}

void SeptuleRelief::consider(const SeptuleCall& call,
                             const GpuGoal& goal,
                             GpuId donor,
                             std::optional<Pull>& best) {
  const GpuGoal& theirs = goals_->peek(call, donor);
  const double before = values_->value_of(call, goal) + values_->value_of(call, theirs);
  for (const Slot& slot : theirs.slots) {
    if (!SeptuleValues::is_known(call, slot.job)) {
      continue;
    }
    GpuGoal rest = theirs;
    rest.remove(slot.job);
    values_->pose(call, rest, posed_);
    optimize::PlacedAnswer without;
    goals_->assigner().solve(posed_.problem, without);
    values_->pose(call, goal, posed_);
    values_->add_arrival(call, slot.job, posed_);
    optimize::PlacedAnswer with;
    goals_->assigner().solve(posed_.problem, with);
    if (!with.is_feasible || !without.is_feasible) {
      continue;
    }
    const double cost =
        values_->tuning().relief_factor * values_->move_cost(call, theirs, slot.job);
    const double gain = with.value + without.value - before - cost;
    if (gain > (best.has_value() ? best->gain : 0) + kTie) {
      best = Pull{.donor = donor, .job = slot.job, .gain = gain, .here = with};
    }
  }
}

}  // namespace septule::sched
