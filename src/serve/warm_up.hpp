#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/tenant.hpp"

namespace septule::serve {

/// A warm-up that is usual for a kind of model, for tenants that state none. Quantiles include
/// process start and CUDA context.
struct WarmUpKind {
  std::string_view name;  ///< "diffusion"; static lifetime
  WarmUp warm_up;
  std::string_view source;  ///< where the figures come from; static lifetime
};

/// Every kind: the one table of usual warm-ups. The first is what a tenant has that says nothing.
/// Process start and context are 1 to 3 s (serving.md 4.2, general knowledge); what the model's
/// load adds is measured for the image-generation kinds only (Alibaba GenAI 2026 quantiles, as
/// quoted in serving.md 4.2) and is assumed for the others.
std::span<const WarmUpKind> warm_up_kinds();
/// The warm-up of a tenant that states none.
const WarmUp& default_warm_up();
/// Nothing for an unknown name.
std::optional<WarmUp> find_warm_up(std::string_view kind);
/// For messages.
std::vector<std::string> warm_up_kind_names();

}  // namespace septule::serve
