#pragma once

#include <span>
#include <vector>

namespace septule::serve {

/// One tenant for the search of shares.
struct ShareTenant {
  /// Rate within the SLO by steps of the grid, 0 .. steps; [0] is 0. Need not be monotone.
  std::vector<double> rate_rps;
  double expected_rps = 0;
};

/// Shares by tenant in steps of the grid.
struct ShareSearchResult {
  double kappa = 0;        ///< greatest load factor that fits; infinity if nobody is expected
  std::vector<int> steps;  ///< for min(kappa, headroom); their sum is at most the grid's
  int left_over = 0;       ///< steps that nobody needs
};

/// Astraea's search (ASPLOS'22, as emulated in serving.md 3.2): share(m, k) is the least share, at
/// least one step, with rate >= k x expected; kappa is the greatest k with sum of shares <= the
/// grid. Only k at which some share just suffices can be greatest, so the bisection runs over those
/// (tenants x grid values) and kappa is exact. Tenants with no rate at all have share 0 and count
/// for nothing. Cost: O(T G log(T G)) for T tenants and G steps.
ShareSearchResult search_shares(std::span<const ShareTenant> tenants,
                                int grid_steps,
                                double headroom);

}  // namespace septule::serve
