#pragma once

#include <memory>

#include "base/index_set.hpp"
#include "sched/policies/gang_book.hpp"
#include "sched/policy.hpp"
#include "sched/policy_registry.hpp"

namespace septule::sched {

/// The exclusive baseline: each job has a whole GPU, MIG off, to itself.
/// Assumes: every job fits the whole GPU (others never reach a policy).
/// Steps: strictly first come, first served; the first waiting job takes as many free GPUs as it
///   asks for (gangs wait until there are enough, and nobody overtakes them).
/// Ties: GPUs of the lowest ids.
/// Cost: O(log GPUs) per event and per GPU given out.
/// Source: MISO (SoCC'22), "NoPart"; miso.md section 7.
class NopartPolicy final : public Policy {
 public:
  explicit NopartPolicy(const PolicySetup& setup);

  std::string_view name() const override { return "nopart"; }
  void decide(const ClusterView& view,
              std::span<const Event> events,
              const PolicyContext& context,
              Decisions& out) override;

 private:
  void refresh(const ClusterView& view, GpuId gpu);
  void place(const job::JobSpec& spec, Decisions& out);

  IndexSet free_;  ///< GPUs whose goal has no job
  GangBook gangs_;
};

std::unique_ptr<Policy> make_nopart(const PolicySetup& setup);

}  // namespace septule::sched
