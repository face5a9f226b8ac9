#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/goodput_problem.hpp"

namespace septule::serve {

/// What a plan breaks.
enum class GoodputFault {
  kShape,       ///< not one layout for each step, an unknown placement or label, wrong order
  kLayout,      ///< instances that do not fit beside each other
  kFrozen,      ///< a frozen instance is not there
  kChanges,     ///< more created instances in a step than allowed
  kDwell,       ///< an instance left too early
  kRetraining,  ///< two instances retrain one tenant, or retrained_from is not what comes out
  kFloor,       ///< less served than a tenant's floor
  kFigures,     ///< goodput or objective is not what comes out, a bound below, a proof without one
};
std::string_view goodput_fault_name(GoodputFault fault);

struct GoodputViolation {
  GoodputFault fault = GoodputFault::kShape;
  std::string message;  ///< one sentence with step, tenant or instance, and figures
};

/// What comes out of a plan's layouts, counted anew.
struct GoodputJudgement {
  std::vector<GoodputViolation> violations;  ///< in order of steps; empty = the plan holds
  std::vector<std::vector<double>> served;   ///< requests by tenant, then step
  std::vector<std::optional<int>> retrained_from;
  int creations = 0;
  double goodput = 0;
  double terminal = 0;  ///< objective = goodput + terminal
};

/// Independent judge of plans for one GPU over a window: legality by gpu::check_partition, and
/// readiness, service, retraining, floors, dwell, limits, frozen instances and figures instance by
/// instance and step by step, as goodput_problem.hpp states them. Shares no code with any planner.
/// The problem must be valid. Figures are compared to 1e-6 of their size. A plan of the wrong shape
/// is not counted further. Pure; any thread.
GoodputJudgement check_goodput_plan(const GoodputProblem& problem, const GoodputPlan& plan);

}  // namespace septule::serve
