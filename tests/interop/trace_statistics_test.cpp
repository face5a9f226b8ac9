#include "interop/trace_statistics.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "interop/trace_formats.hpp"
#include "support/read_file.hpp"
#include "support/run_command.hpp"
#include "support/shared_data.hpp"

namespace septule::interop {
namespace {

TraceJob job(std::int64_t submit_s, std::int64_t duration_s, std::int64_t gpu_milli) {
  TraceJob result;
  result.submit = SimTime() + Duration::milliseconds(submit_s * 1000);
  result.duration = Duration::milliseconds(duration_s * 1000);
  result.gpus = GpuMilli(gpu_milli);
  return result;
}

TEST(TraceStatistics, SmallTrace_IsCountedByHand) {
  // Four jobs, every figure worked out on paper.
  Trace trace;
  trace.jobs = {job(0, 3600, 1000), job(10, 7200, 500), job(10, 7201, 8000), job(40, 0, 0)};
  trace.jobs[1].gpu_memory = Bytes::mebibytes(2048);
  trace.jobs[1].user = "a";
  trace.jobs[3].duration.reset();
  const TraceStatistics statistics = trace_statistics(trace);
  EXPECT_EQ(statistics.jobs, 4);
  EXPECT_EQ(statistics.span_s, 40);
  EXPECT_EQ(statistics.users, 1);
  ASSERT_TRUE(statistics.duration_s);
  EXPECT_EQ(statistics.duration_s->known, 3);
  EXPECT_EQ(statistics.duration_s->quantiles[2], 7200);
  EXPECT_EQ(statistics.duration_s->quantiles[6], 7201);
  ASSERT_TRUE(statistics.gap_s);
  EXPECT_EQ(statistics.gap_s->known, 3);
  EXPECT_DOUBLE_EQ(statistics.gap_s->mean, 40.0 / 3);
  // Gaps 10, 0, 30: variance 1400/9, mean^2 1600/9.
  ASSERT_TRUE(statistics.gap_variation);
  EXPECT_NEAR(*statistics.gap_variation, 0.875, 1e-12);
  EXPECT_EQ(statistics.share_one_gpu, 0.25);
  EXPECT_EQ(statistics.share_part_gpu, 0.25);
  EXPECT_EQ(statistics.share_several_gpus, 0.25);
  EXPECT_EQ(statistics.share_cpu_only, 0.25);
  EXPECT_DOUBLE_EQ(statistics.share_within_2h.value_or(0), 2.0 / 3);
  EXPECT_DOUBLE_EQ(statistics.gpu_hours.value_or(0), (3600 + 3600 + 8 * 7201) / 3600.0);
  ASSERT_TRUE(statistics.gpu_memory_gib);
  EXPECT_EQ(statistics.gpu_memory_gib->mean, 2);
}

TEST(TraceStatistics, BarsOfEveryKind_HoldEveryJobOnce) {
  // Boundaries belong to the upper bar; nothing falls between two.
  Trace trace;
  int submit = 0;
  for (const int duration : {0, 1, 9, 10, 59, 60, 600, 3600, 7200, 28800, 86400, 604800, 9999999}) {
    trace.jobs.push_back(job(submit++, duration, duration % 20 * 1000 + (duration == 9 ? 1 : 0)));
  }
  const TraceStatistics statistics = trace_statistics(trace);
  const auto total = [](const std::vector<TraceBar>& bars) {
    std::int64_t sum = 0;
    for (const TraceBar& bar : bars) {
      sum += bar.count;
    }
    return sum;
  };
  EXPECT_EQ(total(statistics.duration_bars), 13);
  EXPECT_EQ(total(statistics.gpu_bars), 13);
  EXPECT_EQ(total(statistics.arrival_bars), 13);
  EXPECT_EQ(statistics.duration_bars.front().count, 1);
  EXPECT_EQ(statistics.duration_bars.back().count, 2);
}

TEST(TraceStatistics, NothingKnown_IsNothingAndNotZero) {
  // No jobs, one job without figures, a list without arrivals.
  EXPECT_EQ(trace_statistics({}).jobs, 0);
  EXPECT_FALSE(trace_statistics({}).gpu_hours);
  Trace trace;
  trace.jobs.resize(2);
  const TraceStatistics statistics = trace_statistics(trace);
  EXPECT_FALSE(statistics.duration_s);
  EXPECT_FALSE(statistics.gpus);
  EXPECT_FALSE(statistics.gpu_hours);
  EXPECT_FALSE(statistics.share_one_gpu);
  EXPECT_FALSE(statistics.users);
  EXPECT_FALSE(statistics.gap_variation);
  EXPECT_TRUE(statistics.gap_s);
  trace.has_submit_times = false;
  EXPECT_FALSE(trace_statistics(trace).gap_s);
  EXPECT_FALSE(trace_statistics(trace).span_s);
}

/// A published row of figures: quantiles 5/25/50/75/95/99 of the durations and 25/50/75/95 of the
/// gaps (to four digits), GPU-hours and rows.
struct Published {
  const char* file;
  std::int64_t rows;
  std::array<double, 6> duration_s;
  std::array<double, 4> gap_s;
  double gap_mean_s;
  double gpu_hours;
  double share_one_percent;
  double share_2h_percent;
};

void expect_published(const std::string& text, const Published& published) {
  const auto import = import_trace({text, published.file}, {});
  ASSERT_TRUE(import) << import.error().message;
  const TraceStatistics statistics = trace_statistics(import->trace);
  EXPECT_EQ(statistics.jobs, published.rows) << published.file;
  const auto expect_near = [&](double value, double expected) {
    // Published to four significant digits; halves may have been rounded either way.
    EXPECT_NEAR(value, expected, std::max(0.051, expected * 6e-4)) << published.file;
  };
  ASSERT_TRUE(statistics.duration_s && statistics.gap_s && statistics.gpu_hours);
  for (std::size_t i = 0; i < published.duration_s.size(); ++i) {
    expect_near(statistics.duration_s->quantiles.at(i), published.duration_s.at(i));
  }
  for (std::size_t i = 0; i < published.gap_s.size(); ++i) {
    expect_near(statistics.gap_s->quantiles.at(i + 1), published.gap_s.at(i));
  }
  expect_near(statistics.gap_s->mean, published.gap_mean_s);
  EXPECT_NEAR(*statistics.gpu_hours, published.gpu_hours, 0.51) << published.file;
  EXPECT_NEAR(statistics.share_one_gpu.value_or(0) * 100, published.share_one_percent, 0.51);
  EXPECT_NEAR(statistics.share_within_2h.value_or(0) * 100, published.share_2h_percent, 0.51);
}

constexpr Published kPhilly = {"philly.csv.gz",
                               82247,
                               {48, 115, 1144, 2932, 43650, 254800},
                               {3, 8, 44, 599},
                               114.4,
                               978078,
                               93,
                               87};
constexpr Published kItp = {"ms_itp.csv.gz",
                            69351,
                            {983, 3814, 10540, 16320, 57510, 210100},
                            {1, 11, 44, 294},
                            74.6,
                            1632720,
                            83,
                            36};
constexpr Published kOpenb = {"alibaba_openb2023.csv.gz",
                              8152,
                              {50, 175, 616, 2241, 18060, 114300},
                              {45, 161, 436, 1468},
                              1583,
                              51471,
                              48,
                              89};

TEST(TraceStatistics, ConvertedTraces_HaveThePublishedQuantiles) {
  // The uncompressed traces of the collection, against the table of its description.
  SEPTULE_REQUIRE_SHARED(folder, "data/traces");
  const Published kTable[] = {{"demo_itp02_4weeks.csv",
                               2438,
                               {731.7, 2200, 4872, 15000, 77460, 143400},
                               {23, 98, 477, 3610},
                               992.7,
                               46145,
                               86,
                               66},
                              {"carma_t1.csv",
                               60,
                               {260.6, 519.8, 1471, 2146, 3526, 5083},
                               {55.5, 184, 388.5, 599},
                               233.3,
                               29,
                               95,
                               100},
                              {"carma_mix_90.csv",
                               90,
                               {203.1, 580.2, 1134, 2834, 3535, 3982},
                               {30, 88, 232, 409},
                               140.6,
                               46,
                               93,
                               100},
                              {"gavel_phys_max_min_fairness.csv",
                               96,
                               {2307, 5101, 8125, 11150, 13650, 14260},
                               {0, 209, 756.5, 1754},
                               487.5,
                               379,
                               61,
                               47},
                              {"muri_philly_1.csv",
                               1494,
                               {56, 630.5, 14390, 138200, 1.717e6, 2.658e6},
                               {7, 161, 2387, 34510},
                               7246,
                               383327,
                               36,
                               44},
                              {"shockwave_220.csv",
                               220,
                               {895, 1942, 3164, 5476, 14340, 17760},
                               {7.5, 20, 37.5, 78.2},
                               27.2,
                               404,
                               73,
                               81},
                              {"tiresias60.csv",
                               60,
                               {121, 121, 125, 148.2, 308.1, 1054},
                               {26, 29, 33, 39.2},
                               30.15,
                               7,
                               50,
                               100}};
  for (const Published& published : kTable) {
    expect_published(test::read_file(folder / published.file), published);
  }
}

TEST(TraceStatistics, LargeConvertedTraces_HaveThePublishedQuantiles) {
  // Those that are kept compressed, with the squared variation of their gaps.
  SEPTULE_REQUIRE_SHARED(folder, "data/traces");
  if (!test::has_program("gzip")) {
    GTEST_SKIP() << "needs gzip, to read the traces that are kept compressed";
  }
  const std::pair<Published, double> kTable[] = {{kPhilly, 229}, {kItp, 14}, {kOpenb, 443}};
  for (const auto& [published, variation] : kTable) {
    const auto text =
        test::run_command(fmt::format("gzip -dc {}", (folder / published.file).string()));
    ASSERT_EQ(text.status, 0);
    expect_published(text.text, published);
    const auto import = import_trace({text.text, published.file}, {});
    const auto found = trace_statistics(import->trace).gap_variation;
    EXPECT_NEAR(found.value_or(0), variation, 0.51) << published.file;
  }
}

TEST(TraceStatistics, OpenbFindings_AreThePublishedOnes) {
  // 897 pods never ran and 1,088 ask for no GPU, of 8,152.
  SEPTULE_REQUIRE_SHARED(path, "data/traces/alibaba_openb2023.csv.gz");
  if (!test::has_program("gzip")) {
    GTEST_SKIP() << "needs gzip, to read the traces that are kept compressed";
  }
  const auto text = test::run_command(fmt::format("gzip -dc {}", path.string()));
  const auto import = import_trace({text.text, "openb"}, {});
  ASSERT_TRUE(import) << import.error().message;
  EXPECT_EQ(import->dropped, 0);
  for (const TraceFinding& finding : import->findings) {
    if (finding.kind == TraceFindingKind::kNeverScheduled) {
      EXPECT_EQ(finding.count, 897);
    } else if (finding.kind == TraceFindingKind::kCpuOnly) {
      EXPECT_EQ(finding.count, 1088);
    } else {
      EXPECT_EQ(finding.kind, TraceFindingKind::kZeroMemory);
      EXPECT_EQ(finding.count, 1);
    }
  }
}

}  // namespace
}  // namespace septule::interop
