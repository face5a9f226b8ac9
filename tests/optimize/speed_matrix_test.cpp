#include "optimize/speed_matrix.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/plan_support.hpp"

namespace septule::optimize {
namespace {

class SpeedMatrixTest : public test::CatalogueTest {};

TEST_F(SpeedMatrixTest, BadFigures_AreNotTaken) {
  // Aim: the invariant holds whatever is set.
  SpeedMatrix matrix(1);
  ASSERT_TRUE(matrix.set_speed(0, ProfileIndex(0), 0.5));
  for (const double bad : {-1.0,
                           1e-7,
                           1001.0,
                           std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(matrix.set_speed(0, ProfileIndex(0), bad)) << bad;
    EXPECT_FALSE(matrix.set_weight(0, bad)) << bad;
  }
  EXPECT_EQ(matrix.speed(0, ProfileIndex(0)), 0.5);
  EXPECT_EQ(matrix.weight(0), 1.0);
}

TEST_F(SpeedMatrixTest, Pack_TakesOneToSevenJobs) {
  // Aim: the table's size limits are an input error, not a crash.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  std::vector<plan::JobSpeeds> jobs;
  EXPECT_FALSE(SpeedMatrix::pack(a100, jobs).has_value());
  for (int j = 0; j < 7; ++j) {
    jobs.push_back(test::even_job(a100, "job", 0.1 * (j + 1)));
    jobs.back().weight = j + 1;
    const Result<SpeedMatrix> matrix = SpeedMatrix::pack(a100, jobs);
    ASSERT_TRUE(matrix.has_value());
    EXPECT_EQ(matrix->job_count(), j + 1);
    EXPECT_EQ(matrix->speed(j, ProfileIndex(2)), 0.1 * (j + 1));
    EXPECT_EQ(matrix->weight(j), j + 1);
  }
  jobs.push_back(jobs.front());
  EXPECT_THAT(SpeedMatrix::pack(a100, jobs).error().message, ::testing::HasSubstr("8 jobs"));
  jobs.resize(1);
  jobs[0].speed[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(SpeedMatrix::pack(a100, jobs).error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace septule::optimize
