#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "report/study.hpp"
#include "report/svg_plot_text.hpp"

namespace septule::report {

/// What is written into a job's rectangle where there is room.
enum class TimelineTags {
  kNumbers,  ///< the job's number, where it has its instance alone
  kNames,    ///< the job's name; GPUs are drawn taller for it
};

/// What of a run is drawn.
struct TimelineOptions {
  std::string title;
  std::string id;         ///< letters and digits, different for each drawing of a page
  SimTime end;            ///< right end of the time axis; > 0 (else a second is shown)
  int gpus_max = 8;       ///< GPUs drawn at most, from the first; >= 1
  int pieces_max = 4000;  ///< rectangles drawn at most; >= 1
  TimelineTags tags = TimelineTags::kNumbers;
};

/// The drawing, and what was left out of it in words for its reader; empty if nothing was.
struct TimelineDrawing {
  std::string svg;
  std::string left_out;
};

/// The GPUs of a run over time, the slices of each card in place: each GPU is a band with one row
/// for each memory slice of its grid; a job is a rectangle over the slices of its GPU instance, for
/// as long as it was in one state there. Jobs that share an instance (MPS) divide its height.
/// `gpus` gives labels and grids by index; a GPU beyond it, or a run's without, is taken to have
/// the slices that its spans use. Pieces too short to be seen are drawn as one with their like
/// neighbours (merged_short_pieces), and at least as wide as can be seen; more of them, up to a few
/// pixels, if there are too many pieces. Limits: whole GPUs, then
/// the pieces of the first that come last in time, then the shortest pieces are left out, so that a
/// large run cannot make a file that no browser opens.
TimelineDrawing svg_timeline(const RepresentativeRun& run,
                             const std::vector<ReportGpu>& gpus,
                             const TimelineOptions& options,
                             Embedding embedding);

/// The key to the drawings' textures. `id` as in TimelineOptions.
std::string svg_timeline_legend(const std::string& id);

}  // namespace septule::report
