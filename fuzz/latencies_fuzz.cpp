#include "gpu/latency.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

static int run_one(const std::uint8_t* data, std::size_t size) {
  const auto table = gpu::LatencyTable::parse(fuzz::text_of(data, size), "latencies.json");
  if (!table) {
    fuzz::require_good(table.error());
    return 0;
  }
  for (const char* key : {"A100-40GB", "B300-269GB", "no such model"}) {
    for (const int slices : {1, 2, 3, 4, 7}) {
      const auto create = table->gpu_instance_create(key, ComputeSlices(slices));
      const auto destroy = table->gpu_instance_destroy(key, ComputeSlices(slices));
      fuzz::require(create.duration >= Duration() && destroy.duration >= Duration(),
                    "durations are not negative");
    }
  }
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
