#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "control/controller.hpp"
#include "job/metrics.hpp"
#include "port/device_backend.hpp"
#include "sim/cluster_sim.hpp"
#include "sim/sim_jobs.hpp"

namespace septule::sim {

/// Independent checks of one run: it believes neither the scheduler nor the simulator's own books,
/// only what it is shown, and knows the rules by itself. Hand it to simulate() as every observer,
/// then call finish(). Rules:
///  1. A job's life has no gap and no overlap from submission to end, and its states follow the
///     table of legal moves; it ends once.
///  2. JCT = waiting + characterisation + reconfiguration + running, to the nanosecond, by the
///     segments seen and by the run's own figures.
///  3. The progress seen adds up to the job's work.
///  4. No two jobs own one memory slice at one time, unless they share an instance; jobs that share
///     need no more memory than there is; no job is in an instance that its memory does not fit.
///  5. What the device shows when a GPU is ready is a legal partition.
///  6. Orders of a GPU have ascending epochs; no decision was refused.
///  7. A rate is positive and not above the fastest of the job's signatures.
/// Keeps every segment: memory grows with the run. One thread.
class RunChecker final : public JobObserver,
                         public control::ControlObserver,
                         public DeviceObserver {
 public:
  static constexpr std::size_t kViolationsMax = 100;

  /// `setup` outlives the checker.
  explicit RunChecker(const SimSetup& setup);

  SimObservers observers() { return SimObservers{this, this, this}; }
  /// What was found, in order of discovery; at most kViolationsMax, then how many more.
  std::vector<std::string> finish(const job::RunRecord& run);

  void on_segment(const JobSegment& segment) override;
  void on_end(job::JobId job, SimTime time) override;
  void on_event(SimTime time, const sched::Event& event) override;
  void on_goal(SimTime time, const sched::SetGoal& decision) override;
  void on_order(SimTime time, const control::GpuOrder& order) override;
  void on_refusal(SimTime time, const std::string& why) override;
  void on_requeue(SimTime time, job::JobId job) override;
  void on_reject(SimTime time, job::JobId job) override;
  void on_device(SimTime time, GpuId gpu, const port::DeviceState& state) override;

 private:
  struct Life {
    std::vector<JobSegment> segments;
    std::optional<SimTime> end;
    bool is_rejected = false;
  };
  const job::JobSpec& spec(job::JobId id) const;
  std::string name(job::JobId id) const;
  void violated(std::string what);
  void check_life(job::JobId id, const job::JobOutcome& outcome);
  void check_progress(job::JobId id);
  void check_rate(const JobSegment& segment);
  void check_gpu(GpuId gpu, std::vector<const JobSegment*>& segments);
  void check_together(const std::vector<const JobSegment*>& present);
  Bytes need(job::JobId id) const;

  const SimSetup* setup_;
  std::vector<Life> lives_;
  std::map<GpuId, std::uint64_t> epochs_;
  std::vector<std::string> violations_;
  std::size_t violation_count_ = 0;
};

}  // namespace septule::sim
