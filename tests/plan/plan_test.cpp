#include "plan/plan.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace septule::plan {
namespace {

TEST(Plan_Proof, NamesDiffer) {
  // Aim: the two states of proof cannot be mistaken for each other in output.
  const std::set<std::string> names{std::string(proof_name(Proof::kNone)),
                                    std::string(proof_name(Proof::kOptimal))};
  EXPECT_EQ(names.size(), 2U);
  EXPECT_EQ(proof_name(Proof::kOptimal), "optimal");
}

TEST(Plan_Empty, ClaimsNothing) {
  // Aim: a plan nobody has filled in is infeasible, unproven and without a value.
  const Plan plan;
  EXPECT_FALSE(plan.is_feasible);
  EXPECT_FALSE(plan.objective_value.has_value());
  EXPECT_EQ(plan.proof, Proof::kNone);
  EXPECT_TRUE(plan.slots.empty());
}

}  // namespace
}  // namespace septule::plan
