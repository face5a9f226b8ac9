#include "septule/written_files.hpp"

#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/text.hpp"

namespace septule::app {

namespace {

struct NamedFile {
  std::string option;
  std::string path;
};

std::vector<NamedFile> files_of(const Invocation& invocation,
                                const std::vector<std::string_view>& names) {
  std::vector<NamedFile> files;
  for (const std::string_view name : names) {
    const std::string own(name);
    if (invocation.is_given(own)) {
      const bool is_argument = name.front() >= 'A' && name.front() <= 'Z';
      files.push_back({is_argument ? own : "--" + own, invocation.text(own)});
    }
  }
  return files;
}

/// Not a device, a pipe or a folder: what may be there already, or not yet.
bool is_plain(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

/// Whether both lead to one file, which need not be there yet.
bool is_same_file(const std::string& one, const std::string& other) {
  if (!is_plain(one) || !is_plain(other)) {
    return false;
  }
  std::error_code fault;
  if (std::filesystem::equivalent(one, other, fault)) {
    return true;
  }
  const auto whole = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, fault), fault);
  };
  const std::filesystem::path place = whole(one);
  return !place.empty() && place == whole(other);
}

Status check_place(const NamedFile& file) {
  if (file.path == "-") {
    return Error{
        ErrorCode::kUsage,
        fmt::format("{}: \"-\" is standard output, where the result goes; give FILE", file.option)};
  }
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(file.path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    return Error{ErrorCode::kFailed,
                 fmt::format("{}: cannot be written: its folder is not there",
                             quoted_for_message(file.path))};
  }
  return {};
}

Error both(const NamedFile& written, const NamedFile& other, std::string_view why) {
  return Error{ErrorCode::kUsage,
               fmt::format("{} and {} are the same file, {}, {}; give another",
                           other.option,
                           written.option,
                           quoted_for_message(written.path),
                           why)};
}

}  // namespace

Status check_written_files(const Invocation& invocation, const FileOptions& options) {
  const std::vector<NamedFile> written = files_of(invocation, options.written);
  const std::vector<NamedFile> read = files_of(invocation, options.read);
  for (std::size_t i = 0; i < written.size(); ++i) {
    SEPTULE_TRY_STATUS(check_place(written[i]));
    for (const NamedFile& input : read) {
      if (input.path != "-" && is_same_file(written[i].path, input.path)) {
        return both(written[i], input, "which would be overwritten");
      }
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (is_same_file(written[i].path, written[k].path)) {
        return both(written[i], written[k], "of which one would be lost");
      }
    }
  }
  return {};
}

}  // namespace septule::app
