#include "support/trace_support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using septule::interop::TraceFormat;
  const std::string_view text = septule::fuzz::text_of(data, size);
  const auto detected = septule::interop::detect_trace_format({text, "trace"});
  if (!detected) {
    septule::fuzz::require_good(detected.error());
  } else if (*detected != TraceFormat::kPhilly && *detected != TraceFormat::kSwf) {
    septule::fuzz::try_format(text, *detected);
  }
  septule::fuzz::try_format(text, TraceFormat::kSeptule);
  return 0;
}
