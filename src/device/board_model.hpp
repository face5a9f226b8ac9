#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/inline_vector.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/latency.hpp"
#include "gpu/partition.hpp"

namespace septule::device {

/// How NVML's placements lie on the chip. The id of a GPU instance names a location of the chip, so
/// boards of one model hand out different ids for the same placement. Both have been seen for
/// seven-slice parts (mig-and-mps reference, 0.2; gpus.json, gi_id_map); others have only one.
enum class Orientation { kNormal, kMirrored };
inline constexpr int kOrientationCount = 2;

/// What an emulated GPU of one model has to look up in a call, laid out in advance: the rules of
/// its profile table as bit masks, instance ids, durations. Immutable; any thread may read.
class BoardModel {
 public:
  static constexpr int kMemorySlicesMax = 32;
  static constexpr int kInstancesMax = 16;
  static constexpr int kComputeInstancesMax = 8;

  struct ComputeRow {
    int slices = 0;
    std::uint32_t start_mask = 0;  ///< bit s: it can start at compute slice s
    int instances_max = 0;
  };
  struct Profile {
    std::uint32_t size_mask = 0;   ///< as many low bits as memory slices
    std::uint32_t start_mask = 0;  ///< bit s: it can start at memory slice s
    int instances_max = 0;
    int mps_clients_max = 0;
    std::array<int, gpu::kEngineCount> engines{};  ///< 0 where not published
    Duration create;                               ///< a GPU instance alone
    Duration destroy;
    InlineVector<ComputeRow, kComputeInstancesMax> compute_rows;
    /// By orientation and start; -1 where it cannot start.
    std::array<std::array<std::int16_t, kMemorySlicesMax>, kOrientationCount> ids{};
  };

  /// `mps_clients_max` of the whole GPU (> 0): a profile has its share by compute slices, at least
  /// 1. kInvalidInput for a model beyond the limits above. `geometry` must outlive the result.
  static Result<BoardModel> make(const gpu::Geometry& geometry,
                                 const gpu::LatencyTable& latencies,
                                 int mps_clients_max);

  const gpu::Geometry& geometry() const { return *geometry_; }
  /// False for models whose profile table nobody has published: they cannot be emulated further.
  bool has_mig() const { return !profiles_.empty(); }
  /// Null unless the model has this profile.
  const Profile* find_profile(ProfileIndex index) const {
    const auto at = static_cast<std::size_t>(index.value());
    return index.value() >= 0 && at < profiles_.size() ? &profiles_[at] : nullptr;
  }
  /// Engines of the whole GPU; INT_MAX where not published.
  const std::array<int, gpu::kEngineCount>& engine_budget() const { return engine_budget_; }
  Duration compute_create() const { return compute_create_; }
  Duration compute_destroy() const { return compute_destroy_; }
  Duration mig_mode_toggle() const { return mig_mode_toggle_; }

 private:
  explicit BoardModel(const gpu::Geometry& geometry) : geometry_(&geometry) {}
  void add_profile(ProfileIndex index, const gpu::LatencyTable& latencies, int mps_clients_max);
  void number_instances();

  const gpu::Geometry* geometry_;
  std::vector<Profile> profiles_;
  std::array<int, gpu::kEngineCount> engine_budget_{};
  Duration compute_create_;
  Duration compute_destroy_;
  Duration mig_mode_toggle_;
};

}  // namespace septule::device
