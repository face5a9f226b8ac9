#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <gtest/gtest.h>

namespace septule::test {

/// Path of a file of the shared reference material, or nothing where that file is not there.
/// `relative` is a path below the material's root ("data/miso/optimizer_cases.jsonl"). The root is
/// the environment variable SEPTULE_SHARED, else the directory that the build was configured with
/// (tests/CMakeLists.txt). Read at each call; for tests only.
inline std::optional<std::filesystem::path> shared_file(std::string_view relative) {
  // Tests set no environment variables, so reading one from several threads is safe.
  const char* const from_env = std::getenv("SEPTULE_SHARED");  // NOLINT(concurrency-mt-unsafe)
  const std::string root =
      from_env != nullptr && *from_env != '\0' ? from_env : SEPTULE_SHARED_DEFAULT;
  std::filesystem::path path = std::filesystem::path(root) / relative;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return std::nullopt;
  }
  return path;
}

}  // namespace septule::test

/// SEPTULE_REQUIRE_SHARED(path, "data/miso/util.csv"): declares `const std::filesystem::path&
/// path`, or skips the running test with a text that begins "needs shared data:" (`make test` lists
/// those tests at its end). Only directly in the body of a TEST.
#define SEPTULE_REQUIRE_SHARED(path_variable, relative_path)                             \
  const std::optional<std::filesystem::path> path_variable##_found =                     \
      ::septule::test::shared_file(relative_path);                                       \
  if (!path_variable##_found.has_value()) {                                              \
    GTEST_SKIP() << "needs shared data: " << (relative_path) << " (set SEPTULE_SHARED)"; \
  }                                                                                      \
  const std::filesystem::path& path_variable = *path_variable##_found
