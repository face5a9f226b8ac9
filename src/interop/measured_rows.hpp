#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "base/result.hpp"
#include "interop/limits.hpp"
#include "predict/mps_matrix.hpp"

namespace septule::interop {

/// Folds that MISO's published predictor data cut the job mixes into (column `val5`).
inline constexpr int kMeasuredFolds = 5;

/// A row of unet_rows.csv: which jobs shared the GPU in a row of the arrays. A plain value.
struct MeasuredRow {
  int measurement = 0;
  int mix = 0;     ///< rows of one multiset of jobs share it
  int fold = 0;    ///< val5: 0..4; a mix is in one fold
  int active = 0;  ///< columns that are not the filler
  std::array<int, predict::kCoRunnersMax> classes{};
};

/// Reads unet_rows.csv (docs/formats.md, "Measured MPS columns"). `is_filler` says it of each
/// class. Fails with kInvalidInput, naming file, line and column: no rows, rows that are not in the
/// order of the arrays, another number of jobs than the classes are, a class that is none, a mix in
/// two folds.
Result<std::vector<MeasuredRow>> read_measured_rows(const InputText& input,
                                                    const std::vector<bool>& is_filler);

}  // namespace septule::interop
