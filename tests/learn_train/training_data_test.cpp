#include "learn_train/training_data.hpp"

#include <cmath>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learn_train/network_trainer.hpp"
#include "learn_train/synthetic_data.hpp"
#include "support/shared_data.hpp"

namespace septule::learn_train {
namespace {

using test::parsed_synthetic_data;
using test::synthetic_data;
using test::SyntheticData;
using testing::HasSubstr;

std::string fault_of(const SyntheticData& data) {
  const auto parsed = parse_training_data(data.files);
  EXPECT_FALSE(parsed.has_value());
  return parsed ? "" : parsed.error().message;
}

void replace_first(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

TEST(TrainingData, Synthetic_ReadsJobsRowsAndSpeeds) {
  // Aim: what is in the files arrives: classes, speeds relative to 7g, what does not fit, rows.
  const TrainingData data = parsed_synthetic_data(40);
  ASSERT_EQ(data.classes.size(), 5U);
  EXPECT_EQ(data.rows.size(), 80U);
  EXPECT_EQ(data.families(), (std::vector<std::string>{"alpha", "beta"}));
  EXPECT_TRUE(data.is_dummy(4));
  EXPECT_DOUBLE_EQ(data.classes[0].speed[1].value_or(0), 0.1000 / 0.1200);
  EXPECT_DOUBLE_EQ(data.classes[0].speed[4].value_or(0), 0.2);
  EXPECT_FALSE(data.classes[1].speed[4].has_value());
  EXPECT_FALSE(data.classes[4].speed[3].has_value());
  EXPECT_DOUBLE_EQ(data.classes[2].counters.footprint_mib.value_or(0), 2000);
  EXPECT_EQ(first_permutations(data).size(), 40U);
  EXPECT_EQ(data.digest, parsed_synthetic_data(40).digest);
  EXPECT_NE(data.digest, parsed_synthetic_data(40, 8).digest);
}

TEST(TrainingData, Matrix_ShowsWhatIsAskedFor) {
  // Aim: fillers, counters and the smallest slice are in the matrix only where asked for.
  const TrainingData data = parsed_synthetic_data(40);
  const TrainingRow& row = data.rows[0];
  const auto plain = matrix_of(data, row, {});
  EXPECT_EQ(plain.present_count(), kColumns);
  EXPECT_FALSE(plain.smallest[0].has_value());
  EXPECT_FALSE(plain.counters[0].sm_percent.has_value());
  const auto rich = matrix_of(data,
                              row,
                              {.fillers = Fillers::kAbsent,
                               .counters = MatrixContents::Part::kShown,
                               .smallest = MatrixContents::Part::kShown});
  EXPECT_EQ(rich.present_count(), static_cast<std::size_t>(row.active));
  for (std::size_t column = 0; column < kColumns; ++column) {
    EXPECT_EQ(rich.smallest[column].has_value(), !data.is_dummy(row.classes[column]));
    EXPECT_EQ(rich.counters[column].power_watts.has_value(), !data.is_dummy(row.classes[column]));
  }
  EXPECT_TRUE(predict::check_mps_matrix(rich).is_ok());
}

TEST(TrainingData, BadFiles_AreOneClearError) {
  // Aim: each way in which files can be wrong is said with file, place and value.
  const SyntheticData good = synthetic_data(20);
  const auto broken = [&](std::size_t file, std::string_view from, std::string_view to) {
    SyntheticData data = good;
    replace_first(data.files[file].text, from, to);
    return fault_of(data);
  };
  EXPECT_THAT(broken(0, "NUMPY", "NUMPX"), HasSubstr("unet_input.npy: is not a .npy file"));
  EXPECT_THAT(broken(1, "(40, 3, 7)", "(40, 7, 3)"),
              HasSubstr("unet_target.npy: has the shape (40, 7, 3); expected (40, 3, 7)"));
  EXPECT_THAT(broken(2, "val5", "fold"), HasSubstr("has no column \"val5\""));
  EXPECT_THAT(broken(3, "alpha,1,0.625", "alpha,1,0.7"), HasSubstr("7g is 0.6250"));
  EXPECT_THAT(broken(3, "dummy", "filler"), HasSubstr("0 rows of the model \"dummy\""));
  EXPECT_THAT(broken(4, "7g.0gb,1,0.1", "7g.0gb,0,"), HasSubstr("model alpha batch 1"));
  EXPECT_THAT(broken(4, "3g.0gb,1,0.16", "3g.0gb,1,zero"), HasSubstr("is not a number"));
  EXPECT_THAT(broken(5, "power_w", "watts"), HasSubstr("util.csv"));

  SyntheticData short_rows = good;
  short_rows.files[2].text.resize(short_rows.files[2].text.rfind("39,"));
  EXPECT_THAT(fault_of(short_rows), HasSubstr("expected (39, 3, 7), a row for each of"));

  SyntheticData cut = good;
  cut.files[0].text.resize(cut.files[0].text.size() - 4);
  EXPECT_THAT(fault_of(cut), HasSubstr("bytes of values; its shape (40, 3, 7) asks for 3360"));

  SyntheticData nan = good;
  nan.files[0].text.replace(nan.files[0].text.size() - 4, 4, std::string("\x00\x00\xC0\x7F", 4));
  EXPECT_THAT(fault_of(nan), HasSubstr("row 39 column 6: nan is not valid"));
}

TEST(TrainingData, BrokenInvariants_AreErrors) {
  // Aim: rows that contradict themselves are refused: fold of a mix, jobs counted, targets.
  SyntheticData folds = synthetic_data(20);
  replace_first(folds.files[2].text, "\n1,", "\n1,9");  // another number of jobs: not 1..7
  EXPECT_THAT(fault_of(folds), HasSubstr(": n_active: "));

  SyntheticData mix = synthetic_data(20);
  const std::size_t second = mix.files[2].text.find("\n1,") + 3;
  const std::size_t comma = mix.files[2].text.find(",0,0,0,", second);
  mix.files[2].text.replace(comma, 7, ",0,0,1,");
  EXPECT_THAT(fault_of(mix), HasSubstr("mix 0 was in fold 0 before"));

  SyntheticData target = synthetic_data(20);
  target.files[1] = target.files[0];
  EXPECT_THAT(fault_of(target),
              HasSubstr("unet_input.npy: row 0 column 0: 7g is 0.2696; class 2 (beta:1) has 1"));
}

TEST(TrainingSplit, ByMix_KeepsMixesTogetherAndFoldsApart) {
  // Aim: a mix is in one part only, a fold's rows are scored once, and all rows are used.
  const TrainingData data = parsed_synthetic_data(200);
  std::set<int> scored;
  for (int fold = 0; fold < kFolds; ++fold) {
    const TrainingSplit split = split_by_mix(data, fold);
    EXPECT_EQ(split.train.size() + split.validate.size() + split.scored.size(), data.rows.size());
    EXPECT_FALSE(split.validate.empty());
    EXPECT_LT(split.validate.size(), split.train.size() / 4);
    std::array<std::set<int>, 3> mixes;
    const std::array<const std::vector<int>*, 3> parts = {
        &split.train, &split.validate, &split.scored};
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (const int row : *parts[part]) {
        mixes[part].insert(data.rows[static_cast<std::size_t>(row)].mix);
      }
    }
    for (const int mix : mixes[2]) {
      EXPECT_FALSE(mixes[0].contains(mix) || mixes[1].contains(mix));
    }
    for (const int mix : mixes[1]) {
      EXPECT_FALSE(mixes[0].contains(mix));
    }
    scored.insert(split.scored.begin(), split.scored.end());
  }
  EXPECT_EQ(scored.size(), data.rows.size());
}

TEST(TrainingSplit, ByFamily_HidesTheFamilyFromTraining) {
  // Aim: no row of the training has a job of the family that is left out.
  const TrainingData data = parsed_synthetic_data(200);
  const TrainingSplit split = split_by_family(data, "alpha");
  EXPECT_FALSE(split.train.empty());
  for (const auto* part : {&split.train, &split.validate}) {
    for (const int row : *part) {
      for (const int job_class : data.rows[static_cast<std::size_t>(row)].classes) {
        EXPECT_NE(data.classes[static_cast<std::size_t>(job_class)].model, "alpha");
      }
    }
  }
}

TEST(TrainingData, SharedData_IsAsPublished) {
  // Aim: the published arrays pass every check of miso.md 16 and have the documented sizes.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/unet_input.npy");
  const auto data = test::shared_training_data(path.parent_path());
  ASSERT_TRUE(data.has_value()) << data.error().message;
  EXPECT_EQ(data->rows.size(), 11200U);
  EXPECT_EQ(data->classes.size(), 33U);
  EXPECT_EQ(data->families().size(), 8U);
  EXPECT_EQ(first_permutations(*data).size(), 2240U);
  std::array<int, kFolds> rows{};
  for (const TrainingRow& row : data->rows) {
    ++rows[static_cast<std::size_t>(row.fold)];
  }
  EXPECT_EQ(rows, (std::array<int, kFolds>{2220, 2300, 2190, 2325, 2165}));
}

}  // namespace
}  // namespace septule::learn_train
