#pragma once

#include <optional>
#include <vector>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "optimize/linear_program.hpp"
#include "serve/fleet_pricing.hpp"
#include "serve/fleet_problem.hpp"

namespace septule::serve {

/// What a fleet is to be cheapest by. The three questions of fleet_plan.hpp are one problem: give
/// every tenant instances, and enough GPUs in each layout for the sum of them, at least cost.
struct FleetStage {
  enum class Unserved {
    kForbidden,  ///< every tenant's whole rate is served
    kPaid,       ///< weight * accuracy for each request per second that is not
  };
  enum class Values {
    kWhole,  ///< every plan costs a whole number, so a bound may be rounded up
    kAny,
  };
  SizeTable<double> instance_cost{};
  double gpu_cost = 0;
  int gpus_max = 0;
  Unserved unserved = Unserved::kForbidden;
  Values values = Values::kWhole;

  /// The price of a request per second that is not served.
  std::optional<double> shortfall_price(const FleetTenant& tenant) const;
};

/// A part of all plans: how many GPUs have which layout, how many instances some tenants get.
struct FleetNode {
  struct TenantLimits {
    std::size_t tenant = 0;
    CountLimits limits;
  };
  std::vector<int> layout_least;  ///< by FleetMaster::layouts()
  std::vector<int> layout_most;
  std::vector<TenantLimits> tenants;  ///< by tenant; who is not there is not limited
};

/// The relaxation of a node.
struct NodeSolution {
  /// No plan of the node costs less. From the prices by our own arithmetic; infinite: no plan.
  double bound = 0;
  /// Nothing of it is left to do: the node holds no plan below the cost asked for.
  bool is_closed = false;
  std::vector<double> layouts;               ///< GPUs by layout, fractional
  std::vector<SizeTable<double>> instances;  ///< by tenant, fractional
  std::vector<SizeTable<int>> nearest;       ///< by tenant: its heaviest column
  std::vector<double> weight;                ///< by tenant: of that column
  SizeTable<double> prices{};                ///< of an instance of each size
};

/// Solves the relaxation by column generation (Dantzig-Wolfe over tenants): a column is one
/// tenant's counts, a row per size says that the layouts hold all of them, one per tenant that it
/// takes one column in all. Columns come from cheapest_cover at the prices of the rows, so the
/// relaxation is over whole covers and much tighter than that of the compact program of serving.md
/// 2.6. The bound is Lagrange's, worked out from the prices alone, so nothing rests on Clp.
/// Columns are kept for later nodes. One owner.
class FleetMaster {
 public:
  /// `problem` is valid and outlives this.
  FleetMaster(const FleetProblem& problem, FleetStage stage);

  const FleetStage& stage() const { return stage_; }
  /// Indices of the undominated multisets.
  const std::vector<int>& layouts() const { return layouts_; }
  /// Instances of each size in a GPU of this layout; an index into layouts().
  const SizeTable<int>& held_by(std::size_t layout) const;
  FleetNode root() const;
  /// A column to begin with; left out where it does not serve the tenant.
  void offer(std::size_t tenant, const SizeTable<int>& counts);

  /// Stops early once the node's bound reaches `cost_max`. Fails where Clp does.
  Result<NodeSolution> solve(const FleetNode& node, double cost_max, WorkBudget& budget);

 private:
  struct Column {
    SizeTable<int> counts{};
    double cost = 0;
  };
  struct Round;

  double scale() const;
  void add_rows_and_layouts(const FleetNode& node, Round& round) const;
  Result<bool> add_tenants(Round& round, WorkBudget& budget);
  Status generate(const FleetNode& node, double cost_max, Round& round, WorkBudget& budget);
  void price(const FleetNode& node, Round& round, WorkBudget& budget);
  NodeSolution read(const Round& round) const;
  double column_cost(std::size_t tenant, const SizeTable<int>& counts) const;
  bool add(std::size_t tenant, const SizeTable<int>& counts);
  optimize::LinearColumn line_of(std::size_t tenant, const Column& column) const;

  const FleetProblem& problem_;
  FleetStage stage_;
  std::size_t size_count_;
  std::vector<int> layouts_;
  std::vector<std::vector<Column>> columns_;  // by tenant
};

}  // namespace septule::serve
