#include "plan/objective.hpp"

#include <gtest/gtest.h>

namespace septule::plan {
namespace {

TEST(Objective, Names_ReadBack) {
  // Aim: every kind has a name of its own that reads back to it.
  for (const ObjectiveKind kind : {ObjectiveKind::kSumOfSpeeds,
                                   ObjectiveKind::kMeanSlowdown,
                                   ObjectiveKind::kWeightedSum,
                                   ObjectiveKind::kMaxMin}) {
    EXPECT_EQ(parse_objective(objective_name(kind)), kind);
  }
}

TEST(Objective, UnknownNames_AreRefused) {
  // Aim: nothing but the exact names is taken.
  for (const std::string_view text : {"", "SUM", "sum ", "max", "mean_slowdown"}) {
    EXPECT_EQ(parse_objective(text), std::nullopt) << text;
  }
}

TEST(Objective, Direction_OnlySlowdownIsMinimised) {
  // Aim: callers can tell which way is better.
  EXPECT_TRUE(is_maximised(ObjectiveKind::kSumOfSpeeds));
  EXPECT_TRUE(is_maximised(ObjectiveKind::kMaxMin));
  EXPECT_FALSE(is_maximised(ObjectiveKind::kMeanSlowdown));
}

}  // namespace
}  // namespace septule::plan
