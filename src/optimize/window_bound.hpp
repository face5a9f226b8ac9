#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "base/work_budget.hpp"
#include "optimize/window_optimizer.hpp"

namespace septule::optimize {

/// Companies that a bound looks at one by one, at most: a few seconds.
inline constexpr std::int64_t kCompaniesMax = 2500000;

/// A time below which no schedule of a window comes, and what proves it.
struct WindowBound {
  Duration lower_bound;
  /// How much longer the bound gets for a nanosecond more of each job's work (solo time): its dual
  /// prices, >= 0. bound = sum of price x solo time, unless one job alone takes longer.
  std::vector<double> prices;
  int rounds = 0;             ///< of column generation
  bool is_converged = false;  ///< nothing better comes out of this kind of proof
};

/// A lower bound for every schedule of the problem whose GPU is, at each moment, cut and shared by
/// a template of the catalogue with any of its seats empty: with barriers or without, refilled or
/// not, whatever switching costs. For kSteadyState it holds for groups by that clock.
///
/// Proof: let each job j have a price p_j for a nanosecond of its work. In one nanosecond a
/// template earns the sum of p_j x rate_j over those that run; let z be the most that any template
/// earns with any jobs in its seats. A schedule earns the sum of p_j x solo_j altogether, so it
/// takes at least that / z. Any prices >= 0 prove a bound. Good ones are the dual solution of the
/// linear program over all companies (templates with jobs in their seats), solved by column
/// generation: Clp proposes prices, z is always found by this code alone, so that nothing rests on
/// the solver. Nor does a job run faster than in its best company. Floating-point error is allowed
/// for by a part of 1e-9 and a nanosecond for each job.
///
/// z is worked out in one of two ways:
/// - Where all companies are at most kCompaniesMax (16 jobs by 4 on an A100; 50 jobs without
///   compute instances that share a GPU instance): the rates of every set of jobs in every
///   combination of seats, seats of a domain left empty included; a template earns most by the best
///   choice of sets without a common job. See company_pricing.hpp.
/// - Larger windows of a model that keeps predict::CompanyLaw::kDelaysAddUp: rates in pairs only,
///   see pair_pricing.hpp. Weaker, because a job may then help itself.
/// - Otherwise there is no bound (nothing).
/// Memory and sharing rules are kept to; the fairness floor is not looked at (a floor only makes
/// schedules longer).
/// Cost: a unit for each company asked or priced. When the budget ends the best bound so far
/// counts. Fails like check_window_problem(), and with kBlocked where a job runs nowhere.
Result<std::optional<WindowBound>> bound_window(const WindowProblem& problem, WorkBudget& budget);

}  // namespace septule::optimize
