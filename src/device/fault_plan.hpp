#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/rng.hpp"
#include "base/units.hpp"
#include "port/device_backend.hpp"

namespace septule::device {

/// The calls of port::DeviceBackend that may fail by chance.
enum class DeviceCall {
  kSetMigMode,
  kCreateGpuInstance,
  kDestroyGpuInstance,
  kCreateComputeInstance,
  kDestroyComputeInstance,
  kStartMps,
  kStopMps,
  kAttachClient,
  kDetachClient,
};
inline constexpr int kDeviceCallCount = 9;
std::string_view device_call_name(DeviceCall call);

/// A probability as a fraction, so that it means the same everywhere. Off by default.
struct FaultRatio {
  std::uint64_t numerator = 0;
  std::uint64_t denominator = 1;  ///< > 0 and at least `numerator`
};

/// How often calls that would have succeeded fail instead, by the code they answer. Each code falls
/// on the calls for which drivers are known to give it (mig-and-mps reference, A.4); several codes
/// possible for one call are drawn in the order below. A value.
struct FaultPlan {
  std::uint64_t seed = 0;
  FaultRatio gpu_lost;        ///< any call; the GPU stays lost until it is repaired
  FaultRatio no_permission;   ///< any call but detach_client: a process may always end
  FaultRatio reset_required;  ///< set_mig_mode: the reset did not happen, as in virtual machines
  FaultRatio in_use;          ///< set_mig_mode, create and destroy of GPU instances, destroy of
                              ///< compute instances, stop_mps: somebody else holds it
  FaultRatio insufficient_resources;  ///< create of GPU and compute instances
};
/// kInvalidInput, naming the ratio, unless each is between 0 and 1.
Status check_fault_plan(const FaultPlan& plan);

/// Draws the faults of a node. One stream of chance for each kind of call on each GPU, so that
/// neither the order of GPUs nor other kinds of call shift a draw. No stream is made for a plan
/// without faults. One owner.
class FaultInjector {
 public:
  /// `plan` passes check_fault_plan().
  FaultInjector(const FaultPlan& plan, int gpu_count);

  bool is_off() const { return streams_.empty(); }
  /// What the call answers instead of kOk; kOk if it may succeed. `gpu` is below gpu_count.
  port::DeviceCode draw(DeviceCall call, GpuIndex gpu) {
    return is_off() ? port::DeviceCode::kOk : draw_from_stream(call, gpu);
  }

 private:
  port::DeviceCode draw_from_stream(DeviceCall call, GpuIndex gpu);

  FaultPlan plan_;
  std::size_t gpu_count_;
  std::vector<Rng> streams_;  ///< by call, then GPU
};

}  // namespace septule::device
