#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace septule::test {

/// All bytes of a file; empty if it cannot be read. For tests only.
inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace septule::test
