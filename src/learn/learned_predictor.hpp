#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "predict/declared_fit.hpp"
#include "predict/predictor.hpp"
#include "predict/slice_prediction.hpp"
#include "predict/speed_calibration.hpp"
#include "predict/submitted_jobs.hpp"
#include "predict/table_predictor.hpp"

namespace septule::learn {

/// Believes what a slice model makes of characterisation runs: all jobs of a run together are one
/// MPS matrix (more than kCoRunnersMax go in groups of so many, in the order given), with the
/// smallest slice that each fits where the GPU model is kTrainedGpu. Whether memory fits is
/// declared (DeclaredFit), never predicted; speeds of the book are not looked at.
/// - kPerJob: each job is known by the runs that it was in itself.
/// - kPerSignature: what runs and observations have shown of a signature holds for its later jobs.
/// A
///   job whose observed speed has changed goes its own way until it is known by another signature.
/// - With Calibration::kOn, step times observed alone correct the belief (SpeedCalibration).
/// A job of which a run measured nothing, or of which the model cannot tell, is taken to scale with
/// the root of its share of compute slices, within a factor of 2, until there is more (`guesses`).
/// forget() makes a job unknown until characterised() tells of it again. One thread.
class LearnedPredictor final : public predict::Predictor {
 public:
  enum class Calibration { kOff, kOn };
  struct Options {
    predict::Knowledge knowledge = predict::Knowledge::kPerSignature;  ///< not kEverything
    Calibration calibration = Calibration::kOn;
    predict::CalibrationOptions trust;
  };
  /// `book` outlives it. Fails with kInvalidInput for a GPU that has other compute slices than
  /// seven: slice models know the slices of those only.
  static Result<std::unique_ptr<LearnedPredictor>> make(
      const predict::SpeedBook& book,
      std::unique_ptr<const predict::SliceModel> model,
      const Options& options);

  void submitted(const job::JobSpec& job) override;
  const predict::SpeedRow* speeds(job::JobId job) const override;
  std::optional<ProfileIndex> smallest(job::JobId job) const override;
  Bytes need(job::JobId job) const override;
  void characterised(std::span<const predict::MpsSample> run) override;
  std::optional<double> observed(const predict::SliceObservation& observation) override;
  bool wants_observations() const override { return options_.calibration == Calibration::kOn; }
  void forget(job::JobId job) override;

  /// Jobs of runs so far of which nothing could be predicted.
  int guess_count() const { return guess_count_; }

 private:
  struct Belief {
    predict::SpeedCalibration calibration;
    bool is_guess = false;
    /// By DeclaredFit::Job::level: how many profiles are too small for the job.
    std::array<predict::SpeedRow, predict::kPlainProfilesMax + 1> rows{};
  };
  struct Known {
    bool is_forgotten = false;
    bool is_gang = false;
    predict::DeclaredFit::Job fit;
    job::SignatureIndex signature;  ///< by which it is known (at first: submitted as)
    std::unique_ptr<Belief> own;    ///< of this job alone; null = its signature's
  };
  LearnedPredictor(const predict::SpeedBook& book,
                   std::unique_ptr<const predict::SliceModel> model,
                   const Options& options);
  const Belief* belief_of(const Known& job) const;
  Belief& belief_to_change(Known& job);
  std::unique_ptr<Belief> new_belief() const;
  void characterise_group(std::span<const predict::MpsSample> group);
  void learn(const predict::MpsSample& sample,
             const std::optional<predict::SlicePrediction>& prediction);
  void refresh(Belief& belief, job::SignatureIndex signature) const;
  std::optional<ComputeSlices> smallest_slice(job::SignatureIndex signature) const;
  predict::SliceProfiles profiles_for(job::SignatureIndex signature, int level) const;

  Options options_;
  predict::DeclaredFit fit_;
  std::unique_ptr<const predict::SliceModel> model_;
  predict::SliceProfiles profiles_{};
  predict::SubmittedJobs<Known> jobs_;
  std::vector<std::unique_ptr<Belief>> remembered_;  ///< by signature; null = never seen
  int guess_count_ = 0;
};

/// The matrix of a run of at most kCoRunnersMax jobs: one column each, in order; a level for each
/// percentage, as first met. Percentages that a job was not measured at are empty cells.
predict::MpsMatrix mps_matrix_of(std::span<const predict::MpsSample> run);

}  // namespace septule::learn
