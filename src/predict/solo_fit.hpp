#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "predict/mps_matrix.hpp"
#include "predict/solo_model.hpp"

namespace septule::predict {

/// Points of one fit at most: the slices of a GPU and an MPS sweep.
inline constexpr std::size_t kSoloPointsMax = 16;
/// From so many points on the law has all four parameters; three give Amdahl's law, fewer the mean
/// of what is believed (performance-model.md section 2).
inline constexpr std::size_t kFullLawPoints = 4;

/// Whose priors are used: percentiles of fits (performance-model.md section 2) and the error of a
/// measurement against the law.
enum class JobKind { kUnknown, kInference, kTraining, kHpc };
std::string_view job_kind_name(JobKind kind);

/// One measurement of a job alone.
struct SoloPoint {
  Resources at;
  double step = 0;  ///< > 0; any unit, one for all points of a job
};

struct SoloFitOptions {
  JobKind kind = JobKind::kUnknown;
  /// Of the job alone on the whole GPU. sm_percent is taken as the time in which the GPU is busy,
  /// memory_percent : sm_percent as memory : compute. The others are not looked at.
  JobCounters counters;
  /// Part of the whole GPU's SMs that its kernels can use, by their grids and occupancy (time-
  /// weighted mean of min(1, blocks / (resident blocks per SM x SMs))). Nothing = not known.
  std::optional<double> usable;
};

/// A step time with its error: the true one is within a factor exp(+-log_sd) in two cases of three.
struct StepBelief {
  double step = 0;    ///< unit of the points; the median
  double log_sd = 0;  ///< standard deviation of ln(step), measurement included
  SoloTerms terms;    ///< mean parts of it; they add up to `step`
};

/// A speed relative to the same job elsewhere.
struct SpeedBelief {
  double speed = 1;
  double speed_sd = 0;
};

/// What is believed of a job alone after some measurements of it.
/// Source: performance-model.md section 2; the belief is ours [D].
/// - Hypotheses: a grid of laws (usable SMs x serial share x memory share at the whole GPU), prior
///   by kind of job, times the likelihood of the points: log residuals are Student-t (3 degrees of
///   freedom, so that one odd slice does not spoil the rest) with the scale of the kind; the
///   overall scale of each law is fitted. Predictions are weighted means over the hypotheses, so
///   the error is large where few points or none of the right sort were given, by itself.
/// - Noise: that of the kind, or what four points or more show (median of their errors).
/// - Excess, for performance-model.md's L2 term: where the place with the least bandwidth is slower
///   than believed by more than three times the noise (three points or more), its cache or memory
///   is too small for the job; the factor counts for places with no more bandwidth, as memory time.
/// - The law: non-negative least squares with relative weights on a grid of `usable`, refined.
/// More resources never make a prediction slower. Memory: some thousand hypotheses at most.
/// Immutable; any thread.
class SoloFit {
 public:
  /// Fails with kInvalidInput, naming the point (from 1) and the value: no points, more than
  /// kSoloPointsMax, a step that is not a finite number > 0, resources that are not finite or <= 0,
  /// two points of equal resources, a counter outside 0..100, usable outside (0, 1].
  static Result<SoloFit> make(std::span<const SoloPoint> points, const SoloFitOptions& options);

  /// One law that says it all; exact where at least kFullLawPoints points follow one and tell its
  /// parts apart.
  const SoloLaw& law() const { return law_; }
  /// Mean of |law / measured - 1| over the points.
  double law_error() const { return law_error_; }
  std::size_t point_count() const { return point_count_; }

  StepBelief predict(const Resources& at) const;
  /// Speed at `at` relative to the speed at `reference`. Errors of measurement do not enter.
  SpeedBelief speed(const Resources& at, const Resources& reference) const;

 private:
  struct Hypothesis {
    SoloLaw law;  ///< of a job whose step on the whole GPU takes 1
    double log_scale = 0;
    double weight = 0;
  };
  SoloFit() = default;
  void believe(std::span<const SoloPoint> points, const SoloFitOptions& options);
  double observed_noise(std::span<const SoloPoint> points) const;
  void find_excess(std::span<const SoloPoint> points);
  SoloLaw mean_law() const;
  /// ln of the factor by which a step there is longer than the hypotheses say.
  double excess_at(const Resources& at) const;

  std::vector<Hypothesis> hypotheses_;  ///< weights add up to 1
  SoloLaw law_;
  double law_error_ = 0;
  double noise_ = 0;             ///< of one measurement, in ln(step)
  double widening_ = 1;          ///< of errors, where the points scatter more than the kind's do
  double excess_ = 0;            ///< see find_excess()
  double excess_bandwidth_ = 0;  ///< at most so much bandwidth
  std::size_t point_count_ = 0;
};

/// The law's fit alone: see SoloFit. `points` valid (SoloFit::make checks them) and at least one.
/// kWhole: four parameters; kAmdahl: serial and compute only.
enum class LawForm { kWhole, kAmdahl, kWithoutMemory };
SoloLaw fit_law(std::span<const SoloPoint> points, LawForm form);

}  // namespace septule::predict
