#include "serve/step_bound.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "serve/fleet_plan.hpp"

namespace septule::serve {

namespace {

/// Tenants with what one instance of each size gives them; rates are filled in by step.
Result<std::vector<FleetTenant>> fleet_tenants(const GoodputProblem& problem) {
  std::vector<FleetTenant> tenants;
  for (const GoodputTenant& tenant : problem.tenants) {
    const double accuracy = tenant.retraining.has_value()
                                ? std::max(tenant.accuracy, tenant.accuracy_after)
                                : tenant.accuracy;
    tenants.push_back({.name = tenant.name,
                       .rate_rps = 0,
                       .weight = tenant.weight,
                       .accuracy = accuracy,
                       .throughput = {}});
  }
  for (const Label& label : problem.labels) {
    if (label.serves.size() > 1) {
      return Error{ErrorCode::kInvalidInput,
                   "label " + label.name + " serves two tenants; expected one at most"};
    }
    for (const Label::Output& output : label.serves) {
      SizeTable<double>& own = tenants[static_cast<std::size_t>(output.tenant)].throughput;
      for (std::size_t size = 0; size < own.size(); ++size) {
        own[size] = std::max(own[size], output.rate_rps[size]);
      }
    }
  }
  return tenants;
}

/// Of one step, per second.
Result<double> bound_of(const GoodputProblem& problem,
                        const std::vector<FleetTenant>& tenants,
                        const std::vector<double>& rates,
                        int gpu_count,
                        WorkBudget& budget) {
  FleetProblem fleet{.lattice = problem.lattice, .tenants = {}, .gpu_count = gpu_count};
  for (std::size_t m = 0; m < tenants.size(); ++m) {
    const bool is_served =
        std::ranges::any_of(tenants[m].throughput, [](double rps) { return rps > 0; });
    if (rates[m] > 0 && is_served) {
      fleet.tenants.push_back(tenants[m]);
      fleet.tenants.back().rate_rps = rates[m];
    }
  }
  if (fleet.tenants.empty()) {
    return 0.0;
  }
  if (budget.units_left() <= 0) {
    return Error{ErrorCode::kTimedOut, "the work ended before every step had a bound"};
  }
  SEPTULE_TRY(const FleetPlan plan, plan_max_goodput(fleet, {.units_max = budget.units_left()}));
  budget.spend(std::max<std::int64_t>(plan.units_spent, 1));
  return plan.goodput_bound;
}

}  // namespace

Result<double> step_bound(const GoodputProblem& problem, int gpu_count, WorkBudget& budget) {
  SEPTULE_TRY_STATUS(validate(problem));
  SEPTULE_TRY(const std::vector<FleetTenant> tenants, fleet_tenants(problem));
  std::map<std::vector<double>, double> known;
  double sum = 0;
  for (int step = 0; step < problem.step_count; ++step) {
    std::vector<double> rates;
    for (const GoodputTenant& tenant : problem.tenants) {
      rates.push_back(tenant.rate_rps[static_cast<std::size_t>(step)]);
    }
    auto found = known.find(rates);
    if (found == known.end()) {
      SEPTULE_TRY(const double bound, bound_of(problem, tenants, rates, gpu_count, budget));
      found = known.emplace(std::move(rates), bound).first;
    }
    const int times = 1 + (step + 1 == problem.step_count ? problem.terminal_steps : 0);
    sum += times * found->second * problem.step.to_seconds();
  }
  return sum;
}

}  // namespace septule::serve
