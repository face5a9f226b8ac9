#include "serve/fleet_horizon.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "serve/built_in_milp.hpp"
#include "serve/fleet_step_choice.hpp"
#include "serve/indices.hpp"

namespace septule::serve {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
/// A rate that a plan was made for is served by it, but for rounding.
constexpr double kServed = 1 - 1e-8;

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalidInput, std::move(message)};
}

Status check(const FleetHorizonProblem& problem, FleetGoal goal) {
  if (problem.lattice == nullptr || problem.tenants.empty() ||
      problem.rate_rps.size() != problem.tenants.size() ||
      problem.start_cost.size() != problem.tenants.size()) {
    return invalid(
        fmt::format("{} tenants with {} series of rates and {} costs of a start; there "
                    "must be as many of each",
                    problem.tenants.size(),
                    problem.rate_rps.size(),
                    problem.start_cost.size()));
  }
  const std::size_t steps = problem.rate_rps.front().size();
  if (steps == 0 || steps > kFleetStepsMax || problem.step <= Duration()) {
    return invalid(fmt::format("{} steps of {} s, must be 1 to {} and above 0",
                               steps,
                               problem.step.to_seconds(),
                               kFleetStepsMax));
  }
  for (std::size_t tenant = 0; tenant < problem.tenants.size(); ++tenant) {
    const std::vector<double>& rates = problem.rate_rps[tenant];
    const auto is_wrong = [](double value) { return !std::isfinite(value) || value < 0; };
    if (rates.size() != steps || std::ranges::any_of(rates, is_wrong) ||
        is_wrong(problem.start_cost[tenant])) {
      return invalid(
          fmt::format("tenant '{}': {} rates for {} steps and a start that costs {}; "
                      "must be one for each step, and none below 0",
                      problem.tenants[tenant].name,
                      rates.size(),
                      steps,
                      problem.start_cost[tenant]));
    }
  }
  if (problem.current && problem.current->instances.size() != problem.tenants.size()) {
    return invalid(fmt::format("the plan in force has {} tenants, there are {}",
                               problem.current->instances.size(),
                               problem.tenants.size()));
  }
  if (!std::isfinite(problem.gpu_cost) || problem.gpu_cost < 0 ||
      (goal == FleetGoal::kAllServed && problem.gpu_cost == 0)) {
    return invalid(
        fmt::format("a GPU costs {} in a step, must be 0 or more, and above 0 where the "
                    "fewest GPUs are looked for",
                    problem.gpu_cost));
  }
  return {};
}

/// A stretch of steps that a plan is made for.
struct Stretch {
  int begin = 0;
  int end = 0;
};

/// Single steps first, then halves, quarters, ... down to pairs.
std::vector<Stretch> stretches(int steps, int plans_max) {
  std::vector<Stretch> found;
  for (int step = 0; step < steps; ++step) {
    found.push_back({step, step + 1});
  }
  for (int parts = 1; parts < steps; parts *= 2) {
    for (int part = 0; part < parts; ++part) {
      const Stretch stretch{steps * part / parts, steps * (part + 1) / parts};
      if (stretch.end - stretch.begin > 1 && std::cmp_less(found.size(), plans_max)) {
        found.push_back(stretch);
      }
    }
  }
  return found;
}

class Horizon {
 public:
  Horizon(const FleetHorizonProblem& problem, FleetGoal goal, const FleetHorizonOptions& options)
      : problem_(problem),
        goal_(goal),
        options_(options),
        steps_(static_cast<int>(problem.rate_rps.front().size())) {}

  Result<FleetHorizonPlan> run();

 private:
  /// Plans for the peaks of a stretch; tenants without requests get nothing.
  Result<FleetPlan> plan(const Stretch& stretch) const;
  Status try_plans();
  /// The plan as it serves a step; nothing where not everything asked for is served.
  std::optional<FleetPlan> in_step(const FleetPlan& plan, int step) const;
  double worth(const FleetPlan& in_step) const;
  double start_costs(const std::vector<SizeTable<int>>& before,
                     const std::vector<SizeTable<int>>& after) const;
  int starts(const std::vector<SizeTable<int>>& before,
             const std::vector<SizeTable<int>>& after) const;
  std::vector<int> best_sequence();
  FleetHorizonPlan evaluate(std::vector<FleetPlan> steps) const;
  /// Chooses each step's instances tenant by tenant, after one another; nothing where that fails.
  std::optional<FleetHorizonPlan> choose_by_tenant(double stop_share);

  const FleetHorizonProblem& problem_;
  FleetGoal goal_;
  const FleetHorizonOptions& options_;
  int steps_;
  std::vector<FleetPlan> plans_;
  FleetHorizonPlan out_;
};

Result<FleetPlan> Horizon::plan(const Stretch& stretch) const {
  FleetProblem fleet{.lattice = problem_.lattice, .tenants = {}, .gpu_count = problem_.gpu_count};
  std::vector<std::size_t> asked;
  for (std::size_t tenant = 0; tenant < problem_.tenants.size(); ++tenant) {
    const std::vector<double>& rates = problem_.rate_rps[tenant];
    const double peak =
        *std::max_element(rates.begin() + stretch.begin, rates.begin() + stretch.end);
    if (peak > 0) {
      asked.push_back(tenant);
      fleet.tenants.push_back(problem_.tenants[tenant]);
      fleet.tenants.back().rate_rps = peak;
    }
  }
  FleetPlan whole;
  whole.instances.resize(problem_.tenants.size());
  whole.is_optimal = true;
  if (asked.empty()) {
    return whole;
  }
  SEPTULE_TRY(FleetPlan part,
              goal_ == FleetGoal::kAllServed ? plan_min_gpus(fleet, options_.plan)
                                             : plan_max_goodput(fleet, options_.plan));
  for (std::size_t index = 0; index < asked.size(); ++index) {
    whole.instances[asked[index]] = part.instances[index];
  }
  part.instances = std::move(whole.instances);
  return part;
}

Status Horizon::try_plans() {
  const double step_s = problem_.step.to_seconds();
  for (const Stretch& stretch : stretches(steps_, options_.plans_max)) {
    const bool is_single = stretch.end - stretch.begin == 1;
    Result<FleetPlan> planned = plan(stretch);
    if (!planned && is_single) {
      return Error{planned.error().code,
                   fmt::format("step {}: {}", stretch.begin, planned.error().message)};
    }
    if (!planned) {
      continue;  // the peaks of a stretch may be too much for the fleet
    }
    out_.units_spent += planned->units_spent;
    if (is_single) {
      out_.bound += goal_ == FleetGoal::kAllServed ? -problem_.gpu_cost * planned->gpus_bound
                                                   : step_s * planned->goodput_bound;
    }
    plans_.push_back(std::move(planned).value());
  }
  if (problem_.current &&
      problem_.current->gpus <= problem_.gpu_count.value_or(problem_.current->gpus)) {
    plans_.push_back(*problem_.current);
  }
  out_.plans_tried = static_cast<int>(plans_.size());
  return {};
}

std::optional<FleetPlan> Horizon::in_step(const FleetPlan& plan, int step) const {
  FleetPlan serving = plan;
  serving.served_rps.assign(problem_.tenants.size(), 0);
  serving.goodput_rps = 0;
  for (std::size_t tenant = 0; tenant < problem_.tenants.size(); ++tenant) {
    const FleetTenant& who = problem_.tenants[tenant];
    double capacity = 0;
    for (std::size_t size = 0; size < problem_.lattice->sizes().size(); ++size) {
      capacity += who.throughput[size] * plan.instances[tenant][size];
    }
    const double rate = problem_.rate_rps[tenant][at(step)];
    if (goal_ == FleetGoal::kAllServed && capacity < rate * kServed) {
      return std::nullopt;
    }
    serving.served_rps[tenant] = std::min(rate, capacity);
    serving.goodput_rps += who.weight * who.accuracy * serving.served_rps[tenant];
  }
  return serving;
}

double Horizon::worth(const FleetPlan& in_step) const {
  const double goodput =
      goal_ == FleetGoal::kAllServed ? 0 : problem_.step.to_seconds() * in_step.goodput_rps;
  return goodput - problem_.gpu_cost * in_step.gpus;
}

double Horizon::start_costs(const std::vector<SizeTable<int>>& before,
                            const std::vector<SizeTable<int>>& after) const {
  double cost = 0;
  for (std::size_t tenant = 0; tenant < after.size(); ++tenant) {
    for (std::size_t size = 0; size < kSizesMax; ++size) {
      cost += problem_.start_cost[tenant] * std::max(0, after[tenant][size] - before[tenant][size]);
    }
  }
  return cost;
}

int Horizon::starts(const std::vector<SizeTable<int>>& before,
                    const std::vector<SizeTable<int>>& after) const {
  int count = 0;
  for (std::size_t tenant = 0; tenant < after.size(); ++tenant) {
    for (std::size_t size = 0; size < kSizesMax; ++size) {
      count += std::max(0, after[tenant][size] - before[tenant][size]);
    }
  }
  return count;
}

/// Dynamic program over steps and plans; which plan each step has.
std::vector<int> Horizon::best_sequence() {
  const std::size_t count = plans_.size();
  std::vector<std::vector<double>> between(count, std::vector<double>(count, 0));
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = 0; to < count; ++to) {
      between[from][to] = start_costs(plans_[from].instances, plans_[to].instances);
    }
  }
  std::vector<double> best(count, kNever);
  std::vector<std::vector<int>> came_from(at(steps_), std::vector<int>(count, -1));
  for (int step = 0; step < steps_; ++step) {
    std::vector<double> next(count, kNever);
    for (std::size_t to = 0; to < count; ++to) {
      const std::optional<FleetPlan> serving = in_step(plans_[to], step);
      if (!serving) {
        continue;
      }
      double reached = kNever;
      if (step == 0) {
        reached =
            problem_.current ? -start_costs(problem_.current->instances, plans_[to].instances) : 0;
      }
      for (std::size_t from = 0; step > 0 && from < count; ++from) {
        if (best[from] - between[from][to] > reached) {
          reached = best[from] - between[from][to];
          came_from[at(step)][to] = static_cast<int>(from);
        }
      }
      next[to] = reached + worth(*serving);
    }
    best = std::move(next);
  }
  auto last = static_cast<int>(std::ranges::max_element(best) - best.begin());
  std::vector<int> sequence(at(steps_));
  for (int step = steps_ - 1; step >= 0; --step) {
    sequence[at(step)] = last;
    last = came_from[at(step)][at(last)];
  }
  return sequence;
}

/// The figures of a sequence of plans.
FleetHorizonPlan Horizon::evaluate(std::vector<FleetPlan> steps) const {
  FleetHorizonPlan plan;
  std::vector<SizeTable<int>> before =
      problem_.current ? problem_.current->instances : steps.front().instances;
  for (int step = 0; step < steps_; ++step) {
    FleetPlan& chosen = steps[at(step)];
    plan.steps.push_back(checked_value(in_step(chosen, step), "a chosen plan serves its step"));
    plan.starts.push_back(starts(before, chosen.instances));
    plan.value += worth(plan.steps.back()) - start_costs(before, chosen.instances);
    before = std::move(chosen.instances);
  }
  return plan;
}

std::optional<FleetHorizonPlan> Horizon::choose_by_tenant(double stop_share) {
  BuiltInMilp built_in({.nodes_max = options_.nodes_max});
  port::MilpSolver& solver = options_.plan.solver != nullptr ? *options_.plan.solver : built_in;
  FleetStepChoice choice{.goal = goal_, .stop_share = stop_share};
  choice.pool.resize(problem_.tenants.size());
  for (std::size_t tenant = 0; tenant < problem_.tenants.size(); ++tenant) {
    choice.pool[tenant].emplace_back();  // nothing at all
    for (const FleetPlan& plan : plans_) {
      if (std::ranges::find(choice.pool[tenant], plan.instances[tenant]) ==
          choice.pool[tenant].end()) {
        choice.pool[tenant].push_back(plan.instances[tenant]);
      }
    }
  }
  std::vector<FleetPlan> steps;
  for (int step = 0; step < steps_; ++step) {
    choice.step = step;
    if (step > 0) {
      choice.before = &steps.back().instances;
    } else if (problem_.current) {
      choice.before = &problem_.current->instances;
    }
    Result<FleetPlan> chosen =
        choose_step(problem_,
                    choice,
                    solver,
                    {.elapsed = options_.plan.solver_elapsed, .gap_relative = options_.step_gap});
    if (!chosen) {
      return std::nullopt;
    }
    out_.units_spent += chosen->units_spent;
    steps.push_back(std::move(chosen).value());
  }
  return evaluate(std::move(steps));
}

Result<FleetHorizonPlan> Horizon::run() {
  SEPTULE_TRY_STATUS(try_plans());
  std::vector<FleetPlan> steps;
  for (const int plan : best_sequence()) {
    steps.push_back(plans_[at(plan)]);
  }
  FleetHorizonPlan best = evaluate(std::move(steps));
  for (const double stop_share : {0.0, 0.5, 1.0}) {
    if (best.value >= out_.bound) {
      break;
    }
    std::optional<FleetHorizonPlan> other = choose_by_tenant(stop_share);
    if (other.has_value() && other->value > best.value) {
      best = *std::move(other);
    }
  }
  best.bound = std::max(out_.bound, best.value);
  best.plans_tried = out_.plans_tried;
  best.units_spent = out_.units_spent;
  return best;
}

}  // namespace

Result<FleetHorizonPlan> plan_fleet_horizon(const FleetHorizonProblem& problem,
                                            FleetGoal goal,
                                            const FleetHorizonOptions& options) {
  SEPTULE_TRY_STATUS(check(problem, goal));
  return Horizon(problem, goal, options).run();
}

}  // namespace septule::serve
