#include "serve/fleet_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.hpp"

namespace septule::serve {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// A bound so close above a whole number may be that number.
constexpr double kWholeTolerance = 1e-6;
/// A value so close to a whole number is taken for it.
constexpr double kWholeValue = 1e-6;
/// Rounding tries so many numbers of GPUs.
constexpr int kTotalsMax = 8;

double distance_to_whole(double value) {
  return std::abs(value - std::round(value));
}

bool fits(const SizeTable<int>& counts, const SizeTable<int>& free) {
  for (std::size_t s = 0; s < kSizesMax; ++s) {
    if (counts[s] > free[s]) {
      return false;
    }
  }
  return true;
}

void take(const SizeTable<int>& counts, SizeTable<int>& free) {
  for (std::size_t s = 0; s < kSizesMax; ++s) {
    free[s] -= counts[s];
  }
}

void give_back(const SizeTable<int>& counts, SizeTable<int>& free) {
  for (std::size_t s = 0; s < kSizesMax; ++s) {
    free[s] += counts[s];
  }
}

CountLimits& limits_of(FleetNode& node, std::size_t tenant) {
  const auto at = std::ranges::lower_bound(
      node.tenants, tenant, {}, [](const FleetNode::TenantLimits& own) { return own.tenant; });
  if (at != node.tenants.end() && at->tenant == tenant) {
    return at->limits;
  }
  return node.tenants.insert(at, {tenant, {}})->limits;
}

}  // namespace

double cost_of(const FleetProblem& problem,
               const FleetStage& stage,
               const FleetAssignment& assignment) {
  double cost =
      stage.gpu_cost * std::accumulate(assignment.layouts.begin(), assignment.layouts.end(), 0);
  for (std::size_t t = 0; t < problem.tenants.size(); ++t) {
    const FleetTenant& tenant = problem.tenants[t];
    for (std::size_t s = 0; s < kSizesMax; ++s) {
      cost += stage.instance_cost[s] * assignment.instances[t][s];
    }
    const double left = tenant.rate_rps - capacity_of(tenant, assignment.instances[t]);
    cost += stage.shortfall_price(tenant).value_or(0) * std::max(0.0, left);
  }
  return cost;
}

bool is_possible(const FleetProblem& problem,
                 const FleetMaster& master,
                 const FleetAssignment& assignment) {
  SizeTable<int> free{};
  int gpus = 0;
  for (std::size_t l = 0; l < assignment.layouts.size(); ++l) {
    gpus += assignment.layouts[l];
    for (std::size_t s = 0; s < kSizesMax; ++s) {
      free[s] += assignment.layouts[l] * master.held_by(l)[s];
    }
  }
  if (gpus > master.stage().gpus_max) {
    return false;
  }
  for (std::size_t t = 0; t < problem.tenants.size(); ++t) {
    const bool is_served = master.stage().unserved == FleetStage::Unserved::kPaid ||
                           covers_rate(problem.tenants[t], assignment.instances[t]);
    if (!is_served || !fits(assignment.instances[t], free)) {
      return false;
    }
    take(assignment.instances[t], free);
  }
  return true;
}

FleetSearch::FleetSearch(const FleetProblem& problem,
                         FleetMaster& master,
                         FleetSearchOptions options)
    : problem_(problem),
      master_(master),
      options_(std::move(options)),
      best_(std::move(options_.seed)),
      unseen_(kInfinite) {}

/// Nodes whose bound is at least this hold nothing of interest.
double FleetSearch::cost_max() const {
  const double gap = options_.gap_of(best_.cost);
  return best_.cost - (master_.stage().values == FleetStage::Values::kWhole
                           ? std::max(gap, 1 - kWholeTolerance)
                           : gap);
}

double FleetSearch::whole_bound(double bound) const {
  return master_.stage().values == FleetStage::Values::kWhole && std::isfinite(bound)
             ? std::ceil(bound - kWholeTolerance)
             : bound;
}

void FleetSearch::consider(FleetAssignment found) {
  SEPTULE_CHECK(is_possible(problem_, master_, found), "rounding keeps to capacity and rates");
  found.cost = cost_of(problem_, master_.stage(), found);
  if (found.cost < best_.cost) {
    best_ = std::move(found);
  }
}

Result<FleetSearchResult> FleetSearch::run(WorkBudget& budget) {
  // No cost is negative, so no plan's is.
  next_ = Open{master_.root(), 0, 0};
  bool is_root = true;
  while (take_next() && !budget.is_exhausted()) {
    const Open open = checked_value(std::exchange(next_, std::nullopt), "one was taken");
    if (open.bound < cost_max()) {
      const double bound = visit(open, budget);
      root_bound_ = std::exchange(is_root, false) ? bound : root_bound_;
    }
  }
  double bound = std::min(unseen_, best_.cost);
  if (next_.has_value()) {
    bound = std::min(bound, next_->bound);
  }
  for (const Open& left : open_) {
    bound = std::min(bound, left.bound);
  }
  // With a gap allowed, nodes just below the best plan were closed unseen.
  if (const double gap = options_.gap_of(best_.cost); gap > 0) {
    bound = std::min(bound, std::max(root_bound_, best_.cost - gap));
  }
  return FleetSearchResult{std::move(best_), whole_bound(bound)};
}

/// Goes on below the node just visited, else with the least bound of all.
bool FleetSearch::take_next() {
  if (!next_.has_value() && !open_.empty()) {
    std::ranges::pop_heap(open_, is_later);
    next_ = std::move(open_.back());
    open_.pop_back();
  }
  return next_.has_value();
}

bool FleetSearch::is_later(const Open& a, const Open& b) {
  return a.bound != b.bound ? a.bound > b.bound : a.number < b.number;
}

/// `nearer` is visited next.
void FleetSearch::push(Open nearer, Open farther) {
  farther.number = ++pushed_;
  open_.push_back(std::move(farther));
  std::ranges::push_heap(open_, is_later);
  next_ = std::move(nearer);
}

/// The node's bound.
double FleetSearch::visit(const Open& open, WorkBudget& budget) {
  const Result<NodeSolution> solved = master_.solve(open.node, cost_max(), budget);
  if (!solved) {
    unseen_ = std::min(unseen_, open.bound);
    return open.bound;
  }
  const double bound = std::max(open.bound, solved->bound);
  if (solved->is_closed) {
    return bound;
  }
  round_to_whole(*solved, budget);
  if (bound >= cost_max()) {
    return bound;
  }
  Open here{open.node, bound, 0};
  if (budget.is_exhausted()) {
    next_ = std::move(here);
  } else if (!branch_on_layout(here, *solved) && !branch_on_tenant(here, *solved)) {
    // All is whole: rounding has taken it, and what is left between cost and bound is error.
    unseen_ = std::min(unseen_, bound);
  }
  return bound;
}

void FleetSearch::round_to_whole(const NodeSolution& solution, WorkBudget& budget) {
  const FleetStage& stage = master_.stage();
  const double used = std::accumulate(solution.layouts.begin(), solution.layouts.end(), 0.0);
  int total = stage.gpu_cost > 0
                  ? static_cast<int>(std::ceil(std::max(used, solution.bound) - kWholeTolerance))
                  : stage.gpus_max;
  for (int tries = 0; tries < kTotalsMax && total <= stage.gpus_max; ++tries, ++total) {
    if (stage.gpu_cost * total > cost_max()) {
      return;
    }
    if (auto found = fill(solution, round_layouts(solution, total), budget)) {
      consider(*std::move(found));
      return;
    }
  }
}

/// Whole numbers below, then one more for the largest fraction until there are `total`.
std::vector<int> FleetSearch::round_layouts(const NodeSolution& solution, int total) const {
  std::vector<int> layouts;
  int sum = 0;
  for (const double value : solution.layouts) {
    layouts.push_back(static_cast<int>(std::floor(value + kWholeValue)));
    sum += layouts.back();
  }
  for (; sum < total; ++sum) {
    std::size_t chosen = 0;
    double most = -kInfinite;
    for (std::size_t l = 0; l < layouts.size(); ++l) {
      const double fraction = solution.layouts[l] - layouts[l];
      if (fraction > most + kWholeValue) {
        most = fraction;
        chosen = l;
      }
    }
    ++layouts[chosen];
  }
  return layouts;
}

std::optional<FleetAssignment> FleetSearch::fill(const NodeSolution& solution,
                                                 std::vector<int> layouts,
                                                 WorkBudget& budget) const {
  SizeTable<int> free{};
  for (std::size_t l = 0; l < layouts.size(); ++l) {
    for (std::size_t s = 0; s < kSizesMax; ++s) {
      free[s] += layouts[l] * master_.held_by(l)[s];
    }
  }
  FleetAssignment plan{std::move(layouts), {}, 0};
  plan.instances.resize(problem_.tenants.size());
  std::vector<std::size_t> order(problem_.tenants.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, std::greater<>(), [&](std::size_t t) { return std::round(solution.weight[t] * 1e6); });
  std::vector<std::size_t> late;
  for (const std::size_t t : order) {
    if (fits(solution.nearest[t], free)) {
      plan.instances[t] = solution.nearest[t];
      take(plan.instances[t], free);
    } else {
      late.push_back(t);
    }
  }
  CoverPrices prices;
  for (std::size_t s = 0; s < kSizesMax; ++s) {
    prices.instance[s] = master_.stage().instance_cost[s] + solution.prices[s];
  }
  for (const std::size_t t : late) {
    prices.shortfall = master_.stage().shortfall_price(problem_.tenants[t]);
    const CheapestCover found = cheapest_cover(problem_.tenants[t], prices, {.most = free}, budget);
    if (!found.cover.has_value()) {
      return std::nullopt;
    }
    plan.instances[t] = found.cover->counts;
    take(plan.instances[t], free);
  }
  if (master_.stage().unserved == FleetStage::Unserved::kPaid) {
    use_what_is_left(plan, free, budget);
  }
  return plan;
}

/// Tenants with requests unserved, dearest first, get what they can out of free instances.
void FleetSearch::use_what_is_left(FleetAssignment& plan,
                                   SizeTable<int>& free,
                                   WorkBudget& budget) const {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t t = 0; t < problem_.tenants.size(); ++t) {
    const FleetTenant& tenant = problem_.tenants[t];
    const double worth = master_.stage().shortfall_price(tenant).value_or(0);
    const double left = tenant.rate_rps - capacity_of(tenant, plan.instances[t]);
    if (left > tenant.rate_rps * kRateTolerance) {
      order.emplace_back(-worth * left, t);
    }
  }
  std::ranges::sort(order);
  for (const auto& [worth, t] : order) {
    give_back(plan.instances[t], free);
    CoverPrices prices;
    for (std::size_t s = 0; s < problem_.lattice->sizes().size(); ++s) {
      // Next to nothing: only so that no more is taken than needed.
      prices.instance[s] = -worth * 1e-9 * problem_.lattice->sizes()[s].slices.value();
    }
    prices.shortfall = master_.stage().shortfall_price(problem_.tenants[t]);
    const CheapestCover found = cheapest_cover(problem_.tenants[t], prices, {.most = free}, budget);
    if (found.cover.has_value()) {
      plan.instances[t] = found.cover->counts;
    }
    take(plan.instances[t], free);
  }
}

bool FleetSearch::branch_on_layout(const Open& open, const NodeSolution& solution) {
  std::size_t chosen = 0;
  double farthest = kWholeValue;
  for (std::size_t l = 0; l < solution.layouts.size(); ++l) {
    const double distance = distance_to_whole(solution.layouts[l]);
    if (distance > farthest + kWholeValue) {
      farthest = distance;
      chosen = l;
    }
  }
  if (farthest <= kWholeValue) {
    return false;
  }
  const double value = solution.layouts[chosen];
  Open below = open;
  below.node.layout_most[chosen] = static_cast<int>(std::floor(value));
  Open above = open;
  above.node.layout_least[chosen] = static_cast<int>(std::floor(value)) + 1;
  const bool is_above_first = value - std::floor(value) >= 0.5;
  if (is_above_first) {
    push(std::move(above), std::move(below));
  } else {
    push(std::move(below), std::move(above));
  }
  return true;
}

bool FleetSearch::branch_on_tenant(const Open& open, const NodeSolution& solution) {
  std::size_t tenant = 0;
  std::size_t size = 0;
  double farthest = kWholeValue;
  for (std::size_t t = 0; t < solution.instances.size(); ++t) {
    for (std::size_t s = 0; s < kSizesMax; ++s) {
      const double distance = distance_to_whole(solution.instances[t][s]);
      if (distance > farthest + kWholeValue) {
        farthest = distance;
        tenant = t;
        size = s;
      }
    }
  }
  if (farthest <= kWholeValue) {
    return false;
  }
  const double value = solution.instances[tenant][size];
  Open below = open;
  limits_of(below.node, tenant).most[size] = static_cast<int>(std::floor(value));
  Open above = open;
  limits_of(above.node, tenant).least[size] = static_cast<int>(std::floor(value)) + 1;
  const bool is_above_first = value - std::floor(value) >= 0.5;
  if (is_above_first) {
    push(std::move(above), std::move(below));
  } else {
    push(std::move(below), std::move(above));
  }
  return true;
}

}  // namespace septule::serve
