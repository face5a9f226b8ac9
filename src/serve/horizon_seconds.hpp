#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace septule::serve {

// Whole seconds, for the sources of the rolling horizon.

/// From a count.
constexpr Duration whole_seconds(std::int64_t seconds) {
  return Duration::milliseconds(1000 * seconds);
}

/// Rounded down.
constexpr int seconds_of(Duration length) {
  return static_cast<int>(length.to_nanoseconds() / 1'000'000'000);
}

}  // namespace septule::serve
