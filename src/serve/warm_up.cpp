#include "serve/warm_up.hpp"

#include <array>

namespace septule::serve {

namespace {

constexpr WarmUp warm_up_ms(std::int64_t p50, std::int64_t p90, std::int64_t p99) {
  return {Duration::milliseconds(p50), Duration::milliseconds(p90), Duration::milliseconds(p99)};
}

// Process start and CUDA context (p50 1500, p90 2500, p99 3000 ms) plus the load named beside. Of
// two independent times a quantile of the sum is at most about the sum of the quantiles, which is
// taken: it errs to the careful side.
constexpr std::string_view kAlibaba =
    "process and context 1-3 s; load: Alibaba GenAI 2026 quantiles";
constexpr std::array<WarmUpKind, 6> kKinds = {{
    {"default", warm_up_ms(2500, 4000, 6000), "process and context 1-3 s; load assumed 1-3 s"},
    {"process", warm_up_ms(1500, 2500, 3000), "process and context 1-3 s; no load"},
    {"lora", warm_up_ms(5900, 8600, 11200), kAlibaba},
    {"controlnet", warm_up_ms(5400, 10700, 19700), kAlibaba},
    {"diffusion", warm_up_ms(24200, 44500, 54900), kAlibaba},
    {"migrator", warm_up_ms(6000, 6000, 6000), "about 6 s on A100 (review of arXiv 2407.13126)"},
}};

}  // namespace

std::span<const WarmUpKind> warm_up_kinds() {
  return kKinds;
}

const WarmUp& default_warm_up() {
  return kKinds.front().warm_up;
}

std::optional<WarmUp> find_warm_up(std::string_view kind) {
  for (const WarmUpKind& known : kKinds) {
    if (known.name == kind) {
      return known.warm_up;
    }
  }
  return std::nullopt;
}

std::vector<std::string> warm_up_kind_names() {
  std::vector<std::string> names;
  for (const WarmUpKind& known : kKinds) {
    names.emplace_back(known.name);
  }
  return names;
}

}  // namespace septule::serve
