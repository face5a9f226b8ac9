#pragma once

#include <optional>
#include <string_view>
#include <utility>

namespace septule {

/// Prints where and what failed on standard error and aborts. Used by SEPTULE_CHECK only.
[[noreturn]] void check_failed(std::string_view condition,
                               std::string_view what_should_hold,
                               const char* file,
                               int line);

}  // namespace septule

/// A programmer error stops the program, in every build. One condition per check; the text states
/// what should hold. Never used on input or on what a device says.
#define SEPTULE_CHECK(condition, what_should_hold)                               \
  do {                                                                           \
    if (!(condition)) {                                                          \
      ::septule::check_failed(#condition, what_should_hold, __FILE__, __LINE__); \
    }                                                                            \
  } while (false)

namespace septule {

/// The value of an optional that cannot be empty here; an empty one is a programmer error.
template <class T>
T checked_value(std::optional<T> value, std::string_view what_should_hold) {
  SEPTULE_CHECK(value.has_value(), what_should_hold);
  return *std::move(value);
}

}  // namespace septule
