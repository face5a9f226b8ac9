#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "job/serving_record.hpp"
#include "report/svg_plot_text.hpp"
#include "report/svg_plot_timeline.hpp"

namespace septule::report {

/// A rectangle of a serving timeline: one instance of one GPU in one unchanged use.
struct ServingPiece {
  int gpu = 0;
  SimTime begin;
  SimTime end;
  job::ServingSpan::Use use;
};

/// The pieces of a run: a use that goes on unchanged from one span into the next is one piece.
/// Spans that are empty are passed over. Ordered by GPU, start of the instance, begin.
std::vector<ServingPiece> serving_pieces(const std::vector<job::ServingSpan>& spans);

/// The same run told more coarsely: for each of `parts` equal parts of [0, end) the span of each
/// GPU that lasted longest in it. `parts` > 0, `end` > 0.
std::vector<job::ServingSpan> coarse_spans(const std::vector<job::ServingSpan>& spans,
                                           SimTime end,
                                           int parts);

/// What of a run is drawn.
struct ServingTimelineOptions {
  std::string title;
  std::string id;         ///< letters and digits, different for each drawing of a page
  int memory_slices = 8;  ///< of each GPU, > 0
  int gpus_max = 8;       ///< GPUs drawn at most, from the first; >= 1
  int pieces_max = 4000;  ///< rectangles drawn at most; >= 1
};

/// Which instance served whom over time: a band for each GPU with its memory slices in place, a
/// colour for each tenant (of its index, as in all drawings of the page), instances that warm up
/// pale and hatched, those that retrain with vertical strokes. A run with more pieces than may be
/// drawn is told more coarsely, which `left_out` says.
TimelineDrawing svg_serving_timeline(const job::ServingRecord& run,
                                     const ServingTimelineOptions& options,
                                     Embedding embedding);

/// When each tenant's model was retrained: a row for each tenant that was. Empty if none was.
std::string svg_retraining_windows(const job::ServingRecord& run, Embedding embedding);

/// The key to these drawings: tenants by colour, and the textures. `id` as above.
std::string svg_serving_legend(const std::vector<job::ServingTenantRecord>& tenants,
                               const std::string& id);

}  // namespace septule::report
