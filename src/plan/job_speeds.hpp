#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace septule::plan {

/// How fast one job runs on each GPU-instance profile of one Geometry.
struct JobSpeeds {
  std::string name;
  std::optional<Bytes> memory;  ///< what the job needs; absent = not said, not checked
  /// Indexed by ProfileIndex: progress relative to the whole GPU; 0 = does not fit.
  std::vector<double> speed;
  double weight = 1;
};

}  // namespace septule::plan
