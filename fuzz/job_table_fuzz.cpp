#include "interop/job_table.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

static int run_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  for (const char* key : {"A100-40GB", "A30-24GB", "RTX-PRO-6000-Blackwell"}) {
    const gpu::Geometry& geometry = fuzz::geometry(key);
    const auto table = interop::parse_job_table({text, "jobs.csv"}, geometry);
    if (!table) {
      fuzz::require_good(table.error());
      continue;
    }
    fuzz::require(!table->jobs.empty(), "a table has jobs");
    for (const std::string& note : table->notes) {
      fuzz::require_good(note);
    }
    for (const plan::JobSpeeds& job : table->jobs) {
      fuzz::require_good(job.name);
      fuzz::require(job.speed.size() == geometry.profiles().size(), "a speed per profile");
      fuzz::require(job.weight > 0, "a positive weight");
      for (const double speed : job.speed) {
        fuzz::require(speed == 0 || (speed >= interop::kSpeedMin && speed <= interop::kSpeedMax),
                      "speeds are in their range");
      }
    }
  }
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
