#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/work_budget.hpp"
#include "serve/goodput_checker.hpp"
#include "serve/horizon_window.hpp"
#include "serve/retraining_search.hpp"
#include "serving_mixes.hpp"

namespace septule::bench {

/// What can be had of a mix with whole MIG instances if the rates of each window are known: the
/// best plan found and what no plan exceeds, both for windows one by one, each from the layout in
/// which the plan before ended, in steps of kHindsightStep_s seconds at their mean rates (so both
/// are a little above what single seconds allow). Scored windows only.
struct Hindsight {
  double goodput = 0;
  double bound = 0;
  double arrived = 0;
  double in_slo = 0;
  int retrained = 0;
};

inline constexpr int kHindsightStep_s = 5;
inline constexpr std::int64_t kHindsightUnits = 4'000'000'000;

/// One window as a problem: no creation costs, no dwell, no terminal value.
inline serve::HorizonWindow hindsight_window(const ServingMixes& mixes,
                                             const serve::HoldingContext& context,
                                             const serve::GpuHoldings& holdings,
                                             int window) {
  const int steps = mixes.window_s / kHindsightStep_s;
  std::vector<int> tenants;
  std::vector<std::vector<double>> rates;
  std::vector<serve::TenantState> states(context.tenants.size());
  for (std::size_t m = 0; m < context.tenants.size(); ++m) {
    const serve::Tenant& tenant = context.tenants[m].tenant;
    tenants.push_back(static_cast<int>(m));
    std::vector<double>& row = rates.emplace_back();
    for (int t = 0; t < steps; ++t) {
      double sum = 0;
      for (int s = 0; s < kHindsightStep_s; ++s) {
        const int second = window * mixes.window_s + t * kHindsightStep_s + s;
        sum += tenant.rate.at(SimTime::nanoseconds(std::int64_t{1'000'000'000} * second));
      }
      row.push_back(sum / kHindsightStep_s);
    }
    if (tenant.retraining) {
      states[m].retraining_left_s = tenant.retraining->work_s;
      states[m].retraining_release = SimTime();
      states[m].retraining_deadline =
          SimTime::nanoseconds(std::int64_t{1'000'000'000} * mixes.window_s);
    }
  }
  const serve::WindowShape shape{.step = Duration::milliseconds(1000 * kHindsightStep_s),
                                 .step_count = steps,
                                 .terminal_steps = 0,
                                 .churn = 0};
  serve::HorizonWindow made = serve::make_window(context,
                                                 shape,
                                                 {.now = SimTime(),
                                                  .holdings = &holdings,
                                                  .tenants = tenants,
                                                  .rates_rps = rates,
                                                  .states = states},
                                                 serve::RetrainingRule::kPlanned);
  made.problem.frozen = 0;
  made.problem.terminal_steps = 0;
  for (serve::Label& label : made.problem.labels) {
    label.creation_cost = 0;
  }
  return made;
}

inline Result<Hindsight> hindsight_of(const ServingMixes& mixes,
                                      const serve::LayoutLattice& lattice,
                                      std::span<const serve::AdmittedTenant> tenants) {
  const serve::HoldingContext context{.lattice = &lattice, .tenants = tenants};
  Hindsight out;
  serve::GpuHoldings holdings;
  for (int window = 0; window < mixes.lead_windows + mixes.windows; ++window) {
    const serve::HorizonWindow made = hindsight_window(mixes, context, holdings, window);
    WorkBudget budget(kHindsightUnits);
    SEPTULE_TRY(const serve::GoodputPlan plan, serve::plan_window(made.problem, budget));
    const serve::GoodputJudgement judged = serve::check_goodput_plan(made.problem, plan);
    SEPTULE_CHECK(judged.violations.empty(), "a plan keeps its own rules");
    holdings = made.holdings_of(plan.layouts.back(), holdings, SimTime());
    std::erase_if(holdings,
                  [](const serve::Holding& held) { return held.role == serve::Role::kRetrain; });
    if (window < mixes.lead_windows) {
      continue;
    }
    out.goodput += plan.goodput;
    out.bound += plan.bound;
    for (std::size_t m = 0; m < tenants.size(); ++m) {
      const int steps = made.problem.step_count;
      out.retrained += plan.retrained_from[m].value_or(steps + 1) <= steps ? 1 : 0;
      for (int t = 0; t < steps; ++t) {
        out.arrived +=
            made.problem.tenants[m].rate_rps[static_cast<std::size_t>(t)] * kHindsightStep_s;
        out.in_slo += judged.served[m][static_cast<std::size_t>(t)];
      }
    }
  }
  return out;
}

}  // namespace septule::bench
