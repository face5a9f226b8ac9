#pragma once

#include "base/result.hpp"
#include "port/milp_solver.hpp"
#include "serve/goodput_problem.hpp"

namespace septule::serve {

struct WindowMilpOptions {
  port::MilpLimits limits;
  /// A plan of the problem to begin with; null = none. A plan that breaks a rule is left out.
  const GoodputPlan* seed = nullptr;
};

/// Plans one GPU over a window by the window ILP (window_program.hpp), retraining included: the
/// reference for small cases that the exact programs are compared with, and what the reconstruction
/// of MIGRator's planner solves. Assumes nothing but a valid problem. The solver's answer is
/// counted anew by goodput_checker, and its bound is the plan's. Method "window-milp". Fails with
/// kInvalidInput for a problem that is not valid or with HandOver::kRelabel, kBlocked where no plan
/// keeps the floors and the other rules, kTimedOut where a limit ended the search without a plan,
/// kFailed where the solver breaks down or its plan breaks a rule. Slow at one-second steps: CBC is
/// 8 to 19 % from its bound after 75 s (serving.md 2.3).
Result<GoodputPlan> plan_window_by_milp(const GoodputProblem& problem,
                                        port::MilpSolver& solver,
                                        const WindowMilpOptions& options = {});

}  // namespace septule::serve
