#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "gpu/geometry.hpp"
#include "predict/limits.hpp"
#include "predict/mps_matrix.hpp"
#include "predict/slice_prediction.hpp"

namespace septule::predict {

/// What a job alone spends its step on, by slice; nothing for a slice that was not asked for. A
/// plain value.
struct SliceLimits {
  std::array<std::optional<LimitShares>, kSlices> shares;
  /// True: fitted to step times of the job alone on the whole GPU. False: to predicted speeds,
  /// because in a co-run nothing tells the job's own limits from its co-runners.
  bool is_measured = false;
  std::size_t point_count = 0;  ///< step times or speeds that the model was fitted to
};

/// What to explain. Borrows nothing.
struct SliceLimitsQuestion {
  std::array<ProfileIndex, kSlices> profiles;  ///< of each slice on the geometry
  std::array<bool, kSlices> is_open{};         ///< slices that the job may have; 7g always counts
  std::size_t column = 0;                      ///< the job's column of the matrix, present
};

/// Fits SignatureModel to a job and asks it for each open slice: to its measured step times if it
/// was alone in the matrix, otherwise to its predicted speeds on the open slices. 7g means the
/// whole GPU with MIG off. Counters help where they are known. Fails as SignatureModel does.
Result<SliceLimits> slice_limits(const gpu::Geometry& geometry,
                                 const MpsMatrix& matrix,
                                 const SlicePrediction& prediction,
                                 const SliceLimitsQuestion& question);

}  // namespace septule::predict
