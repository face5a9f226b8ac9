#include "base/clock.hpp"

#include <cmath>

#include "base/check.hpp"

namespace septule {

Duration seconds_to_duration(double seconds) {
  SEPTULE_CHECK(std::isfinite(seconds) && std::abs(seconds) <= 9e9,
                "a time in seconds is finite and within 9e9");
  return Duration::nanoseconds(static_cast<std::int64_t>(std::llround(seconds * 1e9)));
}

Duration scaled(Duration length, double factor) {
  const double product = static_cast<double>(length.to_nanoseconds()) * factor;
  SEPTULE_CHECK(std::isfinite(product) && std::abs(product) <= 9e18,
                "a scaled time is finite and within 9e18 ns");
  return Duration::nanoseconds(static_cast<std::int64_t>(std::llround(product)));
}

}  // namespace septule
