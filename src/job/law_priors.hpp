#pragma once

namespace septule::job {

/// The 10th, 50th and 90th percentile of a fitted parameter. A plain value.
struct Percentiles {
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
};

/// What the law of speed, t(c, b) = t0 + A / min(c, w) + B / b, was fitted to be for one family of
/// jobs on an A100, as shares of the step on the whole GPU. Usable, serial and memory share are
/// drawn apart: what goes with what is not known. Where a distribution begins and ends is not
/// published; who draws from it assumes that. A plain value.
/// Source: performance-model.md section 2.
struct LawPrior {
  Percentiles usable;        ///< w: part of the SMs that more of them do not speed up beyond
  Percentiles serial;        ///< t0
  Percentiles memory_share;  ///< B
};

/// 16 Rodinia programs.
inline constexpr LawPrior kHpcPrior = {.usable = {.p10 = 0.10, .p50 = 0.55, .p90 = 0.91},
                                       .serial = {.p10 = 0, .p50 = 0.14, .p90 = 0.90},
                                       .memory_share = {.p10 = 0, .p50 = 0.11, .p90 = 0.76}};
/// 28 training jobs.
inline constexpr LawPrior kTrainingPrior = {
    .usable = {.p10 = 0.41, .p50 = 0.66, .p90 = 0.90},
    .serial = {.p10 = 0.08, .p50 = 0.39, .p90 = 0.78},
    .memory_share = {.p10 = 0.03, .p50 = 0.15, .p90 = 0.42}};
/// 44 inference jobs.
inline constexpr LawPrior kInferencePrior = {
    .usable = {.p10 = 0.58, .p50 = 0.82, .p90 = 0.96},
    .serial = {.p10 = 0.03, .p50 = 0.11, .p90 = 0.32},
    .memory_share = {.p10 = 0.06, .p50 = 0.26, .p90 = 0.33}};

}  // namespace septule::job
