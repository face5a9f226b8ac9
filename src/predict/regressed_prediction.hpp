#pragma once

#include "predict/slice_prediction.hpp"
#include "predict/slice_regression.hpp"

namespace septule::predict {

/// Standard deviation of the regression's own error on 2g and 1g: its mean absolute error on
/// families left out, 0.036 and 0.071 (miso.md 3.5), times sqrt(pi / 2), as for a normal error.
inline constexpr double kRegressionSd2g = 0.045;
inline constexpr double kRegressionSd1g = 0.089;

/// `prediction` with 2g and 1g from its 4g and 3g: the paper's way, where a network predicts these
/// slices directly. Its errors on 4g and 3g are taken as independent and go through the regression.
SlicePrediction regressed(const SlicePrediction& prediction, const SliceRegression& regression);

}  // namespace septule::predict
