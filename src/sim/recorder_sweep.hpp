#pragma once

#include <vector>

#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"
#include "job/metrics.hpp"
#include "sim/sim_jobs.hpp"

namespace septule::sim {

/// From `time` on a GPU has these instances, whether it is being re-cut or not.
struct GpuCut {
  SimTime time;
  gpu::Layout instances;
  bool is_reconfiguring = false;
};

/// From `time` on so many compute slices of a GPU are in use.
struct BusySlices {
  SimTime time;
  int slices = 0;
};

struct GpuHistory {
  std::vector<job::TimelineSpan> spans;  ///< in time order, disjoint
  std::vector<BusySlices> busy;          ///< ends with 0
};

/// Turns what was seen of one GPU into its timeline. Cost: changes x jobs on the GPU. One thread.
class GpuSweep {
 public:
  /// `geometry` and the segments handed over outlive it.
  GpuSweep(const gpu::Geometry& geometry, GpuId gpu) : geometry_(&geometry), gpu_(gpu) {}

  /// Segments without length are passed over.
  void add(const JobSegment& segment) {
    if (segment.begin < segment.end) {
      segments_.push_back(&segment);
    }
  }
  void add(GpuCut cut) { cuts_.push_back(std::move(cut)); }
  /// Spans up to `end`.
  GpuHistory run(SimTime end) const;

 private:
  enum class Kind { kEnd, kCut, kBegin };
  struct Point {
    SimTime time;
    Kind kind = Kind::kEnd;
    std::size_t index = 0;
  };
  std::vector<Point> points() const;
  job::TimelineSpan span(const std::vector<const JobSegment*>& active, const GpuCut& cut) const;
  int busy_slices(const std::vector<const JobSegment*>& active) const;

  const gpu::Geometry* geometry_;
  GpuId gpu_;
  std::vector<const JobSegment*> segments_;
  std::vector<GpuCut> cuts_;
};

}  // namespace septule::sim
