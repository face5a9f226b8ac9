#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "serve/forecaster.hpp"
#include "serve/tenant.hpp"

namespace septule::serve {

/// Past errors of one forecaster at some leads, and their quantile at every lead. Leads are tracked
/// at 1, 2, 3, 5, 8, 13, ... (Fibonacci) up to `leads_max` steps; in between margins are
/// interpolated, beyond the last one they stay. Errors of a long lead resemble their neighbours in
/// time, so lead L is judged every max(1, L/8) steps only; at most kErrorsMax errors per lead are
/// kept, the oldest going first. note() is O(leads tracked), memory O(sum of leads + leads *
/// kErrorsMax). One owner.
class ForecastErrors {
 public:
  static constexpr std::size_t kErrorsMax = 256;
  /// Fewer errors than this give no margin: a quantile of two numbers says nothing.
  static constexpr std::size_t kErrorsMin = 8;

  explicit ForecastErrors(int leads_max);

  std::span<const int> leads() const { return leads_; }
  /// The rate of this step, and what is forecast from now on at each of leads().
  void note(double actual, std::span<const double> forecasts);
  /// By lead 1..steps: the quantile (0..1) of (actual - forecast), at least 0.
  std::vector<double> margins(int steps, double quantile) const;

 private:
  struct Track {
    std::vector<double> forecasts;  ///< ring: what was said for the coming `lead` steps
    std::vector<double> errors;     ///< ring
    std::size_t errors_next = 0;
  };
  double quantile_of(const Track& track, double quantile) const;

  std::vector<int> leads_;
  std::vector<Track> tracks_;
  std::size_t step_ = 0;  ///< steps noted
};

/// What forecasters are made with. Times in steps of one second.
struct ForecasterSetup {
  double prior_rps = 0;        ///< before anything was observed; >= 0
  double quantile = 0.8413;    ///< of errors, for margins: one sigma of a normal distribution
  int leads_max = 300;         ///< leads whose errors are tracked, 1..3600
  double smoothing_s = 10;     ///< time constant of the level (EWMA), > 0
  double trend_s = 40;         ///< time constant of the trend, > 0
  double trend_reach_s = 15;   ///< the trend dies out with this time constant, > 0
  int season_s = 86400;        ///< length of a season, whole buckets
  int bucket_s = 60;           ///< a seasonal factor holds for so long
  double season_weight = 0.3;  ///< of the newest season in the seasonal factor, (0, 1]
  const RateSeries* truth = nullptr;  ///< for "oracle"; outlives the forecaster
};

/// A forecaster by name.
struct ForecasterVariant {
  std::string_view name;
  std::string_view summary;
  bool needs_truth = false;
  std::unique_ptr<Forecaster> (*make)(const ForecasterSetup& setup) = nullptr;
};
/// "ewma-trend", "smoothing", "seasonal", "oracle".
///
/// ewma-trend: level (EWMA of `smoothing_s`) plus a damped trend; the level is what the last
/// seconds were, the trend says where it goes and dies out (Holt's method, damped: Gardner and
/// McKenzie, Management Science 1985, in closed form). Levels of 0.3 and 3 times `smoothing_s` are
/// kept as well, and after a minute the one is believed whose forecasts 10 s ahead had the least
/// mean square error of late (errors 200 s old count a third): bursts want a quick level, noise
/// about a steady rate a slow one. Ties: `smoothing_s`, which another must beat by 2 %.
/// smoothing: the level alone.
/// seasonal: Holt-Winters with multiplicative factors by bucket of the season; until a whole season
/// was seen it is the level alone, and a bucket that was never seen has the factor 1.
/// oracle: the truth; margins are how much it varies within 5 s, because plans look at means of a
/// few seconds.
/// Source: serving.md 2.7.
std::span<const ForecasterVariant> forecaster_variants();
/// kNotFound for an unknown name (near ones are named), kInvalidInput for a setup out of range or
/// an oracle without truth.
Result<std::unique_ptr<Forecaster>> make_forecaster(std::string_view name,
                                                    const ForecasterSetup& setup);

}  // namespace septule::serve
