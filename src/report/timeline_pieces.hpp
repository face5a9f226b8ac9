#pragma once

#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "job/metrics.hpp"

namespace septule::report {

/// A rectangle of a timeline: one place on one GPU in one unchanged state. A plain value.
struct TimelinePiece {
  enum class Kind {
    kRecut,  ///< the whole GPU is being re-cut
    kIdle,   ///< an instance without a job
    kJob,
    kMixed,  ///< several short pieces, unlike each other, as one
  };
  Kind kind = Kind::kJob;
  int gpu = 0;
  int start = 0;  ///< memory slices
  int size = 0;
  int part = 0;  ///< which of the `parts` jobs that share the place (MPS), from 0
  int parts = 1;
  std::optional<job::JobId> job;
  job::JobState state = job::JobState::kRunning;
  SimTime begin;
  SimTime end;
  int count = 1;  ///< so many short pieces are this one
};

/// The pieces of a run's timeline: what goes on unchanged from one span into the next is one piece.
/// Spans that are empty or begin before t = 0, and uses without size, are passed over. Ordered by
/// GPU, begin, kind, start, part.
std::vector<TimelinePiece> timeline_pieces(const std::vector<job::TimelineSpan>& spans);

/// The pieces, in which those shorter than `shortest` become one with their neighbours that are as
/// short, in the same place and less than `shortest` away. A piece of unlike ones is kMixed and
/// nobody's. What stays alone is kept as it is. Ordered likewise; `pieces` must be.
std::vector<TimelinePiece> merged_short_pieces(const std::vector<TimelinePiece>& pieces,
                                               Duration shortest);

}  // namespace septule::report
