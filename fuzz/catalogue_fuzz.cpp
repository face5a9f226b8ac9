#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

static int run_one(const std::uint8_t* data, std::size_t size) {
  const auto geometry = gpu::Geometry::parse(fuzz::text_of(data, size), "model.json");
  if (!geometry) {
    fuzz::require_good(geometry.error());
    return 0;
  }
  for (const gpu::GpuInstanceProfile& profile : geometry->profiles()) {
    fuzz::require(!profile.placements.empty(), "a profile has a placement");
    fuzz::require(geometry->find_profile(profile.name).has_value(), "a profile is found by name");
    for (const gpu::Placement& place : profile.placements) {
      fuzz::require(place.start.value() >= 0 && place.size == profile.size() &&
                        place.end() <= geometry->memory_slices(),
                    "placements lie on the grid");
    }
  }
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
