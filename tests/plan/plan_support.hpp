#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "gpu/geometry.hpp"
#include "plan/job_speeds.hpp"

namespace septule::test {

/// A job with the same speed on every profile of the geometry.
inline plan::JobSpeeds even_job(const gpu::Geometry& geometry, std::string name, double speed) {
  return {.name = std::move(name),
          .memory = std::nullopt,
          .speed = std::vector<double>(geometry.profiles().size(), speed),
          .weight = 1};
}

/// Gives tests the built-in catalogue and the A100-40GB.
class CatalogueTest : public ::testing::Test {
 protected:
  const gpu::Geometry& geometry(std::string_view key) const { return **catalogue_.find(key); }
  ProfileIndex profile(std::string_view name) const {
    return geometry("A100-40GB").find_profile(name).value();
  }

  gpu::Catalogue catalogue_ = gpu::load_builtin_catalogue();
};

}  // namespace septule::test
