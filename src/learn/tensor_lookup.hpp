#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "learn/weights_file.hpp"

namespace septule::learn {

/// The tensor of this name and shape. kInvalidInput if it is missing or has another shape. Points
/// into `weights`.
Result<const Tensor*> tensor_of_shape(const NetworkWeights& weights,
                                      std::string_view name,
                                      std::span<const int> shape);

/// A whole-numbered setting from `min` to `max`. kInvalidInput if it is missing or another.
struct SettingRange {
  int min = 1;
  int max = 1;
};
Result<int> whole_setting(const NetworkWeights& weights,
                          std::string_view name,
                          const SettingRange& range);
/// A setting from `min` to `max`. kInvalidInput if it is missing or another.
struct RealRange {
  double min = 0;
  double max = 1;
};
Result<double> real_setting(const NetworkWeights& weights,
                            std::string_view name,
                            const RealRange& range);

}  // namespace septule::learn
