#include "predict/measured_columns.hpp"

#include <algorithm>
#include <utility>

namespace septule::predict {

std::span<const MeasuredColumn> MeasuredColumns::find(std::string_view job, int co_runners) const {
  const auto key = [](const MeasuredColumn& column) {
    return std::pair<std::string_view, int>(column.job, column.co_runners);
  };
  const auto range = std::ranges::equal_range(columns, std::pair(job, co_runners), {}, key);
  return {range.begin(), range.end()};
}

int MeasuredColumns::nearest_co_runners(std::string_view job, int co_runners) const {
  const int last = static_cast<int>(kCoRunnersMax);
  for (int apart = 0; apart < last; ++apart) {
    for (const int wanted : {co_runners - apart, co_runners + apart}) {
      if (!find(job, wanted).empty()) {
        return wanted;
      }
    }
  }
  return 0;
}

}  // namespace septule::predict
