// The way back from shared instances to instances of one job, once the queue is not congested.
#include <array>

#include "sched/policies/hierarchical.hpp"

namespace septule::sched {

namespace {
constexpr double kTie = 1e-9;
}  // namespace

double HierarchicalPolicy::worth(const SeptuleCall& call, const CompanyInstance& instance) const {
  const std::array<double, kClientsMax> speeds = speeds_of(instance);
  double value = 0;
  for (std::size_t s = 0; s < instance.seats.size(); ++s) {
    value +=
        values_.weight(call, pool_.jobs[instance.seats[s].job].id) * values_.utility(speeds[s]);
  }
  return value;
}

double HierarchicalPolicy::value_of_shared(const SeptuleCall& call, GpuId gpu) {
  known_.clear();
  make_pool(call, gpu);
  double value = 0;
  for (const CompanyInstance& instance : pool_.running) {
    value += worth(call, instance);
  }
  return value;
}

void HierarchicalPolicy::unshare(const SeptuleCall& call, GpuId gpu) {
  const GpuGoal& goal = goals_.peek(call, gpu);
  if (goal.slots.size() > SeptuleGoals::kJobsMax) {
    return;
  }
  values_.pose(call, goal, posed_);
  for (std::size_t j = 0; j < goal.slots.size(); ++j) {
    if (goal.slots[j].atp != ActiveThreadPercentage(100)) {
      posed_.problem.jobs[j].current.reset();  // its limit goes only with a restart
    }
  }
  optimize::PlacedAnswer answer;
  goals_.assigner().solve(posed_.problem, answer);
  if (answer.is_feasible && answer.value > value_of_shared(call, gpu) + kTie) {
    goals_.run(call, gpu, posed_, answer, "departure");
    note_crowd(call, gpu);
  }
}

void HierarchicalPolicy::note_crowd(const SeptuleCall& call, GpuId gpu) {
  const auto at = static_cast<std::size_t>(gpu.value());
  if (crowd_of_[at] >= 0) {
    crowds_[static_cast<std::size_t>(crowd_of_[at])].erase(at);
    crowd_of_[at] = -1;
  }
  const GpuGoal& goal = goals_.peek(call, gpu);
  if (SeptuleGoals::is_shared(goal)) {
    crowd_of_[at] = static_cast<int>(goal.slots.size());
    crowds_[goal.slots.size()].insert(at);
  }
}

void HierarchicalPolicy::relieve(const SeptuleCall& call, GpuId gpu) {
  for (int round = 0; round < SeptuleRelief::kRoundsMax; ++round) {
    const GpuGoal goal = goals_.peek(call, gpu);
    if (goal.purpose != GoalPurpose::kRun ||
        (goal.mode == GpuGoal::Mode::kWholeGpu && !goal.slots.empty()) ||
        SeptuleGoals::is_shared(goal) || goal.slots.size() >= SeptuleGoals::kJobsMax) {
      return;
    }
    const std::optional<Pull> best = best_pull(call, goal);
    if (!best.has_value()) {
      return;
    }
    values_.pose(call, goal, posed_);
    values_.add_arrival(call, best->job, posed_);
    goals_.run(call, gpu, posed_, best->here, "relief");
    goals_.drop(call, best->donor, best->job, "relief");
    note_crowd(call, best->donor);
    if (SeptuleGoals::is_shared(goals_.peek(call, best->donor))) {
      unshare(call, best->donor);
    } else {
      goals_.optimise(call, best->donor);
    }
  }
}

std::optional<HierarchicalPolicy::Pull> HierarchicalPolicy::best_pull(const SeptuleCall& call,
                                                                      const GpuGoal& goal) {
  std::optional<Pull> best;
  std::size_t looked = 0;
  for (std::size_t count = kSlotsMax; count >= goal.slots.size() + SeptuleRelief::kLead; --count) {
    for (auto donor = crowds_[count].first(); donor.has_value();
         donor = crowds_[count].first_from(*donor + 1)) {
      if (looked == values_.tuning().donors_max) {
        return best;
      }
      const GpuId gpu(static_cast<int>(*donor));
      if (goals_.can_change(call, gpu)) {
        ++looked;
        consider(call, goal, gpu, best);
      }
    }
  }
  return best;
}

void HierarchicalPolicy::consider(const SeptuleCall& call,
                                  const GpuGoal& goal,
                                  GpuId donor,
                                  std::optional<Pull>& best) {
  const GpuGoal theirs = goals_.peek(call, donor);
  const double here_before = values_.value_of(call, goal);
  known_.clear();
  make_pool(call, donor);
  for (const CompanyInstance& instance : pool_.running) {
    const double before = worth(call, instance);
    for (std::size_t s = 0; s < instance.seats.size(); ++s) {
      const job::JobId job = pool_.jobs[instance.seats[s].job].id;
      if (!SeptuleValues::is_known(call, job)) {
        continue;
      }
      CompanyInstance rest = instance;
      rest.seats.erase_at(s);
      values_.pose(call, goal, posed_);
      values_.add_arrival(call, job, posed_);
      optimize::PlacedAnswer with;
      goals_.assigner().solve(posed_.problem, with);
      if (!with.is_feasible) {
        continue;
      }
      const double cost = values_.tuning().relief_factor * values_.move_cost(call, theirs, job);
      const double gain = with.value - here_before + worth(call, rest) - before - cost;
      if (gain > (best.has_value() ? best->gain : 0) + kTie) {
        best = Pull{.donor = donor, .job = job, .gain = gain, .here = with};
      }
    }
  }
}

}  // namespace septule::sched
