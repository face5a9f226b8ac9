#pragma once

#include <memory>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "serve/serving_policy.hpp"
#include "serve/serving_setup.hpp"

namespace septule::serve {

/// PARIS's layouts with ELSA's dispatch (DAC'22) as we emulate them (serving.md 3.3), named
/// "paris-like". Not their code.
///
/// At the begin of each window every GPU gets one heterogeneous MIG layout for the mix of batches
/// that the window's forecast brings (paris_layout.hpp: knees, segments, counts, legal layout), and
/// keeps it to the end of the window whatever happens: that is the method's blindness. ELSA's rule
/// (smallest slice that leaves slack) sends the requests.
///
/// Ours, where the papers leave it open: several tenants share a GPU (tenant_split.hpp; they plan
/// for one model), with the same operating points as everybody, MPS processes included; batches are
/// what arrives in the forming time, margin x SLO. Retraining is pinned to one slice per GPU for
/// the window if any is due in it: the largest whose loss leaves every tenant covered, else the
/// smallest on which one of them can end in time; the tenants then share the rest anew. Jobs run
/// there one after another by release; afterwards the slice idles ("return-slice" lends it to the
/// tenant that is covered least). Options: window-s (200), knee (0.9), return-slice (no), load
/// (forecast). Deterministic.
Result<std::unique_ptr<ServingPolicy>> make_paris_like(const ServingSetup& setup);
std::vector<OptionRecord> paris_like_options();

}  // namespace septule::serve
