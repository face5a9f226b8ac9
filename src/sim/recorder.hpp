#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "job/metrics.hpp"
#include "job/workload.hpp"
#include "sim/cluster_sim.hpp"

namespace septule::sim {

/// Something that happened to the job of a story, or was decided about it.
struct StoryEvent {
  SimTime time;
  std::string text;  ///< one sentence without a full stop
};

/// Watches a run and tells what pictures need: how each GPU was cut and used over time, queue, STP
/// and busy slices over time, and the story of one job. Passes everything on to `next`, so that
/// several can watch. Keeps every segment: memory grows with the run. One thread.
class RunRecorder final : public JobObserver, public control::ControlObserver {
 public:
  struct Options {
    int timeline_gpus_max = 16;            ///< GPUs whose timeline is kept, from the first
    std::size_t series_points_max = 2000;  ///< a longer series becomes means over equal parts
    std::optional<job::JobId> story_of;
    SimObservers next;
  };
  /// Both outlive the recorder.
  RunRecorder(const gpu::Geometry& geometry, const job::Workload& workload, const Options& options);

  SimObservers observers() { return SimObservers{this, this, options_.next.devices}; }
  /// Fills in timeline and series.
  void finish(job::RunRecord& run) const;
  /// In order of time.
  std::vector<StoryEvent> story() const;

  void on_segment(const JobSegment& segment) override;
  void on_end(job::JobId job, SimTime time) override;
  void on_event(SimTime time, const sched::Event& event) override;
  void on_goal(SimTime time, const sched::SetGoal& decision) override;
  void on_order(SimTime time, const control::GpuOrder& order) override;
  void on_refusal(SimTime time, const std::string& why) override;
  void on_requeue(SimTime time, job::JobId job) override;
  void on_reject(SimTime time, job::JobId job) override;

 private:
  using Instances = InlineVector<gpu::PlacedProfile, sched::kInstancesMax>;
  /// A change of how a GPU is cut.
  struct Cut {
    SimTime time;
    Instances instances;  ///< that exist from then on
    bool is_reconfiguring = false;
  };
  struct Gpu {
    std::vector<Cut> cuts;
    Instances wanted;
    std::vector<std::size_t> stays;  ///< segments here; a gang's are on each of its GPUs
  };
  /// What changes in the cluster at a time.
  struct Change {
    SimTime time;
    int queue = 0;
    std::int64_t rate = 0;  ///< progress in units of 1e-9, so that sums are exact
    int busy_slices = 0;
  };

  void settle(GpuId gpu, SimTime time);
  void sweep_gpus(job::RunRecord& run, std::vector<Change>& changes) const;
  void add_job_changes(std::vector<Change>& changes) const;
  std::vector<job::SeriesPoint> series(std::vector<Change> changes, SimTime end) const;
  std::string place_text(const JobSegment& segment) const;
  std::string segment_text(const JobSegment& segment) const;
  bool is_told(job::JobId job) const { return options_.story_of == job; }

  const gpu::Geometry* geometry_;
  const job::Workload* workload_;
  Options options_;
  std::vector<JobSegment> segments_;
  std::map<GpuId, Gpu> gpus_;
  std::map<job::JobId, std::vector<GpuId>> gang_gpus_;
  std::vector<StoryEvent> story_;
};

}  // namespace septule::sim
