#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"
#include "gpu/partition.hpp"

namespace septule::port {

/// What a device call answers. Names follow NVML's return codes; a caller acts on each.
enum class DeviceCode {
  kOk,
  kInvalidArgument,        ///< NVML_ERROR_INVALID_ARGUMENT: no such profile or placement
  kNotSupported,           ///< NVML_ERROR_NOT_SUPPORTED: the board has no MIG, or MIG is off
  kNoPermission,           ///< NVML_ERROR_NO_PERMISSION
  kNotFound,               ///< NVML_ERROR_NOT_FOUND: no such GPU, instance or client
  kInsufficientResources,  ///< NVML_ERROR_INSUFFICIENT_RESOURCES: no room at that placement
  kInUse,                  ///< NVML_ERROR_IN_USE: a client or a compute instance holds it
  kResetRequired,          ///< NVML_ERROR_RESET_REQUIRED: MIG mode is pending a reset
  kGpuLost,                ///< NVML_ERROR_GPU_IS_LOST
};
inline constexpr int kDeviceCodeCount = 9;
std::string_view device_code_name(DeviceCode code);

template <class Id>
struct DeviceResult {
  DeviceCode code = DeviceCode::kOk;
  Id id{};  ///< means something only if code is kOk
};

enum class MigMode { kDisabled, kEnabled };

/// A GPU instance as the driver shows it.
struct DeviceInstance {
  struct Compute {
    ComputeInstanceId id;
    gpu::ComputeInstance instance;
  };
  GpuInstanceId id;
  gpu::PlacedProfile placed;
  std::vector<Compute> compute_instances;  ///< ascending id
  bool has_mps = false;                    ///< an MPS daemon serves it
  int client_count = 0;                    ///< processes that hold it
};

/// A GPU as the driver shows it: what is, not what was ordered.
struct DeviceState {
  const gpu::Geometry* geometry = nullptr;  ///< never null
  MigMode mig_mode = MigMode::kEnabled;
  bool is_lost = false;
  std::vector<DeviceInstance> instances;  ///< by placement start
  bool has_mps = false;                   ///< on the whole GPU (MIG off)
  int client_count = 0;                   ///< on the whole GPU (MIG off)
};

/// What an agent may do to the GPUs of its node. GPUs are numbered 0.. on the node (GpuIndex).
/// Every call answers at once; what it takes beyond that is told by take_latency(), which the
/// caller waits for. Idempotence is the caller's business: read back, then act. Not thread-safe.
class DeviceBackend {
 public:
  DeviceBackend() = default;
  DeviceBackend(const DeviceBackend&) = delete;
  DeviceBackend& operator=(const DeviceBackend&) = delete;
  virtual ~DeviceBackend() = default;

  virtual int gpu_count() const = 0;
  /// Nothing for a GPU that does not exist.
  virtual std::optional<DeviceState> inspect(GpuIndex gpu) const = 0;
  /// kInUse while anything is left on the GPU (instances, clients).
  virtual DeviceCode set_mig_mode(GpuIndex gpu, MigMode mode) = 0;
  /// Creates it exactly there.
  virtual DeviceResult<GpuInstanceId> create_gpu_instance(GpuIndex gpu,
                                                          const gpu::PlacedProfile& placed) = 0;
  /// kInUse while it has compute instances, clients or an MPS daemon.
  virtual DeviceCode destroy_gpu_instance(GpuIndex gpu, GpuInstanceId id) = 0;
  virtual DeviceResult<ComputeInstanceId> create_compute_instance(
      GpuIndex gpu, GpuInstanceId instance, const gpu::ComputeInstance& wanted) = 0;
  virtual DeviceCode destroy_compute_instance(GpuIndex gpu,
                                              GpuInstanceId instance,
                                              ComputeInstanceId id) = 0;
  /// Starts or stops the MPS control daemon of an instance, or of the whole GPU (no instance; MIG
  /// off). Stopping with clients is kInUse; starting a running or stopping an absent one is kOk.
  virtual DeviceCode start_mps(GpuIndex gpu, std::optional<GpuInstanceId> instance) = 0;
  virtual DeviceCode stop_mps(GpuIndex gpu, std::optional<GpuInstanceId> instance) = 0;
  /// A job's process takes hold of an instance (or of the whole GPU). Without MPS a second client
  /// of the same instance is kInUse: processes that share share by MPS, never by time slicing.
  virtual DeviceCode attach_client(GpuIndex gpu, std::optional<GpuInstanceId> instance) = 0;
  virtual DeviceCode detach_client(GpuIndex gpu, std::optional<GpuInstanceId> instance) = 0;
  /// How long the calls since the last take_latency() for this GPU take beyond their return: what
  /// an emulated device makes the caller wait; zero on a real one, whose calls block.
  virtual Duration take_latency(GpuIndex gpu) = 0;
};

}  // namespace septule::port
