#include "serve/policies/share_search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "base/check.hpp"

namespace septule::serve {

namespace {

bool can_serve(const ShareTenant& tenant) {
  return std::ranges::any_of(tenant.rate_rps, [](double rate) { return rate > 0; });
}

/// Least share that carries `kappa` x what is expected; nothing = none does.
std::optional<int> share_for(const ShareTenant& tenant, double kappa) {
  for (std::size_t step = 1; step < tenant.rate_rps.size(); ++step) {
    // rate / expected >= kappa, written as the breakpoints are, so that a breakpoint meets itself.
    if (tenant.rate_rps[step] > 0 &&
        (tenant.expected_rps <= 0 || tenant.rate_rps[step] / tenant.expected_rps >= kappa)) {
      return static_cast<int>(step);
    }
  }
  return std::nullopt;
}

std::optional<std::vector<int>> shares_for(std::span<const ShareTenant> tenants,
                                           int grid_steps,
                                           double kappa) {
  std::vector<int> steps;
  for (const ShareTenant& tenant : tenants) {
    const std::optional<int> share = can_serve(tenant) ? share_for(tenant, kappa) : 0;
    if (!share.has_value()) {
      return std::nullopt;
    }
    steps.push_back(*share);
  }
  if (std::accumulate(steps.begin(), steps.end(), 0) > grid_steps) {
    return std::nullopt;
  }
  return steps;
}

}  // namespace

ShareSearchResult search_shares(std::span<const ShareTenant> tenants,
                                int grid_steps,
                                double headroom) {
  SEPTULE_CHECK(grid_steps > 0, "the grid has steps");
  std::vector<double> breakpoints;
  for (const ShareTenant& tenant : tenants) {
    SEPTULE_CHECK(tenant.rate_rps.size() == static_cast<std::size_t>(grid_steps) + 1,
                  "the table of rates covers the grid");
    for (const double rate : tenant.rate_rps) {
      if (rate > 0 && tenant.expected_rps > 0) {
        breakpoints.push_back(rate / tenant.expected_rps);
      }
    }
  }
  std::ranges::sort(breakpoints);
  ShareSearchResult result;
  if (breakpoints.empty()) {
    result.kappa = std::numeric_limits<double>::infinity();
  } else {
    // Feasibility falls with kappa: the last feasible breakpoint is the answer.
    const auto last = std::ranges::partition_point(breakpoints, [&](double kappa) {
      return shares_for(tenants, grid_steps, kappa).has_value();
    });
    result.kappa = last == breakpoints.begin() ? 0 : *(last - 1);
  }
  const std::optional<std::vector<int>> steps =
      shares_for(tenants, grid_steps, std::min(result.kappa, headroom));
  // More tenants than steps: the first ones get a step each.
  result.steps = steps.value_or(std::vector<int>(tenants.size(), 0));
  if (!steps.has_value()) {
    for (int m = 0; m < std::min(grid_steps, static_cast<int>(tenants.size())); ++m) {
      result.steps[static_cast<std::size_t>(m)] = 1;
    }
  }
  result.left_over = grid_steps - std::accumulate(result.steps.begin(), result.steps.end(), 0);
  return result;
}

}  // namespace septule::serve
