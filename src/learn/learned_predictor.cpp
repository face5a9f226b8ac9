#include "learn/learned_predictor.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "learn/slice_models.hpp"

namespace septule::learn {

using predict::kSlices;
using predict::SlicePrediction;

namespace {

/// What is believed where nothing could be measured: the root of the share, as policies assume of
/// unknown jobs, with a standard deviation of half of it.
SlicePrediction guess() {
  SlicePrediction prediction;
  for (std::size_t slice = 0; slice < kSlices; ++slice) {
    const double share = static_cast<double>(predict::kSliceComputeSlices[slice]) /
                         static_cast<double>(predict::kSliceComputeSlices[0]);
    prediction.speed[slice] = std::sqrt(share);
    prediction.speed_sd[slice] = slice == 0 ? 0 : 0.5 * prediction.speed[slice];
  }
  return prediction;
}

}  // namespace

predict::MpsMatrix mps_matrix_of(std::span<const predict::MpsSample> run) {
  SEPTULE_CHECK(run.size() <= predict::kCoRunnersMax, "a matrix has so many columns at most");
  predict::MpsMatrix matrix;
  for (std::size_t column = 0; column < run.size(); ++column) {
    for (const predict::MpsSample::Level& seen : run[column].levels) {
      auto level = std::ranges::find(matrix.levels, seen.atp, &predict::MpsMatrix::Level::atp);
      if (level == matrix.levels.end()) {
        level = matrix.levels.insert(level, predict::MpsMatrix::Level{seen.atp, {}});
      }
      if (seen.step.has_value() && *seen.step > Duration()) {
        level->step[column] = seen.step->to_seconds();
      }
    }
  }
  return matrix;
}

Result<std::unique_ptr<LearnedPredictor>> LearnedPredictor::make(
    const predict::SpeedBook& book,
    std::unique_ptr<const predict::SliceModel> model,
    const Options& options) {
  const ComputeSlices has = book.geometry().compute_slices();
  if (has != ComputeSlices(predict::kSliceComputeSlices[0])) {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("{} has {} compute slices, and a learned predictor knows the slices of "
                    "GPUs with {} only",
                    book.geometry().key(),
                    has.value(),
                    predict::kSliceComputeSlices[0])};
  }
  SEPTULE_CHECK(options.knowledge != predict::Knowledge::kEverything,
                "nobody learns everything beforehand");
  return std::unique_ptr<LearnedPredictor>(new LearnedPredictor(book, std::move(model), options));
}

LearnedPredictor::LearnedPredictor(const predict::SpeedBook& book,
                                   std::unique_ptr<const predict::SliceModel> model,
                                   const Options& options)
    : options_(options), fit_(book), model_(std::move(model)) {
  for (std::size_t slice = 0; slice < kSlices; ++slice) {
    profiles_[slice] =
        book.geometry().plain_profile(ComputeSlices(predict::kSliceComputeSlices[slice]));
  }
  remembered_.resize(book.size());
}

void LearnedPredictor::submitted(const job::JobSpec& job) {
  Known& of = jobs_.add(job.id);
  of.is_gang = job.gpus > 1;
  of.signature = job.signature;
  of.fit = fit_.of(job);
}

const LearnedPredictor::Belief* LearnedPredictor::belief_of(const Known& job) const {
  if (job.own != nullptr) {
    return job.own.get();
  }
  return remembered_[static_cast<std::size_t>(job.signature.value())].get();
}

LearnedPredictor::Belief& LearnedPredictor::belief_to_change(Known& job) {
  if (options_.knowledge == predict::Knowledge::kPerJob && job.own == nullptr) {
    job.own = new_belief();
  }
  if (job.own != nullptr) {
    return *job.own;
  }
  std::unique_ptr<Belief>& shared = remembered_[static_cast<std::size_t>(job.signature.value())];
  if (shared == nullptr) {
    shared = new_belief();
  }
  return *shared;
}

std::unique_ptr<LearnedPredictor::Belief> LearnedPredictor::new_belief() const {
  return std::make_unique<Belief>(Belief{predict::SpeedCalibration(options_.trust), false, {}});
}

const predict::SpeedRow* LearnedPredictor::speeds(job::JobId job) const {
  const Known& of = jobs_.of(job);
  const Belief* belief = of.is_forgotten ? nullptr : belief_of(of);
  return belief == nullptr ? nullptr : &belief->rows[static_cast<std::size_t>(of.fit.level)];
}

std::optional<ProfileIndex> LearnedPredictor::smallest(job::JobId job) const {
  return jobs_.of(job).fit.smallest;
}

Bytes LearnedPredictor::need(job::JobId job) const {
  return jobs_.of(job).fit.need;
}

void LearnedPredictor::characterised(std::span<const predict::MpsSample> run) {
  while (!run.empty()) {
    const std::size_t count = std::min(run.size(), predict::kCoRunnersMax);
    characterise_group(run.first(count));
    run = run.subspan(count);
  }
}

void LearnedPredictor::characterise_group(std::span<const predict::MpsSample> group) {
  predict::MpsMatrix matrix = mps_matrix_of(group);
  for (std::size_t column = 0; column < group.size(); ++column) {
    matrix.smallest[column] = smallest_slice(group[column].signature);
  }
  predict::SlicePredictions predictions{};
  if (const auto predicted = model_->predict(matrix); predicted) {
    predictions = *predicted;
  }
  for (std::size_t column = 0; column < group.size(); ++column) {
    learn(group[column], predictions[column]);
  }
}

void LearnedPredictor::learn(const predict::MpsSample& sample,
                             const std::optional<SlicePrediction>& prediction) {
  Known& of = jobs_.of(sample.job);
  const bool is_other = of.signature != sample.signature;
  if (of.own != nullptr && (of.is_forgotten || is_other)) {
    // What was believed of it is void. A signature that is new to it is what others are known by.
    of.own = is_other && options_.knowledge == predict::Knowledge::kPerSignature ? nullptr
                                                                                 : new_belief();
  }
  of.signature = sample.signature;
  of.is_forgotten = false;
  Belief& belief = belief_to_change(of);
  bool is_learned = false;
  if (prediction.has_value()) {
    predict::SpeedCalibration next =
        belief.is_guess ? predict::SpeedCalibration(options_.trust) : belief.calibration;
    is_learned = static_cast<bool>(next.predicted(*prediction));
    if (is_learned) {
      belief.calibration = next;
      belief.is_guess = false;
    }
  }
  if (!is_learned) {
    ++guess_count_;
    if (!belief.calibration.is_known()) {
      belief.is_guess = true;
      const Status done = belief.calibration.predicted(guess());
      SEPTULE_CHECK(static_cast<bool>(done), "a guess is a valid prediction");
    }
  }
  refresh(belief, of.signature);
}

std::optional<double> LearnedPredictor::observed(const predict::SliceObservation& observation) {
  Known& of = jobs_.of(observation.job);
  const Belief* believed = of.is_forgotten ? nullptr : belief_of(of);
  const auto profile = std::ranges::find(profiles_, std::optional(observation.profile));
  // Under another signature it is another behaviour, of which no run has told yet.
  if (!wants_observations() || of.is_gang || believed == nullptr || profile == profiles_.end() ||
      observation.signature != of.signature) {
    return std::nullopt;
  }
  const auto slice = static_cast<predict::Slice>(profile - profiles_.begin());
  predict::SpeedCalibration next = believed->calibration;
  const auto judgement = next.observed(slice, observation.step);
  const bool is_changed = judgement.verdict == predict::SpeedCalibration::Verdict::kChanged;
  if (is_changed && of.own == nullptr) {
    // The others of its signature stay as they were.
    of.own = new_belief();
    of.own->is_guess = believed->is_guess;
  }
  Belief& belief = belief_to_change(of);
  belief.calibration = next;
  refresh(belief, of.signature);
  return is_changed ? std::optional(judgement.factor) : std::nullopt;
}

void LearnedPredictor::forget(job::JobId job) {
  jobs_.of(job).is_forgotten = true;
}

void LearnedPredictor::refresh(Belief& belief, job::SignatureIndex signature) const {
  int level = 0;
  for (predict::SpeedRow& row : belief.rows) {
    row = belief.calibration.speeds(profiles_for(signature, level));
    ++level;
  }
}

/// By the declared memory of the signature, whatever the submitter stated beyond it. Nothing on GPU
/// models other than the one that networks know.
std::optional<ComputeSlices> LearnedPredictor::smallest_slice(job::SignatureIndex signature) const {
  if (fit_.book().geometry().key() != kTrainedGpu) {
    return std::nullopt;
  }
  const auto smallest = fit_.book().smallest(signature);
  return smallest.has_value() ? std::optional(fit_.book().geometry().profile(*smallest).slices)
                              : std::nullopt;
}

predict::SliceProfiles LearnedPredictor::profiles_for(job::SignatureIndex signature,
                                                      int level) const {
  predict::SliceProfiles fitting = profiles_;
  for (std::optional<ProfileIndex>& profile : fitting) {
    if (profile.has_value() && !fit_.fits(signature, level, *profile)) {
      profile.reset();
    }
  }
  return fitting;
}

}  // namespace septule::learn
