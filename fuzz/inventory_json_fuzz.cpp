#include "gpu/partition_checker.hpp"
#include "interop/inventory_json.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

static int run_one(const std::uint8_t* data, std::size_t size) {
  const auto inventory =
      interop::parse_inventory_json({fuzz::text_of(data, size), "state.json"}, fuzz::catalogue());
  if (!inventory) {
    fuzz::require_good(inventory.error());
    return 0;
  }
  for (const gpu::ObservedGpu& gpu : inventory->gpus) {
    fuzz::require(gpu::check_partition(*gpu.geometry, gpu.partition()).empty(),
                  "an accepted state is legal");
  }
  const std::string written = interop::write_inventory_json(*inventory);
  const auto again = interop::parse_inventory_json({written, "written"}, fuzz::catalogue());
  fuzz::require(again.has_value(), "what is written is read");
  fuzz::require(interop::write_inventory_json(*again) == written, "and means the same");
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
