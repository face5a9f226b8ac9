#include "gpu/partition_checker.hpp"
#include "interop/inventory_json.hpp"
#include "interop/nvidia_smi_listing.hpp"
#include "interop/slurm_gres.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

static int run_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  for (const char* key : {"A100-40GB", "RTX-PRO-6000-Blackwell", "RTX-6000D"}) {
    const auto listing = interop::parse_smi_listing({text, "paste"}, fuzz::geometry(key));
    if (!listing) {
      fuzz::require_good(listing.error());
      continue;
    }
    for (const std::string& note : listing->notes) {
      fuzz::require_good(note);
    }
    fuzz::require(!listing->inventory.gpus.empty(), "a listing has a GPU");
    for (const gpu::ObservedGpu& gpu : listing->inventory.gpus) {
      fuzz::require(gpu::check_partition(*gpu.geometry, gpu.partition()).empty(),
                    "an accepted state is legal");
    }
    const std::string written = interop::write_inventory_json(listing->inventory);
    const auto again = interop::parse_inventory_json({written, "written"}, fuzz::catalogue());
    fuzz::require(again.has_value(), "a listing can be kept as an inventory");
    const auto gres = interop::slurm_gres_of_inventory(listing->inventory);
    if (!gres) {
      fuzz::require_good(gres.error());
    }
  }
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
