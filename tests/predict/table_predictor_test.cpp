#include "predict/table_predictor.hpp"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "predict/predict_support.hpp"

namespace septule::predict {
namespace {

using job::Bound;
using job::JobId;
using job::JobSpec;
using job::SignatureIndex;
using test::a100;
using test::amdahl;
using test::make_book;
using test::measured;
using test::model;
using test::profile;
using test::synthetic;

JobSpec spec(int id, int signature) {
  JobSpec job;
  job.id = JobId(id);
  job.signature = SignatureIndex(signature);
  return job;
}

JobSpec stated(int id, int signature, std::uint64_t memory_mib) {
  JobSpec job = spec(id, signature);
  job.memory = Bytes::mebibytes(memory_mib);
  return job;
}

MpsSample sample(int id, int signature) {
  return {.job = JobId(id), .levels = {}, .signature = SignatureIndex(signature)};
}

/// 0: fits 1g, 1: fits 2g, 2: fits 1g, other speeds.
const SpeedBook& book() {
  static const SpeedBook made =
      make_book(a100(), {amdahl("a", 30, 70), measured(), amdahl("c", 80, 20)});
  return made;
}

double on(const SpeedRow* row, const char* name) {
  SEPTULE_CHECK(row != nullptr, "the test expects the job to be known");
  return row->on(profile(a100(), name));
}

TEST(TablePredictor, PerJob_LifeCycle_KnowsAfterEachRun) {
  // Aim: nothing is known before a run; what one job's run shows is not known of another.
  TablePredictor predictor(book(), {.knowledge = Knowledge::kPerJob});
  predictor.submitted(spec(1, 0));
  predictor.submitted(spec(0, 0));
  EXPECT_EQ(predictor.speeds(JobId(0)), nullptr);
  predictor.characterised_alone(sample(0, 0));
  ASSERT_NE(predictor.speeds(JobId(0)), nullptr);
  EXPECT_EQ(predictor.speeds(JobId(0))->speed, book().row(SignatureIndex(0)).speed);
  EXPECT_EQ(predictor.speeds(JobId(1)), nullptr);
  predictor.forget(JobId(0));
  EXPECT_EQ(predictor.speeds(JobId(0)), nullptr);
  predictor.characterised_alone(sample(0, 2));
  EXPECT_EQ(predictor.speeds(JobId(0))->speed, book().row(SignatureIndex(2)).speed);
}

TEST(TablePredictor, PerSignature_LifeCycle_Remembers) {
  // Aim: one run makes the signature known for all jobs, those submitted before and after.
  TablePredictor predictor(book(), {.knowledge = Knowledge::kPerSignature});
  predictor.submitted(spec(0, 0));
  predictor.submitted(spec(1, 0));
  predictor.submitted(spec(2, 1));
  EXPECT_EQ(predictor.speeds(JobId(1)), nullptr);
  predictor.characterised_alone(sample(0, 0));
  ASSERT_NE(predictor.speeds(JobId(1)), nullptr);
  EXPECT_EQ(predictor.speeds(JobId(1)), predictor.speeds(JobId(0)));
  EXPECT_EQ(predictor.speeds(JobId(2)), nullptr);
  predictor.submitted(spec(3, 0));
  EXPECT_EQ(on(predictor.speeds(JobId(3)), "7g.40gb"), 1);
}

TEST(TablePredictor, PerSignature_ChangedJob_IsUnknownUntilItsRun) {
  // Aim: a forgotten job stays unknown though its new signature is remembered; others keep theirs.
  TablePredictor predictor(book(), {.knowledge = Knowledge::kPerSignature});
  for (int i = 0; i < 4; ++i) {
    predictor.submitted(spec(i, i == 3 ? 2 : 0));
  }
  predictor.characterised_alone(sample(0, 0));
  predictor.characterised_alone(sample(3, 2));
  predictor.forget(JobId(0));
  EXPECT_EQ(predictor.speeds(JobId(0)), nullptr);
  EXPECT_NE(predictor.speeds(JobId(1)), nullptr);
  // Another job's run says nothing of this one.
  predictor.characterised_alone(sample(1, 0));
  EXPECT_EQ(predictor.speeds(JobId(0)), nullptr);
  predictor.characterised_alone(sample(0, 2));
  EXPECT_EQ(predictor.speeds(JobId(0)), predictor.speeds(JobId(3)));
  EXPECT_NE(predictor.speeds(JobId(0)), predictor.speeds(JobId(1)));
}

TEST(TablePredictor, Everything_AtOnce_IsTheBook) {
  // Aim: the oracle's table knows at submission, without error, the book's own rows.
  TablePredictor predictor(book(), {.knowledge = Knowledge::kEverything});
  predictor.submitted(spec(0, 1));
  EXPECT_EQ(predictor.speeds(JobId(0)), &book().row(SignatureIndex(1)));
  EXPECT_EQ(predictor.smallest(JobId(0)), profile(a100(), "2g.10gb"));
  EXPECT_EQ(predictor.need(JobId(0)), Bytes::mebibytes(9856));
  predictor.forget(JobId(0));
  EXPECT_EQ(predictor.speeds(JobId(0)), nullptr);
  predictor.characterised_alone(sample(0, 2));
  EXPECT_EQ(predictor.speeds(JobId(0)), &book().row(SignatureIndex(2)));
}

TEST(TablePredictor, StatedMemory_AllKnowledge_CutsProfilesOff) {
  // Aim: what the submitter states raises need and smallest and empties the rows below.
  for (const Knowledge knowledge :
       {Knowledge::kEverything, Knowledge::kPerJob, Knowledge::kPerSignature}) {
    TablePredictor predictor(book(), {.knowledge = knowledge});
    predictor.submitted(stated(0, 0, 4864));
    predictor.submitted(stated(1, 0, 4865));
    predictor.submitted(stated(2, 0, 9857));
    predictor.submitted(stated(3, 0, 40193));
    predictor.submitted(stated(4, 1, 10));
    for (int i = 0; i < 5; ++i) {
      predictor.characterised_alone(sample(i, i == 4 ? 1 : 0));
    }
    EXPECT_EQ(predictor.smallest(JobId(0)), profile(a100(), "1g.5gb"));
    EXPECT_EQ(predictor.smallest(JobId(1)), profile(a100(), "2g.10gb"));
    EXPECT_EQ(predictor.smallest(JobId(2)), profile(a100(), "3g.20gb"));
    EXPECT_FALSE(predictor.smallest(JobId(3)).has_value());
    EXPECT_EQ(predictor.smallest(JobId(4)), profile(a100(), "2g.10gb"));
    EXPECT_EQ(predictor.need(JobId(0)), Bytes::mebibytes(4864));
    EXPECT_EQ(predictor.need(JobId(1)), Bytes::mebibytes(4865));
    EXPECT_EQ(predictor.need(JobId(3)), Bytes::mebibytes(40193));
    EXPECT_EQ(predictor.need(JobId(4)), Bytes::mebibytes(9856));
    EXPECT_GT(on(predictor.speeds(JobId(0)), "1g.5gb"), 0);
    EXPECT_EQ(on(predictor.speeds(JobId(1)), "1g.5gb"), 0);
    EXPECT_GT(on(predictor.speeds(JobId(1)), "2g.10gb"), 0);
    EXPECT_EQ(on(predictor.speeds(JobId(2)), "2g.10gb"), 0);
    EXPECT_GT(on(predictor.speeds(JobId(2)), "3g.20gb"), 0);
    EXPECT_EQ(on(predictor.speeds(JobId(3)), "7g.40gb"), 0);
    EXPECT_EQ(on(predictor.speeds(JobId(4)), "1g.5gb"), 0);
  }
}

TEST(TablePredictor, Gang_OnWholeGpus_FitsNothingElse) {
  // Aim: jobs of several GPUs run on whole ones.
  TablePredictor predictor(book(), {.knowledge = Knowledge::kEverything});
  JobSpec gang = spec(0, 0);
  gang.gpus = 4;
  predictor.submitted(gang);
  EXPECT_EQ(predictor.smallest(JobId(0)), book().whole_profile());
  EXPECT_EQ(on(predictor.speeds(JobId(0)), "4g.20gb"), 0);
  EXPECT_EQ(on(predictor.speeds(JobId(0)), "7g.40gb"), 1);
}

TEST(TablePredictor, Phases_ThatNeedMore_AreDeclaredAtOnce) {
  // Aim: a job never outgrows its place: the need is that of its largest phase.
  TablePredictor predictor(book(), {.knowledge = Knowledge::kEverything});
  JobSpec growing = spec(0, 0);
  growing.phases = {{.begins_at = 0.5, .signature = SignatureIndex(1)}};
  predictor.submitted(growing);
  EXPECT_EQ(predictor.smallest(JobId(0)), profile(a100(), "2g.10gb"));
  EXPECT_EQ(predictor.need(JobId(0)), Bytes::mebibytes(9856));
  EXPECT_EQ(on(predictor.speeds(JobId(0)), "1g.5gb"), 0);
}

TEST(TablePredictor, Phases_ThatNeedLess_KeepWhatTheFirstNeeds) {
  // Aim: a job known by a later phase is not believed to fit where its own signature does not.
  TablePredictor predictor(book(), {.knowledge = Knowledge::kPerJob});
  JobSpec shrinking = spec(0, 1);
  shrinking.phases = {{.begins_at = 0.5, .signature = SignatureIndex(0)}};
  predictor.submitted(shrinking);
  predictor.characterised_alone({.job = JobId(0), .levels = {}, .signature = SignatureIndex(0)});
  EXPECT_EQ(predictor.need(JobId(0)), Bytes::mebibytes(9856));
  EXPECT_EQ(on(predictor.speeds(JobId(0)), "1g.5gb"), 0);
  EXPECT_GT(on(predictor.speeds(JobId(0)), "2g.10gb"), 0);
}

TEST(TablePredictor, OtherModels_StatedMemory_GoesByTheirProfiles) {
  // Aim: the same rules hold on an A30 and where a model's memory is not published.
  const SpeedBook a30 = make_book(model("A30-24GB"), {amdahl("a", 30, 70)});
  TablePredictor predictor(a30, {.knowledge = Knowledge::kEverything});
  predictor.submitted(stated(0, 0, 6000));
  EXPECT_EQ(predictor.smallest(JobId(0)), profile(model("A30-24GB"), "2g.12gb"));
  auto here = measured();
  here.gpu_key = "H100-64GB";
  here.times = {test::slice_ms("7g.64gb", 100), test::slice_ms("1g.8gb", 400)};
  const SpeedBook h100 = make_book(model("H100-64GB"), {here});
  TablePredictor unknown(h100, {.knowledge = Knowledge::kEverything});
  unknown.submitted(spec(0, 0));
  unknown.submitted(stated(1, 0, 10000));
  unknown.submitted(stated(2, 0, 70000));
  EXPECT_EQ(unknown.smallest(JobId(0)), profile(model("H100-64GB"), "1g.8gb"));
  EXPECT_EQ(unknown.smallest(JobId(1)), profile(model("H100-64GB"), "2g.16gb"));
  EXPECT_FALSE(unknown.smallest(JobId(2)).has_value());
}

TEST(TablePredictor, FitsNowhere_InAnyRow_StaysZero) {
  // Aim: error makes no job fit; one that fits nowhere has an empty row.
  const SpeedBook small = make_book(a100(), {synthetic(0.5, Bound::kCompute, 50000), measured()});
  TablePredictor predictor(
      small, {.knowledge = Knowledge::kEverything, .error = {.mean = 0.09, .sd = 0.02}});
  predictor.submitted(spec(0, 0));
  predictor.submitted(spec(1, 1));
  for (const ProfileIndex index : small.plain_profiles()) {
    EXPECT_EQ(predictor.speeds(JobId(0))->on(index), 0);
  }
  EXPECT_FALSE(predictor.smallest(JobId(0)).has_value());
  EXPECT_EQ(predictor.need(JobId(0)), Bytes::mebibytes(50000));
  EXPECT_EQ(on(predictor.speeds(JobId(1)), "1g.5gb"), 0);
  EXPECT_EQ(on(predictor.speeds(JobId(1)), "1g.10gb"), 0);
}

/// Rows of jobs 0..count-1 of signature 0, each characterised for itself.
std::vector<SpeedRow> noisy_rows(int count, TableError error, std::uint64_t seed) {
  TablePredictor predictor(book(), {.knowledge = Knowledge::kPerJob, .error = error, .seed = seed});
  std::vector<SpeedRow> rows;
  for (int i = 0; i < count; ++i) {
    predictor.submitted(spec(i, 0));
    predictor.characterised_alone(sample(i, 0));
    rows.push_back(*predictor.speeds(JobId(i)));
  }
  return rows;
}

TEST(TablePredictor, Error_WithoutSpread_HasFourValuesPerProfile) {
  // Aim: with sd 0 every figure is (7g +- mean) / (slice +- mean) of the times normalised by 3g's.
  const double mean = 0.016;
  const SpeedRow& truth = book().row(SignatureIndex(0));
  const double slowest = on(&truth, "3g.20gb");
  for (const SpeedRow& row : noisy_rows(200, {.mean = mean, .sd = 0}, 1)) {
    EXPECT_EQ(on(&row, "7g.40gb"), 1);
    for (const char* name : {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb"}) {
      double nearest = 1;
      for (const double whole_error : {-mean, mean}) {
        for (const double error : {-mean, mean}) {
          const double value = (slowest + whole_error) / (slowest / on(&truth, name) + error);
          nearest = std::min(nearest, std::abs(value - on(&row, name)));
        }
      }
      EXPECT_LT(nearest, 1e-12) << name;
    }
  }
}

TEST(TablePredictor, Error_OverManyJobs_HasItsMeanAndSigns) {
  // Aim: of a job whose 7g, 4g and 3g take the same time, log ratios show both errors: their mean
  // square is 2 (mean^2 + sd^2), and both signs come equally often.
  const SpeedBook flat = make_book(a100(), {amdahl("flat", 100, 0)});
  const TableError error{.mean = 0.016, .sd = 0.0032};
  TablePredictor predictor(flat, {.knowledge = Knowledge::kPerJob, .error = error, .seed = 7});
  double squares = 0;
  double absolute = 0;
  int above = 0;
  constexpr int kJobs = 20000;
  for (int i = 0; i < kJobs; ++i) {
    predictor.submitted(spec(i, 0));
    predictor.characterised_alone(sample(i, 0));
    const double difference = std::log(on(predictor.speeds(JobId(i)), "3g.20gb"));
    squares += difference * difference;
    absolute += std::abs(difference);
    above += difference > 0 ? 1 : 0;
  }
  const double expected = 2 * (error.mean * error.mean + error.sd * error.sd);
  EXPECT_NEAR(squares / kJobs / expected, 1, 0.03);
  // Half of the pairs have unlike signs and differ by 2 x 0.016, half by |N(0, 2 sd^2)|.
  const double like = error.sd * 2 / std::sqrt(std::numbers::pi);
  EXPECT_NEAR(absolute / kJobs, error.mean + like / 2, 0.0004);
  EXPECT_NEAR(static_cast<double>(above) / kJobs, 0.5, 0.015);
}

TEST(TablePredictor, Error_SameSeed_IsRepeatedWhateverElseHappens) {
  // Aim: one job's error depends on seed and job alone; another seed or job gives another.
  const TableError error{.mean = 0.05, .sd = 0.01};
  const std::vector<SpeedRow> all = noisy_rows(10, error, 3);
  EXPECT_EQ(all[9].speed, noisy_rows(10, error, 3)[9].speed);
  EXPECT_NE(all[9].speed, noisy_rows(10, error, 4)[9].speed);
  EXPECT_NE(all[9].speed, all[8].speed);
  TablePredictor alone(book(), {.knowledge = Knowledge::kPerJob, .error = error, .seed = 3});
  alone.submitted(spec(9, 0));
  alone.characterised_alone(sample(9, 0));
  EXPECT_EQ(alone.speeds(JobId(9))->speed, all[9].speed);
  // Once more is the same, for it is drawn once.
  alone.forget(JobId(9));
  alone.characterised_alone(sample(9, 0));
  EXPECT_EQ(alone.speeds(JobId(9))->speed, all[9].speed);
}

TEST(TablePredictor, Error_PerSignature_IsSharedByItsJobs) {
  // Aim: a remembered signature has one error, also for jobs with stated memory.
  TablePredictor predictor(
      book(),
      {.knowledge = Knowledge::kPerSignature, .error = {.mean = 0.05, .sd = 0.01}, .seed = 3});
  predictor.submitted(spec(0, 0));
  predictor.submitted(spec(1, 0));
  predictor.submitted(stated(2, 0, 6000));
  predictor.submitted(stated(3, 0, 7000));
  predictor.characterised_alone(sample(1, 0));
  EXPECT_EQ(predictor.speeds(JobId(0)), predictor.speeds(JobId(1)));
  EXPECT_EQ(predictor.speeds(JobId(2)), predictor.speeds(JobId(3)));
  EXPECT_NE(predictor.speeds(JobId(0)), predictor.speeds(JobId(2)));
  EXPECT_EQ(on(predictor.speeds(JobId(2)), "1g.5gb"), 0);
  for (const char* name : {"2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}) {
    EXPECT_EQ(on(predictor.speeds(JobId(2)), name), on(predictor.speeds(JobId(0)), name));
  }
}

TEST(TablePredictor, Error_Absurd_LeavesSpeedsPositive) {
  // Aim: errors larger than the times themselves are held within bounds.
  for (const SpeedRow& row : noisy_rows(500, {.mean = 3, .sd = 2}, 1)) {
    for (const ProfileIndex index : book().plain_profiles()) {
      EXPECT_GT(row.on(index), 0);
      EXPECT_TRUE(std::isfinite(row.on(index)));
    }
  }
}

TEST(TablePredictor, Pointers_OfManyJobs_KeepTheirRows) {
  // Aim: growing the table of jobs moves no row that a caller has seen.
  TablePredictor predictor(
      book(), {.knowledge = Knowledge::kPerJob, .error = {.mean = 0.016, .sd = 0.003}});
  predictor.submitted(spec(0, 0));
  predictor.characterised_alone(sample(0, 0));
  const SpeedRow* const row = predictor.speeds(JobId(0));
  const SpeedRow copy = *row;
  for (int i = 1; i < 1000; ++i) {
    predictor.submitted(stated(i, 0, 6000));
    predictor.characterised_alone(sample(i, 0));
  }
  EXPECT_EQ(predictor.speeds(JobId(0)), row);
  EXPECT_EQ(row->speed, copy.speed);
}

TEST(TablePredictor, Kernels_AreKnownWithSpeeds_IfCounted) {
  // Aim: a kernel length is told exactly, once the signature is known, and only if it was counted.
  std::vector<job::PerfSignature> signatures = job::builtin_signatures();
  signatures[1].kernel_count = 175;
  const SpeedBook counted = *SpeedBook::make(book().geometry(), signatures);
  TablePredictor predictor(counted, {.knowledge = Knowledge::kPerSignature});
  predictor.submitted(spec(0, 0));
  predictor.submitted(spec(1, 1));
  EXPECT_FALSE(predictor.kernels(JobId(1)).has_value());
  predictor.characterised_alone(sample(0, 0));
  predictor.characterised_alone(sample(1, 1));
  EXPECT_FALSE(predictor.kernels(JobId(0)).has_value()) << "never counted";
  ASSERT_TRUE(predictor.kernels(JobId(1)).has_value());
  EXPECT_EQ(predictor.kernels(JobId(1))->count, 175);
  EXPECT_EQ(predictor.kernels(JobId(1))->step, counted.whole_step(job::SignatureIndex(1)));
}

TEST(TablePredictorDeathTest, UnknownJob_OfAnyCall_Stops) {
  // Aim: asking for a job that was never submitted is a programmer error.
  TablePredictor predictor(book(), {});
  predictor.submitted(spec(1, 0));
  EXPECT_DEATH(predictor.speeds(JobId(0)), "submitted");
  EXPECT_DEATH(predictor.smallest(JobId(2)), "submitted");
  EXPECT_DEATH(predictor.forget(JobId(-1)), "at least 0");
}

}  // namespace
}  // namespace septule::predict
