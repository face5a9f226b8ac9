#include <cmath>
#include <string>

#include "learn/weights_file.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

static int run_one(const std::uint8_t* data, std::size_t size) {
  const auto parsed = learn::parse_weights(fuzz::text_of(data, size), "weights");
  if (!parsed) {
    fuzz::require_good(parsed.error());
    return 0;
  }
  fuzz::require(learn::check_weights(*parsed).is_ok(), "what was read may be written");
  std::size_t values = 0;
  for (const learn::Tensor& tensor : parsed->tensors) {
    values += tensor.data.size();
    for (const float value : tensor.data) {
      fuzz::require(std::isfinite(value), "weights are finite");
    }
  }
  fuzz::require(values * sizeof(float) <= size, "no value without bytes");
  const auto again = learn::parse_weights(learn::write_weights(*parsed), "again");
  fuzz::require(again.has_value() && *again == *parsed, "written weights are read back equal");
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
