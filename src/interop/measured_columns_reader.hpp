#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "interop/limits.hpp"
#include "predict/measured_columns.hpp"

namespace septule::interop {

/// The files of MISO's published predictor data (docs/formats.md, "Measured MPS columns"): step
/// times by row, level (100, 50, 14 %) and column; which job each column is; their names.
struct MeasuredColumnsInput {
  InputText steps;    ///< unet_input.npy, float32 of rows x 3 x 7
  InputText rows;     ///< unet_rows.csv: see measured_rows.hpp
  InputText classes;  ///< unet_classes.csv: class_id, model, batch
};

/// Reads the columns of real jobs (the filler "dummy" is none) of the rows of one part: a fold of
/// `val5` ("0" to "4"), which a predictor trained on the others has not seen, or a job family
/// ("resnet"): the rows of all mixes that hold it, which one trained without the family has not
/// seen. Fails with kInvalidInput, naming file, row and column: not such files, row counts that
/// differ or are not in order, a time that is not in (0, 1]; kNotFound for another part, naming
/// those there are.
Result<predict::MeasuredColumns> read_measured_columns(const MeasuredColumnsInput& input,
                                                       std::string_view part);

}  // namespace septule::interop
