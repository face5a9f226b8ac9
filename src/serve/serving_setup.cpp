#include "serve/serving_setup.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/text.hpp"

namespace septule::serve {

void PolicyOptions::set(std::string_view name, std::string_view value) {
  const auto at = std::ranges::lower_bound(
      values_, name, {}, [](const auto& entry) -> std::string_view { return entry.first; });
  if (at != values_.end() && at->first == name) {
    at->second = value;
  } else {
    values_.insert(at, {std::string(name), std::string(value)});
  }
}

double PolicyOptions::number(std::string_view name, double fallback) const {
  const std::string_view value = text(name, "");
  return value.empty() ? fallback
                       : checked_value(parse_number(value), "options are checked before use");
}

std::string_view PolicyOptions::text(std::string_view name, std::string_view fallback) const {
  for (const auto& [key, value] : values_) {
    if (key == name) {
      return value;
    }
  }
  return fallback;
}

}  // namespace septule::serve
