#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "learn/learned_predictor.hpp"
#include "sim/sim_support.hpp"

namespace septule::sim::test {

/// Instruments that write a job's signature into its column: the step time at the second level is
/// (1 + number / 1000) times that at the first, so that a TellingModel can read it.
class TellingInstruments final : public MpsMeasurementSource {
 public:
  std::string text() const override { return "the test's"; }
  job::MeasurementCounts measure(const Measurement& /*at*/,
                                 std::span<predict::MpsSample> samples) const override {
    for (predict::MpsSample& sample : samples) {
      std::int64_t factor = 1000;
      for (predict::MpsSample::Level& level : sample.levels) {
        level.step = Duration::milliseconds(factor);
        factor = 1000 + sample.signature.value();
      }
    }
    return {.drawn = static_cast<std::int64_t>(samples.size())};
  }
  void observe(const Measurement& /*at*/,
               predict::SliceObservation& /*observation*/) const override {}
};

/// Predicts the true speeds times a log-normal error, one for each signature and slice.
class TellingModel final : public predict::SliceModel {
 public:
  TellingModel(const predict::SpeedBook& book, double error_sd)
      : book_(&book), error_sd_(error_sd) {}
  std::string_view name() const override { return "telling"; }
  Result<predict::SlicePredictions> predict(const predict::MpsMatrix& matrix) const override {
    predict::SlicePredictions all{};
    for (std::size_t column = 0; column < predict::kCoRunnersMax; ++column) {
      const auto first = matrix.levels[0].step[column];
      const auto second = matrix.levels[1].step[column];
      if (!first || !second) {
        continue;
      }
      const auto number = static_cast<int>(std::llround(*second / *first * 1000 - 1000));
      all[column] = told(job::SignatureIndex(number));
    }
    return all;
  }

 private:
  predict::SlicePrediction told(job::SignatureIndex signature) const {
    Rng rng = Rng(7).stream("error", static_cast<std::uint64_t>(signature.value()));
    predict::SlicePrediction made;
    for (std::size_t slice = 0; slice < predict::kSlices; ++slice) {
      const double share = static_cast<double>(predict::kSliceComputeSlices[slice]) / 7;
      const auto profile =
          book_->geometry().plain_profile(ComputeSlices(predict::kSliceComputeSlices[slice]));
      const double speed = book_->speed(signature, checked_value(profile, "an A100 has all five"));
      const double error = slice == 0 ? 1 : std::exp(rng.normal(0, error_sd_));
      made.speed[slice] = slice == 0 ? 1 : (speed > 0 ? speed : share) * error;
      made.speed_sd[slice] = slice == 0 ? 0 : error_sd_ * made.speed[slice];
    }
    return made;
  }
  const predict::SpeedBook* book_;
  double error_sd_;
};

class TellingFactory final : public PredictorFactory {
 public:
  explicit TellingFactory(double error_sd) : error_sd_(error_sd) {}
  Result<std::unique_ptr<predict::Predictor>> make(const predict::SpeedBook& book,
                                                   const sched::PolicyVariant& policy,
                                                   std::uint64_t /*seed*/) const override {
    using learn::LearnedPredictor;
    LearnedPredictor::Options options;
    options.knowledge = policy.knowledge;
    options.calibration = policy.knowledge == predict::Knowledge::kPerSignature
                              ? LearnedPredictor::Calibration::kOn
                              : LearnedPredictor::Calibration::kOff;
    SEPTULE_TRY(
        std::unique_ptr<LearnedPredictor> made,
        LearnedPredictor::make(book, std::make_unique<TellingModel>(book, error_sd_), options));
    return std::unique_ptr<predict::Predictor>(std::move(made));
  }

 private:
  double error_sd_;
};

}  // namespace septule::sim::test
