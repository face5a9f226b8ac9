#include "gpu/profile.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

static int run_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  if (const auto parts = gpu::parse_profile_name(text)) {
    const auto again = gpu::parse_profile_name(parts->gpu_instance_name);
    fuzz::require(again.has_value(), "the GPU instance's name is a name");
    fuzz::require(again->gpu == parts->gpu && !again->compute, "of as many slices, without 1c");
  }
  if (const auto id = gpu::parse_pci_device_id(text)) {
    fuzz::require(id->size() == 4 && gpu::parse_pci_device_id(*id) == *id, "a PCI id is stable");
  }
  const auto model = fuzz::catalogue().find(text);
  if (!model) {
    fuzz::require_good(model.error());
  }
  for (const gpu::Geometry& geometry : fuzz::catalogue().geometries()) {
    if (const auto found = geometry.find_profile(text)) {
      fuzz::require(geometry.find_profile(geometry.profile(*found).name) == *found,
                    "a profile's name finds it");
    }
  }
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
