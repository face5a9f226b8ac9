#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/inline_vector.hpp"
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
/// for three points). Both >= 0, their sum is 1. A job measured on the whole GPU only is taken to
/// scale with its share (the default), the cautious end.
struct ScalingFit {
  double serial = 0;
  double parallel = 1;
  /// Speed relative to the whole GPU at this share in (0, 1]; 1 at share 1.
  double speed_at(double share) const { return 1 / (serial + parallel / share); }
};

/// Step time that synthetic signatures are given: they have none, and their speeds do not depend on
/// it [D].
inline constexpr Duration kSyntheticStep = Duration::milliseconds(100);
/// A job measured on another GPU model fits where the usable memory is at least this part of the
/// usable memory of the smallest profile in which it ran there: equal slices of sister parts differ
/// by up to 2 % (A100-40GB 2g.10gb 9856 MiB, A100-80GB 1g.10gb 9728 MiB) [D].
inline constexpr double kForeignMemoryPart = 0.95;
/// Where nobody has published the memory of a profile, it is taken to have this part of its memory
/// slices' share of the board's marketing figure: published profiles have 0.95 to 0.98 of it [D].
inline constexpr double kUnpublishedMemoryPart = 0.95;
/// Usable memory of a profile: published, or estimated by kUnpublishedMemoryPart. Nothing if the
/// board's memory is not published either.
std::optional<Bytes> usable_memory(const gpu::Geometry& geometry, ProfileIndex profile);

/// Plain profiles of one GPU model at most: one per number of compute slices.
inline constexpr std::size_t kPlainProfilesMax = 8;

/// Speed alone as a function of the share of compute slices: linear between points, below the first
/// the fit, scaled to meet it. A value.
struct SpeedCurve {
  struct Point {
    double share = 0;
    double speed = 0;
  };
  InlineVector<Point, kPlainProfilesMax> points;  ///< ascending share, the last at share 1
  double below = 1;                               ///< scales the fit to meet the first point
  ScalingFit fit;

  /// `share` in (0, 1]. O(1), no heap.
  double at(double share) const;
};
/// Through the speeds of a row that are not 0, on the plain profiles of the geometry; the whole GPU
/// is share 1. Nothing for a row without a speed on the whole GPU.
std::optional<SpeedCurve> curve_through(const gpu::Geometry& geometry, const SpeedRow& row);

/// How fast each signature runs alone on each plain profile of one GPU model. Measured figures
/// where the signature was measured on this model, otherwise its scaling fit (predicted, see
/// `is_measured`). Synthetic signatures: 0.97 x min(1, share / saturation), with the share of
/// compute or of memory slices (workloads.md section 6), the whole GPU included. Memory: fits of
/// measured signatures follow from where they ran (on another model with kForeignMemoryPart), those
/// of synthetic ones from their memory, by usable_memory(). A job that fits a plain profile fits
/// every one with more memory slices (then compute slices): one that was not measured there gets
/// the speed between its neighbours, never 0. Double-memory and media profiles have no figures: 0.
/// Immutable after make(); any thread may read.
class SpeedBook {
 public:
  /// Fails with kInvalidInput for a signature without a measurement on the whole GPU, for one that
  /// is not well formed (profiles unknown, not plain or twice, times not positive, GPU model
  /// unknown, saturation out of range, synthetic without memory), or for a geometry without a
  /// profile table. `geometry` must outlive the book.
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
  /// What it needs where it shares memory: as its signature says, otherwise the usable memory of
  /// its smallest fitting profile; what it is known to need if it fits nowhere.
  Bytes need(job::SignatureIndex signature) const { return entry(signature).need; }
  /// Speed alone on this share of the GPU's compute slices: linear between measured profiles (the
  /// whole GPU is share 1 of compute_slices()), below the smallest measured one the scaling fit,
  /// scaled to meet that one. `share` in (0, 1]. O(1), no heap.
  double speed_at(job::SignatureIndex signature, double share) const {
    return entry(signature).curve.at(share);
  }
  const SpeedCurve& curve(job::SignatureIndex signature) const { return entry(signature).curve; }
  /// Amdahl's law fitted to the measured shares (for synthetic ones to their response).
  const ScalingFit& scaling(job::SignatureIndex signature) const {
    return entry(signature).curve.fit;
  }
  /// Mean step time alone on the whole GPU of the model it was measured on; kSyntheticStep.
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
  struct Entry {
    job::PerfSignature signature;
    SpeedRow row;
    /// Index into signature.times, -1 = none.
    std::array<std::int8_t, kProfilesMax> time_index{};
    SpeedCurve curve;
    std::optional<ProfileIndex> smallest;
    Bytes need;
    Duration whole_step;
    bool is_measured = false;
  };
  SpeedBook() = default;
  const Entry& entry(job::SignatureIndex index) const {
    return rows_[static_cast<std::size_t>(index.value())];
  }
  class Maker;

  const gpu::Geometry* geometry_ = nullptr;
  std::vector<Entry> rows_;
  std::vector<ProfileIndex> plain_;  ///< ascending compute slices
  ProfileIndex whole_;
};

}  // namespace septule::predict
