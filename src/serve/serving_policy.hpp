#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "serve/admission.hpp"
#include "serve/deployment.hpp"

namespace septule::serve {

/// How requests find their instance.
enum class DispatchRule {
  kSlack,         ///< the smallest instance whose predicted finish leaves slack, else the earliest
                  ///< finisher
  kProportional,  ///< in proportion to throughput
};

/// What a policy sees of one tenant. Spans hold during the call.
struct TenantState {
  std::span<const double> arrived;            ///< requests in each whole second since the begin
  std::int64_t answered_in_slo = 0;           ///< in the second just over
  std::int64_t missed = 0;                    ///< late or dropped in the second just over
  std::int64_t waiting = 0;                   ///< in the queue
  bool is_retrained = false;                  ///< the retrained model answers
  double retraining_left_s = 0;               ///< work left of the job of this period, 0 = none
  std::optional<SimTime> retraining_release;  ///< of the current period's job
  std::optional<SimTime> retraining_deadline;
};

/// An instance in force.
struct InstanceState {
  int gpu = 0;
  ServingInstance instance;
  std::vector<SimTime> ready;  ///< by occupant: when it begins (or began) to serve
};

/// What a policy sees. `now` is a whole number of seconds.
struct ServingView {
  SimTime now;
  int gpu_count = 0;
  std::span<const TenantState> tenants;
  const Deployment* current = nullptr;  ///< last ordered, in force (perhaps still warming up)
  std::span<const InstanceState> instances;
};

/// Decides what every GPU is to be. Called at the begin of every second of virtual time with what
/// happened before it. An occupant that stays (same GPU, placement, tenant, role) is not disturbed
/// by what happens beside it; one that is new yields nothing for its tenant's warm-up. A change of
/// batch takes no time; one of share or of processes starts the occupant anew while the old one
/// goes on until the new one is ready. Equal calls give equal decisions; no side effects but on its
/// own memory; no clock but `now`. One owner.
class ServingPolicy {
 public:
  ServingPolicy() = default;
  ServingPolicy(const ServingPolicy&) = delete;
  ServingPolicy& operator=(const ServingPolicy&) = delete;
  virtual ~ServingPolicy() = default;

  virtual std::string_view name() const = 0;  ///< "septule", "ekya-like", ...; static lifetime
  virtual DispatchRule dispatch() const = 0;
  /// Nothing = leave everything as it is.
  virtual std::optional<Deployment> decide(const ServingView& view) = 0;

  /// For records. By tenant, the rate expected for the second that decide() was last called for;
  /// empty = the policy expects nothing.
  virtual std::span<const double> expected_rps() const { return {}; }
  /// Sum over the commitments made so far of the weighted goodput (requests x accuracy x weight)
  /// that the policy promised itself up to the next one; nothing = it makes no promises.
  virtual std::optional<double> planned_goodput() const { return std::nullopt; }
};

}  // namespace septule::serve
