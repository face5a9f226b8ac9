#include "report/svg_plot_timeline.hpp"

#include <gtest/gtest.h>

#include "report/timeline_pieces.hpp"
#include "support/study_builder.hpp"
#include "support/xml_check.hpp"

namespace septule::report {
namespace {

using Kind = TimelinePiece::Kind;
using Use = job::TimelineSpan::Use;

job::TimelineSpan span(int gpu, double begin_s, double end_s, std::vector<Use> uses) {
  return {gpu, test::at_seconds(begin_s), test::at_seconds(end_s), false, std::move(uses)};
}

Use use(int start, int size, int job, job::JobState state = job::JobState::kRunning) {
  return {start, size, job::JobId(job), state};
}

TimelineOptions options_until(double end_s) {
  TimelineOptions options;
  options.title = "test";
  options.id = "t";
  options.end = test::at_seconds(end_s);
  return options;
}

/// Rectangles of the drawing whose title has `text`.
std::vector<test::XmlElement> pieces_with(const std::string& svg, const std::string& text) {
  std::vector<test::XmlElement> found;
  test::XmlElement last;
  const test::XmlReader reader(svg);
  for (const test::XmlElement& element : reader.elements()) {
    if (element.name == "rect") {
      last = element;
    }
    if (element.name == "title" && element.text.find(text) != std::string::npos) {
      found.push_back(last);
    }
  }
  return found;
}

TEST(TimelinePieces, WhatGoesOn_IsOnePiece) {
  // Job 1 runs through three spans beside changing neighbours; job 2 changes its state.
  const auto pieces = timeline_pieces({
      span(0, 0, 10, {use(0, 4, 1), use(4, 4, 2, job::JobState::kStarting)}),
      span(0, 10, 20, {use(0, 4, 1), use(4, 4, 2)}),
      span(0, 20, 30, {use(0, 4, 1)}),
  });
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[0].job, job::JobId(1));
  EXPECT_EQ(pieces[0].end, test::at_seconds(30));
  EXPECT_EQ(pieces[1].state, job::JobState::kStarting);
  EXPECT_EQ(pieces[2].begin, test::at_seconds(10));
  EXPECT_EQ(pieces[2].end, test::at_seconds(20));
}

TEST(TimelinePieces, GapsAndOtherGpus_DivideAPiece) {
  // The same job in the same place, but not without a break, and not on one GPU.
  const auto pieces = timeline_pieces({
      span(1, 10, 20, {use(0, 4, 1)}),
      span(0, 0, 10, {use(0, 4, 1)}),
      span(1, 21, 30, {use(0, 4, 1)}),
      span(1, 30, 30, {use(0, 4, 5)}),
      span(1, 31, 30, {use(0, 4, 6)}),
      span(0, 40, 50, {use(0, 0, 7)}),
  });
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[0].gpu, 0);
  EXPECT_EQ(pieces[1].begin, test::at_seconds(10));
  EXPECT_EQ(pieces[2].begin, test::at_seconds(21));
}

TEST(TimelinePieces, JobsInOnePlace_AreItsParts) {
  // Three jobs share an instance, a fourth has its own; a re-cut is a piece of its own too.
  job::TimelineSpan shared =
      span(0, 0, 10, {use(0, 4, 1), use(0, 4, 2), use(0, 4, 3), use(4, 4, 9)});
  shared.is_reconfiguring = true;
  shared.uses.push_back({7, 1, std::nullopt, job::JobState::kWaiting});
  const auto pieces = timeline_pieces({shared});
  ASSERT_EQ(pieces.size(), 6U);
  EXPECT_EQ(pieces[0].kind, Kind::kRecut);
  EXPECT_EQ(pieces[1].kind, Kind::kIdle);
  for (std::size_t i = 2; i < 5; ++i) {
    EXPECT_EQ(pieces[i].part, static_cast<int>(i) - 2);
    EXPECT_EQ(pieces[i].parts, 3);
  }
  EXPECT_EQ(pieces[5].parts, 1);
}

TEST(MergedShortPieces, OnlyShortNeighboursInOnePlace_Merge) {
  // Not with a long one, not over a gap as long as `shortest`, not with another place; alike ones
  // keep their job.
  const auto pieces = timeline_pieces({span(0, 0, 1, {use(0, 4, 0)}),
                                       span(0, 2, 3, {use(0, 4, 0)}),
                                       span(0, 3, 20, {use(0, 4, 1)}),
                                       span(0, 20, 21, {use(0, 4, 2), use(4, 4, 5)}),
                                       span(0, 21, 22, {use(0, 4, 3)}),
                                       span(0, 32, 33, {use(0, 4, 4)})});
  const auto merged = merged_short_pieces(pieces, seconds_to_duration(10));
  ASSERT_EQ(merged.size(), 5U);
  EXPECT_EQ(merged[0].job, job::JobId(0));
  EXPECT_EQ(merged[0].end, test::at_seconds(3));
  EXPECT_EQ(merged[0].count, 2);
  EXPECT_EQ(merged[1].job, job::JobId(1));
  EXPECT_EQ(merged[1].count, 1);
  EXPECT_EQ(merged[2].job, job::JobId(5));
  EXPECT_EQ(merged[3].kind, Kind::kMixed);
  EXPECT_EQ(merged[3].job, std::nullopt);
  EXPECT_EQ(merged[3].end, test::at_seconds(22));
  EXPECT_EQ(merged[4].job, job::JobId(4));
}

TEST(MergedShortPieces, AnyLimit_LosesNoPiece) {
  // Counts add up to the pieces there were, long ones stay, and order is kept.
  const StudyReport study = test::made_up_study();
  const auto pieces = timeline_pieces(study.policies[2].representative->run.timeline);
  for (const double limit_s : {0.0, 7.0, 40.0, 500.0, 1e6}) {
    const Duration shortest = seconds_to_duration(limit_s);
    int count = 0;
    const auto merged = merged_short_pieces(pieces, shortest);
    for (std::size_t i = 0; i < merged.size(); ++i) {
      count += merged[i].count;
      EXPECT_TRUE(merged[i].count == 1 || merged[i].kind != Kind::kJob || merged[i].job);
      EXPECT_TRUE(i == 0 || merged[i - 1].gpu < merged[i].gpu ||
                  (merged[i - 1].gpu == merged[i].gpu && merged[i - 1].begin <= merged[i].begin));
    }
    EXPECT_EQ(count, static_cast<int>(pieces.size()));
    const auto is_long = [&](const TimelinePiece& piece) {
      return piece.end - piece.begin >= shortest && piece.count == 1;
    };
    EXPECT_EQ(std::ranges::count_if(merged, is_long), std::ranges::count_if(pieces, is_long));
  }
}

TEST(TimelinePieces, DrawnRuns_KeepEachJobsTimeOnTheGpu) {
  // Merging spans changes no sum: job time in pieces equals job time in spans.
  const StudyReport study = test::made_up_study();
  const auto& timeline = study.policies[2].representative->run.timeline;
  Duration in_spans;
  for (const job::TimelineSpan& one : timeline) {
    for (const Use& each : one.uses) {
      in_spans += each.job.has_value() ? one.end - one.begin : Duration();
    }
  }
  Duration in_pieces;
  for (const TimelinePiece& piece : timeline_pieces(timeline)) {
    in_pieces += piece.kind == Kind::kJob ? piece.end - piece.begin : Duration();
  }
  EXPECT_EQ(in_pieces, in_spans);
}

TEST(SvgTimeline, Jobs_StandOnTheSlicesOfTheirInstance) {
  // GPU 0 has rows of 6 from 6 on, GPU 1 begins below it; 100 s are 1020 wide from 62 on.
  RepresentativeRun run;
  run.run.gpu_count = 2;
  run.job_names = {"bert:4"};
  run.run.timeline = {span(0, 0, 50, {use(4, 3, 0)}), span(1, 50, 100, {use(0, 8, 1)})};
  const std::vector<ReportGpu> gpus(2, {"GPU", MemorySlices(8)});
  const TimelineDrawing drawing = svg_timeline(run, gpus, options_until(100), Embedding::kInline);
  EXPECT_EQ(test::drawing_faults(drawing.svg), "");
  EXPECT_EQ(drawing.left_out, "");
  const auto first = pieces_with(drawing.svg,
                                 "GPU 0: job 0 (bert:4), running, memory slices 4-6, "
                                 "0 s to 50 s (50 s)");
  ASSERT_EQ(first.size(), 1U) << drawing.svg;
  EXPECT_EQ(first[0].attribute("x"), "62");
  EXPECT_EQ(first[0].attribute("y"), "30");
  EXPECT_EQ(first[0].attribute("width"), "510");
  EXPECT_EQ(first[0].attribute("height"), "18");
  const auto second = pieces_with(drawing.svg, "job 1");
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].attribute("x"), "572");
  EXPECT_EQ(second[0].attribute("y"), "63");
  EXPECT_EQ(second[0].attribute("height"), "48");
}

TEST(SvgTimeline, Names_StandInTheirRectanglesWhereThereIsRoom) {
  // Rows of 18: alone or shared the name is there, once over all; shortened, or left out, if it
  // does not fit; by numbers no name is written.
  RepresentativeRun run;
  run.run.gpu_count = 1;
  run.job_names = {"bert<a", "gnn", "a name that is too long", "narrow"};
  run.run.timeline = {span(0, 0, 50, {use(0, 4, 0), use(0, 4, 1)}),
                      span(0, 50, 60, {use(0, 8, 2)}),
                      span(0, 60, 61, {use(0, 8, 3)})};
  TimelineOptions options = options_until(100);
  options.tags = TimelineTags::kNames;
  const std::string svg = svg_timeline(run, {}, options, Embedding::kStandalone).svg;
  EXPECT_EQ(test::drawing_faults(svg), "");
  EXPECT_NE(svg.find("y=\"28\">bert&lt;a</text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("y=\"64\">gnn</text>"), std::string::npos) << svg;
  EXPECT_EQ(test::count_class(svg, "name"), 3);
  EXPECT_EQ(svg.find(">a name that is too long</text>"), std::string::npos);
  EXPECT_GT(svg.find("class=\"name\""), svg.find("url(#tm)"));
  options.tags = TimelineTags::kNumbers;
  EXPECT_EQ(test::count_class(svg_timeline(run, {}, options, Embedding::kInline).svg, "name"), 0);
}

TEST(SvgTimeline, States_HaveTheirTextures) {
  // One path each for what is slow, shared, sampled and re-cut; an idle instance is an outline.
  RepresentativeRun run;
  job::TimelineSpan recut = span(0, 10, 20, {});
  recut.is_reconfiguring = true;
  run.run.timeline = {span(0, 0, 10, {use(0, 8, 0, job::JobState::kStopping)}),
                      recut,
                      span(0, 20, 30, {use(0, 4, 0), use(0, 4, 1)}),
                      span(0, 30, 40, {use(0, 8, 0, job::JobState::kCharacterising)}),
                      span(0, 40, 50, {{0, 4, std::nullopt, job::JobState::kRunning}})};
  const std::string svg = svg_timeline(run, {}, options_until(50), Embedding::kStandalone).svg;
  EXPECT_EQ(test::drawing_faults(svg), "");
  for (const char texture : {'r', 's', 'm', 'c'}) {
    const std::string fill = fmt::format("fill=\"url(#t{})\"", texture);
    EXPECT_NE(svg.find(fill), std::string::npos) << texture;
    EXPECT_EQ(svg.find(fill), svg.rfind(fill)) << texture;
  }
  EXPECT_EQ(test::count_class(svg, "idle"), 1);
  EXPECT_EQ(test::count_class(svg, "slow"), 1);
  EXPECT_EQ(pieces_with(svg, "shared by 2 jobs").size(), 2U);
  EXPECT_EQ(pieces_with(svg, "re-cut of the GPU").size(), 1U);
}

TEST(SvgTimeline, LargeRuns_AreCutAndSayWhatIsMissing) {
  // First GPUs beyond the limit, then GPUs that would pass the number of pieces.
  const StudyReport study = test::made_up_study({.jobs = 60, .gpus = 12});
  const RepresentativeRun& run = *study.policies[0].representative;
  TimelineOptions options = options_until(run.run.makespan.to_seconds());
  options.gpus_max = 3;
  const TimelineDrawing three = svg_timeline(run, study.gpus, options, Embedding::kInline);
  EXPECT_NE(three.left_out.find("GPUs 3 to 11 of 12"), std::string::npos) << three.left_out;
  EXPECT_EQ(pieces_with(three.svg, "GPU 3:").size(), 0U);
  EXPECT_GT(pieces_with(three.svg, "GPU 2:").size(), 0U);
  options.pieces_max = 20;
  const TimelineDrawing few = svg_timeline(run, study.gpus, options, Embedding::kInline);
  EXPECT_NE(few.left_out.find("GPUs 1 to 11 of 12"), std::string::npos) << few.left_out;
  EXPECT_NE(few.left_out.find("the last "), std::string::npos) << few.left_out;
  EXPECT_NE(few.left_out.find(" of GPU 0, from "), std::string::npos) << few.left_out;
  EXPECT_EQ(pieces_with(few.svg, "GPU 0:").size(), 20U);
  EXPECT_EQ(test::drawing_faults(few.svg), "");
}

TEST(SvgTimeline, NarrowPieces_AreDrawnAsWideAsCanBeSeen) {
  // A millisecond of a day; without room for it the drawing says what is missing, and where.
  RepresentativeRun run;
  run.run.timeline = {span(0, 0, 0.001, {use(0, 8, 0)}), span(0, 10, 50000, {use(0, 8, 1)})};
  TimelineOptions options = options_until(86400);
  const TimelineDrawing drawing = svg_timeline(run, {}, options, Embedding::kInline);
  EXPECT_EQ(drawing.left_out, "");
  ASSERT_EQ(pieces_with(drawing.svg, "job 0").size(), 1U);
  EXPECT_EQ(pieces_with(drawing.svg, "job 0")[0].attribute("width"), "0.3");
  options.pieces_max = 1;
  const TimelineDrawing full = svg_timeline(run, {}, options, Embedding::kInline);
  EXPECT_EQ(full.left_out, "1 short piece of GPU 0, of at most 0.001 s");
  EXPECT_EQ(pieces_with(full.svg, "job 0").size(), 0U);
  EXPECT_EQ(pieces_with(full.svg, "job 1").size(), 1U);
}

TEST(SvgTimeline, ShortNeighbours_AreOnePiece) {
  // Three jobs of a second each, one after the other, in a day.
  RepresentativeRun run;
  run.run.timeline = {
      span(0, 0, 1, {use(0, 4, 0)}), span(0, 1, 2, {use(0, 4, 1)}), span(0, 2, 3, {use(0, 4, 2)})};
  const TimelineDrawing drawing = svg_timeline(run, {}, options_until(86400), Embedding::kInline);
  EXPECT_EQ(test::count_class(drawing.svg, "mixed"), 1);
  EXPECT_EQ(pieces_with(drawing.svg, "GPU 0: 3 short pieces, memory slices 0-3, 0 s to 3 s").size(),
            1U);
  EXPECT_EQ(drawing.left_out, "");
}

TEST(SvgTimeline, OddRuns_AreDrawnInside) {
  // No span, no GPU, a makespan of zero, slices beyond the grid, spans beyond the end.
  RepresentativeRun run;
  EXPECT_EQ(test::drawing_faults(svg_timeline(run, {}, options_until(0), Embedding::kInline).svg),
            "");
  run.run.gpu_count = 3;
  run.run.timeline = {span(0, 0, 1e6, {use(-3, 5, 0), use(6, 50, 1)}),
                      span(1, 99, 1e6, {use(20, 4, 2)}),
                      span(2, 500, 600, {use(0, 4, 3)})};
  const std::vector<ReportGpu> gpus = {{"<&\"", MemorySlices(8)}, {"", MemorySlices(0)}};
  const std::string svg = svg_timeline(run, gpus, options_until(100), Embedding::kInline).svg;
  EXPECT_EQ(test::drawing_faults(svg), "");
  EXPECT_EQ(pieces_with(svg, "job 3").size(), 0U);
}

TEST(SvgTimelineLegend, Key_HasEveryTexture) {
  // Well formed, with patterns of its own.
  const std::string svg = svg_timeline_legend("key");
  EXPECT_EQ(test::drawing_faults(svg), "");
  for (const char texture : {'r', 's', 'm', 'c'}) {
    EXPECT_NE(svg.find(fmt::format("url(#key{})", texture)), std::string::npos) << texture;
  }
}

}  // namespace
}  // namespace septule::report
