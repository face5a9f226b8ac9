#include "predict/job_traits.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "predict/co_run_support.hpp"

namespace septule::predict {
namespace {

using test::a100_80;

SignatureModel fitted(const SoloLaw& law, const std::vector<const char*>& profiles) {
  std::vector<MeasuredStep> steps{{.profile = std::nullopt, .step = law.step({})}};
  for (const char* name : profiles) {
    const ProfileIndex profile = test::profile(a100_80(), name);
    const auto at =
        place_resources({.gpu = &a100_80(), .profile = profile}, ActiveThreadPercentage(100));
    steps.push_back({.profile = profile, .step = law.step(at->resources)});
  }
  const auto model = SignatureModel::fit(a100_80(), steps, {.solo = {}, .kernel_count = 40});
  SEPTULE_CHECK(model.has_value(), "the points are valid");
  return *model;
}

TEST(JobClass, Rule_ByHand) {
  // Aim: each branch of the rule and its limits, with rows of performance-model.md 3.1.
  const auto name = [](const SliceSpeeds& speeds) {
    const auto found = job_class_of(speeds);
    return found.has_value() ? std::string(job_class_name(*found)) : std::string("N/A");
  };
  EXPECT_EQ(name({.on_1g = .99, .on_3g = 1.0, .on_4g = 1.0}), "US");  // backprop
  EXPECT_EQ(name({.on_1g = .90, .on_3g = .2, .on_4g = .2}), "US");    // the limit itself
  EXPECT_EQ(name({.on_1g = .84, .on_3g = 1.0, .on_4g = .99}), "PU");  // heartwall
  EXPECT_EQ(name({.on_1g = .30, .on_3g = .89, .on_4g = .97}), "PU");  // gaussian
  EXPECT_EQ(name({.on_1g = .30, .on_3g = .85, .on_4g = .97}), "PU");  // the limit itself
  EXPECT_EQ(name({.on_1g = .16, .on_3g = .54, .on_4g = .73}), "CI");  // lavaMD
  EXPECT_EQ(name({.on_1g = .12, .on_3g = .51, .on_4g = .51}), "MI");  // bfs
  EXPECT_EQ(name({.on_1g = .15, .on_3g = .45, .on_4g = .53}), "CI");  // rho = 0.53
  EXPECT_EQ(name({}), "N/A");
  EXPECT_EQ(name({.on_1g = .5}), "N/A");
  EXPECT_EQ(name({.on_1g = .5, .on_3g = .7}), "N/A");
  EXPECT_EQ(name({.on_3g = .9}), "PU");
  EXPECT_EQ(name({.on_3g = 0, .on_4g = .5}), "N/A");
}

TEST(Traits, OfALaw_AreItsParts) {
  // Aim: shares of the step on the whole GPU, and the class by its slices.
  LawJob job;
  job.law = {.serial = 0.1, .compute = 0.6 * 0.5, .memory = 0.3, .usable = 0.5};
  job.kernel = Duration::nanoseconds(5000);
  const JobTraits traits = traits_of(a100_80(), job, Duration::milliseconds(7));
  EXPECT_EQ(traits.solo, Duration::milliseconds(7));
  EXPECT_DOUBLE_EQ(traits.serial_share.value_or(-1), 0.1);
  EXPECT_DOUBLE_EQ(traits.memory_share.value_or(-1), 0.3);
  EXPECT_EQ(traits.usable, 0.5);
  EXPECT_EQ(traits.kernel, Duration::nanoseconds(5000));
  EXPECT_FALSE(traits.memory.has_value());
  EXPECT_FALSE(traits.sm_percent.has_value());
  ASSERT_TRUE(traits.job_class.has_value());
  EXPECT_EQ(traits.job_class, job_class_of(slice_speeds_of(a100_80(), job)));
  LawJob flat;
  flat.law = {.serial = 1, .compute = 0, .memory = 0, .usable = 1};
  EXPECT_EQ(traits_of(a100_80(), flat, Duration::milliseconds(1)).job_class, JobClass::kUnscalable);
}

TEST(Traits, OfAModel_OnlyWhatItsPointsTell) {
  // Aim: one point tells no share and no class, three the serial share, four all of it.
  const SoloLaw law{.serial = 0.2, .compute = 0.3, .memory = 0.2, .usable = 0.5};
  const SignatureModel one = fitted(law, {});
  const SignatureModel three = fitted(law, {"4g.40gb", "3g.40gb"});
  const SignatureModel five = fitted(law, {"4g.40gb", "3g.40gb", "2g.20gb", "1g.10gb"});
  const auto traits = [](const SignatureModel& model) {
    return traits_of(a100_80(), {.model = &model}, Duration::milliseconds(1));
  };
  EXPECT_FALSE(traits(one).job_class.has_value());
  EXPECT_FALSE(traits(one).serial_share.has_value());
  EXPECT_TRUE(traits(one).kernel.has_value());
  EXPECT_TRUE(traits(three).job_class.has_value());
  EXPECT_TRUE(traits(three).serial_share.has_value());
  EXPECT_FALSE(traits(three).usable.has_value());
  EXPECT_NEAR(traits(five).serial_share.value_or(0), 0.2, 0.05);
  EXPECT_NEAR(traits(five).memory_share.value_or(0), 0.2, 0.06);
  EXPECT_NEAR(traits(five).usable.value_or(0), 0.5, 0.06);
}

TEST(Traits, KnownSpeeds_DecideTheClass) {
  // Aim: stated speeds count before the law; 0 (does not fit) is not a speed.
  LawJob job;  // scales: CI
  EXPECT_EQ(traits_of(a100_80(), job, Duration::milliseconds(1)).job_class,
            JobClass::kComputeIntensive);
  job.known = {{.profile = test::profile(a100_80(), "3g.40gb"), .speed = 0.9},
               {.profile = test::profile(a100_80(), "1g.10gb"), .speed = 0}};
  EXPECT_EQ(traits_of(a100_80(), job, Duration::milliseconds(1)).job_class,
            JobClass::kPartlyUnscalable);
  EXPECT_FALSE(slice_speeds_of(a100_80(), job).on_1g.has_value());
}

TEST(Traits, GpuWithoutThoseSlices_NoClass) {
  // Aim: an A30 has no 3g: nothing is invented; US is told by 1g alone.
  const gpu::Geometry& a30 = test::model("A30-24GB");
  EXPECT_FALSE(traits_of(a30, {}, Duration::milliseconds(1)).job_class.has_value());
  LawJob flat;
  flat.law = {.serial = 1, .compute = 0, .memory = 0, .usable = 1};
  EXPECT_EQ(traits_of(a30, flat, Duration::milliseconds(1)).job_class, JobClass::kUnscalable);
}

}  // namespace
}  // namespace septule::predict
