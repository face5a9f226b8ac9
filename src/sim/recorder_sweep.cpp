#include "sim/recorder_sweep.hpp"

#include <algorithm>
#include <tuple>

namespace septule::sim {

namespace {

using Use = job::TimelineSpan::Use;

bool is_before(const Use& a, const Use& b) {
  return std::tuple(a.start, a.size, a.job.value_or(job::JobId(-1))) <
         std::tuple(b.start, b.size, b.job.value_or(job::JobId(-1)));
}

}  // namespace

std::vector<GpuSweep::Point> GpuSweep::points() const {
  std::vector<Point> all;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    all.push_back({segments_[i]->begin, Kind::kBegin, i});
    all.push_back({segments_[i]->end, Kind::kEnd, i});
  }
  for (std::size_t i = 0; i < cuts_.size(); ++i) {
    all.push_back({cuts_[i].time, Kind::kCut, i});
  }
  std::ranges::sort(all, [](const Point& a, const Point& b) {
    return std::tuple(a.time, a.kind, a.index) < std::tuple(b.time, b.kind, b.index);
  });
  return all;
}

job::TimelineSpan GpuSweep::span(const std::vector<const JobSegment*>& active,
                                 const GpuCut& cut) const {
  job::TimelineSpan span;
  span.gpu = gpu_.value();
  span.is_reconfiguring = cut.is_reconfiguring;
  for (const JobSegment* segment : active) {
    Use use{0, geometry_->memory_slices().value(), segment->job, segment->state};
    if (segment->place && segment->place->instance) {
      const gpu::Placement place = gpu::placement_of(*geometry_, *segment->place->instance);
      use.start = place.start.value();
      use.size = place.size.value();
    }
    span.uses.push_back(use);
  }
  const std::size_t jobs = span.uses.size();
  for (const gpu::PlacedProfile& placed : cut.instances) {
    const gpu::Placement place = gpu::placement_of(*geometry_, placed);
    const bool is_idle = std::none_of(span.uses.begin(),
                                      span.uses.begin() + static_cast<std::ptrdiff_t>(jobs),
                                      [&](const Use& use) {
                                        return use.start < place.end().value() &&
                                               place.start.value() < use.start + use.size;
                                      });
    if (is_idle) {
      span.uses.push_back({place.start.value(), place.size.value(), std::nullopt, {}});
    }
  }
  std::ranges::sort(span.uses, is_before);
  return span;
}

int GpuSweep::busy_slices(const std::vector<const JobSegment*>& active) const {
  std::vector<gpu::PlacedProfile> instances;
  for (const JobSegment* segment : active) {
    if (!segment->place || !segment->place->instance) {
      return geometry_->compute_slices().value();
    }
    instances.push_back(*segment->place->instance);
  }
  std::ranges::sort(instances);
  instances.erase(std::unique(instances.begin(), instances.end()), instances.end());
  int slices = 0;
  for (const gpu::PlacedProfile& placed : instances) {
    slices += geometry_->profile(placed.profile).slices.value();
  }
  return slices;
}

GpuHistory GpuSweep::run(SimTime end) const {
  GpuHistory history;
  std::vector<const JobSegment*> active;
  GpuCut cut;
  SimTime from;
  int busy = 0;
  const auto emit = [&](SimTime until) {
    const SimTime stop = std::min(until, end);
    job::TimelineSpan now = span(active, cut);
    if (from < stop && (now.is_reconfiguring || !now.uses.empty())) {
      now.begin = from;
      now.end = stop;
      history.spans.push_back(std::move(now));
    }
    if (from < until) {
      const int slices = busy_slices(active);
      if (slices != busy) {
        history.busy.push_back({from, slices});
        busy = slices;
      }
      from = until;
    }
  };
  for (const Point& point : points()) {
    emit(point.time);
    if (point.kind == Kind::kCut) {
      cut = cuts_[point.index];
    } else if (point.kind == Kind::kBegin) {
      active.push_back(segments_[point.index]);
    } else {
      std::erase(active, segments_[point.index]);
    }
  }
  emit(std::max(from, end));
  if (busy != 0) {
    history.busy.push_back({from, 0});
  }
  return history;
}

}  // namespace septule::sim
