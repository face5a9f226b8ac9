#include "septule/train_program.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace septule::app {

namespace {

constexpr const char* kProgram = "septule-train";
constexpr const char* kVariable = "SEPTULE_TRAIN_PROGRAM";

/// The training program, and who said so.
struct FoundProgram {
  enum class By { kSearch, kEnvironment };
  std::string path;
  By by = By::kSearch;
};

bool is_program(const std::filesystem::path& path) {
  return access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path);
}

/// Beside this program, else where SEPTULE_TRAIN_PROGRAM says, else on the PATH.
std::optional<FoundProgram> find_program() {
  std::error_code ignored;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (const auto beside = own.parent_path() / kProgram; !own.empty() && is_program(beside)) {
    return FoundProgram{beside.string()};
  }
  // One thread runs here, and nothing sets variables.
  const char* const named = std::getenv(kVariable);  // NOLINT(concurrency-mt-unsafe)
  if (named != nullptr && *named != '\0') {
    return FoundProgram{named, FoundProgram::By::kEnvironment};
  }
  const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    const std::filesystem::path folder = rest.substr(0, end);
    if (!folder.empty() && is_program(folder / kProgram)) {
      return FoundProgram{(folder / kProgram).string()};
    }
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  return std::nullopt;
}

/// The command line again, from what was parsed of it.
std::vector<std::string> arguments_of(const Invocation& invocation, const std::string& program) {
  std::vector<std::string> arguments = {program};
  const std::vector<std::string>& path = invocation.command().path;
  arguments.insert(arguments.end(), path.begin(), path.end());
  for (const OptionRecord& option : invocation.command().options) {
    if (invocation.is_given(option.name)) {
      arguments.push_back("--" + option.name);
      if (!option.value.empty()) {
        arguments.push_back(invocation.text(option.name));
      }
    }
  }
  return arguments;
}

}  // namespace

Result<int> become_training_program(const Invocation& invocation) {
  const std::optional<FoundProgram> program = find_program();
  if (!program) {
    return Error{ErrorCode::kNotFound,
                 "the training program septule-train was not built: it needs LibTorch (packages in "
                 "tools/packages/train.txt) and the CMake option SEPTULE_TRAIN (on in the preset "
                 "\"test\"); it is looked for beside septule, in SEPTULE_TRAIN_PROGRAM and on the "
                 "PATH"};
  }
  std::vector<std::string> arguments = arguments_of(invocation, program->path);
  std::vector<char*> pointers;
  for (std::string& one : arguments) {
    pointers.push_back(one.data());
  }
  pointers.push_back(nullptr);
  // Threads that OpenBLAS makes before the program begins would take its signals.
  setenv("OPENBLAS_NUM_THREADS", "1", 1);  // NOLINT(concurrency-mt-unsafe): one thread runs here
  setenv("OMP_NUM_THREADS", "1", 1);       // NOLINT(concurrency-mt-unsafe)
  // Takes this program's place: signals, terminal and exit code are the training's own.
  execv(program->path.c_str(), pointers.data());
  const std::string reason = std::error_code(errno, std::generic_category()).message();
  return Error{ErrorCode::kNotFound,
               program->by == FoundProgram::By::kEnvironment
                   ? fmt::format("{}: {} cannot be started: {}; expected the path of {}, or the "
                                 "variable not set",
                                 kVariable,
                                 quoted_for_message(program->path),
                                 reason,
                                 kProgram)
                   : fmt::format("{}: cannot be started: {}", program->path, reason)};
}

}  // namespace septule::app
