#pragma once

#include <memory>

#include "sched/policy.hpp"
#include "sched/policy_registry.hpp"

namespace septule::sched {

/// MISO's oracle (miso.md section 7): repartitioning.hpp with a predictor that knows every speed,
/// so that nothing is characterised. Greedy per GPU, hence no upper bound. Whether its changes cost
/// anything is the run's business (PolicyVariant::is_free), not the policy's: the free ones differ
/// in name only.
std::unique_ptr<Policy> make_oracle(const PolicySetup& setup);
std::unique_ptr<Policy> make_oracle_free(const PolicySetup& setup);
/// The same with every legal layout, 4g+3g and idle instances among them.
std::unique_ptr<Policy> make_oracle_wide(const PolicySetup& setup);
std::unique_ptr<Policy> make_oracle_wide_free(const PolicySetup& setup);

}  // namespace septule::sched
