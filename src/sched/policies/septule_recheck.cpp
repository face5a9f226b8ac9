#include "sched/policies/septule_recheck.hpp"

#include <algorithm>

namespace septule::sched {

namespace {

double run_seconds(const PolicySetup& setup) {
  const CharacterisationPlan& plan = setup.characterisation.levels.empty()
                                         ? default_characterisation(setup.setting)
                                         : setup.characterisation;
  return static_cast<double>(plan.levels.size()) * plan.per_level.to_seconds();
}

}  // namespace

SeptuleRecheck::SeptuleRecheck(const PolicySetup& setup, SeptuleValues& values, SeptuleGoals& goals)
    : values_(&values),
      goals_(&goals),
      gap_(setup.recharacterise_gap),
      run_s_(run_seconds(setup)),
      states_(static_cast<std::size_t>(setup.gpu_count)) {}

void SeptuleRecheck::characterised(const SeptuleCall& call, GpuId gpu) {
  State& its = state(gpu);
  its.is_suspected = false;
  its.has_run = true;
  its.run_at = call.context.now;
}

void SeptuleRecheck::wake(const SeptuleCall& call) {
  std::erase_if(waiting_, [&](GpuId gpu) {
    State& its = state(gpu);
    if (call.context.now < its.run_at + gap_) {
      return false;
    }
    its.is_waiting = false;
    goals_->touch(gpu);
    return true;
  });
}

bool SeptuleRecheck::check(const SeptuleCall& call, GpuId gpu) {
  State& its = state(gpu);
  if (!its.is_suspected) {
    return false;
  }
  const GpuGoal& goal = goals_->peek(call, gpu);
  if (goal.purpose != GoalPurpose::kRun || goal.slots.size() < 2 ||
      SeptuleValues::is_all_known(call, goal)) {
    its.is_suspected = false;
    return false;
  }
  if (its.has_run && call.context.now < its.run_at + gap_) {
    if (!its.is_waiting) {
      its.is_waiting = true;
      waiting_.push_back(gpu);
      call.out.wakes.push_back({.time = its.run_at + gap_});
    }
    return false;
  }
  its.is_suspected = false;
  if (!(gain(call, goal) > 0)) {
    return false;
  }
  goals_->characterise(call, gpu, std::nullopt);
  return true;
}

double SeptuleRecheck::gain(const SeptuleCall& call, const GpuGoal& goal) {
  const double regret_mean = (regret(call, goal, SeptuleValues::Shape::kFlat) +
                              regret(call, goal, SeptuleValues::Shape::kLinear)) /
                             2;
  double cost = values_->value_of(call, goal) * run_s_;
  for (const Slot& slot : goal.slots) {
    cost += values_->move_cost(call, goal, slot.job) * values_->horizon_s();
  }
  return regret_mean * values_->horizon_s() - cost;
}

double SeptuleRecheck::regret(const SeptuleCall& call,
                              const GpuGoal& goal,
                              SeptuleValues::Shape shape) {
  posed_.clear();
  double now = 0;
  for (const Slot& slot : goal.slots) {
    const predict::SpeedRow row = SeptuleValues::is_known(call, slot.job)
                                      ? values_->row(call, slot.job)
                                      : values_->assumed_row(call, slot.job, shape);
    values_->add(call, &goal, slot.job, row, posed_);
    const auto& entry = posed_.problem.jobs.back();
    if (entry.current.has_value()) {
      now += entry.value[static_cast<std::size_t>(entry.current->profile.value())];
    }
  }
  optimize::PlacedAnswer best;
  goals_->assigner().solve(posed_.problem, best);
  return best.is_feasible ? std::max(0.0, best.value - now) : 0;
}

}  // namespace septule::sched
