#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "interop/limits.hpp"

namespace septule::interop {

/// What every parser asks of a text first: not empty, not too long, no NUL bytes, valid UTF-8.
/// Returns the text without a UTF-8 byte order mark. Fails with kInvalidInput.
Result<std::string_view> checked_text(const InputText& input,
                                      std::size_t bytes_max = kInputBytesMax);

/// "SOURCE:LINE: FIELD: WHAT" as a kInvalidInput error. Line 0 and an empty field are left out.
/// `what` and `field` must already be fit for one line (hostile parts quoted).
Error input_error(std::string_view source_name,
                  int line,
                  std::string_view field,
                  std::string_view what);

/// "unknown field X; the nearest is Y" or, when nothing is near, "... known are A, B and C".
std::string unknown_name_text(std::string_view kind,
                              std::string_view name,
                              std::span<const std::string> known);

/// "a, b and c", or the first 20 of many names and how many more there are; hostile bytes as in
/// one_line.
std::string listed_names(std::span<const std::string> names);

/// Why `name` is no good as a name (empty, too long, control characters); empty if it is good.
std::string name_fault(std::string_view name);

/// Control characters and invalid UTF-8 as \xNN, cut at `bytes_max`; without quotation marks.
std::string one_line(std::string_view text, std::size_t bytes_max = kNameBytesMax);

}  // namespace septule::interop
