#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "serve/layout_dp.hpp"

namespace septule::serve {

struct RetrainingOptions {
  LayoutDpOptions layouts;  ///< of the inference program inside
  /// Units up to which placed layouts x exact work levels are solved outright.
  std::int64_t exact_units_max = 4'000'000;
  /// Units of one joint program on multisets in the search.
  std::int64_t joint_units_max = 12'000'000;
  /// Units of all joint programs for the bound, for each number of tenants followed.
  std::int64_t bound_units_max = 250'000'000;
  int passes_max = 2;  ///< over the tenants
  int places_max = 4;  ///< ways to place the runs that are tried to the end
};

/// The planner of one GPU over a window, retraining included (serving.md 2.5). Without retraining
/// that is worth it, plan_layouts().
///
/// Steps:
/// 1. If it fits into `exact_units_max`: the joint program on placed layouts x exact work levels
///    ("joint-dp", kOptimal unless the limit on changes interferes; with HandOver::kRelabel only
///    where warm-ups are one step and there is no dwell).
/// 2. Bound: the least of multiset_bound() (retraining for nothing) and the joint programs on
///    multisets x work levels rounded up, of one, two and three tenants together as far as they
///    fit, the others retrained for nothing; `bound_method` says which.
/// 3. Search ("retraining-descent"): joint programs on multisets x steps of one run decide
///    who retrains on which size and when, of all tenants together (three at most) if that fits,
///    else of two or one beside what the others have, in turn, until a pass gains nothing. Every
///    way to place the runs is compared by the room it leaves, and the best are solved to the end
///    by LayoutProgram; so is doing without retraining.
/// Certificate: kOptimal if the plan reaches the bound. Errors as plan_layouts(). Ties: the first
/// of equals. Cost: that of the programs; where the budget ends the best plan so far stands.
Result<GoodputPlan> plan_window(const GoodputProblem& problem,
                                WorkBudget& budget,
                                const RetrainingOptions& options = {});

/// The bound of step 2 alone, with its kind.
struct WindowBound {
  double value = 0;
  std::string_view method;  ///< "multisets", "joint-multisets", "arrivals"
};
Result<WindowBound> window_bound(const GoodputProblem& problem,
                                 WorkBudget& budget,
                                 const RetrainingOptions& options = {});

}  // namespace septule::serve
