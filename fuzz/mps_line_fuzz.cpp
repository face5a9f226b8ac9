#include "interop/mps_measurements.hpp"
#include "support/mps_support.hpp"

namespace septule {

static int run_one(const std::uint8_t* data, std::size_t size) {
  const interop::InputText input{
      .text = fuzz::text_of(data, size), .source_name = "standard input", .line = 17};
  const auto matrix = interop::parse_mps_line(input);
  if (!matrix) {
    fuzz::require_good(matrix.error());
    return 0;
  }
  fuzz::require_matrix(*matrix);
  // The same text is a measurement of one run, with the absent columns left out.
  const auto runs = interop::parse_mps_measurements(input);
  fuzz::require(runs && runs->size() == 1, "a line is a measurement too");
  fuzz::require(runs->front().jobs.size() == fuzz::require_matrix(*matrix), "with equal jobs");
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
