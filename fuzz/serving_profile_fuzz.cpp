#include "interop/serving_profile.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

static int run_one(const std::uint8_t* data, std::size_t size) {
  const auto profiles = interop::parse_serving_profiles({fuzz::text_of(data, size), "profile.csv"});
  if (!profiles) {
    fuzz::require_good(profiles.error());
    return 0;
  }
  fuzz::require(!profiles->models.empty(), "a table of profiles has models");
  for (const std::string& note : profiles->notes) {
    fuzz::require_good(note);
  }
  for (const serve::ModelProfile& profile : profiles->models) {
    fuzz::require_good(profile.model);
    fuzz::require_good(profile.source);
    fuzz::require(!profile.rows.empty(), "a profile has rows");
    for (const serve::ProfileRow& row : profile.rows) {
      fuzz::require(row.slices.value() >= 1 && row.slices.value() <= 16, "slices are in range");
      fuzz::require(row.batch >= 1 && row.processes >= 1, "counts are above 0");
      fuzz::require(row.share.value() >= 1 && row.share.value() <= 100, "a share is one");
      fuzz::require(row.throughput_rps > 0 && row.throughput_rps <= 1e14, "throughput is above 0");
      fuzz::require(row.latency > Duration(), "latency is above 0");
      fuzz::require(!row.memory.has_value() || *row.memory > Bytes(), "memory is above 0");
    }
    const auto found = interop::find_profile(*profiles, profile.model, profile.gpu);
    fuzz::require(found.has_value() && *found == &profile, "a profile is found by its names");
  }
  if (const auto none = interop::find_profile(*profiles, "no such model", ""); !none) {
    fuzz::require_good(none.error());
  }
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
