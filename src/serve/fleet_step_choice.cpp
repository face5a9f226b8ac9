#include "serve/fleet_step_choice.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "serve/indices.hpp"

namespace septule::serve {

namespace {

/// What a tenant's set serves of its rate counts as all of it, but for rounding.
constexpr double kServed = 1 - 1e-8;

/// Columns: GPUs by undominated layout, then one for each tenant and set that may be chosen.
class StepProgram {
 public:
  StepProgram(const FleetHorizonProblem& problem, const FleetStepChoice& choice)
      : problem_(problem), choice_(choice) {
    milp_.goal = port::MilpGoal::kMaximise;
    add_layouts();
    for (int tenant = 0; std::cmp_less(tenant, choice.pool.size()); ++tenant) {
      add_tenant(tenant);
    }
    if (problem.gpu_count) {
      port::MilpRow row{.upper = static_cast<double>(*problem.gpu_count), .entries = {}};
      for (int column = 0; std::cmp_less(column, layouts_.size()); ++column) {
        row.entries.push_back({column, 1});
      }
      milp_.rows.push_back(std::move(row));
    }
  }

  const port::MilpProblem& milp() const { return milp_; }

  FleetPlan plan(const std::vector<double>& values) const {
    FleetPlan plan;
    for (std::size_t index = 0; index < layouts_.size(); ++index) {
      if (const int gpus = static_cast<int>(values[index]); gpus > 0) {
        plan.layouts.push_back({layouts_[index], gpus});
        plan.gpus += gpus;
      }
    }
    plan.instances.resize(choice_.pool.size());
    for (std::size_t column = layouts_.size(); column < values.size(); ++column) {
      if (values[column] > 0.5) {
        const auto& [tenant, set] = chosen_[column - layouts_.size()];
        plan.instances[at(tenant)] = choice_.pool[at(tenant)][set];
        for (std::size_t size = 0; size < problem_.lattice->sizes().size(); ++size) {
          plan.gpcs +=
              plan.instances[at(tenant)][size] * problem_.lattice->sizes()[size].slices.value();
        }
      }
    }
    return plan;
  }

 private:
  /// Each size has no more instances given to tenants than the layouts hold.
  void add_layouts() {
    const auto multisets = problem_.lattice->multisets();
    milp_.rows.resize(problem_.lattice->sizes().size());
    for (port::MilpRow& row : milp_.rows) {
      row.lower = 0;
    }
    for (int index = 0; std::cmp_less(index, multisets.size()); ++index) {
      if (!multisets[at(index)].is_undominated) {
        continue;
      }
      const auto column = static_cast<int>(layouts_.size());
      layouts_.push_back(index);
      milp_.columns.push_back({.cost = -problem_.gpu_cost, .lower = 0});
      for (std::size_t size = 0; size < milp_.rows.size(); ++size) {
        if (const int count = multisets[at(index)].counts[size]; count > 0) {
          milp_.rows[size].entries.push_back({column, static_cast<double>(count)});
        }
      }
    }
  }

  void add_tenant(int tenant) {
    const FleetTenant& who = problem_.tenants[at(tenant)];
    const double rate = problem_.rate_rps[at(tenant)][at(choice_.step)];
    port::MilpRow one{.lower = 1, .upper = 1, .entries = {}};
    for (std::size_t set = 0; set < choice_.pool[at(tenant)].size(); ++set) {
      const SizeTable<int>& counts = choice_.pool[at(tenant)][set];
      double capacity = 0;
      double moves = 0;
      for (std::size_t size = 0; size < kSizesMax; ++size) {
        capacity += who.throughput[size] * counts[size];
        if (choice_.before != nullptr) {
          const int change = counts[size] - (*choice_.before)[at(tenant)][size];
          moves += change > 0 ? change : -choice_.stop_share * change;
        }
      }
      if (choice_.goal == FleetGoal::kAllServed && capacity < rate * kServed) {
        continue;
      }
      const double goodput =
          choice_.goal == FleetGoal::kAllServed
              ? 0
              : problem_.step.to_seconds() * who.weight * who.accuracy * std::min(rate, capacity);
      const auto column = static_cast<int>(milp_.columns.size());
      milp_.columns.push_back(
          {.cost = goodput - problem_.start_cost[at(tenant)] * moves, .lower = 0, .upper = 1});
      chosen_.emplace_back(tenant, set);
      one.entries.push_back({column, 1});
      for (std::size_t size = 0; size < problem_.lattice->sizes().size(); ++size) {
        if (counts[size] > 0) {
          milp_.rows[size].entries.push_back({column, -static_cast<double>(counts[size])});
        }
      }
    }
    milp_.rows.push_back(std::move(one));
  }

  const FleetHorizonProblem& problem_;
  const FleetStepChoice& choice_;
  port::MilpProblem milp_;
  std::vector<int> layouts_;                         // multiset of each layout column
  std::vector<std::pair<int, std::size_t>> chosen_;  // tenant and set of the other columns
};

}  // namespace

Result<FleetPlan> choose_step(const FleetHorizonProblem& problem,
                              const FleetStepChoice& choice,
                              port::MilpSolver& solver,
                              const port::MilpLimits& limits) {
  const StepProgram program(problem, choice);
  SEPTULE_TRY(const port::MilpSolution solution, solver.solve(program.milp(), limits, {}));
  if (solution.values.empty()) {
    const bool is_infeasible = solution.outcome == port::MilpOutcome::kInfeasible;
    return Error{is_infeasible ? ErrorCode::kBlocked : ErrorCode::kTimedOut,
                 fmt::format("step {}: no choice of instances {}",
                             choice.step,
                             is_infeasible ? "fits the fleet" : "was found within the limit")};
  }
  FleetPlan plan = program.plan(solution.values);
  plan.units_spent = solution.nodes;
  return plan;
}

}  // namespace septule::serve
