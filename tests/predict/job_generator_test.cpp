#include "predict/job_generator.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "predict/co_run_support.hpp"

namespace septule::predict {
namespace {

using test::a100_80;

std::vector<GeneratedJob> pool_of(std::size_t count, std::uint64_t seed = 1) {
  auto made = JobGenerator(a100_80(), seed).pool(count, std::nullopt);
  SEPTULE_CHECK(made.has_value(), "a pool of any class can be drawn");
  return std::move(made).value();
}

double quantile(std::vector<double> of, double at) {
  std::ranges::sort(of);
  return of[static_cast<std::size_t>(at * static_cast<double>(of.size() - 1))];
}

TEST(JobGenerator, Job_DoesNotDependOnThePool) {
  // Aim: one more job, or a larger pool, changes no other; another seed changes all.
  const JobGenerator generator(a100_80(), 7);
  const auto pool = pool_of(50, 7);
  for (const std::size_t number : {std::size_t{0}, std::size_t{17}, std::size_t{49}}) {
    const GeneratedJob job = generator.job(number);
    EXPECT_EQ(job.name, pool[number].name);
    EXPECT_EQ(job.law.law.serial, pool[number].law.law.serial);
    EXPECT_EQ(job.traits.solo, pool[number].traits.solo);
    EXPECT_EQ(job.law.kernel, pool[number].law.kernel);
    EXPECT_NE(JobGenerator(a100_80(), 8).job(number).traits.solo, job.traits.solo);
  }
}

TEST(JobGenerator, Pool_HasThePriors) {
  // Aim: percentiles by kind (before shares shrink: those of `usable`, and of shares where little
  // shrinks), limits, and the parts of jobs with kernels and counters.
  const auto pool = pool_of(20000);
  std::map<JobKind, std::vector<double>> usable;
  std::map<JobKind, std::vector<double>> serial;
  std::vector<double> kernels;
  std::size_t counted = 0;
  for (const GeneratedJob& job : pool) {
    const SoloLaw& law = job.law.law;
    EXPECT_NEAR(law.step({}), 1, 1e-12);
    EXPECT_LE(law.serial + law.memory, 0.98 + 1e-12);
    EXPECT_GE(law.usable, 0.05);
    EXPECT_LE(law.usable, 1);
    EXPECT_GE(job.memory, Bytes::mebibytes(1024));
    EXPECT_LE(job.memory, Bytes::mebibytes(40 * 1024));
    EXPECT_GE(job.traits.solo, Duration::milliseconds(60000));
    EXPECT_LE(job.traits.solo, Duration::milliseconds(600000));
    EXPECT_EQ(job.traits.memory, job.memory);
    EXPECT_TRUE(job.traits.usable.has_value());
    EXPECT_TRUE(job.traits.job_class.has_value());
    EXPECT_EQ(job.traits.sm_percent.has_value(), job.traits.memory_percent.has_value());
    EXPECT_EQ(job.traits.kernel, job.law.kernel);
    usable[job.kind].push_back(law.usable);
    serial[job.kind].push_back(law.serial);
    if (job.law.kernel.has_value()) {
      kernels.push_back(static_cast<double>(job.law.kernel->to_nanoseconds()));
      EXPECT_GE(kernels.back(), 3e3);
      EXPECT_LE(kernels.back(), 5e6);
    }
    counted += job.traits.sm_percent.has_value() ? 1U : 0U;
  }
  const auto near = [](const std::vector<double>& of, const std::array<double, 3>& expected) {
    EXPECT_NEAR(quantile(of, .1), expected[0], 0.02);
    EXPECT_NEAR(quantile(of, .5), expected[1], 0.02);
    EXPECT_NEAR(quantile(of, .9), expected[2], 0.02);
  };
  near(usable[JobKind::kInference], {.58, .82, .96});
  near(usable[JobKind::kTraining], {.41, .66, .90});
  near(usable[JobKind::kHpc], {.10, .55, .91});
  near(serial[JobKind::kInference], {.03, .11, .32});
  EXPECT_NEAR(quantile(serial[JobKind::kTraining], .5), .39, .02);
  for (const auto& [kind, of] : usable) {
    EXPECT_NEAR(static_cast<double>(of.size()) / 20000, 1.0 / 3, 0.02);
  }
  EXPECT_NEAR(static_cast<double>(kernels.size()) / 20000, 0.9, 0.01);
  EXPECT_NEAR(static_cast<double>(counted) / 20000, 0.5, 0.015);
  EXPECT_NEAR(quantile(kernels, .5), 80e3, 4e3);
  EXPECT_NEAR(quantile(kernels, .8413), 80e3 * 3.32, 15e3);
}

TEST(JobGenerator, Classes_CanBeAskedFor) {
  // Aim: each class can be drawn, is what it says, and by name and number alone.
  const JobGenerator generator(a100_80(), 3);
  for (int i = 0; i < kJobClassCount; ++i) {
    const auto wanted = static_cast<JobClass>(i);
    const auto pool = generator.pool(20, wanted);
    ASSERT_TRUE(pool.has_value());
    for (const GeneratedJob& job : *pool) {
      EXPECT_EQ(job.traits.job_class, wanted);
    }
    EXPECT_EQ((*pool)[4].name, std::string(job_class_name(wanted)) + "-4");
    EXPECT_EQ(generator.job_of(wanted, 4)->traits.solo, (*pool)[4].traits.solo);
  }
  const auto none = JobGenerator(test::model("A30-24GB"), 3).job_of(JobClass::kMemoryIntensive, 0);
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message.find("A30-24GB"), std::string::npos);
}

TEST(PoolParts, AreSplitByJob) {
  // Aim: 60, 20 and 20 %; a window has jobs of one part, each once.
  std::map<PoolPart, int> counts;
  for (std::size_t number = 0; number < 2000; ++number) {
    ++counts[pool_part(number)];
  }
  EXPECT_EQ(counts[PoolPart::kTrain], 1200);
  EXPECT_EQ(counts[PoolPart::kValidation], 400);
  EXPECT_EQ(counts[PoolPart::kTest], 400);
  const auto pool = pool_of(300);
  Rng rng(5);
  for (const PoolPart part : {PoolPart::kTrain, PoolPart::kValidation, PoolPart::kTest}) {
    for (int i = 0; i < 50; ++i) {
      const auto window = draw_window(pool, {.part = part}, rng);
      ASSERT_TRUE(window.has_value());
      EXPECT_EQ(window->size(), 12U);
      EXPECT_EQ(std::set<std::size_t>(window->begin(), window->end()).size(), 12U);
      EXPECT_TRUE(
          std::ranges::all_of(*window, [&](std::size_t job) { return pool_part(job) == part; }));
    }
  }
}

TEST(DrawWindow, Mixes_HaveTheirClasses) {
  // Aim: at least so many of each class; too few jobs or too many classes are errors with figures.
  const auto pool = pool_of(500);
  Rng rng(6);
  const auto window =
      draw_window(pool, {.part = PoolPart::kTrain, .size = 8, .of_class = {3, 2, 0, 1}}, rng);
  ASSERT_TRUE(window.has_value());
  ASSERT_EQ(window->size(), 8U);
  for (std::size_t i = 0; i < 6; ++i) {
    const JobClass wanted = i < 3   ? JobClass::kComputeIntensive
                            : i < 5 ? JobClass::kMemoryIntensive
                                    : JobClass::kPartlyUnscalable;
    EXPECT_EQ(pool[(*window)[i]].traits.job_class, wanted);
  }
  const auto many = draw_window(pool, {.size = 2, .of_class = {3, 0, 0, 0}}, rng);
  ASSERT_FALSE(many.has_value());
  EXPECT_NE(many.error().message.find("3 jobs"), std::string::npos);
  const auto few = draw_window(pool, {.size = 200}, rng);
  ASSERT_FALSE(few.has_value());
  EXPECT_NE(few.error().message.find("test part"), std::string::npos);
  EXPECT_NE(few.error().message.find("200 are wanted"), std::string::npos);
}

}  // namespace
}  // namespace septule::predict
