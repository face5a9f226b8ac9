#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "serve/fleet_master.hpp"

namespace septule::serve {

/// Whole numbers for a stage: GPUs by FleetMaster::layouts(), counts by tenant.
struct FleetAssignment {
  std::vector<int> layouts;
  std::vector<SizeTable<int>> instances;
  double cost = 0;  ///< in the stage's terms
};

struct FleetSearchOptions {
  FleetAssignment seed;  ///< a plan of the stage, with its cost
  /// A plan will do whose reward, `reward_all` less its cost, is this share of itself below what is
  /// possible at most. Relative to what the plan has, not to `reward_all`, which may be a thousand
  /// times as much.
  double gap_share = 0;
  double reward_all = 0;

  double gap_of(double cost) const { return gap_share * std::max(0.0, reward_all - cost); }
};

struct FleetSearchResult {
  FleetAssignment best;
  /// No plan costs less. For Values::kWhole a whole number.
  double bound = 0;
};

/// Branch and price over a FleetMaster. At each node: the relaxation; a plan rounded from it
/// (layouts by largest fraction, then tenants by the weight of their heaviest column, the rest with
/// the cheapest cover that fits what is left); then a branch on the layout, else on the tenant's
/// count, that is farthest from whole, the nearer side first, then
/// whichever node left has the least bound. Complete: where every
/// count is whole, covering is linear and reward concave, so the relaxation's plan is one.
/// Ties: lowest index. Ends when the bound is reached or the budget is spent.
class FleetSearch {
 public:
  FleetSearch(const FleetProblem& problem, FleetMaster& master, FleetSearchOptions options);

  Result<FleetSearchResult> run(WorkBudget& budget);

 private:
  struct Open {
    FleetNode node;
    double bound = 0;
    std::int64_t number = 0;
  };

  static bool is_later(const Open& a, const Open& b);
  bool take_next();
  void push(Open nearer, Open farther);
  double cost_max() const;
  double whole_bound(double bound) const;
  void consider(FleetAssignment found);
  double visit(const Open& open, WorkBudget& budget);
  void round_to_whole(const NodeSolution& solution, WorkBudget& budget);
  std::vector<int> round_layouts(const NodeSolution& solution, int total) const;
  std::optional<FleetAssignment> fill(const NodeSolution& solution,
                                      std::vector<int> layouts,
                                      WorkBudget& budget) const;
  void use_what_is_left(FleetAssignment& plan, SizeTable<int>& free, WorkBudget& budget) const;
  bool branch_on_layout(const Open& open, const NodeSolution& solution);
  bool branch_on_tenant(const Open& open, const NodeSolution& solution);

  const FleetProblem& problem_;
  FleetMaster& master_;
  FleetSearchOptions options_;
  std::vector<Open> open_;    // a heap, the least bound on top
  std::optional<Open> next_;  // visited before all of them
  std::int64_t pushed_ = 0;
  FleetAssignment best_;
  double unseen_ = 0;  // least bound of nodes that were given up
  double root_bound_ = 0;
};

/// Whether the layouts hold the instances, there are GPUs enough, and rates are served where the
/// stage demands it.
bool is_possible(const FleetProblem& problem,
                 const FleetMaster& master,
                 const FleetAssignment& assignment);

/// What such a plan costs in a stage. The layouts must hold the instances.
double cost_of(const FleetProblem& problem,
               const FleetStage& stage,
               const FleetAssignment& assignment);

}  // namespace septule::serve
