#include "learn/tensor_lookup.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

namespace septule::learn {

Result<const Tensor*> tensor_of_shape(const NetworkWeights& weights,
                                      std::string_view name,
                                      std::span<const int> shape) {
  const Tensor* const tensor = weights.find(name);
  if (tensor == nullptr) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("the weights of kind \"{}\" lack the tensor \"{}\" of shape [{}]",
                             weights.kind,
                             name,
                             fmt::join(shape, ", "))};
  }
  if (!std::ranges::equal(tensor->shape, shape)) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("the shape of tensor \"{}\" is [{}]; kind \"{}\" needs [{}]",
                             name,
                             fmt::join(tensor->shape, ", "),
                             weights.kind,
                             fmt::join(shape, ", "))};
  }
  return tensor;
}

Result<double> real_setting(const NetworkWeights& weights,
                            std::string_view name,
                            const RealRange& range) {
  const auto found = weights.settings.find(std::string(name));
  if (found == weights.settings.end()) {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("the weights of kind \"{}\" lack the setting \"{}\"", weights.kind, name)};
  }
  if (!(found->second >= range.min && found->second <= range.max)) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("the setting \"{}\" is {}; valid are numbers from {} to {}",
                             name,
                             found->second,
                             range.min,
                             range.max)};
  }
  return found->second;
}

Result<int> whole_setting(const NetworkWeights& weights,
                          std::string_view name,
                          const SettingRange& range) {
  SEPTULE_TRY(
      const double value,
      real_setting(weights,
                   name,
                   {.min = static_cast<double>(range.min), .max = static_cast<double>(range.max)}));
  if (value != std::floor(value)) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("the setting \"{}\" is {}; valid are whole numbers", name, value)};
  }
  return static_cast<int>(value);
}

}  // namespace septule::learn
