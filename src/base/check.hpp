#pragma once

#include <string_view>

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
