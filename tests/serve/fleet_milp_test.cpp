#include "serve/fleet_milp.hpp"

#include <functional>

#include <gtest/gtest.h>

#include "serve/built_in_milp.hpp"
#include "serve/fleet_checker.hpp"
#include "serve/fleet_plan.hpp"
#include "serve/fleet_support.hpp"
#include "serve/lattice_support.hpp"

namespace septule::serve {
namespace {

using port::MilpProblem;
using port::MilpSolution;

/// A solver that answers what it is told to.
class TellingSolver final : public port::MilpSolver {
 public:
  using Answer = std::function<Result<MilpSolution>(const MilpProblem&, std::span<const double>)>;
  explicit TellingSolver(Answer answer) : answer_(std::move(answer)) {}
  std::string_view name() const override { return "telling"; }
  Result<MilpSolution> solve(const MilpProblem& problem,
                             const port::MilpLimits& /*limits*/,
                             std::span<const double> seed) override {
    return answer_(problem, seed);
  }

 private:
  Answer answer_;
};

double cost_of(const MilpProblem& program, std::span<const double> values) {
  double cost = 0;
  for (std::size_t c = 0; c < values.size(); ++c) {
    cost += program.columns[c].cost * values[c];
  }
  return cost;
}

void expect_feasible(const MilpProblem& program, std::span<const double> values) {
  ASSERT_EQ(values.size(), program.columns.size());
  for (std::size_t c = 0; c < values.size(); ++c) {
    EXPECT_GE(values[c], program.columns[c].lower);
    EXPECT_LE(values[c], program.columns[c].upper);
  }
  for (const port::MilpRow& row : program.rows) {
    double sum = 0;
    for (const port::MilpEntry& entry : row.entries) {
      sum += entry.coefficient * values[static_cast<std::size_t>(entry.column)];
    }
    EXPECT_GE(sum, row.lower - 1e-6);
    EXPECT_LE(sum, row.upper + 1e-6);
  }
}

TEST(FleetMilp, Seeds_FeasibleAtTheirCost) {
  // What a solver is given to begin with keeps to every row and costs what the stage says.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    FleetProblem problem = test::odd_fleet(test::a100(), 5, 20, seed);
    int asked = 0;
    TellingSolver solver(
        [&](const MilpProblem& program, std::span<const double> values) -> Result<MilpSolution> {
          ++asked;
          expect_feasible(program, values);
          EXPECT_GE(cost_of(program, values), 0);
          return MilpSolution{};
        });
    EXPECT_TRUE(plan_min_gpus(problem, {.units_max = 0, .solver = &solver}).has_value());
    problem.gpu_count = 1;
    EXPECT_TRUE(plan_max_goodput(problem, {.units_max = 0, .solver = &solver}).has_value());
    EXPECT_GT(asked, 0);
  }
}

TEST(FleetMilp, LyingSolver_PlanStands) {
  // Values that serve nobody are not taken for a plan, and a solver that fails does no harm.
  const FleetProblem problem = test::odd_fleet(test::a100(), 5, 20, 3);
  TellingSolver liar(
      [](const MilpProblem& program, std::span<const double> /*seed*/) -> Result<MilpSolution> {
        return MilpSolution{.outcome = port::MilpOutcome::kOptimal,
                            .values = std::vector<double>(program.columns.size(), 0)};
      });
  TellingSolver broken([](const MilpProblem&, std::span<const double>) -> Result<MilpSolution> {
    return Error{ErrorCode::kFailed, "broken"};
  });
  for (port::MilpSolver* solver :
       {static_cast<port::MilpSolver*>(&liar), static_cast<port::MilpSolver*>(&broken)}) {
    const auto plan = plan_min_gpus(problem, {.units_max = 0, .solver = solver});
    ASSERT_TRUE(plan.has_value());
    const Status checked = check_fleet(problem, *plan, FleetGoal::kAllServed);
    EXPECT_TRUE(checked.is_ok()) << checked.error().message;
    EXPECT_FALSE(plan->is_optimal);
  }
}

TEST(FleetMilp, ClosedGap_SolverNotAsked) {
  // Where our own search proves the plan, no solver's time is spent.
  const FleetProblem problem = test::odd_fleet(test::a100(), 5, 20, 3);
  TellingSolver solver([](const MilpProblem&, std::span<const double>) -> Result<MilpSolution> {
    ADD_FAILURE() << "asked";
    return MilpSolution{};
  });
  const auto plan = plan_min_gpus(problem, {.solver = &solver});
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(plan->is_optimal);
  EXPECT_EQ(plan->method, "branch-and-price");
}

TEST(FleetMilp, BuiltInSolver_ClosesTheGap) {
  // The built-in solver on the compact program gets to the same optimum.
  const FleetProblem problem = test::odd_fleet(test::a30(), 3, 5, 2);
  const auto best = plan_min_gpus(problem, {});
  BuiltInMilp solver;
  const auto helped = plan_min_gpus(problem, {.units_max = 0, .solver = &solver});
  ASSERT_TRUE(best.has_value() && helped.has_value());
  EXPECT_TRUE(helped->is_optimal);
  EXPECT_EQ(helped->gpus, best->gpus);
  EXPECT_EQ(helped->gpcs, best->gpcs);
}

}  // namespace
}  // namespace septule::serve
