#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace septule::app {

/// Largest input read from a file or standard input; more is refused, not cut.
inline constexpr std::size_t kInputBytesMax = std::size_t{1} << 20U;

/// The whole text of a file, or of standard input for "-". kNotFound if it does not exist (naming
/// near files), kInvalidInput if it is a directory or larger than `bytes_max`, kFailed if it cannot
/// be read.
Result<std::string> read_input(const std::string& path, std::size_t bytes_max = kInputBytesMax);

/// Whether a command-line value is meant as a file: "-", an existing path, or something that looks
/// like a path (has a '/' or ends in .yaml, .yml, .json, .txt, .csv).
bool is_meant_as_file(const std::string& value);

/// Writes a file through a temporary one beside it, so that it is whole or not there; the text is
/// read back and compared. A symbolic link stays one: what it leads to is written. A device, a pipe
/// or another thing that is no file is written straight to, and not read back. kFailed, naming the
/// file and why, if it cannot be written; kUsage for "-".
Status write_file(const std::string& path, std::string_view text);

}  // namespace septule::app
