// Refusals, holders, latencies and the loss of a GPU, case by case.
#include "device/emulated_device.hpp"

#include <array>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "device/device_support.hpp"

namespace septule::device {
namespace {

using port::DeviceCode;
using port::MigMode;
using test::create_ready;
using test::latencies;
using test::model;
using test::node_of;
using test::placed;
using test::state_of;

constexpr GpuIndex kGpu{0};
constexpr GpuIndex kNoGpu{1};
constexpr GpuInstanceId kNoInstance{99};
constexpr std::optional<GpuInstanceId> kWhole;

const gpu::Geometry& a100() {
  return model("A100-40GB");
}

gpu::ComputeInstance compute(int start, int size) {
  return {.placement = {.start = ComputeSlices(start), .size = ComputeSlices(size)}};
}

/// The call is answered so, and inspect() shows the same before and after.
void expect_refused(const EmulatedDevice& device,
                    DeviceCode expected,
                    const std::function<DeviceCode()>& call) {
  const auto before = test::fingerprint(state_of(device, kGpu));
  EXPECT_EQ(call(), expected);
  EXPECT_EQ(test::fingerprint(state_of(device, kGpu)), before);
}

using Call = std::function<DeviceCode(EmulatedDevice&, GpuIndex)>;
/// Every call that acts, with arguments that make sense on a GPU with an instance of id 1.
std::vector<Call> every_call() {
  static constexpr GpuInstanceId kId{1};
  return {
      [](auto& d, GpuIndex gpu) { return d.set_mig_mode(gpu, MigMode::kDisabled); },
      [](auto& d, GpuIndex gpu) {
        return d.create_gpu_instance(gpu, placed(a100(), "1g.5gb", 6)).code;
      },
      [](auto& d, GpuIndex gpu) { return d.destroy_gpu_instance(gpu, kId); },
      [](auto& d, GpuIndex gpu) { return d.create_compute_instance(gpu, kId, compute(0, 1)).code; },
      [](auto& d, GpuIndex gpu) {
        return d.destroy_compute_instance(gpu, kId, ComputeInstanceId(0));
      },
      [](auto& d, GpuIndex gpu) { return d.start_mps(gpu, kId); },
      [](auto& d, GpuIndex gpu) { return d.stop_mps(gpu, kId); },
      [](auto& d, GpuIndex gpu) { return d.attach_client(gpu, kId); },
      [](auto& d, GpuIndex gpu) { return d.detach_client(gpu, kId); },
  };
}

TEST(EmulatedDevice, UnknownGpu_EveryCall_IsNotFound) {
  // Aim: an index that the node lacks is answered, not trusted.
  const auto device = node_of(a100());
  for (const GpuIndex gpu : {kNoGpu, GpuIndex(-1)}) {
    for (const Call& call : every_call()) {
      expect_refused(*device, DeviceCode::kNotFound, [&] { return call(*device, gpu); });
    }
    EXPECT_EQ(device->lose_gpu(gpu), DeviceCode::kNotFound);
    EXPECT_EQ(device->repair_gpu(gpu), DeviceCode::kNotFound);
    EXPECT_FALSE(device->inspect(gpu).has_value());
    EXPECT_EQ(device->take_latency(gpu), Duration());
  }
}

TEST(EmulatedDevice, MigOff_CallsOnInstances_AreNotSupported) {
  // Aim: without MIG there are no instances to make, hold or destroy.
  const auto device = node_of(a100(), {.initial_mig_mode = MigMode::kDisabled});
  const std::vector<Call> calls = every_call();
  for (std::size_t i = 1; i < calls.size(); ++i) {
    expect_refused(*device, DeviceCode::kNotSupported, [&] { return calls[i](*device, kGpu); });
  }
}

TEST(EmulatedDevice, MigOn_WholeGpu_CannotBeHeld) {
  // Aim: with MIG on nobody runs beside the instances.
  const auto device = node_of(a100());
  expect_refused(
      *device, DeviceCode::kInvalidArgument, [&] { return device->attach_client(kGpu, kWhole); });
  expect_refused(
      *device, DeviceCode::kInvalidArgument, [&] { return device->detach_client(kGpu, kWhole); });
  expect_refused(
      *device, DeviceCode::kInvalidArgument, [&] { return device->start_mps(kGpu, kWhole); });
  expect_refused(
      *device, DeviceCode::kInvalidArgument, [&] { return device->stop_mps(kGpu, kWhole); });
}

TEST(EmulatedDevice, ModelWithoutTable_MigMode_IsNotSupported) {
  // Aim: what nobody has published is not made up.
  const auto device = node_of(model("RTX-PRO-4500-Blackwell"));
  expect_refused(*device, DeviceCode::kNotSupported, [&] {
    return device->set_mig_mode(kGpu, MigMode::kEnabled);
  });
  EXPECT_EQ(device->set_mig_mode(kGpu, MigMode::kDisabled), DeviceCode::kOk);
  EXPECT_EQ(device->attach_client(kGpu, kWhole), DeviceCode::kOk);
}

TEST(EmulatedDevice, CreateGpuInstance_ImpossibleArguments_AreInvalid) {
  // Aim: only placements of the table, also at the ends of the number range.
  const auto device = node_of(a100());
  constexpr int kLeast = std::numeric_limits<int>::min();
  constexpr int kMost = std::numeric_limits<int>::max();
  for (const int profile : {-1, static_cast<int>(a100().profiles().size()), kLeast, kMost}) {
    expect_refused(*device, DeviceCode::kInvalidArgument, [&] {
      return device
          ->create_gpu_instance(kGpu, {.profile = ProfileIndex(profile), .start = MemorySlices(0)})
          .code;
    });
  }
  for (const int start : {-1, 1, 7, 8, 31, 32, 33, kLeast, kMost}) {
    expect_refused(*device, DeviceCode::kInvalidArgument, [&] {
      return device->create_gpu_instance(kGpu, placed(a100(), "2g.10gb", start)).code;
    });
  }
}

TEST(EmulatedDevice, CreateGpuInstance_NoRoom_IsInsufficient) {
  // Aim: taken slices, the maximum of a profile and used-up engines give the same code.
  const auto device = node_of(a100());
  ASSERT_EQ(device->create_gpu_instance(kGpu, placed(a100(), "1g.5gb+me", 0)).code,
            DeviceCode::kOk);
  expect_refused(*device, DeviceCode::kInsufficientResources, [&] {
    return device->create_gpu_instance(kGpu, placed(a100(), "4g.20gb", 0)).code;
  });
  expect_refused(*device, DeviceCode::kInsufficientResources, [&] {
    return device->create_gpu_instance(kGpu, placed(a100(), "1g.5gb+me", 3)).code;
  });
}

TEST(EmulatedDevice, ComputeInstances_WrongOrNoRoom_AreRefusedApart) {
  // Aim: what the table lacks is invalid, what is taken is short, what is gone is not found.
  const auto device = node_of(a100());
  const GpuInstanceId id = device->create_gpu_instance(kGpu, placed(a100(), "3g.20gb", 4)).id;
  const auto create = [&](const gpu::ComputeInstance& wanted) {
    return device->create_compute_instance(kGpu, id, wanted).code;
  };
  for (const auto& wanted : {compute(0, 4),
                             compute(3, 1),
                             compute(-1, 1),
                             compute(0, 0),
                             compute(0, -1),
                             compute(40, 1)}) {
    expect_refused(*device, DeviceCode::kInvalidArgument, [&] { return create(wanted); });
  }
  EXPECT_EQ(create(compute(0, 1)), DeviceCode::kOk);
  EXPECT_EQ(create(compute(2, 1)), DeviceCode::kOk);
  for (const auto& wanted : {compute(0, 1), compute(0, 2), compute(0, 3)}) {
    expect_refused(*device, DeviceCode::kInsufficientResources, [&] { return create(wanted); });
  }
  expect_refused(*device, DeviceCode::kNotFound, [&] {
    return device->create_compute_instance(kGpu, kNoInstance, compute(0, 1)).code;
  });
  for (const int missing : {-1, 2, 8, 1000}) {
    expect_refused(*device, DeviceCode::kNotFound, [&] {
      return device->destroy_compute_instance(kGpu, id, ComputeInstanceId(missing));
    });
  }
  // The lowest free id is handed out again.
  EXPECT_EQ(device->destroy_compute_instance(kGpu, id, ComputeInstanceId(0)), DeviceCode::kOk);
  const auto again = device->create_compute_instance(kGpu, id, compute(1, 1));
  EXPECT_EQ(again.code, DeviceCode::kOk);
  EXPECT_EQ(again.id, ComputeInstanceId(0));
}

TEST(EmulatedDevice, UnknownInstance_EveryCall_IsNotFound) {
  // Aim: a stale id is told apart from a busy instance.
  const auto device = node_of(a100());
  create_ready(*device, kGpu, placed(a100(), "3g.20gb", 4));  // id 2; the calls name 1
  const std::vector<Call> calls = every_call();
  for (std::size_t i = 2; i < calls.size(); ++i) {
    expect_refused(*device, DeviceCode::kNotFound, [&] { return calls[i](*device, kGpu); });
  }
}

TEST(EmulatedDevice, InstanceWithoutComputeInstance_Processes_FindNothing) {
  // Aim: a process needs a compute instance to run in.
  const auto device = node_of(a100());
  const GpuInstanceId id = device->create_gpu_instance(kGpu, placed(a100(), "3g.20gb", 4)).id;
  expect_refused(*device, DeviceCode::kNotFound, [&] { return device->attach_client(kGpu, id); });
  expect_refused(*device, DeviceCode::kNotFound, [&] { return device->start_mps(kGpu, id); });
}

TEST(EmulatedDevice, Holders_UntilTheyAreGone_BlockDestruction) {
  // Aim: client, daemon, compute instance, GPU instance, MIG mode come off in this order only.
  const auto device = node_of(a100());
  const GpuInstanceId id = create_ready(*device, kGpu, placed(a100(), "3g.20gb", 0));
  const auto destroy_compute = [&] {
    return device->destroy_compute_instance(kGpu, id, ComputeInstanceId(0));
  };
  const auto destroy = [&] { return device->destroy_gpu_instance(kGpu, id); };
  const auto toggle = [&] { return device->set_mig_mode(kGpu, MigMode::kDisabled); };
  const auto expect_blocked = [&] {
    expect_refused(*device, DeviceCode::kInUse, destroy_compute);
    expect_refused(*device, DeviceCode::kInUse, destroy);
    expect_refused(*device, DeviceCode::kInUse, toggle);
  };
  ASSERT_EQ(device->start_mps(kGpu, id), DeviceCode::kOk);
  expect_blocked();
  ASSERT_EQ(device->attach_client(kGpu, id), DeviceCode::kOk);
  expect_blocked();
  expect_refused(*device, DeviceCode::kInUse, [&] { return device->stop_mps(kGpu, id); });
  ASSERT_EQ(device->detach_client(kGpu, id), DeviceCode::kOk);
  ASSERT_EQ(device->stop_mps(kGpu, id), DeviceCode::kOk);
  ASSERT_EQ(device->attach_client(kGpu, id), DeviceCode::kOk);
  expect_blocked();
  ASSERT_EQ(device->detach_client(kGpu, id), DeviceCode::kOk);
  expect_refused(*device, DeviceCode::kInUse, destroy);
  expect_refused(*device, DeviceCode::kInUse, toggle);
  ASSERT_EQ(destroy_compute(), DeviceCode::kOk);
  expect_refused(*device, DeviceCode::kInUse, toggle);
  ASSERT_EQ(destroy(), DeviceCode::kOk);
  ASSERT_EQ(toggle(), DeviceCode::kOk);
  EXPECT_EQ(state_of(*device, kGpu).mig_mode, MigMode::kDisabled);
}

TEST(EmulatedDevice, WholeGpu_HeldWithMigOff_BlocksMigMode) {
  // Aim: MIG cannot be switched on below a client or a daemon; the same mode is no change.
  const auto device = node_of(a100(), {.initial_mig_mode = MigMode::kDisabled});
  const auto toggle = [&] { return device->set_mig_mode(kGpu, MigMode::kEnabled); };
  ASSERT_EQ(device->attach_client(kGpu, kWhole), DeviceCode::kOk);
  expect_refused(*device, DeviceCode::kInUse, toggle);
  EXPECT_EQ(device->set_mig_mode(kGpu, MigMode::kDisabled), DeviceCode::kOk);
  ASSERT_EQ(device->detach_client(kGpu, kWhole), DeviceCode::kOk);
  ASSERT_EQ(device->start_mps(kGpu, kWhole), DeviceCode::kOk);
  EXPECT_TRUE(state_of(*device, kGpu).has_mps);
  expect_refused(*device, DeviceCode::kInUse, toggle);
  ASSERT_EQ(device->stop_mps(kGpu, kWhole), DeviceCode::kOk);
  EXPECT_EQ(toggle(), DeviceCode::kOk);
}

TEST(EmulatedDevice, Clients_WithAndWithoutMps_ShareOnlyByMps) {
  // Aim: one client without MPS; with it up to the share of 48 that the instance has.
  const auto device = node_of(a100());
  const GpuInstanceId id = create_ready(*device, kGpu, placed(a100(), "1g.5gb", 2));
  const auto attach = [&] { return device->attach_client(kGpu, id); };
  expect_refused(*device, DeviceCode::kNotFound, [&] { return device->detach_client(kGpu, id); });
  ASSERT_EQ(attach(), DeviceCode::kOk);
  expect_refused(*device, DeviceCode::kInUse, attach);
  expect_refused(*device, DeviceCode::kInUse, [&] { return device->start_mps(kGpu, id); });
  EXPECT_EQ(device->stop_mps(kGpu, id), DeviceCode::kOk);
  ASSERT_EQ(device->detach_client(kGpu, id), DeviceCode::kOk);
  ASSERT_EQ(device->start_mps(kGpu, id), DeviceCode::kOk);
  EXPECT_EQ(device->start_mps(kGpu, id), DeviceCode::kOk);
  for (int client = 0; client < 6; ++client) {  // 48 / 7
    ASSERT_EQ(attach(), DeviceCode::kOk);
  }
  expect_refused(*device, DeviceCode::kInsufficientResources, attach);
  EXPECT_EQ(state_of(*device, kGpu).instances[0].client_count, 6);
}

TEST(EmulatedDevice, Latency_OfEachCall_AddsUpPerGpu) {
  // Aim: the table's figures, once, on the GPU concerned; refusals and repetitions are free.
  const auto device = node_of(a100(), {}, 2);
  const auto ms = [](std::int64_t count) { return Duration::milliseconds(count); };
  const auto expect_taken = [&](std::int64_t count) {
    EXPECT_EQ(device->take_latency(kGpu), ms(count));
    EXPECT_EQ(device->take_latency(kGpu), ms(0));
    EXPECT_EQ(device->take_latency(GpuIndex(1)), ms(0));
  };
  const auto small = device->create_gpu_instance(kGpu, placed(a100(), "1g.5gb", 0));
  expect_taken(160 - 50);
  device->create_gpu_instance(kGpu, placed(a100(), "7g.40gb", 0));
  expect_taken(0);
  device->create_compute_instance(kGpu, small.id, compute(0, 1));
  const auto large = device->create_gpu_instance(kGpu, placed(a100(), "3g.20gb", 4));
  expect_taken(50 + 200 - 50);
  device->create_compute_instance(kGpu, large.id, compute(0, 3));
  device->start_mps(kGpu, large.id);
  device->start_mps(kGpu, large.id);
  device->attach_client(kGpu, large.id);
  device->detach_client(kGpu, large.id);
  expect_taken(50 + 77);
  device->stop_mps(kGpu, large.id);
  device->stop_mps(kGpu, large.id);
  device->destroy_compute_instance(kGpu, large.id, ComputeInstanceId(0));
  device->destroy_gpu_instance(kGpu, large.id);
  expect_taken(77 + 50 + 210 - 50);
  device->destroy_compute_instance(kGpu, small.id, ComputeInstanceId(0));
  device->destroy_gpu_instance(kGpu, small.id);
  expect_taken(50 + 200 - 50);
  device->set_mig_mode(kGpu, MigMode::kDisabled);
  device->set_mig_mode(kGpu, MigMode::kDisabled);
  expect_taken(4250);
}

TEST(EmulatedDevice, FullReset_AnyRecut_IsChargedOncePerInterval) {
  // Aim: with the paper's setting one re-cut costs the reset and nothing else, MPS comes on top.
  const auto device = node_of(a100(),
                              {.full_reset = Duration::milliseconds(4000),
                               .mig_mode_toggle = Duration::milliseconds(1),
                               .mps_start = Duration::milliseconds(5)});
  EXPECT_EQ(device->take_latency(kGpu), Duration());
  const GpuInstanceId id = create_ready(*device, kGpu, placed(a100(), "3g.20gb", 0));
  create_ready(*device, kGpu, placed(a100(), "3g.20gb", 4));
  EXPECT_EQ(device->take_latency(kGpu), Duration::milliseconds(4000));
  EXPECT_EQ(device->take_latency(kGpu), Duration());
  device->start_mps(kGpu, id);
  EXPECT_EQ(device->take_latency(kGpu), Duration::milliseconds(5));
  device->attach_client(kGpu, id);
  device->create_gpu_instance(kGpu, placed(a100(), "7g.40gb", 0));  // refused
  EXPECT_EQ(device->take_latency(kGpu), Duration());

  const auto toggled = node_of(a100(), {.full_reset = Duration::milliseconds(4000)});
  toggled->set_mig_mode(kGpu, MigMode::kDisabled);
  toggled->set_mig_mode(kGpu, MigMode::kEnabled);
  EXPECT_EQ(toggled->take_latency(kGpu), Duration::milliseconds(4000));
  const auto custom = node_of(a100(), {.mig_mode_toggle = Duration::milliseconds(1)});
  custom->set_mig_mode(kGpu, MigMode::kDisabled);
  EXPECT_EQ(custom->take_latency(kGpu), Duration::milliseconds(1));
}

TEST(EmulatedDevice, LostGpu_UntilRepaired_AnswersNothingElse) {
  // Aim: a lost GPU stays lost and comes back empty; its mode depends on the model (InfoROM on
  // Ampere). Other GPUs are not touched.
  for (const char* const key : {"A100-40GB", "H100-80GB-SXM"}) {
    const gpu::Geometry& geometry = model(key);
    const auto device = node_of(geometry, {}, 2);
    const gpu::PlacedProfile where{.profile = ProfileIndex(0), .start = MemorySlices(0)};
    create_ready(*device, kGpu, where);
    create_ready(*device, GpuIndex(1), where);
    const auto other = test::fingerprint(state_of(*device, GpuIndex(1)));
    ASSERT_EQ(device->lose_gpu(kGpu), DeviceCode::kOk);
    EXPECT_EQ(device->lose_gpu(kGpu), DeviceCode::kOk);
    EXPECT_TRUE(state_of(*device, kGpu).is_lost);
    EXPECT_TRUE(state_of(*device, kGpu).instances.empty());
    for (const Call& call : every_call()) {
      expect_refused(*device, DeviceCode::kGpuLost, [&] { return call(*device, kGpu); });
    }
    EXPECT_EQ(device->attach_client(kGpu, kWhole), DeviceCode::kGpuLost);
    ASSERT_EQ(device->repair_gpu(kGpu), DeviceCode::kOk);
    EXPECT_FALSE(state_of(*device, kGpu).is_lost);
    EXPECT_EQ(state_of(*device, kGpu).mig_mode,
              geometry.facts().architecture == "Ampere" ? MigMode::kEnabled : MigMode::kDisabled);
    ASSERT_EQ(device->set_mig_mode(kGpu, MigMode::kEnabled), DeviceCode::kOk);
    create_ready(*device, kGpu, where);
    const auto before = test::fingerprint(state_of(*device, kGpu));
    EXPECT_EQ(device->repair_gpu(kGpu), DeviceCode::kOk);  // not lost: no effect
    EXPECT_EQ(test::fingerprint(state_of(*device, kGpu)), before);
    EXPECT_EQ(test::fingerprint(state_of(*device, GpuIndex(1))), other);
  }
}

TEST(EmulatedDevice, Options_OutOfRange_AreNamed) {
  // Aim: no option is taken that would make time run backwards or chance meaningless.
  const std::array<const gpu::Geometry*, 1> gpus{&a100()};
  const Duration negative = Duration::nanoseconds(-1);
  const std::vector<std::pair<EmulatedDeviceOptions, std::string>> bad{
      {{.full_reset = negative}, "full reset"},
      {{.mig_mode_toggle = negative}, "MIG mode"},
      {{.mps_start = negative}, "start of MPS"},
      {{.mps_stop = negative}, "stop of MPS"},
      {{.mps_clients_max = 0}, "1 to 60"},
      {{.mps_clients_max = 61}, "1 to 60"},
      {{.faults = {.gpu_lost = {.numerator = 1, .denominator = 0}}}, "gpu-lost is 1/0"},
      {{.faults = {.in_use = {.numerator = 3, .denominator = 2}}}, "in-use is 3/2"}};
  for (const auto& [options, text] : bad) {
    const auto device = EmulatedDevice::make(gpus, latencies(), options);
    ASSERT_FALSE(device.has_value());
    EXPECT_EQ(device.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(device.error().message.find(text), std::string::npos) << device.error().message;
  }
}

TEST(EmulatedDevice, NoGpus_IsAnEmptyNode) {
  // Aim: a node without GPUs is no special case.
  const auto device = EmulatedDevice::make({}, latencies(), {});
  ASSERT_TRUE(device.has_value());
  EXPECT_EQ((*device)->gpu_count(), 0);
  EXPECT_FALSE((*device)->inspect(kGpu).has_value());
}

}  // namespace
}  // namespace septule::device
