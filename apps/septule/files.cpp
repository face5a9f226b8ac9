#include "septule/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace septule::app {

namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }  // NOLINT(cert-err33-c)
};
using File = std::unique_ptr<std::FILE, Closer>;

std::string error_text() {
  return std::error_code(errno, std::generic_category()).message();
}

Error not_found(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::vector<std::string> siblings;
  for (const auto& entry : std::filesystem::directory_iterator(
           parent.empty() ? std::filesystem::path(".") : parent, ignored)) {
    siblings.push_back((parent / entry.path().filename()).string());
    constexpr std::size_t kSiblingsMax = 1000;
    if (siblings.size() >= kSiblingsMax) {
      break;
    }
  }
  std::ranges::sort(siblings);  // a directory has no order of its own
  const std::vector<std::string> near = nearest_names(path, siblings, 3);
  return Error{ErrorCode::kNotFound,
               fmt::format("file {} does not exist{}",
                           quoted_for_message(path),
                           near.empty() ? "" : "; nearest: " + joined_with_and(near))};
}

Result<std::string> read_stream(std::FILE* file, const std::string& name, std::size_t bytes_max) {
  std::string text;
  std::array<char, 1U << 16U> buffer{};
  bool is_at_end = false;
  while (!is_at_end) {
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file);
    text.append(buffer.data(), count);
    if (text.size() > bytes_max) {
      return Error{
          ErrorCode::kInvalidInput,
          fmt::format("{}: is larger than {} bytes, the limit for an input", name, bytes_max)};
    }
    is_at_end = count < buffer.size() || std::feof(file) != 0 || std::ferror(file) != 0;
  }
  if (std::ferror(file) != 0) {
    return Error{ErrorCode::kFailed, fmt::format("{}: cannot be read: {}", name, error_text())};
  }
  return text;
}

}  // namespace

Result<std::string> read_input(const std::string& path, std::size_t bytes_max) {
  if (path == "-") {
    return read_stream(stdin, "standard input", bytes_max);
  }
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return not_found(path);
    }
    return Error{ErrorCode::kFailed,
                 fmt::format("{}: cannot be read: {}", quoted_for_message(path), error_text())};
  }
  if (S_ISDIR(info.st_mode)) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{}: is a directory; a file is expected", quoted_for_message(path))};
  }
  const File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return Error{ErrorCode::kFailed,
                 fmt::format("{}: cannot be read: {}", quoted_for_message(path), error_text())};
  }
  return read_stream(file.get(), path, bytes_max);
}

bool is_meant_as_file(const std::string& value) {
  if (value == "-") {
    return true;
  }
  const bool looks_like_layout =
      value.find(',') != std::string::npos || value.find('@') != std::string::npos;
  std::error_code ignored;
  if (!looks_like_layout && std::filesystem::exists(value, ignored)) {
    return true;
  }
  for (const std::string_view ending : {".yaml", ".yml", ".json", ".txt", ".csv", ".log"}) {
    if (value.ends_with(ending)) {
      return true;
    }
  }
  return value.find('/') != std::string::npos && value.find('@') == std::string::npos;
}

namespace {

Error not_written(const std::string& path, std::string_view why) {
  return Error{ErrorCode::kFailed,
               fmt::format("{}: cannot be written: {}", quoted_for_message(path), why)};
}

bool write_all(std::FILE* file, std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
}

/// The file that a chain of symbolic links ends at, which need not exist yet; `path` if it is none.
Result<std::string> target_of_links(const std::string& path) {
  constexpr int kLinksMax = 40;  // as Linux follows
  std::filesystem::path target = path;
  std::error_code fault;
  for (int links = 0; std::filesystem::is_symlink(target, fault); ++links) {
    const std::filesystem::path next = std::filesystem::read_symlink(target, fault);
    if (fault || links == kLinksMax) {
      return not_written(path, fault ? fault.message() : "too many levels of symbolic links");
    }
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return target.string();
}

/// To a device, a pipe or the like: it stays what it is, and cannot be read back.
Status write_through(const std::string& path, std::string_view text) {
  File file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr || !write_all(file.get(), text) || std::fclose(file.release()) != 0) {
    return not_written(path, error_text());
  }
  return Status();
}

/// Whole or not at all. `target` is a regular file or not there; `path` is its name in messages.
Status replace_file(const std::string& path, const std::string& target, std::string_view text) {
  // A name of its own, so that two writers do not meet; readable as any new file would be.
  std::string temporary = target + ".part-XXXXXX";
  const int descriptor = mkstemp(temporary.data());
  File file(descriptor < 0 ? nullptr : fdopen(descriptor, "wb"));
  if (file == nullptr) {
    return not_written(path, error_text());
  }
  const mode_t mask = umask(0);
  umask(mask);
  constexpr mode_t kModeAny = 0666;
  const bool is_written = fchmod(descriptor, kModeAny & ~mask) == 0 &&
                          write_all(file.get(), text) && fsync(fileno(file.get())) == 0;
  const std::string problem = is_written ? "" : error_text();
  file.reset();
  if (!is_written || std::rename(temporary.c_str(), target.c_str()) != 0) {
    const std::string why = is_written ? error_text() : problem;
    std::remove(temporary.c_str());  // NOLINT(cert-err33-c): best effort after a failure
    return not_written(path, why);
  }
  const Result<std::string> back = read_input(target, text.size());
  if (!back || *back != text) {
    return Error{ErrorCode::kFailed,
                 fmt::format("{}: was written, but does not read back the same; another process "
                             "may be writing there",
                             quoted_for_message(path))};
  }
  return Status();
}

}  // namespace

Status write_file(const std::string& path, std::string_view text) {
  if (path == "-") {
    return Error{ErrorCode::kUsage,
                 "\"-\" is standard output, and a file is expected (./- is a file called -)"};
  }
  struct stat info{};
  const bool is_there = stat(path.c_str(), &info) == 0;
  if (is_there && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    return write_through(path, text);
  }
  SEPTULE_TRY(const std::string target, target_of_links(path));
  return replace_file(path, target, text);
}

}  // namespace septule::app
