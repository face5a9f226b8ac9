// The signature model against measured jobs and pairs: the bars of performance-model.md section 9
// and of the interference model, on models that its constants were not fitted to; and the shipped
// constants, fitted anew. All figures: bench/signature_model_report.cpp, docs/benchmarks.md.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "predict/measured_jobs.hpp"
#include "predict/measured_pairs.hpp"
#include "predict/predict_support.hpp"
#include "support/shared_data.hpp"

namespace septule::predict {
namespace {

using test::MeasuredJobs;
using test::MeasuredPair;
using test::PairGroup;
using test::Root;
using test::Score;

/// Errors in percent that performance-model.md section 9 asks for; `held` also what was reached, a
/// little rounded up.
struct SoloBar {
  JobKind kind = JobKind::kUnknown;
  std::string whole;  ///< name of the largest slice
  double law = 0;     ///< all points
  double held = 0;    ///< 2g and 4g from 1g, 3g and the largest
  int predictions = 0;
};

void expect_bar(const MeasuredJobs& jobs, const SoloBar& bar) {
  const Score held = test::held_out(jobs, bar.kind, {"1g", "3g", bar.whole}, {"2g", "4g"});
  EXPECT_LT(test::law_errors(jobs, LawForm::kWhole).percent(), bar.law);
  EXPECT_LT(held.percent(), bar.held);
  EXPECT_EQ(held.count, bar.predictions);
  // A stated error of 90 % holds about so often, neither never nor always.
  EXPECT_GT(held.covers_ninety(), 80);
  const test::LeaveOneOut each = test::leave_one_out(jobs, bar.kind);
  EXPECT_GT(each.belief.covers_ninety(), 85);
  EXPECT_LT(each.belief.covers_one(), 90);
  EXPECT_LT(each.belief.percent(), each.law.percent());
}

TEST(SignatureFigures, JobsAlone_OnSlices_KeepTheBars) {
  // Aim: inference, training and HPC jobs: explained by the law, predicted from three points.
  SEPTULE_REQUIRE_SHARED(data, "data/hierarchical");
  const Root root = data.parent_path().parent_path();
  expect_bar(
      test::inference_jobs(root),
      {.kind = JobKind::kInference, .whole = "full", .law = 0.80, .held = 2.0, .predictions = 88});
  expect_bar(
      test::training_jobs(root),
      {.kind = JobKind::kTraining, .whole = "full", .law = 1.6, .held = 3.2, .predictions = 42});
  expect_bar(test::rodinia_jobs(root, "A100"),
             {.kind = JobKind::kHpc, .whole = "7g", .law = 2.4, .held = 7.3, .predictions = 32});
}

TEST(SignatureFigures, PercentageSweeps_KeepTheBars) {
  // Aim: MPS sweeps of two models (tail latencies) are explained as well as the method says.
  SEPTULE_REQUIRE_SHARED(data, "data/hierarchical");
  const Root root = data.parent_path().parent_path();
  EXPECT_LT(test::law_errors(test::sweep_jobs(root, "resnet50"), LawForm::kWhole).percent(), 1.4);
  EXPECT_LT(test::law_errors(test::sweep_jobs(root, "mobilenet_v2"), LawForm::kWhole).percent(),
            4.8);
}

TEST(SignatureFigures, PairsUnderMps_OfOtherModels_KeepTheBar) {
  // Aim: constants fitted to pairs of six models, judged on pairs of the five others and on mixed
  // ones, and the other way round; 7g apart. The bar is 12.5 %; the figures reached are held too.
  SEPTULE_REQUIRE_SHARED(data, "data/hierarchical");
  const std::vector<MeasuredPair> pairs = test::measured_pairs(data.parent_path().parent_path());
  ASSERT_EQ(pairs.size(), 5701U);
  const std::set<std::string> five = {
      "vgg19", "mobilenet_v2", "resnet50", "deeplabv3", "resnet152"};
  const auto percent =
      [&](const std::set<std::string>& models, PairGroup group, const test::PairConstants& with) {
        return test::score_pairs(pairs, test::pairs_of(models, group), with).slowdown.percent();
      };
  const test::PairConstants first =
      test::fit_constants(pairs, test::pairs_of(test::first_six(), PairGroup::kInside));
  // What is shipped is what this fit gives.
  EXPECT_NEAR(first.kernel_exponent, kKernelExponent, 0.0015);
  EXPECT_NEAR(first.unused_exponent, kUnusedExponent, 0.0015);
  EXPECT_LT(percent(test::first_six(), PairGroup::kOutside, first), 9.8);
  EXPECT_LT(percent(test::first_six(), PairGroup::kMixed, first), 8.3);
  const test::PairConstants second =
      test::fit_constants(pairs, test::pairs_of(five, PairGroup::kInside));
  EXPECT_LT(percent(five, PairGroup::kOutside, second), 7.4);
  EXPECT_LT(percent(five, PairGroup::kMixed, second), 8.0);
  const auto seven = [](const MeasuredPair& pair) { return pair.slice == "7g"; };
  EXPECT_LT(test::score_pairs(pairs, seven).slowdown.percent(), 10);
  // Stated errors of co-runs, on models that were not fitted to.
  const Score outside =
      test::score_pairs(pairs, test::pairs_of(test::first_six(), PairGroup::kMixed)).slowdown;
  EXPECT_GT(outside.covers_one(), 65);
  EXPECT_GT(outside.covers_ninety(), 85);
}

TEST(SignatureFigures, PairsUnderMps_AreBetterThanTheReferencesForm) {
  // Aim: the form of performance-model.md 4.2 gives its published 12.5 % here, so the readers are
  // right, and ours is better in each partition, for slowdowns and for sums.
  SEPTULE_REQUIRE_SHARED(data, "data/hierarchical");
  const std::vector<MeasuredPair> pairs = test::measured_pairs(data.parent_path().parent_path());
  test::PairScore reference;
  for (const char* const slice : {"full", "7g", "4g", "3g", "2g", "1g"}) {
    test::PairScore theirs;
    for (const MeasuredPair& pair : pairs) {
      if (pair.slice == slice) {
        theirs.add(pair, test::reference_rates(pair));
        reference.add(pair, test::reference_rates(pair));
      }
    }
    const test::PairScore ours =
        test::score_pairs(pairs, [slice](const MeasuredPair& pair) { return pair.slice == slice; });
    EXPECT_LT(ours.slowdown.percent(), theirs.slowdown.percent()) << slice;
    EXPECT_LT(ours.sum.percent(), theirs.sum.percent()) << slice;
  }
  EXPECT_NEAR(reference.slowdown.percent(), 12.5, 0.05);
}

TEST(SignatureFigures, PairsWithPercentages_AreExplainedByContention) {
  // Aim: the contention of parts fitted to even batches explains odd ones; what is shipped is it.
  SEPTULE_REQUIRE_SHARED(data, "data/hierarchical");
  const Root root = data.parent_path().parent_path();
  const gpu::Geometry& a100 = test::model("A100-80GB");
  EXPECT_NEAR(test::fit_contention(root, a100), kPartContention, 0.001);
  const test::SplitScore odd = test::score_splits(root, a100, test::Half::kOdd);
  EXPECT_GT(odd.together.count, 200);
  EXPECT_LT(odd.together.percent(), 2.5);
  EXPECT_GT(odd.alone.percent(), 15);
}

}  // namespace
}  // namespace septule::predict
