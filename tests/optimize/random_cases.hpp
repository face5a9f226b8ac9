#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"
#include "optimize/slice_assignment.hpp"
#include "optimize/speed_matrix.hpp"

namespace septule::test {

/// Random inputs of the per-GPU optimizer. Draws whole numbers only (std distributions are not the
/// same everywhere).
class RandomCases {
 public:
  explicit RandomCases(std::uint64_t seed) : engine_(seed) {}

  /// 0 .. below - 1.
  int number(int below) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(below)); }

  /// One of four kinds of table: few values (many ties), free values, growing with the profile's
  /// slices as real jobs do, or free with many zeros. All with some zeros.
  optimize::SpeedMatrix matrix(const gpu::Geometry& geometry, int job_count) {
    optimize::SpeedMatrix matrix(job_count);
    const int kind = number(4);
    bool is_fine = true;
    for (int job = 0; job < job_count; ++job) {
      is_fine = is_fine && matrix.set_weight(job, 0.25 * (1 + number(8)));
      for (std::size_t p = 0; p < geometry.profiles().size(); ++p) {
        const int slices = geometry.profiles()[p].slices.value();
        double speed = 0;
        switch (kind) {
          case 0:
            speed = 0.25 * number(5);
            break;
          case 1:
            speed = number(12) == 0 ? 0.0 : 0.000001 * (1 + number(1000000));
            break;
          case 2:
            speed = number(10) < 2 - slices ? 0.0 : 0.001 * (slices * 100 + number(200));
            break;
          default:
            speed = number(2) == 0 ? 0.0 : 0.01 * (1 + number(100));
            break;
        }
        is_fine = is_fine && matrix.set_speed(job, ProfileIndex(static_cast<int>(p)), speed);
      }
    }
    SEPTULE_CHECK(is_fine, "the figures drawn are valid");
    return matrix;
  }

  /// Some legal layout of the given ones as the current state, with random uses and jobs.
  std::vector<optimize::CurrentInstance> current(const std::vector<gpu::Layout>& layouts,
                                                 int job_count) {
    std::vector<optimize::CurrentInstance> current;
    std::vector<int> free_jobs;
    for (int job = 0; job < job_count; ++job) {
      free_jobs.push_back(job);
    }
    for (const gpu::PlacedProfile& placed :
         layouts[static_cast<std::size_t>(number(static_cast<int>(layouts.size())))]) {
      optimize::CurrentInstance instance{.placed = placed,
                                         .use = static_cast<optimize::InstanceUse>(number(4)),
                                         .job = std::nullopt};
      const bool needs_job = instance.use == optimize::InstanceUse::kPinned;
      if (needs_job && free_jobs.empty()) {
        instance.use = optimize::InstanceUse::kReusable;
      } else if (needs_job || (instance.use != optimize::InstanceUse::kFrozen &&
                               !free_jobs.empty() && number(2) == 0)) {
        const int at = number(static_cast<int>(free_jobs.size()));
        instance.job = free_jobs[static_cast<std::size_t>(at)];
        free_jobs.erase(free_jobs.begin() + at);
      }
      current.push_back(instance);
    }
    return current;
  }

  optimize::ChangeCosts costs() {
    if (number(3) == 0) {
      return {};
    }
    // Steps of 0.25 meet the few-valued tables, so that costs and speeds tie.
    const double unit = number(2) == 0 ? 0.05 : 0.25;
    return {.create = unit * number(4), .destroy = unit * number(4), .move = unit * number(5)};
  }

 private:
  std::mt19937_64 engine_;
};

inline std::vector<gpu::Layout> legal_layouts(const gpu::Geometry& geometry, gpu::ProfileSet set) {
  std::vector<gpu::Layout> layouts;
  const std::vector<ProfileIndex> profiles = geometry.profiles_in(set);
  gpu::for_each_layout(
      geometry, profiles, {}, [&](const gpu::Layout& layout, bool) { layouts.push_back(layout); });
  return layouts;
}

}  // namespace septule::test
