#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "predict/mps_matrix.hpp"

namespace septule::predict {

/// The five plain slices of a seven-slice GPU, largest first. "7g" is the whole GPU (miso.md 2.2:
/// its profiles were measured with MIG off).
enum class Slice { k7g, k4g, k3g, k2g, k1g };
inline constexpr std::size_t kSlices = 5;
inline constexpr std::array<std::string_view, kSlices> kSliceNames = {"7g", "4g", "3g", "2g", "1g"};
/// Compute slices of each.
inline constexpr std::array<int, kSlices> kSliceComputeSlices = {7, 4, 3, 2, 1};

/// What is believed of one job alone on each slice. Says nothing of whether its memory fits: that
/// is declared, not predicted. A plain value.
struct SlicePrediction {
  /// Speed relative to 7g; the expected value. speed[7g] = 1.
  std::array<double, kSlices> speed{};
  /// Standard deviation of `speed`; 0 for 7g by definition.
  std::array<double, kSlices> speed_sd{};
  /// Step time on 7g, 4g, 3g divided by the largest of the three, in (0, 1]: the paper's output, as
  /// the median.
  std::array<double, 3> time{};
  std::array<double, 3> time_sd{};
};

/// By column; nothing for an absent job.
using SlicePredictions = std::array<std::optional<SlicePrediction>, kCoRunnersMax>;

/// A map from an MPS co-run to slice speeds: a trained network, a baseline, a table. predict() is
/// const and may be called from any thread, if each has its own model or the model says so.
class SliceModel {
 public:
  SliceModel() = default;
  SliceModel(const SliceModel&) = delete;
  SliceModel& operator=(const SliceModel&) = delete;
  virtual ~SliceModel() = default;

  /// One word: "ours", "unet".
  virtual std::string_view name() const = 0;
  /// Fails with kInvalidInput as check_mps_matrix() does, or saying which level the model lacks.
  /// Columns are predicted together; permuting columns permutes the answer (not for "unet").
  virtual Result<SlicePredictions> predict(const MpsMatrix& matrix) const = 0;
};

}  // namespace septule::predict
