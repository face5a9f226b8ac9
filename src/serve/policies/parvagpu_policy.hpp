#pragma once

#include <memory>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "serve/serving_policy.hpp"
#include "serve/serving_setup.hpp"

namespace septule::serve {

/// "parvagpu": ParvaGPU's scheduler (parvagpu.hpp, which reproduces its published deployments) as a
/// serving policy. ParvaGPU deploys once for given rates on as few GPUs as it needs; here the GPUs
/// are given.
///
/// Ours: the rates are the means of Tenant::rate (of the coming window's load with `redeploy`),
/// times the greatest factor up to `headroom` whose deployment fits the GPUs (by bisection; below 1
/// where they are too few). Instances get real placements by baseline_parts.hpp. Retraining, which
/// it does not know, runs one after another by release on the largest instance that still fits
/// beside the deployment of a GPU, if any.
/// Options: headroom (1.2), redeploy (no), window-s (200), load (forecast). Seven-slice GPUs only.
Result<std::unique_ptr<ServingPolicy>> make_parvagpu(const ServingSetup& setup);
std::vector<OptionRecord> parvagpu_options();

}  // namespace septule::serve
