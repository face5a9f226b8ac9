#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/messages.hpp"
#include "control/reconciler.hpp"
#include "port/env.hpp"
#include "sched/cluster_view.hpp"
#include "sched/decision_checker.hpp"
#include "sched/policy.hpp"

namespace septule::control {

/// Watches a controller: for stories, timelines and checkers. All calls after the fact.
class ControlObserver {
 public:
  ControlObserver() = default;
  ControlObserver(const ControlObserver&) = delete;
  ControlObserver& operator=(const ControlObserver&) = delete;
  virtual ~ControlObserver() = default;
  virtual void on_event(SimTime time, const sched::Event& event) = 0;
  virtual void on_goal(SimTime time, const sched::SetGoal& decision) = 0;
  virtual void on_order(SimTime time, const GpuOrder& order) = 0;
  virtual void on_refusal(SimTime time, const std::string& why) = 0;
  virtual void on_requeue(SimTime time, job::JobId job) = 0;
  virtual void on_reject(SimTime time, job::JobId job) = 0;
};

/// The controller core: batches the inputs of an instant, applies them to the view, asks the
/// policy, has its decisions checked, and hands out orders. The same object in simulation and live;
/// only its Env and links differ. It never waits for one GPU while another needs it (but for the
/// serial paces). One thread.
class Controller final : public port::TimerTarget, public ControllerLink {
 public:
  struct Options {
    /// Inputs are noticed at multiples of this only; zero = at once. The artifact's: 10 s. A serial
    /// controller counts them from the end of its last work.
    Duration tick;
    /// The artifact's controller: one change at a time, and nothing is noticed meanwhile.
    /// kSerial waits until the GPU is cut; kSerialStops only until its jobs are saved and the
    /// waits are over (AgentWaits::stops must be kReported), which is what the reference runs call
    /// a reconfiguration that does not block.
    enum class Pace { kOverlapped, kSerial, kSerialStops } pace = Pace::kOverlapped;
    /// Decisions are checked before anyone acts on them.
    enum class Checking { kOff, kOn } checking = Checking::kOn;
    sched::MemoryRule memory_rule = sched::MemoryRule::kChecked;
  };
  struct Parts {
    port::Env& env;
    sched::ClusterView& view;
    sched::Policy& policy;
    predict::Predictor& predictor;
    AgentLink& agents;
    const job::CostModel& costs;
    ControlObserver* observer = nullptr;
  };
  Controller(const Parts& parts, const Options& options);

  /// Calls the policy once with no events, so that it can lay out empty GPUs.
  void start();
  /// A job arrives. `spec` outlives the controller. Jobs that fit no GPU are rejected (see view).
  void submit(const job::JobSpec& spec);
  void report(const AgentReport& report) override;
  void on_timer(std::uint64_t payload) override;

  std::int64_t decision_count() const { return decision_count_; }
  std::int64_t rejected_count() const { return rejected_count_; }
  /// GPUs that the device called lost, in order of discovery. They get no more orders; their jobs
  /// stay where they are.
  const std::vector<GpuId>& lost_gpus() const { return lost_gpus_; }
  /// The first decision that the checker refused; the policy is then ignored for that batch. Empty
  /// = none. A refusal is a defect of the policy.
  const std::string& refusal() const { return refusal_; }

 private:
  void wake();
  void step();
  bool is_waiting() const;
  void go_on();
  void take_reports();
  void rest();
  void take(const AgentReport& report);
  void take_trouble(const AgentReport& report);
  void decide();
  void carry_out();
  bool issue();
  bool fits(const job::JobSpec& spec) const;

  Parts parts_;
  Options options_;
  sched::DecisionChecker checker_;
  Reconciler reconciler_;
  std::vector<const job::JobSpec*> submitted_;
  std::vector<AgentReport> reports_;
  std::vector<sched::Event> events_;
  bool is_working_ = false;        ///< a serial controller has orders in hand
  std::optional<GpuId> stopping_;  ///< kSerialStops: whose jobs it waits for
  SimTime rested_at_;              ///< end of its last work: ticks count from there
  sched::Decisions decisions_;
  std::vector<job::JobId> dropped_;
  SimTime wake_at_ = SimTime::never();
  bool is_woken_ = false;
  std::int64_t decision_count_ = 0;
  std::int64_t rejected_count_ = 0;
  std::vector<GpuId> lost_gpus_;
  std::string refusal_;
};

}  // namespace septule::control
