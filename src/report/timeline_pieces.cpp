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

/// Takes `piece` into `group`, which ends no earlier than it begins, but for a gap.
void take_in(TimelinePiece& group, const TimelinePiece& piece) {
  const bool is_alike =
      group.kind == piece.kind && group.job == piece.job && group.state == piece.state;
  if (!is_alike) {
    group.kind = TimelinePiece::Kind::kMixed;
    group.job.reset();
    group.state = job::JobState::kRunning;
  }
  group.end = std::max(group.end, piece.end);
  group.count += piece.count;
}

bool is_same_place(const TimelinePiece& a, const TimelinePiece& b) {
  return std::tuple(a.gpu, a.start, a.size, a.part, a.parts) ==
         std::tuple(b.gpu, b.start, b.size, b.part, b.parts);
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

std::vector<TimelinePiece> merged_short_pieces(const std::vector<TimelinePiece>& pieces,
                                               Duration shortest) {
  std::vector<TimelinePiece> done;
  std::vector<TimelinePiece> open;  // groups that may go on, of different places
  for (const TimelinePiece& piece : pieces) {
    if (piece.end - piece.begin >= shortest) {
      done.push_back(piece);
      continue;
    }
    const auto group = std::ranges::find_if(
        open, [&](const TimelinePiece& candidate) { return is_same_place(candidate, piece); });
    if (group == open.end()) {
      open.push_back(piece);
    } else if (piece.begin - group->end < shortest) {
      take_in(*group, piece);
    } else {
      done.push_back(*group);
      *group = piece;
    }
  }
  std::ranges::move(open, std::back_inserter(done));
  std::ranges::stable_sort(done,
                           [](const auto& a, const auto& b) { return order_of(a) < order_of(b); });
  return done;
}

}  // namespace septule::report
