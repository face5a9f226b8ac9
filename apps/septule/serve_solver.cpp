#include "septule/serve_solver.hpp"

#include <chrono>
#include <memory>

#include "base/clock.hpp"
#include "live/milp_solvers.hpp"
#include "port/milp_solver.hpp"
#include "serve/fleet_plan.hpp"

namespace septule::app {

namespace {

/// The solver that --solver names; null = our own search alone. kUsage where CBC was asked for by
/// name and is not built in.
Result<std::unique_ptr<port::MilpSolver>> serve_solver(const Invocation& invocation) {
  const std::string name = invocation.text("solver");
  if (name == "built-in") {
    return std::unique_ptr<port::MilpSolver>();
  }
  std::unique_ptr<port::MilpSolver> solver = live::make_milp_solver();
  if (solver == nullptr && name == "cbc") {
    return Error{ErrorCode::kUsage,
                 "--solver: this program was built without CBC; expected auto or built-in"};
  }
  return solver;
}

/// What --time-limit, --gap and --budget say.
serve::FleetOptions fleet_options(const Invocation& invocation, port::MilpSolver* solver) {
  serve::FleetOptions options;
  options.units_max = static_cast<std::int64_t>(invocation.number("budget"));
  options.goodput_gap = invocation.number("gap");
  options.solver = solver;
  options.solver_elapsed = seconds_to_duration(invocation.number("time-limit"));
  return options;
}

}  // namespace

std::vector<OptionRecord> serve_solver_options() {
  return {{.name = "solver",
           .value = "NAME",
           .text = "Who is asked where our own search does not close the gap: cbc (where it is "
                   "built in), built-in (nobody), auto (cbc where there is one).",
           .default_text = "auto",
           .choices = {"auto", "cbc", "built-in"}},
          {.name = "time-limit",
           .value = "SECONDS",
           .text = "For how long CBC may search, by the wall clock.",
           .unit = "seconds",
           .default_text = "60",
           .min = 0.1,
           .max = 86400},
          {.name = "gap",
           .value = "SHARE",
           .text = "A goodput this close below its bound is good enough (0.01 = 1 %).",
           .default_text = "0.000001",
           .min = 0,
           .max = 1},
          {.name = "budget",
           .value = "UNITS",
           .text = "Work that our own search may do; the best found until then is the answer.",
           .default_text = "400000000",
           .min = 1,
           .max = 1e12,
           .is_integer = true}};
}

Status solve_fleet(const Invocation& invocation, serve::FleetGoal goal, FleetAnswer& answer) {
  SEPTULE_TRY(const auto solver, serve_solver(invocation));
  const serve::FleetOptions options = fleet_options(invocation, solver.get());
  const auto begin = std::chrono::steady_clock::now();
  SEPTULE_TRY(answer.plan,
              goal == serve::FleetGoal::kAllServed
                  ? serve::plan_min_gpus(answer.problem, options)
                  : serve::plan_max_goodput(answer.problem, options));
  answer.solve_time = Duration::nanoseconds(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
  return serve::check_fleet(answer.problem, answer.plan, goal);
}

}  // namespace septule::app
