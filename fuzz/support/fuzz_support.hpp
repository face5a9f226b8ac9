#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/text.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "gpu/geometry.hpp"

namespace septule::fuzz {

/// Stops the program, which libFuzzer and the replay report with the input that did it.
inline void require(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "property broken: %s\n", what);
    std::abort();
  }
}

/// A refusal is one line of valid UTF-8 that says something.
inline void require_good(std::string_view message) {
  require(!message.empty(), "a message says something");
  require(message.find_first_of("\n\r") == std::string_view::npos, "a message is one line");
  require(is_valid_utf8(message), "a message is valid UTF-8");
  require(message.size() < 8192, "a message is short");
}
inline void require_good(const Error& error) {
  require_good(error.message);
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline const gpu::Catalogue& catalogue() {
  static const gpu::Catalogue kCatalogue = gpu::load_builtin_catalogue();
  return kCatalogue;
}

/// A model known to have a profile table.
inline const gpu::Geometry& geometry(const char* key = "A100-40GB") {
  const Result<const gpu::Geometry*> found = catalogue().find(key);
  require(found.has_value(), "the catalogue has the model");
  return **found;
}

}  // namespace septule::fuzz
