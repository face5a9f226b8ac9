#pragma once

#include <memory>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "serve/serving_policy.hpp"
#include "serve/serving_setup.hpp"

namespace septule::serve {

/// "oracle-static": for each window the best labelled layout under the true arrivals of that
/// window; moves only at the begin of windows, at normal costs (serving.md 3.7). Per GPU
/// (tenant_split.hpp) the chain of layouts is exact (window_chain.hpp) for rewards by hindsight.hpp
/// and the capacity that warming up loses charged as a lump on each instance created, which is an
/// upper bound on that loss. A retraining runs inside the window in which it is released; lanes
/// (static_best.hpp) hold one after another.
/// Option: window-s (200). Deterministic.
Result<std::unique_ptr<ServingPolicy>> make_oracle_static(const ServingSetup& setup);
std::vector<OptionRecord> oracle_static_options();

/// The same without any costs, neither of moves nor of starting retraining: the goodput (weighted,
/// fluid arithmetic) that no policy with MIG layouts that are static inside windows of this length
/// exceeds, given this split of tenants over GPUs and retrainings that end in the window of their
/// release. Shares without MIG are outside its action space.
Result<double> oracle_static_bound(const ServingSetup& setup, int window_s);

}  // namespace septule::serve
