#pragma once

#include <memory>

#include "sched/policy.hpp"
#include "sched/policy_registry.hpp"

namespace septule::sched {

/// MISO (SoCC'22; miso.md sections 3 to 7): repartitioning.hpp with characterisation. A job that
/// joins others is measured together with them under MPS in one instance of the whole GPU; then the
/// GPU is cut for what the predictor says. Partitions: the paper's table. `setup.setting` chooses
/// between the paper's and the artifact's rules.
std::unique_ptr<Policy> make_miso(const PolicySetup& setup);
/// The same with every legal layout, 4g+3g and idle instances among them.
std::unique_ptr<Policy> make_miso_wide(const PolicySetup& setup);

}  // namespace septule::sched
