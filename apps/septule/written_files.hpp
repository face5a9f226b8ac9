#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "septule/app.hpp"

namespace septule::app {

/// Options and arguments, by name, whose values are files, of a command. Those not given are
/// passed over.
struct FileOptions {
  std::vector<std::string_view> written;
  std::vector<std::string_view> read;
};

/// Asked before the work, so that minutes of it are not lost, nor what was asked for. kUsage where
/// a file to be written is "-", which is where the result goes, or is also one that is read or the
/// other one that is written, by whatever name; kFailed where its folder is not there. Devices and
/// pipes may be named twice.
Status check_written_files(const Invocation& invocation, const FileOptions& options);

}  // namespace septule::app
