#include "interop/npy_reader.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

static int run_one(const std::uint8_t* data, std::size_t size) {
  const auto array = interop::read_npy({fuzz::text_of(data, size), "array.npy"});
  if (!array) {
    fuzz::require_good(array.error());
    return 0;
  }
  std::size_t count = 1;
  for (const std::size_t length : array->shape) {
    count *= length;
  }
  fuzz::require(array->values.size() == count, "as many values as the shape says");
  fuzz::require(array->values.size() <= size / 4, "no more values than bytes");
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
