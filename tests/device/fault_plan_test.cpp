#include "device/fault_plan.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "device/device_support.hpp"

namespace septule::device {
namespace {

using port::DeviceCode;
using port::MigMode;

constexpr FaultRatio kAlways{.numerator = 1, .denominator = 1};
constexpr GpuIndex kGpu{0};

/// The calls that `plan` makes fail, by name; each must always answer the same.
std::map<std::string, DeviceCode> failing_calls(const FaultPlan& plan) {
  FaultInjector injector(plan, 1);
  std::map<std::string, DeviceCode> failing;
  for (int i = 0; i < kDeviceCallCount; ++i) {
    const auto call = static_cast<DeviceCall>(i);
    const DeviceCode code = injector.draw(call, kGpu);
    for (int again = 0; again < 20; ++again) {
      EXPECT_EQ(injector.draw(call, kGpu), code);
    }
    if (code != DeviceCode::kOk) {
      failing.emplace(device_call_name(call), code);
    }
  }
  return failing;
}

TEST(FaultInjector, NoFaults_IsOff) {
  // Aim: the default plan draws nothing at all.
  FaultInjector injector({}, 3);
  EXPECT_TRUE(injector.is_off());
  EXPECT_EQ(injector.draw(DeviceCall::kSetMigMode, GpuIndex(2)), DeviceCode::kOk);
}

TEST(FaultInjector, EachCode_FallsOnItsCallsOnly) {
  // Aim: no call answers a code that its driver call is not known to give.
  EXPECT_EQ(failing_calls({.gpu_lost = kAlways}).size(), 9);
  const auto no_permission = failing_calls({.no_permission = kAlways});
  EXPECT_EQ(no_permission.size(), 8);
  EXPECT_FALSE(no_permission.contains("detach-client"));
  const auto reset_required = failing_calls({.reset_required = kAlways});
  EXPECT_EQ(reset_required,
            (std::map<std::string, DeviceCode>{{"set-mig-mode", DeviceCode::kResetRequired}}));
  EXPECT_EQ(failing_calls({.in_use = kAlways}),
            (std::map<std::string, DeviceCode>{{"create-gpu-instance", DeviceCode::kInUse},
                                               {"destroy-compute-instance", DeviceCode::kInUse},
                                               {"destroy-gpu-instance", DeviceCode::kInUse},
                                               {"set-mig-mode", DeviceCode::kInUse},
                                               {"stop-mps", DeviceCode::kInUse}}));
  EXPECT_EQ(failing_calls({.insufficient_resources = kAlways}),
            (std::map<std::string, DeviceCode>{
                {"create-compute-instance", DeviceCode::kInsufficientResources},
                {"create-gpu-instance", DeviceCode::kInsufficientResources}}));
}

TEST(FaultInjector, SeveralCodes_AreDrawnInTheStatedOrder) {
  // Aim: the first of the plan wins.
  const auto failing = failing_calls(
      {.no_permission = kAlways, .in_use = kAlways, .insufficient_resources = kAlways});
  EXPECT_EQ(failing.at("create-gpu-instance"), DeviceCode::kNoPermission);
  EXPECT_EQ(failing_calls({.in_use = kAlways, .insufficient_resources = kAlways})
                .at("create-gpu-instance"),
            DeviceCode::kInUse);
}

TEST(FaultInjector, Ratio_OverManyDraws_IsMet) {
  // Aim: one in ten means about one in ten, on every GPU alike, and not the same ones everywhere.
  FaultInjector injector({.seed = 5, .in_use = {.numerator = 1, .denominator = 10}}, 3);
  std::set<std::string> patterns;
  for (int gpu = 0; gpu < 3; ++gpu) {
    std::string pattern;
    for (int i = 0; i < 10000; ++i) {
      const DeviceCode code = injector.draw(DeviceCall::kStopMps, GpuIndex(gpu));
      pattern += code == DeviceCode::kInUse ? '1' : '0';
    }
    // Five standard deviations of a binomial distribution: 150.
    EXPECT_NEAR(static_cast<double>(std::ranges::count(pattern, '1')), 1000, 150);
    patterns.insert(pattern);
  }
  EXPECT_EQ(patterns.size(), 3);
}

TEST(FaultInjector, OtherSeed_DrawsOtherFaults) {
  // Aim: the seed matters, and equal seeds draw equal faults.
  const auto pattern_of = [](std::uint64_t seed) {
    FaultInjector injector({.seed = seed, .in_use = {.numerator = 1, .denominator = 2}}, 1);
    std::string pattern;
    for (int i = 0; i < 100; ++i) {
      pattern += injector.draw(DeviceCall::kStopMps, kGpu) == DeviceCode::kInUse ? '1' : '0';
    }
    return pattern;
  };
  EXPECT_EQ(pattern_of(1), pattern_of(1));
  EXPECT_NE(pattern_of(1), pattern_of(2));
}

TEST(FaultInjector, InsideTheDevice_EveryCode_IsReachable) {
  // Aim: the device hands on each fault, and costs nothing then.
  const gpu::Geometry& geometry = test::model("A100-40GB");
  const gpu::PlacedProfile where = test::placed(geometry, "3g.20gb", 0);
  const auto create_with = [&](const FaultPlan& plan) {
    const auto device = test::node_of(geometry, {.faults = plan});
    const DeviceCode code = device->create_gpu_instance(kGpu, where).code;
    EXPECT_TRUE(test::state_of(*device, kGpu).instances.empty());
    EXPECT_EQ(device->take_latency(kGpu), Duration());
    EXPECT_EQ(test::state_of(*device, kGpu).is_lost, code == DeviceCode::kGpuLost);
    return code;
  };
  EXPECT_EQ(create_with({.gpu_lost = kAlways}), DeviceCode::kGpuLost);
  EXPECT_EQ(create_with({.no_permission = kAlways}), DeviceCode::kNoPermission);
  EXPECT_EQ(create_with({.in_use = kAlways}), DeviceCode::kInUse);
  EXPECT_EQ(create_with({.insufficient_resources = kAlways}), DeviceCode::kInsufficientResources);
  const auto device = test::node_of(geometry, {.faults = {.reset_required = kAlways}});
  EXPECT_EQ(device->set_mig_mode(kGpu, MigMode::kDisabled), DeviceCode::kResetRequired);
  EXPECT_EQ(test::state_of(*device, kGpu).mig_mode, MigMode::kEnabled);
}

TEST(DeviceCallName, EveryCall_HasItsOwnName) {
  // Aim: names are those of the random streams, so two alike would share one.
  std::set<std::string_view> names;
  for (int i = 0; i < kDeviceCallCount; ++i) {
    EXPECT_TRUE(names.insert(device_call_name(static_cast<DeviceCall>(i))).second);
  }
}

}  // namespace
}  // namespace septule::device
