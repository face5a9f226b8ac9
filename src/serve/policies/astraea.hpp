#pragma once

#include <memory>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "serve/serving_policy.hpp"
#include "serve/serving_setup.hpp"

namespace septule::serve {

/// Astraea (ASPLOS'22) as we emulate it (serving.md 3.2), named "astraea-like". Not its code.
///
/// Each GPU is whole, without MIG; its tenants (tenant_split.hpp) share it by MPS. The shares carry
/// the greatest multiple of the load within the SLO (share_search.hpp), at most `headroom` times
/// it; retraining jobs divide what is left over equally, and may get nothing: there is no accuracy
/// in this objective. Where the load does not fit (kappa < 1), all shares grow in proportion until
/// the GPU is full, retraining waits, and misses are accepted.
///
/// Load: an EWMA of the arrivals seen (before the first second the forecaster's prior); no
/// forecast. Plans anew when the load of some tenant moved by more than `change` since the last
/// plan, at most once per `replan-s` and not while a change is still warming up; at once when a
/// retraining is released or ends. Contention: phi on every share below the whole.
/// Options: grid (20 steps), headroom (1.1), ewma-s (10), change (0.1), replan-s (10), phi (0.76).
/// Memory is not modelled: no profile in use publishes it. Deterministic.
Result<std::unique_ptr<ServingPolicy>> make_astraea_like(const ServingSetup& setup);
std::vector<OptionRecord> astraea_like_options();

}  // namespace septule::serve
