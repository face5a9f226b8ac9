#pragma once

#include <array>
#include <optional>

#include "base/result.hpp"
#include "base/units.hpp"
#include "predict/slice_prediction.hpp"
#include "predict/speed_book.hpp"

namespace septule::predict {

/// How sure predictions and observations are taken to be. A plain value.
struct CalibrationOptions {
  /// Standard deviation of the logarithm of an observed mean step time: jobs of one kind differ by
  /// some percent, and so does one job over time [D]. > 0.
  double noise_sd = 0.02;
  /// Correlation of the errors of a prediction's log speeds on slices next to one another in the
  /// order 4g, 3g, 2g, 1g; its power for those further apart. A job that scales worse than
  /// predicted does so everywhere [D]. In [0, 1).
  double neighbour_correlation = 0.5;
  /// Part of a prediction's variance that the characterisation runs of one behaviour share: a
  /// network that errs on a kind of job errs on it again [D]. In [0, 1].
  double shared_part = 0.7;
  /// No prediction is taken to be surer than this (of a log speed). > 0.
  double prior_sd_min = 0.002;
  /// From how many standard deviations on an observation is surprising; twice in a row and in one
  /// direction it is a change.
  double surprise_sds = 3;
  /// From how many on one alone is.
  double jump_sds = 6;
};

/// Profiles by slice; nothing where the job does not fit or the GPU has none.
using SliceProfiles = std::array<std::optional<ProfileIndex>, kSlices>;

/// What is believed of the speeds of one behaviour of a job (or of all jobs of one kind), from
/// predictions and from step times observed alone on slices.
///
/// Model. x = (L, r4, r3, r2, r1): L = ln(step time on 7g / 1 s), r_k = ln(speed on kg / speed on
/// 7g), r7 = 0. x is Gaussian.
/// - Prior of L: mean ln 0.1, sd 5: any step from milliseconds to minutes. Independent of r.
/// - Prior of r, from n runs. Run i says speed m with sd s; as a log-normal quantity ln speed has
///   the variance v_i = max(ln(1 + s^2/m^2), prior_sd_min^2) and the mean mu_i = ln m - v_i/2. By
///   slice: mean = sum(mu_i/v_i) / sum(1/v_i), variance V = n / sum(1/v_i) x (c + (1-c)/n) with
///   c = shared_part. Covariance of slices a, b = sqrt(V_a V_b) x neighbour_correlation^|a-b|.
/// - An observation on slice k is z = ln(step / 1 s) = L - r_k + e, e ~ N(0, noise_sd^2). The
///   posterior is the exact one (a Kalman step per slice that has observations, with their mean,
///   and noise_sd^2 / their number). It does not depend on the order of runs and observations.
/// - Believed speed on kg relative to 7g: exp(r_k) is log-normal, mean exp(m + V/2), so never <= 0,
///   sd = mean x sqrt(exp(V) - 1).
///
/// Innovation test. d = (z - E z) / sqrt(V(E z) + noise_sd^2), before the observation counts.
/// - On a slice that has been observed before: |d| <= surprise_sds agrees and counts. Above it is
///   held back: if the next agrees it was a disturbance and is dropped; if the next is surprising
///   in the same direction, or |d| > jump_sds, the behaviour has changed: earlier observations are
///   void, what was held back and the new one count. With Gaussian noise a false alarm has
///   probability 2 Q(3)^2 + 2 Q(6) = 4e-6 per observation at the defaults.
/// - On a slice that is observed for the first time a large |d| says that the prediction was off,
/// for
///   that is all there was to go by: the prior's variance is multiplied by d^2, its likeliest scale
///   then, and the observation counts.
/// Deterministic, the same with every compiler. No heap. One thread.
class SpeedCalibration {
 public:
  explicit SpeedCalibration(const CalibrationOptions& options = {});

  /// One more characterisation run has been judged. kInvalidInput, changing nothing, if a speed is
  /// not a finite number > 0 or an sd not one >= 0.
  Status predicted(const SlicePrediction& prediction);
  bool is_known() const { return run_count_ > 0; }

  enum class Verdict { kAgrees, kPredictionOff, kSurprising, kChanged };
  struct Judgement {
    Verdict verdict = Verdict::kAgrees;
    double factor = 1;  ///< observed speed relative to what was believed before
  };
  /// Mean step time of a job alone on the slice; > 0.
  Judgement observed(Slice slice, Duration step);

  /// Relative to 7g, where 1 and 0 by definition. is_known() must hold.
  double speed(Slice slice) const;
  double speed_sd(Slice slice) const;
  /// The same as rows: profiles that are nothing, or no slice, are 0.
  SpeedRow speeds(const SliceProfiles& profiles) const;
  SpeedRow speed_sds(const SliceProfiles& profiles) const;
  int run_count() const { return run_count_; }
  /// Observations that count.
  int observation_count() const;

 private:
  static constexpr std::size_t kStates = kSlices;  ///< L, then a log speed for all but 7g
  struct Observations {
    int count = 0;
    double sum = 0;  ///< of z
  };
  struct Expectation {
    double mean = 0;
    double variance = 0;  ///< of the mean, without the observation's noise
  };
  void believe();
  void set_prior();
  void update(std::size_t slice, double z, double variance);
  Expectation expected(std::size_t slice) const;
  void count(std::size_t slice, double z);
  Verdict judge(std::size_t slice, double z, double deviation);

  CalibrationOptions options_;
  int run_count_ = 0;
  std::array<double, kSlices> weight_{};         ///< sum of 1 / v_i
  std::array<double, kSlices> weighted_mean_{};  ///< sum of mu_i / v_i
  double stretch_ = 1;                           ///< of the prior's variance
  std::array<Observations, kSlices> observations_{};
  struct Held {
    std::size_t slice = 0;
    double z = 0;
    bool is_slower = false;
  };
  std::optional<Held> held_;
  std::array<double, kStates> mean_{};
  std::array<std::array<double, kStates>, kStates> covariance_{};
};

}  // namespace septule::predict
