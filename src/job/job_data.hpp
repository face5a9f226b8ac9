#pragma once

#include <string_view>
#include <vector>

#include "job/plain_table.hpp"

namespace septule::job {

/// Text of a file of data/jobs/, compiled in (cmake/embed.cmake). Its absence is a programmer
/// error.
std::string_view job_data_text(std::string_view file_name);
/// The same as a table; SEPTULE_CHECKs that it parses (a test holds every file).
PlainTable job_data_table(std::string_view file_name, std::string_view format);

/// An inverse distribution curve of data/jobs/curves.csv: `values[i]` is not exceeded with
/// probability `fractions[i]`; both ascend. Below the first point the curve is flat.
struct Curve {
  std::string_view name;
  std::vector<double> fractions;
  std::vector<double> values;
};
/// All curves in the order of the file, parsed at the first call and constant from then on.
const std::vector<Curve>& curves();
const Curve& curve(std::string_view name);
/// Value at `fraction` in [0, 1], linear between points.
double curve_value(const Curve& curve, double fraction);

}  // namespace septule::job
