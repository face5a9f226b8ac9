#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/result.hpp"
#include "base/text.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "gpu/geometry.hpp"

namespace septule::test {

inline const gpu::Catalogue& builtin_catalogue() {
  static const gpu::Catalogue loaded = gpu::load_builtin_catalogue();
  return loaded;
}

inline const gpu::Geometry& model(std::string_view key) {
  return **builtin_catalogue().find(key);
}

/// The profile of this name on this model, which must have it.
inline ProfileIndex profile_of(const gpu::Geometry& geometry, std::string_view name) {
  return geometry.find_profile(name).value();  // NOLINT(bugprone-unchecked-optional-access)
}

/// The message of a refusal, checked for what every message must be; empty for a success.
template <class T>
std::string refusal(const Result<T>& result) {
  if (result) {
    return {};
  }
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(result.error().message.find_first_of("\r\n"), std::string::npos);
  EXPECT_TRUE(is_valid_utf8(result.error().message));
  return result.error().message;
}

}  // namespace septule::test
