#pragma once

#include <optional>
#include <span>

#include "base/result.hpp"

namespace septule::predict {

/// Speed on a small slice as a linear function of those on the two larger ones, all relative to 7g.
struct LinearSpeed {
  double on_4g = 0;  ///< factor of the speed on 4g
  double on_3g = 0;  ///< factor of the speed on 3g
  double offset = 0;
};

/// Speeds on 2g and 1g from those on 4g and 3g: the paper's way to the slices that its network does
/// not predict (miso.md 3.5; the artifact has no code for it). A plain value.
struct SliceRegression {
  LinearSpeed to_2g;
  LinearSpeed to_1g;

  /// Never above the speed on 3g, never below kRegressedSpeedMin (or that of 3g, if lower).
  double speed_2g(double speed_4g, double speed_3g) const;
  double speed_1g(double speed_4g, double speed_3g) const;
};
/// Speeds are positive [D].
inline constexpr double kRegressedSpeedMin = 0.01;

/// What fit_slice_regression() gives for the 32 jobs of MISO's profiles (28 run on 2g, 21 on 1g);
/// a test repeats it. Mean absolute errors 0.031 and 0.052; families left out 0.036 and 0.071
/// (miso.md 3.5).
inline constexpr SliceRegression kMisoRegression = {
    .to_2g = {.on_4g = -0.5437071960, .on_3g = 1.6442128748, .offset = -0.2345031870},
    .to_1g = {.on_4g = -0.8758095842, .on_3g = 1.8205049249, .offset = -0.3122666457}};

/// One job's speeds relative to 7g; nothing where it does not fit.
struct RegressionRow {
  double speed_4g = 0;
  double speed_3g = 0;
  std::optional<double> speed_2g;
  std::optional<double> speed_1g;
};

/// Least squares over the rows that have the speed in question. Fails with kInvalidInput if these
/// are fewer than three, or all on one line so that no answer is the only one.
Result<SliceRegression> fit_slice_regression(std::span<const RegressionRow> rows);

}  // namespace septule::predict
