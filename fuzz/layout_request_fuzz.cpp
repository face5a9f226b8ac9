#include "gpu/layout_request.hpp"
#include "gpu/partition_checker.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

static int run_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  for (const char* key : {"A100-40GB", "RTX-PRO-6000-Blackwell", "RTX-6000D"}) {
    const gpu::Geometry& geometry = fuzz::geometry(key);
    const auto request = gpu::parse_layout_request(geometry, text);
    if (!request) {
      fuzz::require_good(request.error());
      continue;
    }
    const auto written = gpu::partition_as_written(geometry, *request);
    if (!written) {
      fuzz::require_good(written.error());
    } else {
      for (const gpu::Violation& violation : gpu::check_partition(geometry, *written)) {
        fuzz::require_good(violation.message);
      }
    }
    const auto placed = gpu::place_layout_request(geometry, *request);
    if (!placed) {
      fuzz::require_good(placed.error());
      continue;
    }
    fuzz::require(gpu::check_partition(geometry, *placed).empty(), "a placed layout is legal");
    const std::string text_again = gpu::partition_text(geometry, *placed);
    const auto again = gpu::parse_layout_request(geometry, text_again);
    fuzz::require(again.has_value(), "what is written is read");
    const auto placed_again = gpu::place_layout_request(geometry, *again);
    fuzz::require(placed_again.has_value() && *placed_again == *placed, "and means the same");
  }
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
