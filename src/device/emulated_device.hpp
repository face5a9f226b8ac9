#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "device/board_model.hpp"
#include "device/fault_plan.hpp"
#include "gpu/geometry.hpp"
#include "gpu/latency.hpp"
#include "port/device_backend.hpp"

namespace septule::device {

/// Which orientation the boards of a node have (see Orientation).
enum class BoardOrientations {
  kMixed,        ///< GPUs of odd index are mirrored, so that nobody gets by with deriving ids
  kAllNormal,    ///< every GPU as an H100 SXM
  kAllMirrored,  ///< every GPU as an H100 PCIe
};

/// What an emulated node costs and how it fails. Durations are not negative. A value.
struct EmulatedDeviceOptions {
  /// Of every GPU whose model has MIG.
  port::MigMode initial_mig_mode = port::MigMode::kEnabled;
  BoardOrientations orientations = BoardOrientations::kMixed;
  /// If set, one whole re-cut costs exactly this instead of the sum of its steps: it is charged
  /// once for all instances created and destroyed and all switches of MIG mode between two
  /// take_latency(). MPS daemons are charged beside it. (4 s in the MISO paper, section 4.)
  std::optional<Duration> full_reset;
  /// One switch of MIG mode; if empty, the latency table's (4.25 s on A100: the middle of 4 to
  /// 4.5 s in the log of NVIDIA/gpu-operator issue 351).
  std::optional<Duration> mig_mode_toggle;
  /// Start of an MPS daemon with its server: 77 ms from fork to ready in the log of
  /// dra-driver-nvidia-gpu issue 1153.
  Duration mps_start = Duration::milliseconds(77);
  /// Its stop. Assumption: as long as the start; nothing has been published.
  Duration mps_stop = Duration::milliseconds(77);
  /// Clients of one MPS daemon on a whole GPU; an instance has its share by compute slices (48 up
  /// to CUDA 13.0, 60 from 13.1: NVIDIA's MPS documentation). 1 to 60.
  int mps_clients_max = 48;
  FaultPlan faults;
};

/// The MIG and MPS state machine of a node's GPUs, without hardware and without a clock: calls take
/// effect at once, and what they would take is added up for take_latency(). Refused calls cost
/// nothing and change nothing, except that a GPU lost by a fault stays lost.
///
/// What it does beyond the port's contract, after the mig-and-mps reference (0.2, A.4, B, C) and
/// the emulator specification (section 3):
/// - An id names a location of the chip: the same placement gets the same id again, and the board's
///   orientation decides which. Ids of compute instances are the lowest free in the GPU instance.
/// - A call is judged in the order: GPU known (kNotFound), not lost (kGpuLost), MIG on
///   (kNotSupported), instance known (kNotFound), profile and placement possible
///   (kInvalidArgument), room (kInsufficientResources), holders (kInUse). Chance comes last: an
///   injected fault falls only on calls that would have succeeded.
/// - Naming the whole GPU while MIG is on is kInvalidArgument. Processes and MPS daemons run in a
///   compute instance, so a GPU instance without one is kNotFound to them.
/// - Clients and daemons are counted by GPU instance: while there are any, none of its compute
///   instances can be destroyed.
/// - A process that runs without MPS cannot join it later: starting a daemon beside one is kInUse.
///   A client beyond the daemon's maximum is kInsufficientResources.
/// - A model whose profile table nobody has published counts as one without MIG.
/// - A lost GPU shows nothing but that it is lost; detach_client answers kGpuLost, its clients are
///   gone.
///
/// Every call but inspect() and make() costs O(instances of the GPU) and allocates nothing. Not
/// thread-safe. The geometries must outlive it.
class EmulatedDevice final : public port::DeviceBackend {
 public:
  /// One GPU for each geometry given. kInvalidInput, naming the option, if one is out of range or a
  /// model is beyond BoardModel's limits.
  static Result<std::unique_ptr<EmulatedDevice>> make(std::span<const gpu::Geometry* const> gpus,
                                                      const gpu::LatencyTable& latencies,
                                                      const EmulatedDeviceOptions& options);

  int gpu_count() const override { return static_cast<int>(gpus_.size()); }
  std::optional<port::DeviceState> inspect(GpuIndex gpu) const override;
  port::DeviceCode set_mig_mode(GpuIndex gpu, port::MigMode mode) override;
  port::DeviceResult<GpuInstanceId> create_gpu_instance(GpuIndex gpu,
                                                        const gpu::PlacedProfile& placed) override;
  port::DeviceCode destroy_gpu_instance(GpuIndex gpu, GpuInstanceId id) override;
  port::DeviceResult<ComputeInstanceId> create_compute_instance(
      GpuIndex gpu, GpuInstanceId instance, const gpu::ComputeInstance& wanted) override;
  port::DeviceCode destroy_compute_instance(GpuIndex gpu,
                                            GpuInstanceId instance,
                                            ComputeInstanceId id) override;
  port::DeviceCode start_mps(GpuIndex gpu, std::optional<GpuInstanceId> instance) override;
  port::DeviceCode stop_mps(GpuIndex gpu, std::optional<GpuInstanceId> instance) override;
  port::DeviceCode attach_client(GpuIndex gpu, std::optional<GpuInstanceId> instance) override;
  port::DeviceCode detach_client(GpuIndex gpu, std::optional<GpuInstanceId> instance) override;
  Duration take_latency(GpuIndex gpu) override;

  /// Test hook: the GPU falls off the bus. Everything on it is gone. kNotFound if there is no such.
  port::DeviceCode lose_gpu(GpuIndex gpu);
  /// Test hook: the node was rebooted for this GPU: it answers again, empty, with MIG off unless
  /// its model keeps the mode across reboots. No effect on a GPU that is not lost.
  port::DeviceCode repair_gpu(GpuIndex gpu);

 private:
  /// What processes may hold: an instance, or a whole GPU.
  struct Holders {
    std::uint16_t client_count = 0;
    bool has_mps = false;

    bool is_free() const { return client_count == 0 && !has_mps; }
  };
  struct ComputeSlot {
    std::uint8_t start = 0;
    std::uint8_t size = 0;  ///< 0: free
  };
  struct Instance {
    std::int16_t id = 0;
    std::uint8_t profile = 0;
    std::uint8_t start = 0;
    std::uint8_t compute_count = 0;
    Holders holders;
    std::array<ComputeSlot, BoardModel::kComputeInstancesMax> compute{};  ///< index = id
  };
  struct Gpu {
    const BoardModel* model = nullptr;
    Orientation orientation = Orientation::kNormal;
    port::MigMode mig_mode = port::MigMode::kDisabled;
    bool is_lost = false;
    bool is_recut = false;  ///< since the last take_latency(); used with full_reset
    Duration latency;
    std::uint32_t memory_slice_mask = 0;
    Holders whole;
    InlineVector<Instance, BoardModel::kInstancesMax> instances;  ///< by start
  };
  /// A GPU that can be called, or why not.
  struct FoundGpu {
    port::DeviceCode code = port::DeviceCode::kOk;
    Gpu* gpu = nullptr;
  };
  struct FoundInstance {
    port::DeviceCode code = port::DeviceCode::kOk;
    Gpu* gpu = nullptr;
    std::size_t at = 0;
  };
  struct FoundHolders {
    port::DeviceCode code = port::DeviceCode::kOk;
    Gpu* gpu = nullptr;
    Holders* holders = nullptr;
    int clients_max = 0;
  };

  EmulatedDevice(std::vector<BoardModel> models, const EmulatedDeviceOptions& options, int count);

  FoundGpu find_gpu(GpuIndex index);
  FoundInstance find_instance(GpuIndex index, GpuInstanceId id);
  FoundHolders find_holders(GpuIndex index, std::optional<GpuInstanceId> instance);
  /// kOk if chance lets the call succeed; loses the GPU if chance wants that.
  port::DeviceCode draw_fault(DeviceCall call, GpuIndex index);
  void charge_recut(Gpu& gpu, Duration step) const;
  static bool has_room(const Gpu& gpu,
                       const gpu::PlacedProfile& placed,
                       const BoardModel::Profile& profile);
  static void empty(Gpu& gpu);

  EmulatedDeviceOptions options_;
  std::vector<BoardModel> models_;  ///< never changes size: GPUs point into it
  std::vector<Gpu> gpus_;
  FaultInjector faults_;
};

}  // namespace septule::device
