// predict::MpsMatrix: what an MPS co-run measured, and what of it is refused.
#include "predict/mps_matrix.hpp"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace septule::predict {
namespace {

MpsMatrix two_jobs() {
  MpsMatrix matrix;
  for (const int atp : {100, 50, 14}) {
    MpsMatrix::Level level{.atp = ActiveThreadPercentage(atp), .step = {}};
    level.step[0] = 0.5;
    level.step[4] = 200.0 / atp;
    matrix.levels.push_back(level);
  }
  return matrix;
}

void expect_refused(const MpsMatrix& matrix, const std::string& what) {
  const Status status = check_mps_matrix(matrix);
  ASSERT_FALSE(status.is_ok()) << what;
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(status.error().message.find(what), std::string::npos) << status.error().message;
}

TEST(MpsMatrix_Columns, ArePresentWithOneTime) {
  // A column counts as a job if any level has a time for it.
  MpsMatrix matrix = two_jobs();
  EXPECT_TRUE(check_mps_matrix(matrix).is_ok());
  EXPECT_EQ(matrix.present_count(), 2U);
  EXPECT_TRUE(matrix.is_present(4));
  EXPECT_FALSE(matrix.is_present(1));
  matrix.levels[0].step[4].reset();
  matrix.levels[1].step[4].reset();
  EXPECT_TRUE(matrix.is_present(4));
  matrix.levels[2].step[4].reset();
  EXPECT_FALSE(matrix.is_present(4));
  EXPECT_EQ(matrix.present_count(), 1U);
}

TEST(MpsMatrix_WrongTime, NamesLevelAndColumn) {
  // Times are finite numbers above 0; the message says where the other one is.
  for (const double wrong : {0.0,
                             -1.0,
                             std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    MpsMatrix matrix = two_jobs();
    matrix.levels[1].step[4] = wrong;
    expect_refused(matrix, "the step time at 50 % of column 5 is");
  }
}

TEST(MpsMatrix_WrongLevels, AreRefused) {
  // None, too many, out of range, twice.
  expect_refused({}, "there are 0 levels");
  MpsMatrix matrix = two_jobs();
  for (const int atp : {0, 101, -1}) {
    matrix.levels[0].atp = ActiveThreadPercentage(atp);
    expect_refused(matrix, "an active thread percentage is");
  }
  matrix.levels[0].atp = ActiveThreadPercentage(14);
  expect_refused(matrix, "the level 14 % is there twice");
  matrix.levels.assign(kMatrixLevelsMax + 1, MpsMatrix::Level{});
  expect_refused(matrix, "there are 17 levels");
}

TEST(MpsMatrix_WithoutJob, IsRefused) {
  // Seven empty columns say nothing.
  MpsMatrix matrix;
  matrix.levels.resize(1);
  expect_refused(matrix, "no column has a step time");
}

TEST(MpsMatrix_WrongCounter, NamesItAndTheColumn) {
  // Counters are checked even where the column is absent: nothing is ignored silently.
  MpsMatrix matrix = two_jobs();
  matrix.counters[0] = {
      .sm_percent = 100, .memory_percent = 0, .power_watts = 1, .footprint_mib = 1};
  EXPECT_TRUE(check_mps_matrix(matrix).is_ok());
  matrix.counters[1].sm_percent = 100.5;
  expect_refused(matrix, "sm_percent of column 2 is 100.5");
  matrix = two_jobs();
  matrix.counters[6].memory_percent = std::numeric_limits<double>::quiet_NaN();
  expect_refused(matrix, "memory_percent of column 7 is nan");
  matrix = two_jobs();
  matrix.counters[0].power_watts = 0;
  expect_refused(matrix, "power_watts of column 1 is 0");
  matrix = two_jobs();
  matrix.counters[0].footprint_mib = std::numeric_limits<double>::infinity();
  expect_refused(matrix, "footprint_mib of column 1 is inf");
}

TEST(MpsMatrix_SmallestSlice, IsOneOfFive) {
  // What fits is declared by the compute slices of a plain slice.
  for (int slices = -1; slices <= 8; ++slices) {
    MpsMatrix matrix = two_jobs();
    matrix.smallest[4] = ComputeSlices(slices);
    if (slices == 1 || slices == 2 || slices == 3 || slices == 4 || slices == 7) {
      EXPECT_TRUE(check_mps_matrix(matrix).is_ok());
    } else {
      expect_refused(matrix, "the smallest slice that column 5 fits");
    }
  }
}

}  // namespace
}  // namespace septule::predict
