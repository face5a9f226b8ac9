#include "plan/job_speeds.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/plan_support.hpp"

namespace septule::plan {
namespace {

using ::testing::HasSubstr;

class JobSpeedsTest : public test::CatalogueTest {};

TEST_F(JobSpeedsTest, Speeds_OnlyZeroOrTheRange) {
  // Aim: figures that break the optimizers' arithmetic never come in.
  EXPECT_TRUE(is_valid_speed(0.0));
  EXPECT_TRUE(is_valid_speed(-0.0));
  EXPECT_TRUE(is_valid_speed(kSpeedMin));
  EXPECT_TRUE(is_valid_speed(kSpeedMax));
  for (const double bad : {-1e-6,
                           0.9e-6,
                           1000.1,
                           std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::denorm_min()}) {
    EXPECT_FALSE(is_valid_speed(bad)) << bad;
    EXPECT_FALSE(is_valid_weight(bad)) << bad;
  }
  EXPECT_FALSE(is_valid_weight(0.0));
}

TEST_F(JobSpeedsTest, Check_NamesJobProfileAndValue) {
  // Aim: a bad table is refused with what is wrong and what would be valid.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  std::vector<JobSpeeds> jobs{test::even_job(a100, "good", 0.5), test::even_job(a100, "bert", 0.5)};
  EXPECT_TRUE(check_job_speeds(a100, jobs).is_ok());
  jobs[1].speed[static_cast<std::size_t>(profile("2g.10gb").value())] = -3;
  const Status bad_speed = check_job_speeds(a100, jobs);
  ASSERT_FALSE(bad_speed.is_ok());
  EXPECT_EQ(bad_speed.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(bad_speed.error().message, HasSubstr("bert"));
  EXPECT_THAT(bad_speed.error().message, HasSubstr("-3"));
  EXPECT_THAT(bad_speed.error().message, HasSubstr("2g.10gb"));
  jobs[1] = test::even_job(a100, "bert", 0.5);
  jobs[1].weight = 0;
  EXPECT_THAT(check_job_speeds(a100, jobs).error().message, HasSubstr("weight 0"));
  jobs[1].weight = 1;
  jobs[1].speed.pop_back();
  EXPECT_THAT(check_job_speeds(a100, jobs).error().message, HasSubstr("profiles"));
}

TEST_F(JobSpeedsTest, MemoryFit_ZeroesWhatIsTooSmallAndSaysSo) {
  // Aim: exactly the profiles below the job's memory lose their speed, and each is reported.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  std::vector<JobSpeeds> jobs{test::even_job(a100, "free", 0.5), test::even_job(a100, "big", 0.5)};
  const auto small = static_cast<std::size_t>(profile("1g.5gb").value());
  jobs[1].memory = Bytes(a100.profiles()[small].memory.value().value() + 1);
  const std::vector<MemoryMisfit> misfits = apply_memory_fit(a100, jobs);
  std::size_t zeroed = 0;
  for (std::size_t i = 0; i < jobs[1].speed.size(); ++i) {
    const bool is_small = a100.profiles()[i].memory.value() < *jobs[1].memory;
    EXPECT_EQ(jobs[1].speed[i], is_small ? 0.0 : 0.5);
    EXPECT_EQ(jobs[0].speed[i], 0.5);
    zeroed += is_small ? 1U : 0U;
  }
  ASSERT_EQ(misfits.size(), zeroed);
  ASSERT_GE(zeroed, 1U);
  EXPECT_EQ(misfits.front().job, 1U);
  EXPECT_EQ(misfits.front().cause, MemoryMisfit::Cause::kTooSmall);
  EXPECT_THAT(misfit_text(a100, jobs, misfits.front()), HasSubstr("big"));
  EXPECT_TRUE(apply_memory_fit(a100, jobs).empty()) << "a second time changes nothing";
}

TEST_F(JobSpeedsTest, MemoryFit_ExactlyEnoughFits) {
  // Aim: the border is inclusive.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  std::vector<JobSpeeds> jobs{test::even_job(a100, "exact", 0.5)};
  const auto small = static_cast<std::size_t>(profile("1g.5gb").value());
  jobs[0].memory = a100.profiles()[small].memory;
  (void)apply_memory_fit(a100, jobs);
  EXPECT_EQ(jobs[0].speed[small], 0.5);
}

TEST_F(JobSpeedsTest, MemoryFit_UnknownProfileMemoryIsNotAFit) {
  // Aim: on every GPU, a profile without published memory is zeroed and reported as such.
  for (const gpu::Geometry& geometry : catalogue_.geometries()) {
    std::vector<JobSpeeds> jobs{test::even_job(geometry, "job", 0.5)};
    jobs[0].memory = Bytes(1);
    std::size_t unknown = 0;
    for (const gpu::GpuInstanceProfile& row : geometry.profiles()) {
      unknown += row.memory.has_value() ? 0U : 1U;
    }
    const std::vector<MemoryMisfit> misfits = apply_memory_fit(geometry, jobs);
    EXPECT_EQ(misfits.size(), unknown) << geometry.key();
    for (const MemoryMisfit& misfit : misfits) {
      EXPECT_EQ(misfit.cause, MemoryMisfit::Cause::kMemoryUnknown);
      EXPECT_THAT(misfit_text(geometry, jobs, misfit), HasSubstr("not published"));
    }
  }
}

}  // namespace
}  // namespace septule::plan
