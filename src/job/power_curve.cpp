#include "job/power_curve.hpp"

#include <algorithm>
#include <cstddef>

#include "base/check.hpp"
#include "job/job_data.hpp"

namespace septule::job {

PowerCurve PowerCurve::builtin() {
  const PlainTable table = job_data_table("power_a100_40gb.csv", "septule-power/1");
  PowerCurve curve;
  for (const PlainRow& row : table.rows()) {
    const Result<double> watts = table.required_number(row, 1, {.min = 0, .max = 10000});
    SEPTULE_CHECK(watts.has_value(), "the built-in power curve has watts");
    curve.watts_.push_back(*watts);
  }
  SEPTULE_CHECK(curve.watts_.size() >= 2, "the built-in power curve has points");
  return curve;
}

double PowerCurve::power_watts(ComputeSlices active, ComputeSlices total) const {
  SEPTULE_CHECK(total > ComputeSlices() && active >= ComputeSlices() && active <= total,
                "between none and all slices are busy");
  // In whole numbers first, so that a point of the curve is met exactly.
  const int scaled = active.value() * static_cast<int>(watts_.size() - 1);
  const auto below = static_cast<std::size_t>(scaled / total.value());
  const std::size_t above = std::min(below + 1, watts_.size() - 1);
  const double part = static_cast<double>(scaled % total.value()) / total.value();
  return watts_[below] + (watts_[above] - watts_[below]) * part;
}

}  // namespace septule::job
