#pragma once

#include <map>
#include <optional>
#include <vector>

#include "gpu/geometry.hpp"
#include "job/metrics.hpp"
#include "predict/predictor.hpp"
#include "sched/events.hpp"
#include "sched/goal.hpp"
#include "sim/sim_jobs.hpp"

namespace septule::sim {

/// Notes what was believed of a job's speed when it was decided to run it alone on an instance, and
/// how fast it then was there: at the first stretch of running, before anything changes. A decision
/// that leaves a job where it was to run makes no new entry. Passes everything on to `next`. One
/// thread.
class ForecastLog final : public JobObserver {
 public:
  ForecastLog(const gpu::Geometry& geometry, JobObserver* next)
      : geometry_(&geometry), next_(next) {}

  /// After a decision, before the predictor learns anything new.
  void decided(SimTime time, const sched::SetGoal& decision, const predict::Predictor& predictor);
  void on_segment(const JobSegment& segment) override;
  void on_end(job::JobId job, SimTime time) override;

  /// In order of their first stretch of running.
  std::vector<job::SpeedForecast> take() { return std::move(forecasts_); }

 private:
  struct Stay {
    GpuId gpu;
    gpu::PlacedProfile placed;
    SimTime decided;
    std::optional<double> believed;
    bool has_run = false;
  };
  const gpu::Geometry* geometry_;
  JobObserver* next_;
  std::map<job::JobId, Stay> stays_;
  std::vector<job::SpeedForecast> forecasts_;
};

}  // namespace septule::sim
