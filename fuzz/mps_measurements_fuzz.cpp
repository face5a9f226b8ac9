#include "interop/mps_measurements.hpp"
#include "support/mps_support.hpp"

namespace septule {

static int run_one(const std::uint8_t* data, std::size_t size) {
  const auto runs = interop::parse_mps_measurements({fuzz::text_of(data, size), "run.csv"});
  if (!runs) {
    fuzz::require_good(runs.error());
    return 0;
  }
  fuzz::require(!runs->empty() && runs->size() <= interop::kMpsRunsMax, "a text has runs");
  for (const interop::MpsRun& run : *runs) {
    fuzz::require(is_valid_utf8(run.name), "a name is valid UTF-8");
    fuzz::require(fuzz::require_matrix(run.matrix) == run.jobs.size(), "a column for each job");
    for (std::size_t i = 0; i < run.jobs.size(); ++i) {
      fuzz::require_good(run.jobs[i].name);
      fuzz::require(run.matrix.levels.front().step[i].has_value(), "job i is column i");
      fuzz::require(run.jobs[i].memory.value_or(Bytes(1)) > Bytes(), "declared memory is above 0");
      for (std::size_t k = 0; k < i; ++k) {
        fuzz::require(run.jobs[k].name != run.jobs[i].name, "names differ");
      }
    }
  }
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
