#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace septule::test {

/// What a shell command said (both streams) and its exit status; -1 if it could not be run.
struct CommandOutput {
  int status = -1;
  std::string text;
};

inline CommandOutput run_command(const std::string& command) {
  CommandOutput output;
  // NOLINTNEXTLINE(cert-env33-c): tests run commands that they wrote themselves.
  std::FILE* const pipe = popen(("exec 2>&1\n" + command).c_str(), "r");
  if (pipe == nullptr) {
    return output;
  }
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.text.append(buffer.data(), count);
  }
  output.status = pclose(pipe);
  return output;
}

inline bool has_program(const std::string& name) {
  return run_command("command -v " + name).status == 0;
}

/// A file of the running test's own, with this content. Its name holds no blanks.
inline std::filesystem::path write_test_file(std::string_view name, std::string_view content) {
  const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) /
      (std::string(test->test_suite_name()) + "." + test->name() + "." + std::string(name));
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

}  // namespace septule::test
