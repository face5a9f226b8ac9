#include "report/svg_plot_timeline.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "report/number_text.hpp"
#include "report/svg_plot_axis.hpp"
#include "report/timeline_frame.hpp"
#include "report/timeline_pieces.hpp"

namespace septule::report {

namespace {

constexpr double kRow = 6;            // height of a memory slice
constexpr double kNamedRow = 18;      // with names in it
constexpr double kPieceMin = 0.3;     // narrower pieces cannot be seen: they are drawn so wide
constexpr double kPieceCoarse = 2.4;  // of pieces that are merged for want of room
constexpr int kJobColours = 8;
constexpr int kSlicesMax = 64;

/// Textures laid over pieces, each one path for the whole drawing.
struct Textures {
  std::string recut;
  std::string slow;    ///< starting, stopping, stopped
  std::string mps;     ///< several jobs in one place
  std::string sample;  ///< characterisation
  std::string names;   ///< of jobs: texts over all
};

bool is_slow(job::JobState state) {
  return state == job::JobState::kStarting || state == job::JobState::kStopping ||
         state == job::JobState::kStopped;
}

/// Number of GPUs of the run: what it says, or what its spans show.
int gpu_count_of(const RepresentativeRun& run, const std::vector<TimelinePiece>& pieces) {
  int count = std::max(run.run.gpu_count, 0);
  for (const TimelinePiece& piece : pieces) {
    count = std::max(count, piece.gpu + 1);
  }
  return count;
}

/// The bands of the first `count` GPUs, from top to bottom.
std::vector<TimelineBand> bands_of(const std::vector<TimelinePiece>& pieces,
                                   const std::vector<ReportGpu>& gpus,
                                   int count,
                                   TimelineTags tags) {
  const double row = tags == TimelineTags::kNames ? kNamedRow : kRow;
  std::vector<TimelineBand> bands;
  double top = kTimelineTop;
  for (int gpu = 0; gpu < count; ++gpu) {
    TimelineBand band{gpu, 0, top, fmt::format("GPU {}", gpu), row};
    if (static_cast<std::size_t>(gpu) < gpus.size()) {
      band.slices = gpus[static_cast<std::size_t>(gpu)].memory_slices.value();
      band.label = gpus[static_cast<std::size_t>(gpu)].label;
    } else {
      for (const TimelinePiece& piece : pieces) {
        band.slices =
            piece.gpu == gpu ? std::max(band.slices, piece.start + piece.size) : band.slices;
      }
    }
    band.slices = std::clamp(band.slices, 1, kSlicesMax);
    top += row * band.slices + kTimelineGap;
    bands.push_back(std::move(band));
  }
  return bands;
}

std::string piece_title(const RepresentativeRun& run, const TimelinePiece& piece) {
  std::string what = "re-cut of the GPU";
  if (piece.kind == TimelinePiece::Kind::kMixed) {
    what = fmt::format("{} short pieces", piece.count);
  } else if (piece.kind == TimelinePiece::Kind::kIdle) {
    what = "idle instance";
  } else if (piece.job.has_value()) {
    what = fmt::format(
        "{}, {}", shortened_text(job_label(run, *piece.job), 60), job::job_state_name(piece.state));
  }
  std::string place;
  if (piece.kind != TimelinePiece::Kind::kRecut) {
    place = piece.size == 1
                ? fmt::format(", memory slice {}", piece.start)
                : fmt::format(", memory slices {}-{}", piece.start, piece.start + piece.size - 1);
    place += piece.parts > 1 ? fmt::format(" shared by {} jobs", piece.parts) : std::string();
  }
  return fmt::format("GPU {}: {}{}, {} to {} ({})",
                     piece.gpu,
                     what,
                     place,
                     time_text(piece.begin.to_seconds()),
                     time_text(piece.end.to_seconds()),
                     time_text((piece.end - piece.begin).to_seconds()));
}

struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

/// A job's name on paper in the middle of its rectangle, shortened to it; nothing where it has no
/// room. Letters are taken to be 6 wide: no font is asked.
std::string name_tag(const RepresentativeRun& run, const TimelinePiece& piece, const Box& box) {
  constexpr double kLetter = 6;
  constexpr double kHeight = 13;
  const auto room = static_cast<std::size_t>(std::max(box.width / kLetter - 2, 0.0));
  const auto index =
      static_cast<std::size_t>(checked_value(piece.job, "the piece is a job's").value());
  constexpr std::size_t kShortest = 4;
  if (index >= run.job_names.size() || box.height < kHeight || room < kShortest) {
    return {};
  }
  return fmt::format("<text class=\"name\" x=\"{}\" y=\"{}\">{}</text>\n",
                     pixels(box.x + box.width / 2),
                     pixels(box.y + box.height / 2 + 4),
                     xml_escaped(shortened_text(run.job_names[index], room)));
}

/// Draws one piece on its band and lays its texture over it.
std::string draw_piece(const RepresentativeRun& run,
                       const TimelinePiece& piece,
                       const TimelineBand& band,
                       const Axis& axis,
                       Textures& textures) {
  const bool is_recut = piece.kind == TimelinePiece::Kind::kRecut;
  const int from = is_recut ? 0 : std::clamp(piece.start, 0, band.slices);
  const int to = is_recut ? band.slices : std::clamp(piece.start + piece.size, from, band.slices);
  const double x = std::min(axis.at(piece.begin.to_seconds()), kTimelineRight - kPieceMin);
  const double width = std::max(axis.at(piece.end.to_seconds()) - x, kPieceMin);
  const double height = band.row * (to - from) / piece.parts;
  const double y = band.top + band.row * from + height * piece.part;
  if (height <= 0) {
    return {};
  }
  std::string shape = piece.kind == TimelinePiece::Kind::kMixed ? "mixed" : "idle";
  if (is_recut) {
    shape = "hold";
    textures.recut += timeline_box(x, y, width, height);
  } else if (piece.job.has_value()) {
    shape = fmt::format("job j{}", piece.job->value() % kJobColours);
    shape += is_slow(piece.state) ? " slow" : "";
    std::string& texture = is_slow(piece.state)                            ? textures.slow
                           : piece.state == job::JobState::kCharacterising ? textures.sample
                                                                           : textures.mps;
    if (&texture != &textures.mps || piece.parts > 1) {
      texture += timeline_box(x, y, width, height);
    }
  }
  std::string out = fmt::format(
      "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>\n",
      shape,
      pixels(x),
      pixels(y),
      pixels(width),
      pixels(height),
      xml_escaped(piece_title(run, piece)));
  if (band.row == kNamedRow && piece.job.has_value()) {
    textures.names += name_tag(run, piece, {x, y, width, height});
    return out;
  }
  const bool is_plain =
      piece.job.has_value() && piece.state == job::JobState::kRunning && piece.parts == 1;
  if (is_plain && width >= 24 && height >= 2 * kRow) {
    out += fmt::format("<text class=\"tag\" x=\"{}\" y=\"{}\">{}</text>\n",
                       pixels(x + width / 2),
                       pixels(y + height / 2 + 3.2),
                       piece.job->value());
  }
  return out;
}

/// What is drawn of all pieces, and what is not.
struct Selection {
  std::vector<TimelinePiece> pieces;
  int gpus = 0;
  std::vector<std::string> left_out;
};

/// "GPU 3", "GPUs 3 to 7".
std::string gpus_text(int first, int last) {
  return first == last ? fmt::format("GPU {}", first) : fmt::format("GPUs {} to {}", first, last);
}

/// The GPUs that the pieces are of, of which there are some.
std::string gpus_text(std::span<const TimelinePiece> pieces) {
  const auto [first, last] = std::ranges::minmax(pieces, {}, &TimelinePiece::gpu);
  return gpus_text(first.gpu, last.gpu);
}

/// The pieces, short ones merged, and what short means.
struct MergedPieces {
  std::vector<TimelinePiece> pieces;
  Duration shortest;
};

/// Merges what cannot be seen, and more than that, up to kPieceCoarse, if the GPUs that may be
/// drawn would else have more pieces than there is room for.
MergedPieces merged_to_fit(const std::vector<TimelinePiece>& all, const TimelineOptions& options) {
  MergedPieces merged;
  for (double width = kPieceMin; width <= kPieceCoarse; width *= 2) {
    merged.shortest =
        seconds_to_duration(width * options.end.to_seconds() / (kTimelineRight - kTimelineLeft));
    merged.pieces = merged_short_pieces(all, merged.shortest);
    const auto count = std::ranges::count_if(merged.pieces, [&](const TimelinePiece& piece) {
      return piece.gpu < options.gpus_max && piece.end - piece.begin >= merged.shortest;
    });
    if (count <= options.pieces_max) {
      break;
    }
  }
  return merged;
}

/// Adds the short pieces while there is room, the longest first.
void add_short(Selection& selection, std::vector<TimelinePiece> pieces, std::size_t room) {
  std::ranges::stable_sort(pieces, [](const TimelinePiece& a, const TimelinePiece& b) {
    return a.end - a.begin > b.end - b.begin;
  });
  const std::size_t count = std::min(pieces.size(), room - selection.pieces.size());
  std::copy_n(pieces.begin(), count, std::back_inserter(selection.pieces));
  const std::span<const TimelinePiece> rest = std::span(pieces).subspan(count);
  if (!rest.empty()) {
    selection.left_out.push_back(
        fmt::format("{} short piece{} of {}, of at most {}",
                    rest.size(),
                    rest.size() > 1 ? "s" : "",
                    gpus_text(rest),
                    time_text((rest.front().end - rest.front().begin).to_seconds())));
  }
}

Selection selected(const std::vector<TimelinePiece>& all,
                   int gpu_count,
                   const TimelineOptions& options,
                   Duration shortest) {
  Selection selection;
  std::vector<TimelinePiece> short_pieces;
  std::vector<TimelinePiece> late;
  const auto room = static_cast<std::size_t>(options.pieces_max);
  for (; selection.gpus < std::min(gpu_count, options.gpus_max); ++selection.gpus) {
    std::vector<TimelinePiece> of_gpu;
    std::vector<TimelinePiece> short_of_gpu;
    for (const TimelinePiece& piece : all) {
      if (piece.gpu == selection.gpus && piece.begin < options.end) {
        (piece.end - piece.begin < shortest ? short_of_gpu : of_gpu).push_back(piece);
      }
    }
    if (selection.pieces.size() + of_gpu.size() > room && selection.gpus > 0) {
      break;
    }
    const auto kept = of_gpu.begin() + static_cast<std::ptrdiff_t>(std::min(of_gpu.size(), room));
    std::copy(of_gpu.begin(), kept, std::back_inserter(selection.pieces));
    std::copy(kept, of_gpu.end(), std::back_inserter(late));
    std::ranges::move(short_of_gpu, std::back_inserter(short_pieces));
  }
  if (selection.gpus < gpu_count) {
    selection.left_out.push_back(
        fmt::format("{} of {}", gpus_text(selection.gpus, gpu_count - 1), gpu_count));
  }
  if (!late.empty()) {
    selection.left_out.push_back(fmt::format("the last {} piece{} of {}, from {} on",
                                             late.size(),
                                             late.size() > 1 ? "s" : "",
                                             gpus_text(late),
                                             time_text(late.front().begin.to_seconds())));
  }
  add_short(selection, std::move(short_pieces), room);
  return selection;
}

}  // namespace

TimelineDrawing svg_timeline(const RepresentativeRun& run,
                             const std::vector<ReportGpu>& gpus,
                             const TimelineOptions& options,
                             Embedding embedding) {
  SEPTULE_CHECK(options.gpus_max >= 1, "at least one GPU is drawn");
  SEPTULE_CHECK(options.pieces_max >= 1, "at least one piece is drawn");
  TimelineOptions settled = options;
  settled.end = std::max(options.end, SimTime::nanoseconds(1000000000));
  const Axis axis = timeline_time_axis(settled.end.to_seconds());
  const MergedPieces merged = merged_to_fit(timeline_pieces(run.run.timeline), settled);
  const std::vector<TimelinePiece>& all = merged.pieces;
  const Selection selection = selected(all, gpu_count_of(run, all), settled, merged.shortest);
  const std::vector<TimelineBand> bands = bands_of(all, gpus, selection.gpus, settled.tags);
  std::string bands_drawn;
  std::string shapes;
  Textures textures;
  double bottom = kTimelineTop;
  for (const TimelineBand& band : bands) {
    bands_drawn += timeline_band(band);
    bottom = band.top + band.row * band.slices + 4;
  }
  for (const TimelinePiece& piece : selection.pieces) {
    const TimelineBand& band = bands[static_cast<std::size_t>(piece.gpu)];
    shapes += draw_piece(run, piece, band, axis, textures);
  }
  TimelineDrawing drawing;
  drawing.svg =
      svg_opening({kTimelineWidth, static_cast<int>(bottom + 26)}, options.title, embedding);
  drawing.svg += timeline_patterns(options.id) + bands_drawn;
  // Under the jobs: those that a re-cut leaves alone run on before its hatching.
  drawing.svg += timeline_texture(textures.recut, options.id, 'r') + shapes;
  drawing.svg += timeline_texture(textures.slow, options.id, 's');
  drawing.svg += timeline_texture(textures.sample, options.id, 'c');
  drawing.svg += timeline_texture(textures.mps, options.id, 'm');
  drawing.svg += textures.names + timeline_axis(axis, bottom) + "</svg>\n";
  drawing.left_out = joined_with_and(selection.left_out);
  return drawing;
}

std::string svg_timeline_legend(const std::string& id) {
  struct Entry {
    const char* shape;
    char texture;  // '-' = none
    const char* text;
    double width;
  };
  constexpr std::array kEntries = std::to_array<Entry>({
      {"job j0", '-', "a job runs (its number)", 182},
      {"job j0", 'm', "jobs share an instance (MPS)", 216},
      {"job j0", 'c', "characterisation run", 170},
      {"job j0 slow", 's', "starting, saving or stopped", 206},
      {"band", 'r', "re-cut", 88},
      {"idle", '-', "idle instance", 124},
      {"mixed", '-', "several short pieces", 172},
      {"band", '-', "free slices", 90},
  });
  std::string out = svg_opening({kTimelineWidth, 48}, "Key to the timelines", Embedding::kInline);
  out += timeline_patterns(id);
  double x = 2;
  double y = 6;
  for (const Entry& entry : kEntries) {
    if (x + entry.width > kTimelineWidth) {
      x = 2;
      y += 22;
    }
    out += timeline_key_entry({entry.shape, entry.texture, entry.text}, x, y, id);
    x += entry.width;
  }
  return out + "</svg>\n";
}

}  // namespace septule::report
