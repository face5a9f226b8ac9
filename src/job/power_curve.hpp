#pragma once

#include <vector>

#include "base/units.hpp"

namespace septule::job {

/// Power of a GPU by busy compute slices, for the energy estimate. A plain value; any thread.
class PowerCurve {
 public:
  /// Measured on an A100-40GB with a limit of 250 W (data/jobs/, key "power" of its sources).
  static PowerCurve builtin();

  /// Watts drawn while `active` of the GPU's `total` compute slices are busy. For another number of
  /// slices than seven: at the same share, linear between points. 0 <= active <= total, total > 0.
  double power_watts(ComputeSlices active, ComputeSlices total) const;

 private:
  std::vector<double> watts_;  ///< by busy slices, 0 to 7
};

}  // namespace septule::job
