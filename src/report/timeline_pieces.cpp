#include "report/timeline_pieces.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace septule::report {

namespace {

/// Whether the piece goes on where `earlier` ends.
bool goes_on(const TimelinePiece& earlier, const TimelinePiece& piece) {
  return earlier.end == piece.begin && earlier.kind == piece.kind && earlier.gpu == piece.gpu &&
         earlier.start == piece.start && earlier.size == piece.size && earlier.part == piece.part &&
         earlier.parts == piece.parts && earlier.job == piece.job && earlier.state == piece.state;
}

/// The pieces of one span alone.
std::vector<TimelinePiece> pieces_of(const job::TimelineSpan& span) {
  std::vector<TimelinePiece> pieces;
  TimelinePiece piece;
  piece.gpu = span.gpu;
  piece.begin = span.begin;
  piece.end = span.end;
  if (span.is_reconfiguring) {
    piece.kind = TimelinePiece::Kind::kRecut;
    pieces.push_back(piece);
  }
  for (std::size_t from = 0; from < span.uses.size();) {
    std::size_t to = from;
    while (to < span.uses.size() && span.uses[to].start == span.uses[from].start &&
           span.uses[to].size == span.uses[from].size) {
      ++to;
    }
    for (std::size_t i = from; i < to && span.uses[i].size > 0; ++i) {
      const job::TimelineSpan::Use& use = span.uses[i];
      piece.kind = use.job.has_value() ? TimelinePiece::Kind::kJob : TimelinePiece::Kind::kIdle;
      piece.start = use.start;
      piece.size = use.size;
      piece.part = static_cast<int>(i - from);
      piece.parts = static_cast<int>(to - from);
      piece.job = use.job;
      piece.state = use.job.has_value() ? use.state : job::JobState::kRunning;
      pieces.push_back(piece);
    }
    from = to;
  }
  return pieces;
}

auto order_of(const TimelinePiece& piece) {
  return std::tuple(piece.gpu, piece.begin, piece.kind, piece.start, piece.part);
}

}  // namespace

std::vector<TimelinePiece> timeline_pieces(const std::vector<job::TimelineSpan>& spans) {
  std::vector<job::TimelineSpan> sorted;
  std::ranges::copy_if(spans, std::back_inserter(sorted), [](const job::TimelineSpan& span) {
    return span.begin < span.end && span.begin >= SimTime();
  });
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) {
    return std::tuple(a.gpu, a.begin) < std::tuple(b.gpu, b.begin);
  });
  std::vector<TimelinePiece> done;
  std::vector<TimelinePiece> open;
  for (const job::TimelineSpan& span : sorted) {
    std::vector<TimelinePiece> now = pieces_of(span);
    for (TimelinePiece& piece : now) {
      const auto earlier = std::ranges::find_if(
          open, [&](const TimelinePiece& candidate) { return goes_on(candidate, piece); });
      if (earlier != open.end()) {
        piece.begin = earlier->begin;
        open.erase(earlier);
      }
    }
    std::ranges::move(open, std::back_inserter(done));
    open = std::move(now);
  }
  std::ranges::move(open, std::back_inserter(done));
  std::ranges::stable_sort(done,
                           [](const auto& a, const auto& b) { return order_of(a) < order_of(b); });
  return done;
}

}  // namespace septule::report
