#include "serve/retraining_facts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "serve/indices.hpp"

namespace septule::serve {

namespace {

bool is_trainable(const GoodputProblem& problem, std::size_t m) {
  return problem.tenants[m].retraining.has_value() &&
         std::ranges::any_of(problem.labels, [&](const Label& label) {
           return label.retrains == static_cast<int>(m) &&
                  std::ranges::any_of(label.speed, [](double speed) { return speed > 0; });
         });
}

/// The step from which a tenant's retrained model could answer if it had the GPU to itself.
std::optional<int> earliest_retrained(const GoodputProblem& problem, std::size_t m) {
  if (!is_trainable(problem, m)) {
    return std::nullopt;
  }
  const RetrainingNeed need = problem.tenants[m].retraining.value_or(RetrainingNeed{});
  double speed = 0;
  int warm_up = kGoodputStepsMax;
  for (int l = 0; l < static_cast<int>(problem.labels.size()); ++l) {
    const Label& label = problem.labels[at(l)];
    if (label.retrains != static_cast<int>(m)) {
      continue;
    }
    speed = std::max(speed, std::ranges::max(label.speed));
    const bool is_there = std::ranges::any_of(
        problem.initial, [&](const LabelledInstance& instance) { return instance.label == l; });
    warm_up = is_there ? 0 : std::min(warm_up, label.warm_up_steps);
  }
  const double steps = std::ceil(need.work_s / (speed * problem.step.to_seconds()) * (1 - 1e-9));
  const double from = std::max(need.release_step, warm_up) + steps;
  const int last = std::min(need.deadline_step, problem.step_count);
  return from <= last ? std::optional<int>(static_cast<int>(from)) : std::nullopt;
}

const LabelledInstance* frozen_trainer(const GoodputProblem& problem, std::size_t m) {
  for (const LabelledInstance& instance : problem.initial) {
    const bool is_frozen = (problem.frozen >> static_cast<unsigned>(instance.placement) & 1U) != 0;
    if (is_frozen && problem.labels[at(instance.label)].retrains == static_cast<int>(m)) {
      return &instance;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<std::optional<int>> frozen_retraining(const GoodputProblem& problem) {
  std::vector<std::optional<int>> from(problem.tenants.size());
  for (std::size_t m = 0; m < from.size(); ++m) {
    const LabelledInstance* const trainer = frozen_trainer(problem, m);
    if (trainer == nullptr || !problem.tenants[m].retraining.has_value()) {
      continue;
    }
    const RetrainingNeed need = problem.tenants[m].retraining.value_or(RetrainingNeed{});
    const int size = problem.lattice->placements()[at(trainer->placement)].size;
    const double gain =
        problem.labels[at(trainer->label)].speed[at(size)] * problem.step.to_seconds();
    double done = 0;
    const int end = std::min(need.deadline_step, problem.step_count);
    for (int t = need.release_step; t < end && !from[m].has_value(); ++t) {
      done += gain;
      if (done >= need.work_s * (1 - 1e-9)) {
        from[m] = t + 1;
      }
    }
  }
  return from;
}

bool is_worth_retraining(const GoodputProblem& problem, int tenant) {
  const GoodputTenant& who = problem.tenants[at(tenant)];
  return who.accuracy_after > who.accuracy && frozen_trainer(problem, at(tenant)) == nullptr &&
         earliest_retrained(problem, at(tenant)).has_value();
}

std::vector<std::optional<int>> free_retraining(const GoodputProblem& problem) {
  std::vector<std::optional<int>> from = frozen_retraining(problem);
  for (int m = 0; m < static_cast<int>(from.size()); ++m) {
    if (is_worth_retraining(problem, m)) {
      from[at(m)] = earliest_retrained(problem, at(m));
    }
  }
  return from;
}

double arrivals_bound(const GoodputProblem& problem) {
  double total = 0;
  for (const GoodputTenant& tenant : problem.tenants) {
    double requests = problem.terminal_steps * tenant.rate_rps.back();
    for (const double rate : tenant.rate_rps) {
      requests += rate;
    }
    total += requests * tenant.weight * std::max(tenant.accuracy, tenant.accuracy_after);
  }
  return total * problem.step.to_seconds();
}

}  // namespace septule::serve
