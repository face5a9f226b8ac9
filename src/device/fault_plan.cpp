#include "device/fault_plan.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"

namespace septule::device {

namespace {

using port::DeviceCode;

/// Whether a driver is known to answer `call` with `code`.
bool may_answer(DeviceCall call, DeviceCode code) {
  const bool is_creation =
      call == DeviceCall::kCreateGpuInstance || call == DeviceCall::kCreateComputeInstance;
  switch (code) {
    case DeviceCode::kGpuLost:
      return true;
    case DeviceCode::kNoPermission:
      return call != DeviceCall::kDetachClient;
    case DeviceCode::kResetRequired:
      return call == DeviceCall::kSetMigMode;
    case DeviceCode::kInUse:
      return call == DeviceCall::kSetMigMode || call == DeviceCall::kCreateGpuInstance ||
             call == DeviceCall::kDestroyGpuInstance ||
             call == DeviceCall::kDestroyComputeInstance || call == DeviceCall::kStopMps;
    case DeviceCode::kInsufficientResources:
      return is_creation;
    case DeviceCode::kOk:
    case DeviceCode::kInvalidArgument:
    case DeviceCode::kNotSupported:
    case DeviceCode::kNotFound:
      return false;
  }
  SEPTULE_CHECK(false, "every DeviceCode is known here");
}

/// In the order in which they are drawn.
std::array<std::pair<DeviceCode, FaultRatio>, 5> ratios_of(const FaultPlan& plan) {
  return {{{DeviceCode::kGpuLost, plan.gpu_lost},
           {DeviceCode::kNoPermission, plan.no_permission},
           {DeviceCode::kResetRequired, plan.reset_required},
           {DeviceCode::kInUse, plan.in_use},
           {DeviceCode::kInsufficientResources, plan.insufficient_resources}}};
}

}  // namespace

std::string_view device_call_name(DeviceCall call) {
  switch (call) {
    case DeviceCall::kSetMigMode:
      return "set-mig-mode";
    case DeviceCall::kCreateGpuInstance:
      return "create-gpu-instance";
    case DeviceCall::kDestroyGpuInstance:
      return "destroy-gpu-instance";
    case DeviceCall::kCreateComputeInstance:
      return "create-compute-instance";
    case DeviceCall::kDestroyComputeInstance:
      return "destroy-compute-instance";
    case DeviceCall::kStartMps:
      return "start-mps";
    case DeviceCall::kStopMps:
      return "stop-mps";
    case DeviceCall::kAttachClient:
      return "attach-client";
    case DeviceCall::kDetachClient:
      return "detach-client";
  }
  SEPTULE_CHECK(false, "every DeviceCall has a name");
}

Status check_fault_plan(const FaultPlan& plan) {
  for (const auto& [code, ratio] : ratios_of(plan)) {
    if (ratio.denominator == 0 || ratio.numerator > ratio.denominator) {
      return Error{.code = ErrorCode::kInvalidInput,
                   .message = fmt::format(
                       "the fault ratio of {} is {}/{}; it must be a fraction from 0 to 1",
                       port::device_code_name(code),
                       ratio.numerator,
                       ratio.denominator)};
    }
  }
  return {};
}

FaultInjector::FaultInjector(const FaultPlan& plan, int gpu_count)
    : plan_(plan), gpu_count_(static_cast<std::size_t>(gpu_count)) {
  bool is_any = false;
  for (const auto& [code, ratio] : ratios_of(plan)) {
    is_any = is_any || ratio.numerator > 0;
  }
  if (!is_any) {
    return;
  }
  const Rng root(plan.seed);
  streams_.reserve(static_cast<std::size_t>(kDeviceCallCount) * gpu_count_);
  for (int call = 0; call < kDeviceCallCount; ++call) {
    for (std::size_t gpu = 0; gpu < gpu_count_; ++gpu) {
      streams_.push_back(root.stream(device_call_name(static_cast<DeviceCall>(call)), gpu));
    }
  }
}

DeviceCode FaultInjector::draw_from_stream(DeviceCall call, GpuIndex gpu) {
  Rng& stream =
      streams_[static_cast<std::size_t>(call) * gpu_count_ + static_cast<std::size_t>(gpu.value())];
  for (const auto& [code, ratio] : ratios_of(plan_)) {
    if (ratio.numerator > 0 && may_answer(call, code) &&
        stream.chance(ratio.numerator, ratio.denominator)) {
      return code;
    }
  }
  return DeviceCode::kOk;
}

}  // namespace septule::device
