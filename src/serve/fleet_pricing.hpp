#pragma once

#include <limits>
#include <optional>

#include "base/work_budget.hpp"
#include "serve/fleet_problem.hpp"

namespace septule::serve {

/// Capacity so close below a rate (relative) covers it. Throughputs and rates are decimal fractions
/// whose sums are off in the last bits: without this, three times 0.1 would not serve 0.3.
inline constexpr double kRateTolerance = 1e-9;
/// Instances of one size for one tenant, at most.
inline constexpr int kInstancesOfTenantMax = 1000000;

/// Requests per second that so many instances of each size serve.
double capacity_of(const FleetTenant& tenant, const SizeTable<int>& counts);
/// Whether they serve the tenant's whole rate, within kRateTolerance.
bool covers_rate(const FleetTenant& tenant, const SizeTable<int>& counts);

/// Between how many instances of each size a tenant gets.
struct CountLimits {
  SizeTable<int> least{};
  SizeTable<int> most = all_of(kInstancesOfTenantMax);

  static constexpr SizeTable<int> all_of(int count) {
    SizeTable<int> table{};
    table.fill(count);
    return table;
  }
  bool holds(const SizeTable<int>& counts) const;
};

/// What an instance of each size costs, and what a request per second that is not served costs;
/// nothing = all must be served. All >= 0.
struct CoverPrices {
  SizeTable<double> instance{};
  std::optional<double> shortfall;
};

/// Instances for one tenant, with what they cost together with what is left unserved.
struct Cover {
  SizeTable<int> counts{};
  double cost = 0;
};

/// What cheapest_cover() found.
struct CheapestCover {
  std::optional<Cover> cover;  ///< nothing: the limits allow none, or too many were tried
  /// No cover within the limits is cheaper (infinite where there is none). Equal to the cover's
  /// cost but where the search was ended.
  double bound = std::numeric_limits<double>::infinity();
};

/// The cheapest instances that serve a tenant's rate: an integer covering knapsack over the sizes.
/// Depth-first over the sizes by price per request, cheapest first, most instances first; a branch
/// is left when even its requests at the cheapest price left cost no less than the best so far.
/// Exact. Ties: the first found. One unit per branch; ends after kUnitsOfCoverMax of them, or once
/// the budget is spent and there is a cover; the bound is then that of the branches not seen. Pure;
/// any thread.
inline constexpr std::int64_t kUnitsOfCoverMax = 200000;
CheapestCover cheapest_cover(const FleetTenant& tenant,
                             const CoverPrices& prices,
                             const CountLimits& limits,
                             WorkBudget& budget);

}  // namespace septule::serve
