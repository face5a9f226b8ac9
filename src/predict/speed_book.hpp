#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"
#include "job/perf_signature.hpp"

namespace septule::predict {

inline constexpr int kProfilesMax = gpu::LayoutBuilder::kProfilesMax;

/// Speeds of one job on the profiles of a geometry (index = ProfileIndex), relative to the whole
/// GPU with MIG off; 0 = does not fit.
struct SpeedRow {
  std::array<double, kProfilesMax> speed{};
  double on(ProfileIndex profile) const { return speed[static_cast<std::size_t>(profile.value())]; }
};

/// Solo step time as a function of the share of compute slices: t = serial + parallel / share, in
/// units of the step time on the whole GPU (Amdahl; performance-model.md section 2 recommends it
/// for three points). Both >= 0.
struct ScalingFit {
  double serial = 0;
  double parallel = 1;
  /// Speed relative to the whole GPU at this share in (0, 1], at most `speed_max` of the fit.
  double speed_at(double share) const;
};

/// How fast each signature runs alone on each plain profile of one GPU model. Measured figures
/// where the signature was measured on this model, otherwise its scaling fit (predicted, see
/// `is_measured`). Double-memory and media profiles have no figures: 0. Immutable after make(); any
/// thread may read.
class SpeedBook {
 public:
  /// Fails with kInvalidInput for a signature without a measurement on the whole GPU, or for a
  /// geometry without a profile table. `geometry` must outlive the book.
  static Result<SpeedBook> make(const gpu::Geometry& geometry,
                                std::span<const job::PerfSignature> signatures);

  const gpu::Geometry& geometry() const { return *geometry_; }
  std::size_t size() const { return rows_.size(); }
  const SpeedRow& row(job::SignatureIndex signature) const { return entry(signature).row; }
  double speed(job::SignatureIndex signature, ProfileIndex profile) const {
    return entry(signature).row.on(profile);
  }
  bool is_measured(job::SignatureIndex signature) const { return entry(signature).is_measured; }
  /// The plain profile with the least memory (then fewest compute slices) on which it fits; nothing
  /// if it fits nowhere.
  std::optional<ProfileIndex> smallest(job::SignatureIndex signature) const {
    return entry(signature).smallest;
  }
  /// What it needs on a shared GPU: the usable memory of its smallest fitting profile.
  Bytes need(job::SignatureIndex signature) const { return entry(signature).need; }
  /// Speed alone on this share of the GPU's compute slices: linear between measured profiles (the
  /// whole GPU is share 1 of compute_slices()), the scaling fit below the smallest measured one.
  double speed_at(job::SignatureIndex signature, double share) const;
  /// Mean step time alone on the whole GPU.
  Duration whole_step(job::SignatureIndex signature) const { return entry(signature).whole_step; }
  /// The measurement on this profile; null where there is none.
  const job::SliceTime* slice_time(job::SignatureIndex signature, ProfileIndex profile) const;
  const job::PerfSignature& signature(job::SignatureIndex index) const {
    return entry(index).signature;
  }
  std::span<const ProfileIndex> plain_profiles() const { return plain_; }
  /// The profile of all compute slices ("7g.40gb").
  ProfileIndex whole_profile() const { return whole_; }

 private:
  struct Point {
    double share = 0;
    double speed = 0;
  };
  struct Entry {
    job::PerfSignature signature;
    SpeedRow row;
    std::array<int, kProfilesMax> time_index{};  ///< index into signature.times, -1 = none
    std::vector<Point> points;                   ///< ascending share
    ScalingFit fit;
    std::optional<ProfileIndex> smallest;
    Bytes need;
    Duration whole_step;
    bool is_measured = false;
  };
  SpeedBook() = default;
  const Entry& entry(job::SignatureIndex index) const {
    return rows_[static_cast<std::size_t>(index.value())];
  }
  Status add(const job::PerfSignature& signature);

  const gpu::Geometry* geometry_ = nullptr;
  std::vector<Entry> rows_;
  std::vector<ProfileIndex> plain_;  ///< ascending compute slices
  ProfileIndex whole_;
};

}  // namespace septule::predict
