#include "report/serving_timeline.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "report/number_text.hpp"
#include "report/svg_plot_axis.hpp"
#include "report/timeline_frame.hpp"

namespace septule::report {

namespace {

constexpr int kTenantColours = 8;
constexpr double kRow = 13;        // height of a memory slice
constexpr double kPieceMin = 0.3;  // narrower pieces cannot be seen: they are drawn so wide
constexpr std::array kCoarseParts = {960, 480, 240, 120, 60, 30, 15, 5, 1};

using Use = job::ServingSpan::Use;

bool is_same_use(const Use& a, const Use& b) {
  return a.size == b.size && a.label == b.label && a.tenant == b.tenant &&
         a.is_warming_up == b.is_warming_up;
}

/// Whether the instance retrains a model: said by the end of its label (job/serving_record.hpp).
bool is_retraining(const Use& use) {
  return use.label.ends_with(" retrains");
}

/// What is laid over the rectangles, each one path for the whole drawing.
struct Overlay {
  std::string warming;
  std::string retraining;
  std::string names;
};

std::string place_text(const Use& use) {
  if (use.size == 0) {
    return "the whole GPU, MIG off";
  }
  return use.size == 1 ? fmt::format("memory slice {}", use.start)
                       : fmt::format("memory slices {}-{}", use.start, use.start + use.size - 1);
}

std::string piece_title(const ServingPiece& piece) {
  const std::string what = piece.use.label.empty() ? "idle instance" : piece.use.label;
  return fmt::format("GPU {}: {}{}, {}, {} to {}",
                     piece.gpu,
                     shortened_text(what, 60),
                     piece.use.is_warming_up ? ", warming up" : "",
                     place_text(piece.use),
                     time_text(piece.begin.to_seconds()),
                     time_text(piece.end.to_seconds()));
}

std::string draw_piece(const ServingPiece& piece,
                       const TimelineBand& band,
                       const Axis& axis,
                       Overlay& overlay) {
  const Use& use = piece.use;
  const int from = use.size == 0 ? 0 : std::clamp(use.start, 0, band.slices);
  const int to = use.size == 0 ? band.slices : std::clamp(use.start + use.size, from, band.slices);
  if (from == to) {
    return {};
  }
  const double x = std::min(axis.at(piece.begin.to_seconds()), kTimelineRight - kPieceMin);
  const double width = std::max(axis.at(piece.end.to_seconds()) - x, kPieceMin);
  const double y = band.top + band.row * from;
  const double height = band.row * (to - from);
  std::string shape = "idle";
  if (use.tenant >= 0) {
    shape = fmt::format("job j{}{}", use.tenant % kTenantColours, use.is_warming_up ? " slow" : "");
    if (use.is_warming_up) {
      overlay.warming += timeline_box(x, y, width, height);
    } else if (is_retraining(use)) {
      overlay.retraining += timeline_box(x, y, width, height);
    }
    constexpr double kLetter = 6.4;
    constexpr std::size_t kShortest = 4;
    const auto room = static_cast<std::size_t>(std::max(width / kLetter - 1, 0.0));
    if (room >= kShortest) {
      overlay.names += fmt::format("<text class=\"name\" x=\"{}\" y=\"{}\">{}</text>\n",
                                   pixels(x + width / 2),
                                   pixels(y + height / 2 + 4),
                                   xml_escaped(shortened_text(use.label, room)));
    }
  }
  return fmt::format(
      "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>\n",
      shape,
      pixels(x),
      pixels(y),
      pixels(width),
      pixels(height),
      xml_escaped(piece_title(piece)));
}

/// What is drawn of a run, and what was left out.
struct Selection {
  std::vector<ServingPiece> pieces;
  int gpus = 0;
  std::string left_out;
};

std::vector<ServingPiece> pieces_of_first(std::vector<ServingPiece> pieces, int gpus) {
  std::erase_if(pieces, [&](const ServingPiece& piece) { return piece.gpu >= gpus; });
  return pieces;
}

Selection selected(const job::ServingRecord& run, const ServingTimelineOptions& options) {
  Selection selection;
  selection.gpus = std::clamp(run.gpu_count, 1, options.gpus_max);
  std::vector<std::string> left_out;
  if (selection.gpus < run.gpu_count) {
    left_out.push_back(fmt::format("GPUs {} to {}", selection.gpus, run.gpu_count - 1));
  }
  const auto room = static_cast<std::size_t>(options.pieces_max);
  selection.pieces = pieces_of_first(serving_pieces(run.timeline), selection.gpus);
  const SimTime end = SimTime() + run.span;
  for (const int parts : kCoarseParts) {
    if (selection.pieces.size() <= room) {
      break;
    }
    selection.pieces =
        pieces_of_first(serving_pieces(coarse_spans(run.timeline, end, parts)), selection.gpus);
    const std::string text =
        fmt::format("all but the use that lasted longest in each of {} equal parts", parts);
    if (!left_out.empty() && left_out.back().starts_with("all but")) {
      left_out.pop_back();
    }
    left_out.push_back(text);
  }
  selection.pieces.resize(std::min(selection.pieces.size(), room));
  selection.left_out = joined_with_and(left_out);
  return selection;
}

}  // namespace

std::vector<ServingPiece> serving_pieces(const std::vector<job::ServingSpan>& spans) {
  std::vector<ServingPiece> pieces;
  // The last piece of each place, by (GPU, start).
  std::map<std::pair<int, int>, std::size_t> last;
  std::vector<const job::ServingSpan*> ordered;
  for (const job::ServingSpan& span : spans) {
    if (span.begin < span.end) {
      ordered.push_back(&span);
    }
  }
  std::ranges::stable_sort(ordered, {}, [](const job::ServingSpan* span) { return span->begin; });
  for (const job::ServingSpan* span : ordered) {
    for (const Use& use : span->uses) {
      const auto [place, is_new] = last.try_emplace({span->gpu, use.start}, pieces.size());
      ServingPiece* before = is_new ? nullptr : &pieces[place->second];
      if (before != nullptr && before->end == span->begin && is_same_use(before->use, use)) {
        before->end = span->end;
        continue;
      }
      place->second = pieces.size();
      pieces.push_back({.gpu = span->gpu, .begin = span->begin, .end = span->end, .use = use});
    }
  }
  std::ranges::stable_sort(pieces, {}, [](const ServingPiece& piece) {
    return std::tuple(piece.gpu, piece.use.start, piece.begin);
  });
  return pieces;
}

std::vector<job::ServingSpan> coarse_spans(const std::vector<job::ServingSpan>& spans,
                                           SimTime end,
                                           int parts) {
  SEPTULE_CHECK(parts > 0, "a run has at least one part");
  SEPTULE_CHECK(end > SimTime(), "a run takes time");
  const std::int64_t length = std::max<std::int64_t>(end.to_nanoseconds() / parts, 1);
  const auto begin_of = [&](std::int64_t part) { return SimTime::nanoseconds(part * length); };
  // The longest span of each (GPU, part); the earlier one of equals.
  std::map<std::pair<int, std::int64_t>, std::pair<Duration, const job::ServingSpan*>> longest;
  for (const job::ServingSpan& span : spans) {
    const std::int64_t from = std::max<std::int64_t>(span.begin.to_nanoseconds() / length, 0);
    for (std::int64_t part = from; part < parts && begin_of(part) < span.end; ++part) {
      const SimTime part_end = part + 1 == parts ? end : begin_of(part + 1);
      const Duration share = std::min(span.end, part_end) - std::max(span.begin, begin_of(part));
      auto& best = longest[{span.gpu, part}];
      if (best.second == nullptr || share > best.first) {
        best = {share, &span};
      }
    }
  }
  std::vector<job::ServingSpan> coarse;
  for (const auto& [key, best] : longest) {
    const auto [gpu, part] = key;
    coarse.push_back({.gpu = gpu,
                      .begin = begin_of(part),
                      .end = part + 1 == parts ? end : begin_of(part + 1),
                      .uses = best.second->uses});
  }
  return coarse;
}

TimelineDrawing svg_serving_timeline(const job::ServingRecord& run,
                                     const ServingTimelineOptions& options,
                                     Embedding embedding) {
  SEPTULE_CHECK(options.gpus_max >= 1, "at least one GPU is drawn");
  SEPTULE_CHECK(options.pieces_max >= 1, "at least one piece is drawn");
  SEPTULE_CHECK(options.memory_slices >= 1, "a GPU has memory slices");
  const Axis axis = timeline_time_axis(std::max(run.span.to_seconds(), 1.0));
  const Selection selection = selected(run, options);
  std::vector<TimelineBand> bands;
  std::string shapes;
  double bottom = kTimelineTop;
  for (int gpu = 0; gpu < selection.gpus; ++gpu) {
    bands.push_back({gpu, options.memory_slices, bottom, fmt::format("GPU {}", gpu), kRow});
    shapes += timeline_band(bands.back());
    bottom += kRow * options.memory_slices + kTimelineGap;
  }
  Overlay overlay;
  for (const ServingPiece& piece : selection.pieces) {
    if (piece.gpu >= 0) {
      shapes += draw_piece(piece, bands[static_cast<std::size_t>(piece.gpu)], axis, overlay);
    }
  }
  bottom -= kTimelineGap - 4;
  TimelineDrawing drawing;
  drawing.svg =
      svg_opening({kTimelineWidth, static_cast<int>(bottom + 26)}, options.title, embedding);
  drawing.svg += timeline_patterns(options.id) + shapes;
  drawing.svg += timeline_texture(overlay.warming, options.id, 's');
  drawing.svg += timeline_texture(overlay.retraining, options.id, 'c');
  drawing.svg += overlay.names + timeline_axis(axis, bottom) + "</svg>\n";
  drawing.left_out = selection.left_out;
  return drawing;
}

std::string svg_retraining_windows(const job::ServingRecord& run, Embedding embedding) {
  const Axis axis = timeline_time_axis(std::max(run.span.to_seconds(), 1.0));
  constexpr double kHeight = 18;
  constexpr int kStretchesMax = 400;  // of a tenant
  std::string shapes;
  double bottom = kTimelineTop;
  for (std::size_t tenant = 0; tenant < run.tenants.size(); ++tenant) {
    const job::ServingTenantRecord& record = run.tenants[tenant];
    if (record.retraining.empty()) {
      continue;
    }
    shapes += timeline_band({0, 1, bottom, record.name, kHeight});
    int drawn = 0;
    for (const auto& [begin, end] : record.retraining) {
      if (++drawn > kStretchesMax) {
        break;
      }
      const double x = std::min(axis.at(begin.to_seconds()), kTimelineRight - kPieceMin);
      shapes += fmt::format(
          "<rect class=\"job j{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{} "
          "retrains, {} to {}</title></rect>\n",
          tenant % kTenantColours,
          pixels(x),
          pixels(bottom),
          pixels(std::max(axis.at(end.to_seconds()) - x, kPieceMin)),
          pixels(kHeight),
          xml_escaped(record.name),
          time_text(begin.to_seconds()),
          time_text(end.to_seconds()));
    }
    bottom += kHeight + 4;
  }
  if (shapes.empty()) {
    return {};
  }
  return svg_opening({kTimelineWidth, static_cast<int>(bottom + 26)},
                     "When models were retrained",
                     embedding) +
         shapes + timeline_axis(axis, bottom) + "</svg>\n";
}

std::string svg_serving_legend(const std::vector<job::ServingTenantRecord>& tenants,
                               const std::string& id) {
  struct Entry {
    std::string shape;
    char texture = '-';  // '-' = none
    std::string text;
  };
  std::vector<Entry> entries;
  constexpr std::size_t kTenantsMax = 24;
  for (std::size_t i = 0; i < std::min(tenants.size(), kTenantsMax); ++i) {
    entries.push_back({fmt::format("job j{}", i % kTenantColours), '-', tenants[i].name});
  }
  if (tenants.size() > kTenantsMax) {
    entries.push_back({"band", '-', fmt::format("and {} more", tenants.size() - kTenantsMax)});
  }
  entries.push_back({"job j0 slow", 's', "warms up"});
  entries.push_back({"job j0", 'c', "retrains its model"});
  entries.push_back({"idle", '-', "idle instance"});
  entries.push_back({"band", '-', "free slices"});
  std::string shapes;
  double x = 2;
  double y = 6;
  for (const Entry& entry : entries) {
    const std::string text = fitted_text(entry.text, 300);
    const double width = 46 + text_width(text);
    if (x + width > kTimelineWidth) {
      x = 2;
      y += 22;
    }
    shapes += timeline_key_entry({entry.shape, entry.texture, xml_escaped(text)}, x, y, id);
    x += width;
  }
  return svg_opening({kTimelineWidth, static_cast<int>(y + 20)},
                     "Key to the timelines",
                     Embedding::kInline) +
         timeline_patterns(id) + shapes + "</svg>\n";
}

}  // namespace septule::report
