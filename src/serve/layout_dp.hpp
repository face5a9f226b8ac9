#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "serve/goodput_problem.hpp"

namespace septule::serve {

struct LayoutDpOptions {
  /// Labelled placed layouts up to which the program runs; above, labels are told apart less.
  std::int64_t states_max = 2'000'000;
  /// States of the multiset relaxation up to which it follows ages.
  std::int64_t multisets_max = 60'000;
  /// Memory for the way back; above it values are kept every sqrt(T)-th step only.
  std::size_t bytes_max = std::size_t{64} << 20U;
};

/// The exact planner of one GPU over a window without retraining: dynamic program over labelled
/// placed layouts (serving.md 2.4).
///
/// Assumptions: for no tenant is_worth_retraining() (kInvalidInput: retraining_search.hpp plans
/// those). Goodput never falls when an instance is added, so creations
/// and drops separate into closures.
/// Exact ("layout-dp", kOptimal, bound == objective): warm-ups of 0 and 1 steps, creation costs,
/// terminal value, frozen instances, floors, pair labels, the limit on changes; longer warm-ups and
/// dwell as ages of the labels as long as there are at most `states_max` states. Hand-overs too,
/// but beside warm-ups of two steps or more, of both none and one, or dwell under a limit on
/// changes: then plans are sound and count what is handed over, and the bound is multiset_bound().
/// Where a limit on changes meets labels that serve at once beside others, and beyond `states_max`:
/// - longer warm-ups become one step and a charge at creation for all that is lost at most;
/// - with a dwell of D, instances change only at steps that are phi modulo D (the best phi);
/// - labels beyond what fits are planned in the order given while they fit (method
/// "layout-dp-part"); each gives a plan that keeps every rule; the bound is multiset_bound(). The
/// budget ending: the best layout so far is held to the end of the window, bound as above. No plan
/// at all (floors, kBlocked; the first step that cannot be kept is named) is an error; kTimedOut
/// where the work ended before there was a plan that keeps the floors. Cost: one unit for each
/// state and step.
Result<GoodputPlan> plan_layouts(const GoodputProblem& problem,
                                 WorkBudget& budget,
                                 const LayoutDpOptions& options = {});

/// An upper bound on the objective: the same program on multisets of sizes instead of placed
/// layouts (221 / 775 / 2,094 states for 2 / 3 / 4 labels), with ages while they fit, without the
/// limit on changes. Retraining counts as done for nothing, as early as the work allows.
/// Where the budget ends first, what arrives at the best accuracy. Cost as above.
Result<double> multiset_bound(const GoodputProblem& problem,
                              WorkBudget& budget,
                              const LayoutDpOptions& options = {});

}  // namespace septule::serve
