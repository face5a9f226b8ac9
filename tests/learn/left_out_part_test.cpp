#include "learn/left_out_part.hpp"

#include <gtest/gtest.h>

namespace septule::learn {
namespace {

TrainingRecipe made_by(const std::string& command) {
  TrainingRecipe recipe;
  recipe.command = command;
  return recipe;
}

TEST(LeftOutPart, CommandOfTraining_SaysThePart) {
  // Aim: commands as the training writes them give fold, family or nothing left out.
  const std::string base = "septule train predictor --model ours --seed 1";
  EXPECT_EQ(left_out_part(made_by(base)), (LeftOutPart{"", ""}));
  EXPECT_EQ(left_out_part(made_by(base + " --folds mix --fold 3")), (LeftOutPart{"mix", "3"}));
  EXPECT_EQ(left_out_part(made_by(base + " --folds family --fold bert --counters --epochs 3")),
            (LeftOutPart{"family", "bert"}));
}

TEST(LeftOutPart, OtherCommand_IsUnknown) {
  // Aim: what does not name one training says nothing, and is not taken for one on all rows.
  for (const char* command : {"",
                              "drawn at random, for tests only",
                              "septule train predictorial --seed 1",
                              "septule train predictor --folds mix",
                              "septule train predictor --folds mix --fold ",
                              "septule train predictor --fold 3"}) {
    EXPECT_FALSE(left_out_part(made_by(command)).has_value()) << command;
  }
}

TEST(SeenPartWarning, EachCase_WarnsUnlessThePartWasLeftOut) {
  // Aim: silence for the part left out only; every warning names a command that would be honest.
  const std::string base = "septule train predictor --model ours --seed 1";
  EXPECT_EQ(seen_part_warning(made_by(base + " --folds mix --fold 3"), "3"), "");
  EXPECT_EQ(seen_part_warning(made_by(base + " --folds family --fold bert"), "bert"), "");
  EXPECT_EQ(
      seen_part_warning(made_by(base), "3"),
      "it was trained on all rows of the data, not without fold 3: its errors look too small "
      "here; expected weights of \"septule train predictor --folds mix --fold 3 --runs DIR\"");
  EXPECT_EQ(seen_part_warning(made_by(base + " --folds mix --fold 3"), "bert"),
            "it was trained without fold \"3\", not without family bert: its errors look too small "
            "here; expected weights of \"septule train predictor --folds family --fold bert --runs "
            "DIR\"");
  EXPECT_NE(seen_part_warning(made_by(base + " --folds family --fold bert"), "3"), "");
  EXPECT_NE(seen_part_warning(made_by(base + " --folds mix --fold 2"), "3"), "");
  EXPECT_EQ(seen_part_warning(made_by("by hand"), "3").find("its recipe does not say"), 0U);
}

}  // namespace
}  // namespace septule::learn
