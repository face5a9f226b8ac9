#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"

namespace septule::gpu::test {

inline const Catalogue& builtin_catalogue() {
  static const Catalogue loaded = load_builtin_catalogue();
  return loaded;
}

inline const Geometry& model(std::string_view key) {
  const Result<const Geometry*> found = builtin_catalogue().find(key);
  SEPTULE_CHECK(found.has_value(), "tests name known GPUs");
  return **found;
}

inline std::vector<ProfileSet> profile_sets() {
  return {ProfileSet::kPlain, ProfileSet::kDouble, ProfileSet::kAll};
}

/// What every message must be: some text on one line.
inline void expect_one_line(const Error& error) {
  EXPECT_FALSE(error.message.empty());
  EXPECT_EQ(error.message.find_first_of("\r\n\x1b"), std::string::npos) << error.message;
}

/// "3g.20gb@0+1g.5gb@4": the form of the reference material.
inline std::string layout_name(const Geometry& geometry, const Layout& layout) {
  std::string text;
  for (const PlacedProfile& placed : layout) {
    text += (text.empty() ? "" : "+") + geometry.profile(placed.profile).name + "@" +
            std::to_string(placed.start.value());
  }
  return text;
}

}  // namespace septule::gpu::test
