#include "learn/learned_predictor.hpp"

#include <cmath>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "predict/predict_support.hpp"

namespace septule::learn {
namespace {

using job::JobId;
using job::JobSpec;
using job::SignatureIndex;
using predict::Knowledge;
using predict::MpsMatrix;
using predict::MpsSample;
using predict::Slice;
using predict::SliceModel;
using predict::SlicePrediction;
using predict::SpeedRow;
using predict::test::amdahl;
using predict::test::make_book;
using predict::test::measured;
using predict::test::model;
using predict::test::profile;

const gpu::Geometry& a100() {
  return model("A100-40GB");
}

/// 0: fits 1g, 1: fits 2g, 2: fits 1g.
const predict::SpeedBook& book() {
  static const predict::SpeedBook made =
      make_book(a100(), {amdahl("a", 30, 70), measured(), amdahl("c", 80, 20)});
  return made;
}

/// Believes that a job scales as step(100 %) / step(least %) says: enough to tell columns apart.
/// Keeps the matrices it was asked about.
class FakeModel final : public SliceModel {
 public:
  explicit FakeModel(std::vector<MpsMatrix>* asked = nullptr) : asked_(asked) {}
  std::string_view name() const override { return "fake"; }
  Result<predict::SlicePredictions> predict(const MpsMatrix& matrix) const override {
    if (asked_ != nullptr) {
      asked_->push_back(matrix);
    }
    if (matrix.levels.empty()) {
      return Error{ErrorCode::kInvalidInput, "no level"};
    }
    predict::SlicePredictions all{};
    for (std::size_t column = 0; column < predict::kCoRunnersMax; ++column) {
      const auto first = matrix.levels.front().step[column];
      const auto last = matrix.levels.back().step[column];
      if (first && last) {
        SlicePrediction made;
        for (std::size_t slice = 0; slice < predict::kSlices; ++slice) {
          made.speed[slice] = std::pow(*first / *last, static_cast<double>(slice) / 4);
          made.speed_sd[slice] = slice == 0 ? 0 : 0.05 * made.speed[slice];
        }
        all[column] = made;
      }
    }
    return all;
  }

 private:
  std::vector<MpsMatrix>* asked_;
};

JobSpec spec(int id, int signature) {
  JobSpec job;
  job.id = JobId(id);
  job.signature = SignatureIndex(signature);
  return job;
}

/// Steps of 100 ms at 100 % and so many at 14 %; nothing if 0.
MpsSample sample(int id, int signature, int slow_ms) {
  MpsSample made{.job = JobId(id), .levels = {}, .signature = SignatureIndex(signature)};
  for (const int atp : {100, 50, 14}) {
    const int step = atp == 100 ? 100 : atp == 50 ? 150 : slow_ms;
    made.levels.push_back(
        {ActiveThreadPercentage(atp),
         slow_ms > 0 ? std::optional(Duration::milliseconds(step)) : std::nullopt});
  }
  return made;
}

std::unique_ptr<LearnedPredictor> make(
    Knowledge knowledge,
    LearnedPredictor::Calibration calibration = LearnedPredictor::Calibration::kOn,
    std::vector<MpsMatrix>* asked = nullptr) {
  auto made = LearnedPredictor::make(
      book(), std::make_unique<FakeModel>(asked), {knowledge, calibration, {}});
  SEPTULE_CHECK(made.has_value(), "an A100 has seven slices");
  return std::move(made).value();
}

double on(const SpeedRow* row, const char* name) {
  SEPTULE_CHECK(row != nullptr, "the test expects the job to be known");
  return row->on(profile(a100(), name));
}

predict::SliceObservation seen(int job, int signature, const char* where, int step_ms) {
  return {JobId(job),
          profile(a100(), where),
          Duration::milliseconds(step_ms),
          SignatureIndex(signature)};
}

TEST(LearnedPredictor, PerJob_Run_TellsOfItsJobsOnly) {
  // Aim: the model's speeds are believed of the jobs of the run, and of no other of their kind.
  const auto predictor = make(Knowledge::kPerJob);
  for (int id = 0; id < 3; ++id) {
    predictor->submitted(spec(id, 0));
  }
  EXPECT_EQ(predictor->speeds(JobId(0)), nullptr);
  predictor->characterised(std::vector{sample(0, 0, 200), sample(1, 0, 400)});
  EXPECT_NEAR(on(predictor->speeds(JobId(0)), "1g.5gb"), 0.5, 1e-9);
  EXPECT_NEAR(on(predictor->speeds(JobId(1)), "1g.5gb"), 0.25, 1e-9);
  EXPECT_EQ(on(predictor->speeds(JobId(1)), "7g.40gb"), 1);
  EXPECT_EQ(predictor->speeds(JobId(2)), nullptr);
}

TEST(LearnedPredictor, PerSignature_LaterJob_IsKnownAtOnceAndRunsAddUp) {
  // Aim: a signature's second run moves the belief towards it, for all its jobs.
  const auto predictor = make(Knowledge::kPerSignature);
  predictor->submitted(spec(0, 0));
  predictor->characterised_alone(sample(0, 0, 200));
  predictor->submitted(spec(1, 0));
  const SpeedRow* row = predictor->speeds(JobId(1));
  EXPECT_NEAR(on(row, "1g.5gb"), 0.5, 1e-9);
  predictor->characterised_alone(sample(1, 0, 250));
  EXPECT_LT(on(predictor->speeds(JobId(0)), "1g.5gb"), 0.5);
  EXPECT_GT(on(predictor->speeds(JobId(0)), "1g.5gb"), 0.4);
}

TEST(LearnedPredictor, Fits_AreDeclared_ZeroWhereTheJobDoesNotFit) {
  // Aim: need, smallest and zeros are the table predictor's, whatever the model says.
  predict::TablePredictor table(book(), {.knowledge = Knowledge::kPerJob});
  const auto predictor = make(Knowledge::kPerJob);
  std::vector<JobSpec> jobs = {spec(0, 0), spec(1, 1), spec(2, 2), spec(3, 0), spec(4, 0)};
  jobs[2].memory = Bytes::mebibytes(12000);
  jobs[3].gpus = 2;
  jobs[4].phases.push_back({0.5, SignatureIndex(1)});
  for (const JobSpec& job : jobs) {
    table.submitted(job);
    predictor->submitted(job);
    const int id = job.id.value();
    const int signature = job.signature.value();
    table.characterised_alone(sample(id, signature, 200));
    predictor->characterised_alone(sample(id, signature, 200));
    EXPECT_EQ(predictor->smallest(job.id), table.smallest(job.id)) << id;
    EXPECT_EQ(predictor->need(job.id), table.need(job.id)) << id;
    for (const ProfileIndex index : book().plain_profiles()) {
      EXPECT_EQ(predictor->speeds(job.id)->on(index) > 0, table.speeds(job.id)->on(index) > 0)
          << id << " on " << a100().profile(index).name;
    }
  }
}

TEST(LearnedPredictor, RunOfSeveral_Matrix_HasThemTogetherAndNothingForTheAbsent) {
  // Aim: one matrix for a run; a level at which a job made no step is an empty cell, not a number.
  std::vector<MpsMatrix> asked;
  const auto predictor = make(Knowledge::kPerJob, LearnedPredictor::Calibration::kOff, &asked);
  std::vector<MpsSample> run;
  for (int id = 0; id < 9; ++id) {
    predictor->submitted(spec(id, 0));
    run.push_back(sample(id, 0, 200 + 10 * id));
  }
  run[1].levels[1].step.reset();
  predictor->characterised(run);
  ASSERT_EQ(asked.size(), 2U) << "seven columns, then the rest";
  EXPECT_EQ(asked[0].levels.size(), 3U);
  EXPECT_EQ(asked[0].levels[2].atp, ActiveThreadPercentage(14));
  EXPECT_EQ(asked[0].levels[2].step[6], 0.26);
  EXPECT_EQ(asked[0].smallest[6], ComputeSlices(1));
  EXPECT_EQ(asked[1].smallest[2], std::nullopt);
  EXPECT_FALSE(asked[0].levels[1].step[1].has_value());
  EXPECT_TRUE(asked[1].levels[0].step[1].has_value());
  EXPECT_FALSE(asked[1].levels[0].step[2].has_value());
  EXPECT_EQ(predictor->guess_count(), 0);
}

TEST(LearnedPredictor, OtherGpuModel_Matrix_SaysNothingOfFits) {
  // Aim: a network trained on A100-40GB takes 1g for less memory than an A100-80GB has there.
  const predict::SpeedBook sister = make_book(model("A100-80GB"), {amdahl("a", 30, 70)});
  std::vector<MpsMatrix> asked;
  auto made = LearnedPredictor::make(sister, std::make_unique<FakeModel>(&asked), {});
  ASSERT_TRUE(made.has_value());
  const std::unique_ptr<LearnedPredictor> predictor = std::move(made).value();
  predictor->submitted(spec(0, 0));
  predictor->characterised_alone(sample(0, 0, 200));
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].smallest[0], std::nullopt);
  EXPECT_NE(sister.smallest(SignatureIndex(0)), std::nullopt) << "what fits is known all the same";
}

TEST(LearnedPredictor, NothingMeasured_Guess_IsCountedAndReplacedByTheNextRun) {
  // Aim: a job that made no step gets the root of its share, and a later run counts alone.
  const auto predictor = make(Knowledge::kPerSignature);
  predictor->submitted(spec(0, 0));
  predictor->characterised_alone(sample(0, 0, 0));
  EXPECT_EQ(predictor->guess_count(), 1);
  EXPECT_NEAR(on(predictor->speeds(JobId(0)), "1g.5gb"), std::sqrt(1.0 / 7), 1e-9);
  predictor->characterised_alone(sample(0, 0, 200));
  EXPECT_NEAR(on(predictor->speeds(JobId(0)), "1g.5gb"), 0.5, 1e-9);
}

TEST(LearnedPredictor, Observations_CalibrationOn_CorrectTheSignature) {
  // Aim: seen on 7g and then slower on 1g than predicted, all jobs of the kind are believed slower.
  const auto predictor = make(Knowledge::kPerSignature);
  EXPECT_TRUE(predictor->wants_observations());
  predictor->submitted(spec(0, 0));
  predictor->submitted(spec(1, 0));
  EXPECT_EQ(predictor->observed(seen(0, 0, "1g.5gb", 300)), std::nullopt) << "not known yet";
  predictor->characterised_alone(sample(0, 0, 200));
  for (int k = 0; k < 20; ++k) {
    EXPECT_EQ(predictor->observed(seen(0, 0, "7g.40gb", 100)), std::nullopt);
    EXPECT_EQ(predictor->observed(seen(1, 0, "1g.5gb", 220)), std::nullopt);
  }
  EXPECT_NEAR(on(predictor->speeds(JobId(0)), "1g.5gb"), 100.0 / 220, 0.005);
}

TEST(LearnedPredictor, Observations_CalibrationOff_ChangeNothing) {
  // Aim: without calibration nobody is asked for observations, and they have no effect.
  const auto predictor = make(Knowledge::kPerJob, LearnedPredictor::Calibration::kOff);
  EXPECT_FALSE(predictor->wants_observations());
  predictor->submitted(spec(0, 0));
  predictor->characterised_alone(sample(0, 0, 200));
  const SpeedRow before = *predictor->speeds(JobId(0));
  EXPECT_EQ(predictor->observed(seen(0, 0, "1g.5gb", 900)), std::nullopt);
  EXPECT_EQ(predictor->speeds(JobId(0))->speed, before.speed);
}

TEST(LearnedPredictor, BehaviourChanges_OfOneJob_TheOthersStayAsTheyWere) {
  // Aim: the factor is told, the job goes its own way, its signature is not touched.
  const auto predictor = make(Knowledge::kPerSignature);
  predictor->submitted(spec(0, 0));
  predictor->submitted(spec(1, 0));
  predictor->characterised_alone(sample(0, 0, 200));
  predictor->observed(seen(0, 0, "7g.40gb", 100));
  predictor->observed(seen(0, 0, "3g.20gb", 150));
  const SpeedRow before = *predictor->speeds(JobId(1));
  const auto factor = predictor->observed(seen(0, 0, "3g.20gb", 300));
  ASSERT_TRUE(factor.has_value());
  EXPECT_NEAR(*factor, 0.5, 0.02);
  EXPECT_EQ(predictor->speeds(JobId(1))->speed, before.speed);
  EXPECT_EQ(predictor->observed(seen(0, 0, "3g.20gb", 300)), std::nullopt);
  EXPECT_EQ(predictor->observed(seen(1, 0, "3g.20gb", 150)), std::nullopt);
}

TEST(LearnedPredictor, Forgotten_UntilCharacterised_IsUnknownThenByItsNewSignature) {
  // Aim: forget() and a run under another signature: the old one keeps what is known of it.
  const auto predictor = make(Knowledge::kPerSignature);
  predictor->submitted(spec(0, 0));
  predictor->submitted(spec(1, 0));
  predictor->characterised_alone(sample(0, 0, 200));
  predictor->forget(JobId(0));
  EXPECT_EQ(predictor->speeds(JobId(0)), nullptr);
  EXPECT_NE(predictor->speeds(JobId(1)), nullptr);
  EXPECT_EQ(predictor->observed(seen(0, 0, "1g.5gb", 300)), std::nullopt);
  predictor->characterised_alone(sample(0, 2, 400));
  EXPECT_NEAR(on(predictor->speeds(JobId(0)), "1g.5gb"), 0.25, 1e-9);
  EXPECT_NEAR(on(predictor->speeds(JobId(1)), "1g.5gb"), 0.5, 1e-9);
  // What is seen under a signature that no run has told of is nobody's.
  EXPECT_EQ(predictor->observed(seen(0, 1, "1g.5gb", 900)), std::nullopt);
  EXPECT_NEAR(on(predictor->speeds(JobId(0)), "1g.5gb"), 0.25, 1e-9);
}

TEST(LearnedPredictor, PerJobForgotten_NextRun_CountsAlone) {
  // Aim: what was believed of a job that was forgotten does not dilute the new run.
  const auto predictor = make(Knowledge::kPerJob);
  predictor->submitted(spec(0, 0));
  predictor->characterised_alone(sample(0, 0, 200));
  predictor->forget(JobId(0));
  predictor->characterised_alone(sample(0, 0, 400));
  EXPECT_NEAR(on(predictor->speeds(JobId(0)), "1g.5gb"), 0.25, 1e-9);
}

TEST(LearnedPredictor, GangObserved_Ignored_AndOddProfileToo) {
  // Aim: gangs run on whole GPUs together, and media profiles are no slice: no observation counts.
  const auto predictor = make(Knowledge::kPerSignature);
  JobSpec gang = spec(0, 0);
  gang.gpus = 2;
  predictor->submitted(gang);
  predictor->submitted(spec(1, 0));
  predictor->characterised_alone(sample(1, 0, 200));
  predictor->observed(seen(1, 0, "7g.40gb", 100));
  const SpeedRow before = *predictor->speeds(JobId(1));
  EXPECT_EQ(predictor->observed(seen(0, 0, "7g.40gb", 900)), std::nullopt);
  EXPECT_EQ(predictor->observed(seen(1, 0, "1g.10gb", 900)), std::nullopt);
  EXPECT_EQ(predictor->speeds(JobId(1))->speed, before.speed);
}

TEST(LearnedPredictor, GpuWithoutSevenSlices_Make_IsRefused) {
  // Aim: an A30 has four compute slices, of which no slice model knows anything.
  const predict::SpeedBook a30 = make_book(model("A30-24GB"), {amdahl("a", 30, 70)});
  const auto made = LearnedPredictor::make(a30, std::make_unique<FakeModel>(), {});
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("A30-24GB has 4 compute slices"), std::string::npos);
}

}  // namespace
}  // namespace septule::learn
