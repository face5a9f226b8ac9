#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "predict/mps_matrix.hpp"
#include "predict/predictor.hpp"

namespace septule::predict {

/// What one kind of job was once measured to do in an MPS co-run: a column of an MpsMatrix without
/// empty cells. A plain value.
struct MeasuredColumn {
  std::string job;                        ///< by the name of its signature: "resnet:64"
  int co_runners = 1;                     ///< real jobs of the run, this one included: 1..7
  std::array<double, kLevelsMax> step{};  ///< by level; > 0, any unit
};

/// Measured columns to draw from. Invariant: `columns` are sorted by job, then co-runners. A plain
/// value.
struct MeasuredColumns {
  InlineVector<ActiveThreadPercentage, kLevelsMax> levels;
  std::vector<MeasuredColumn> columns;
  std::string text;  ///< which they are, for people: "fold 2 of miso (2190 rows)"

  /// All of this job in runs of so many; empty if there is none.
  std::span<const MeasuredColumn> find(std::string_view job, int co_runners) const;
  /// The number of co-runners nearest to this one of which there are columns (of two equally near
  /// the smaller); 0 if the job is in no column.
  int nearest_co_runners(std::string_view job, int co_runners) const;
};

}  // namespace septule::predict
