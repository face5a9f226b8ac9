#pragma once

#include <span>
#include <string_view>

#include "base/clock.hpp"
#include "base/rng.hpp"
#include "job/cost_model.hpp"
#include "predict/predictor.hpp"
#include "sched/cluster_view.hpp"
#include "sched/events.hpp"

namespace septule::sched {

/// What a policy is given beside the view. `costs` is what it believes changes cost.
struct PolicyContext {
  SimTime now;
  predict::Predictor& predictor;
  const job::CostModel& costs;
};

/// A scheduling policy: events in, decisions out, no side effects but on its own memory. Equal
/// calls give equal decisions. decide() is called once per instant at which something happened,
/// with all events of that instant (already applied to the view). Goals for a GPU in phase
/// kChanging or kCharacterising are held back until it is ready, so policies normally leave such
/// GPUs alone. A job that fits no GPU never reaches a policy. One thread.
class Policy {
 public:
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;

  virtual std::string_view name() const = 0;
  virtual void decide(const ClusterView& view,
                      std::span<const Event> events,
                      const PolicyContext& context,
                      Decisions& out) = 0;
};

}  // namespace septule::sched
