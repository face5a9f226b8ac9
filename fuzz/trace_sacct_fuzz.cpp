#include "support/trace_support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  septule::fuzz::try_format(septule::fuzz::text_of(data, size),
                            septule::interop::TraceFormat::kSacct);
  return 0;
}
