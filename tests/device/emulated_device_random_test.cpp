// Random sequences of calls, judged call by call by rules written down a second time, from what
// inspect() showed before.
#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.hpp"
#include "device/device_support.hpp"
#include "gpu/partition_checker.hpp"

namespace septule::device {
namespace {

using port::DeviceCode;
using port::DeviceInstance;
using port::DeviceState;
using port::MigMode;
using test::model;
using test::node_of;
using test::state_of;

/// One call with all its arguments.
struct RandomCall {
  DeviceCall call = DeviceCall::kSetMigMode;
  MigMode mode = MigMode::kEnabled;
  std::optional<GpuInstanceId> instance;
  gpu::PlacedProfile placed;
  gpu::ComputeInstance compute;
  ComputeInstanceId compute_id;
};

DeviceCode carry_out(EmulatedDevice& device, GpuIndex gpu, const RandomCall& what) {
  const GpuInstanceId id = what.instance.value_or(GpuInstanceId(-1));
  switch (what.call) {
    case DeviceCall::kSetMigMode:
      return device.set_mig_mode(gpu, what.mode);
    case DeviceCall::kCreateGpuInstance:
      return device.create_gpu_instance(gpu, what.placed).code;
    case DeviceCall::kDestroyGpuInstance:
      return device.destroy_gpu_instance(gpu, id);
    case DeviceCall::kCreateComputeInstance:
      return device.create_compute_instance(gpu, id, what.compute).code;
    case DeviceCall::kDestroyComputeInstance:
      return device.destroy_compute_instance(gpu, id, what.compute_id);
    case DeviceCall::kStartMps:
      return device.start_mps(gpu, what.instance);
    case DeviceCall::kStopMps:
      return device.stop_mps(gpu, what.instance);
    case DeviceCall::kAttachClient:
      return device.attach_client(gpu, what.instance);
    case DeviceCall::kDetachClient:
      return device.detach_client(gpu, what.instance);
  }
  SEPTULE_CHECK(false, "every DeviceCall is known here");
}

/// Mostly sensible arguments: ids and places taken from what is there.
RandomCall draw_call(Rng& rng, const DeviceState& state) {
  const gpu::Geometry& geometry = *state.geometry;
  RandomCall what;
  what.call = static_cast<DeviceCall>(rng.below(kDeviceCallCount));
  if (what.call == DeviceCall::kSetMigMode && rng.chance(3, 4)) {
    what.call = DeviceCall::kCreateGpuInstance;
  }
  what.mode = rng.chance(3, 4) ? MigMode::kEnabled : MigMode::kDisabled;
  if (!state.instances.empty() && rng.chance(9, 10)) {
    const DeviceInstance& instance = state.instances[rng.below(state.instances.size())];
    what.instance = instance.id;
    what.compute_id = ComputeInstanceId(static_cast<int>(rng.below(3)));
  } else if (rng.chance(1, 2)) {
    what.instance = GpuInstanceId(static_cast<int>(rng.below(16)) - 1);
  }
  const int count = static_cast<int>(geometry.profiles().size());
  what.placed.profile = ProfileIndex(
      static_cast<int>(rng.below(static_cast<std::uint64_t>(count))) - (rng.chance(1, 30) ? 1 : 0));
  what.placed.start = MemorySlices(static_cast<int>(rng.below(12)));
  what.compute.placement = {.start = ComputeSlices(static_cast<int>(rng.below(4))),
                            .size = ComputeSlices(static_cast<int>(rng.below(4)) + 1)};
  return what;
}

/// The rules a second time, naively. The state may have no lost GPU.
class Oracle {
 public:
  Oracle(const DeviceState& state, const RandomCall& what) : state_(state), what_(what) {}

  DeviceCode expected() const {
    switch (what_.call) {
      case DeviceCall::kSetMigMode:
        return set_mig_mode();
      case DeviceCall::kCreateGpuInstance:
        return create_gpu_instance();
      case DeviceCall::kDestroyGpuInstance:
      case DeviceCall::kCreateComputeInstance:
      case DeviceCall::kDestroyComputeInstance:
        return on_instance();
      case DeviceCall::kStartMps:
      case DeviceCall::kStopMps:
      case DeviceCall::kAttachClient:
      case DeviceCall::kDetachClient:
        return on_holders();
    }
    SEPTULE_CHECK(false, "every DeviceCall is known here");
  }

 private:
  DeviceCode set_mig_mode() const {
    if (what_.mode == state_.mig_mode) {
      return DeviceCode::kOk;
    }
    const bool is_empty = state_.instances.empty() && !state_.has_mps && state_.client_count == 0;
    return is_empty ? DeviceCode::kOk : DeviceCode::kInUse;
  }

  DeviceCode judged(const gpu::Partition& after) const {
    bool is_possible = true;
    bool is_legal = true;
    for (const gpu::Violation& violation : gpu::check_partition(*state_.geometry, after)) {
      is_legal = false;
      is_possible = is_possible && violation.kind != gpu::ViolationKind::kUnknownProfile &&
                    violation.kind != gpu::ViolationKind::kPlacement &&
                    violation.kind != gpu::ViolationKind::kComputeInstance;
    }
    if (!is_possible) {
      return DeviceCode::kInvalidArgument;
    }
    return is_legal ? DeviceCode::kOk : DeviceCode::kInsufficientResources;
  }

  DeviceCode create_gpu_instance() const {
    if (state_.mig_mode == MigMode::kDisabled) {
      return DeviceCode::kNotSupported;
    }
    gpu::Partition after = test::partition_of(state_);
    after.instances.push_back({.placed = what_.placed, .compute_instances = {}});
    return judged(after);
  }

  const DeviceInstance* instance() const {
    const auto found = std::ranges::find(
        state_.instances, what_.instance.value_or(GpuInstanceId(-1)), &DeviceInstance::id);
    return found == state_.instances.end() ? nullptr : &*found;
  }

  DeviceCode on_instance() const {
    if (state_.mig_mode == MigMode::kDisabled) {
      return DeviceCode::kNotSupported;
    }
    const DeviceInstance* of = instance();
    if (of == nullptr) {
      return DeviceCode::kNotFound;
    }
    const bool is_held = of->client_count > 0 || of->has_mps;
    if (what_.call == DeviceCall::kDestroyGpuInstance) {
      return is_held || !of->compute_instances.empty() ? DeviceCode::kInUse : DeviceCode::kOk;
    }
    if (what_.call == DeviceCall::kDestroyComputeInstance) {
      const bool is_there = std::ranges::any_of(of->compute_instances, [&](const auto& compute) {
        return compute.id == what_.compute_id;
      });
      if (!is_there) {
        return DeviceCode::kNotFound;
      }
      return is_held ? DeviceCode::kInUse : DeviceCode::kOk;
    }
    gpu::Partition after = test::partition_of(state_);
    for (gpu::GpuInstance& each : after.instances) {
      if (each.placed == of->placed) {
        each.compute_instances.push_back(what_.compute);
      }
    }
    return judged(after);
  }

  DeviceCode on_holders() const {
    int clients = state_.client_count;
    bool has_mps = state_.has_mps;
    int clients_max = 48;
    if (what_.instance.has_value()) {
      if (state_.mig_mode == MigMode::kDisabled) {
        return DeviceCode::kNotSupported;
      }
      const DeviceInstance* of = instance();
      if (of == nullptr || of->compute_instances.empty()) {
        return DeviceCode::kNotFound;
      }
      clients = of->client_count;
      has_mps = of->has_mps;
      clients_max = 48 * state_.geometry->profile(of->placed.profile).slices.value() /
                    state_.geometry->compute_slices().value();
    } else if (state_.mig_mode == MigMode::kEnabled) {
      return DeviceCode::kInvalidArgument;
    }
    switch (what_.call) {
      case DeviceCall::kStartMps:
        return !has_mps && clients > 0 ? DeviceCode::kInUse : DeviceCode::kOk;
      case DeviceCall::kStopMps:
        return has_mps && clients > 0 ? DeviceCode::kInUse : DeviceCode::kOk;
      case DeviceCall::kAttachClient:
        if (!has_mps && clients > 0) {
          return DeviceCode::kInUse;
        }
        return clients >= clients_max ? DeviceCode::kInsufficientResources : DeviceCode::kOk;
      default:
        return clients == 0 ? DeviceCode::kNotFound : DeviceCode::kOk;
    }
  }

  const DeviceState& state_;
  const RandomCall& what_;
};

/// Legal, in order, ids apart, and with MIG off nothing but the whole GPU.
void expect_sound(const DeviceState& state) {
  const gpu::Partition partition = test::partition_of(state);
  for (const gpu::Violation& violation : gpu::check_partition(*state.geometry, partition)) {
    ADD_FAILURE() << violation.message;
  }
  std::set<GpuInstanceId> ids;
  for (std::size_t i = 0; i < state.instances.size(); ++i) {
    const DeviceInstance& instance = state.instances[i];
    EXPECT_TRUE(i == 0 || state.instances[i - 1].placed.start < instance.placed.start);
    EXPECT_TRUE(ids.insert(instance.id).second);
    EXPECT_TRUE(instance.has_mps || instance.client_count <= 1);
    EXPECT_TRUE(instance.client_count >= 0);
    EXPECT_TRUE(!instance.compute_instances.empty() ||
                (instance.client_count == 0 && !instance.has_mps));
    EXPECT_TRUE(std::ranges::is_sorted(
        instance.compute_instances, {}, [](const auto& compute) { return compute.id; }));
  }
  if (state.mig_mode == MigMode::kDisabled) {
    EXPECT_TRUE(state.instances.empty());
  } else {
    EXPECT_FALSE(state.has_mps);
    EXPECT_EQ(state.client_count, 0);
  }
}

const gpu::Geometry& drawn_model(Rng& rng) {
  constexpr std::array<const char*, 4> kModels{
      "A30-24GB", "A100-40GB", "H100-80GB-SXM", "RTX-PRO-6000-Blackwell"};
  return model(kModels[rng.below(kModels.size())]);
}

RC_GTEST_PROP(EmulatedDeviceProperty, RandomCalls_WithoutFaults_AreAnsweredByTheRules, ()) {
  // Aim: every call of any sequence gets the code that the rules, written twice, agree on; what is
  // refused changes nothing; the state stays sound and other GPUs are not touched.
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  const auto device = node_of(drawn_model(rng), {}, 2);
  const GpuIndex gpu(static_cast<int>(rng.below(2)));
  const GpuIndex other(1 - gpu.value());
  const auto untouched = test::fingerprint(state_of(*device, other));
  for (int step = 0; step < 200; ++step) {
    const DeviceState before = state_of(*device, gpu);
    const RandomCall what = draw_call(rng, before);
    const DeviceCode code = carry_out(*device, gpu, what);
    const DeviceState after = state_of(*device, gpu);
    RC_ASSERT(port::device_code_name(code) ==
              port::device_code_name(Oracle(before, what).expected()));
    if (code != DeviceCode::kOk) {
      RC_ASSERT(test::fingerprint(after) == test::fingerprint(before));
    }
    expect_sound(after);
  }
  RC_ASSERT(test::fingerprint(state_of(*device, other)) == untouched);
  RC_ASSERT(device->take_latency(other) == Duration());
}

EmulatedDeviceOptions faulty(std::uint64_t seed) {
  return {.faults = {.seed = seed,
                     .gpu_lost = {.numerator = 1, .denominator = 500},
                     .no_permission = {.numerator = 1, .denominator = 20},
                     .reset_required = {.numerator = 1, .denominator = 4},
                     .in_use = {.numerator = 1, .denominator = 10},
                     .insufficient_resources = {.numerator = 1, .denominator = 10}}};
}

RC_GTEST_PROP(EmulatedDeviceProperty, RandomCalls_WithFaults_NeverCorrupt, ()) {
  // Aim: faults fall only on calls that would have succeeded and change nothing, except that a lost
  // GPU stays lost until repaired.
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  const auto device = node_of(drawn_model(rng), faulty(rng.next()));
  const GpuIndex gpu(0);
  for (int step = 0; step < 200; ++step) {
    const DeviceState before = state_of(*device, gpu);
    const RandomCall what = draw_call(rng, before);
    const DeviceCode code = carry_out(*device, gpu, what);
    const DeviceState after = state_of(*device, gpu);
    if (before.is_lost) {
      RC_ASSERT(code == DeviceCode::kGpuLost);
      RC_ASSERT(after.is_lost);
      if (rng.chance(1, 4)) {
        RC_ASSERT(device->repair_gpu(gpu) == DeviceCode::kOk);
      }
      continue;
    }
    const DeviceCode expected = Oracle(before, what).expected();
    RC_ASSERT(code == expected || expected == DeviceCode::kOk);
    RC_ASSERT(after.is_lost == (code == DeviceCode::kGpuLost));
    if (code != DeviceCode::kOk && !after.is_lost) {
      RC_ASSERT(test::fingerprint(after) == test::fingerprint(before));
    }
    expect_sound(after);
  }
}

RC_GTEST_PROP(EmulatedDeviceProperty, Faults_OfEqualSeeds_AreEqual, ()) {
  // Aim: a run with faults can be repeated, and neither what other GPUs do nor other kinds of call
  // shift the draws.
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  EmulatedDeviceOptions options = faulty(seed);
  options.faults.gpu_lost = {};
  const gpu::Geometry& geometry = model("A100-40GB");
  const auto alone = node_of(geometry, options, 2);
  const auto disturbed = node_of(geometry, options, 2);
  const gpu::PlacedProfile where{.profile = ProfileIndex(0), .start = MemorySlices(0)};
  for (int step = 0; step < 100; ++step) {
    disturbed->create_gpu_instance(GpuIndex(1),
                                   {.profile = ProfileIndex(0), .start = MemorySlices(step % 7)});
    const auto a = alone->create_gpu_instance(GpuIndex(0), where);
    const auto b = disturbed->create_gpu_instance(GpuIndex(0), where);
    RC_ASSERT(a.code == b.code);
    if (a.code == DeviceCode::kOk) {
      DeviceCode first = DeviceCode::kInUse;
      while (first != DeviceCode::kOk) {
        first = alone->destroy_gpu_instance(GpuIndex(0), a.id);
        RC_ASSERT(disturbed->destroy_gpu_instance(GpuIndex(0), b.id) == first);
      }
    }
  }
}

}  // namespace
}  // namespace septule::device
