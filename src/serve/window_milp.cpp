#include "serve/window_milp.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "serve/goodput_checker.hpp"
#include "serve/window_program.hpp"

namespace septule::serve {

namespace {

/// Equal to what floating-point numbers can tell, as goodput_checker compares figures.
constexpr double kFiguresTolerance = 1e-6;

Error without_plan(const GoodputProblem& problem, port::MilpOutcome outcome) {
  if (outcome == port::MilpOutcome::kInfeasible) {
    return Error{ErrorCode::kBlocked,
                 fmt::format("no plan of {} steps keeps the floors, the frozen instances and the "
                             "limits on changes; lower floors or more changes would help",
                             problem.step_count)};
  }
  return Error{ErrorCode::kTimedOut,
               fmt::format("the program of {} steps, {} labels and {} tenants had no plan when its "
                           "limit ended the search; a higher limit or a seed would help",
                           problem.step_count,
                           problem.labels.size(),
                           problem.tenants.size())};
}

}  // namespace

Result<GoodputPlan> plan_window_by_milp(const GoodputProblem& problem,
                                        port::MilpSolver& solver,
                                        const WindowMilpOptions& options) {
  SEPTULE_TRY_STATUS(validate(problem));
  if (problem.hand_over != HandOver::kNone) {
    return Error{ErrorCode::kInvalidInput,
                 "window: instances are handed over, which the window ILP does not plan; "
                 "hand_over must be kNone"};
  }
  const WindowProgram program(problem);
  std::vector<double> seed;
  if (options.seed != nullptr && std::cmp_equal(options.seed->layouts.size(), problem.step_count)) {
    seed = program.values(*options.seed);
  }
  SEPTULE_TRY(const port::MilpSolution solution,
              solver.solve(program.milp(), options.limits, seed));
  if (solution.values.empty()) {
    return without_plan(problem, solution.outcome);
  }
  GoodputPlan plan;
  plan.method = "window-milp";
  plan.units_spent = solution.nodes;
  plan.layouts = program.layouts(solution.values);
  plan.retrained_from.resize(problem.tenants.size());
  const GoodputJudgement counted = check_goodput_plan(problem, plan);
  plan.goodput = counted.goodput;
  plan.objective = counted.goodput + counted.terminal;
  plan.retrained_from = counted.retrained_from;
  plan.bound = std::max(solution.bound.value_or(port::kMilpUnlimited), plan.objective);
  const double slack = kFiguresTolerance * std::max(1.0, std::abs(plan.objective));
  if (solution.outcome == port::MilpOutcome::kOptimal && plan.bound <= plan.objective + slack) {
    plan.proof = GoodputProof::kOptimal;
  }
  const GoodputJudgement judgement = check_goodput_plan(problem, plan);
  if (!judgement.violations.empty()) {
    return Error{ErrorCode::kFailed,
                 fmt::format("the solver '{}' gave a plan that breaks a rule: {}",
                             solver.name(),
                             judgement.violations.front().message)};
  }
  return plan;
}

}  // namespace septule::serve
