#pragma once

#include <memory>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "serve/serving_policy.hpp"
#include "serve/serving_setup.hpp"

namespace septule::serve {

/// Ekya (NSDI'22) as we emulate it (serving.md 3.1), named "ekya-like". Not its code.
///
/// Each GPU is whole, without MIG; its tenants (tenant_split.hpp) share it by MPS. Shares and
/// retraining come from the thief scheduler (thief.hpp) with the mean forecast over the window.
/// Plans at the begin of each window, when a retraining is released and when one is complete (or
/// past its deadline), never because traffic changed: that is the method's blindness. A plan with a
/// retraining not seen before is preceded by the micro-profiling of it: inference gets its shares
/// at once, the new retraining starts that much later. The accuracy it expects is off by a normal
/// error whose median size is the published one; durations it knows.
///
/// Ours, where the paper leaves it open or has no such thing, mostly in its favour: batches are the
/// best within the SLO at the share (Ekya itself knows no SLO); a request not answered is a wrong
/// answer; one retraining configuration per tenant, or none; profiling rounded to whole seconds.
/// Options: quanta (7), window-s (200), profiling-s (4.4), profiling-error (0.058), phi (0.76),
/// load (forecast).
/// Deterministic by seed.
Result<std::unique_ptr<ServingPolicy>> make_ekya_like(const ServingSetup& setup);
std::vector<OptionRecord> ekya_like_options();

}  // namespace septule::serve
