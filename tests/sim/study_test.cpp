#include "sim/study.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/sim_support.hpp"
#include "sim/study_layouts.hpp"
#include "sim/study_text.hpp"

namespace septule::sim {
namespace {

using test::latencies;
using test::model;
using ::testing::HasSubstr;

const job::Workload& miso_100() {
  static const job::Workload workload = job::miso_workload("miso-100").value();
  return workload;
}

/// Two policies, two seeds, the measured mix on eight GPUs.
StudySpec small_spec() {
  StudySpec spec;
  spec.clusters = {{&model("A100-40GB"), 8}};
  spec.workload = &miso_100();
  spec.gaps = {test::seconds(60)};
  spec.policies = parse_policies("nopart,miso").value();
  spec.seeds = {1, 2};
  spec.layout_seeds = {1, 2, 3};
  spec.common = common_setup(sched::Setting::kPaper);
  spec.common.latencies = &latencies();
  spec.checks = RunChecks::kOn;
  return spec;
}

Study made(StudySpec spec) {
  Result<Study> study = Study::make(std::move(spec));
  SEPTULE_CHECK(study.has_value(), "the study of a test is valid");
  std::vector<double> mean_jct_s;
  for (const LayoutTrial& trial : study->layout_trials()) {
    mean_jct_s.push_back(study->run_layout_trial(trial).value());
  }
  study->choose_layouts(mean_jct_s);
  return std::move(study).value();
}

TEST(Study, Trials_AreGroupedByClusterGapPolicySeed) {
  // The order is part of the format: journals number trials by it.
  StudySpec spec = small_spec();
  spec.clusters.push_back({&model("A30-24GB"), 4});
  spec.gaps = {test::seconds(30), test::seconds(60)};
  const Study study = made(spec);
  ASSERT_EQ(study.trials().size(), 2U * 2U * 2U * 2U);
  EXPECT_EQ(study.group_count(), 4);
  EXPECT_EQ(study.trials()[1].seed, 2U);
  EXPECT_EQ(study.trials()[2].policy, 1);
  EXPECT_EQ(study.trials()[4].group, 1);
  EXPECT_EQ(study.gap_of(1), test::seconds(60));
  EXPECT_EQ(study.cluster_of(2), 1);
  EXPECT_TRUE(study.is_representative(study.trials()[2]));
  EXPECT_FALSE(study.is_representative(study.trials()[3]));
}

TEST(Study, FaultySpecs_AreRefusedNamingTheField) {
  // Each field that can be wrong on its own.
  struct Case {
    void (*spoil)(StudySpec& spec);
    const char* field;
  };
  const Case cases[] = {
      {[](StudySpec& spec) { spec.clusters.clear(); }, "gpus"},
      {[](StudySpec& spec) { spec.clusters.push_back(spec.clusters.front()); }, "gpus"},
      {[](StudySpec& spec) { spec.clusters.front().gpu_count = 0; }, "gpus"},
      {[](StudySpec& spec) { spec.clusters.front().geometry = &model("Thor-iGPU"); }, "gpus"},
      {[](StudySpec& spec) { spec.policies.clear(); }, "policies"},
      {[](StudySpec& spec) { spec.policies.push_back(spec.policies.front()); }, "policies"},
      {[](StudySpec& spec) { spec.seeds.clear(); }, "seeds"},
      {[](StudySpec& spec) { spec.seeds = {1, 1}; }, "seeds"},
      {[](StudySpec& spec) { spec.gaps.clear(); }, "gap"},
      {[](StudySpec& spec) { spec.gaps = {Duration()}; }, "gap"},
      {[](StudySpec& spec) {
         spec.policies = parse_policies("optsta").value();
         spec.layout_seeds.clear();
       },
       "layout-seeds"},
  };
  for (const Case& one : cases) {
    StudySpec spec = small_spec();
    one.spoil(spec);
    const Result<Study> study = Study::make(spec);
    ASSERT_FALSE(study) << one.field;
    EXPECT_THAT(study.error().message, HasSubstr(one.field));
  }
}

TEST(Study, ArrivalsThatARecipeLacks_AreRefusedBeforeAnyRun) {
  // The published recipe has seeds 1 to 20 for 100 jobs.
  StudySpec spec = small_spec();
  spec.arrivals.kind = job::ArrivalKind::kArtifact;
  spec.seeds = {1, 21};
  EXPECT_FALSE(Study::make(spec));
}

TEST(Study, Recording_ChangesNoResult) {
  // Watching must not disturb: digest and figures are equal with and without.
  const Study study = made(small_spec());
  for (const Trial& trial : study.trials()) {
    RunRecording recording;
    recording.story_of = job::JobId(7);
    const auto watched = study.run_trial(trial, &recording);
    const auto plain = study.run_trial(trial);
    ASSERT_TRUE(watched) << watched.error().message;
    ASSERT_TRUE(plain);
    EXPECT_EQ(watched->digest, plain->digest);
    EXPECT_EQ(watched->figures.mean_jct_s, plain->figures.mean_jct_s);
    EXPECT_EQ(plain->jct.size(), 100U);
    EXPECT_FALSE(recording.run.timeline.empty());
    EXPECT_FALSE(recording.story.empty());
  }
}

TEST(Study, OptstaLayout_IsTheBestOfAllCandidates) {
  // The chosen layout has the least mean JCT by runs made here one by one.
  StudySpec spec = small_spec();
  spec.policies = parse_policies("optsta,optsta-on-trace").value();
  spec.seeds = {4};
  const Study study = made(spec);
  for (const auto& [trial, seeds] :
       {std::pair(study.trials()[0], std::vector<std::uint64_t>{1, 2, 3}),
        std::pair(study.trials()[1], std::vector<std::uint64_t>{4})}) {
    double best = 0;
    gpu::Layout best_layout;
    for (std::size_t i = 0; i < study.candidates(0).size(); ++i) {
      double sum = 0;
      for (const std::uint64_t seed : seeds) {
        sum += study.run_layout_trial({0, static_cast<int>(i), seed}).value();
      }
      if (best_layout.empty() || sum < best) {
        best = sum;
        best_layout = study.candidates(0)[i];
      }
    }
    EXPECT_EQ(study.layout_of(trial), best_layout);
  }
}

TEST(Study, LayoutGiven_NeedsNoSearch) {
  // --layout, and the artifact's own 3g + 2g + 2g.
  StudySpec spec = small_spec();
  spec.policies = parse_policies("optsta").value();
  spec.layout = artifact_layout(model("A100-40GB"));
  EXPECT_TRUE(made(spec).layout_trials().empty());
  spec.layout.reset();
  spec.common.policy_setup.setting = sched::Setting::kArtifact;
  const Study artifact = made(spec);
  EXPECT_TRUE(artifact.layout_trials().empty());
  EXPECT_EQ(artifact.layout_of(artifact.trials().front()).size(), 3U);
}

TEST(Study, RelativeSpeed_DividesTheWorkOfItsCluster) {
  // Twice as fast: half the work of each job, at the same times; the other cluster is untouched.
  StudySpec spec = small_spec();
  spec.clusters.push_back({&model("A100-40GB"), 8, 2});
  const Study study = made(spec);
  const job::Workload two = study.workload_of(study.trials().back()).value();
  const job::Workload same = study.workload_of(study.trials()[1]).value();  // seed 2 too
  ASSERT_EQ(same.jobs.size(), two.jobs.size());
  for (std::size_t i = 0; i < two.jobs.size(); ++i) {
    EXPECT_NEAR(two.jobs[i].work.to_seconds(), same.jobs[i].work.to_seconds() / 2, 1e-6);
    EXPECT_EQ(two.jobs[i].submit, same.jobs[i].submit);
  }
  const TrialResult slow = study.run_trial(study.trials().front()).value();
  const TrialResult fast = study.run_trial(study.trials()[4]).value();
  EXPECT_LT(fast.figures.mean_jct_s, slow.figures.mean_jct_s);
}

TEST(Study, RelativeSpeedOutOfRange_IsRefused) {
  // A speed divides work: 0, negative or not a number has no meaning.
  for (const double speed : {0.0, -1.0, 1e9, std::numeric_limits<double>::quiet_NaN()}) {
    StudySpec spec = small_spec();
    spec.clusters.front().speed = speed;
    EXPECT_FALSE(Study::make(spec)) << speed;
  }
}

TEST(Study, JobsThatFitNoGpu_AreFoundAndRejected) {
  // A gang larger than the cluster is named beforehand and counted as rejected.
  job::Workload workload = miso_100();
  workload.jobs[3].gpus = 9;
  workload.jobs[5].memory = Bytes::mebibytes(90000);
  StudySpec spec = small_spec();
  spec.workload = &workload;
  const Study study = made(spec);
  const auto unfitting = study.unfitting_jobs();
  ASSERT_EQ(unfitting.size(), 2U);
  EXPECT_EQ(unfitting[0].job, 3);
  EXPECT_EQ(unfitting[1].job, 5);
  const auto result = study.run_trial(study.trials().front());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->figures.jobs_rejected, 2);
  EXPECT_EQ(result->jct.size(), 98U);
}

TEST(StudyLayouts, MisoMix_LeavesLayoutsWithThreeSlices) {
  // miso.md section 7: 9 jobs of the trace need 3g, so 9 of 13 multisets remain; and 4g beside 3g,
  // which its table lacks.
  const auto book = predict::SpeedBook::make(model("A100-40GB"), miso_100().signatures);
  ASSERT_TRUE(book);
  EXPECT_EQ(static_layouts(*book, miso_100()).size(), 10U);
  std::set<std::vector<ProfileIndex>> multisets;
  for (const gpu::Layout& layout :
       gpu::maximal_layouts(model("A100-40GB"), gpu::ProfileSet::kPlain)) {
    std::vector<ProfileIndex> multiset;
    for (const gpu::PlacedProfile& placed : layout) {
      multiset.push_back(placed.profile);
    }
    std::ranges::sort(multiset);
    multisets.insert(multiset);
  }
  EXPECT_EQ(multisets.size(), 14U);
}

TEST(StudyLayouts, LayoutWithoutPlace_NamesItsJobs) {
  // Every candidate of the search has a place for all; small instances leave the large jobs out.
  const gpu::Geometry& geometry = model("A100-40GB");
  const auto book = predict::SpeedBook::make(geometry, miso_100().signatures).value();
  for (const gpu::Layout& layout : static_layouts(book, miso_100())) {
    EXPECT_TRUE(jobs_without_place(book, miso_100(), layout).empty());
  }
  const auto two = geometry.plain_profile(ComputeSlices(2));
  ASSERT_TRUE(two.has_value());
  StudySpec spec = small_spec();
  spec.layout = gpu::Layout{{*two, MemorySlices(0)}};
  EXPECT_TRUE(Study::make(spec)->jobs_without_place().empty());  // no policy has a layout
  spec.policies = parse_policies("optsta").value();
  const auto jobs = Study::make(spec)->jobs_without_place();
  ASSERT_FALSE(jobs.empty());
  EXPECT_GT(jobs.front().need, geometry.profile(*two).memory.value_or(Bytes(0)));
}

TEST(CommonSetup, Artifact_HasItsConstants) {
  // miso.md 6.3.
  const SimSetup artifact = common_setup(sched::Setting::kArtifact);
  EXPECT_EQ(artifact.controller.tick, test::seconds(10));
  EXPECT_EQ(artifact.device.full_reset, test::seconds(4));
  EXPECT_EQ(artifact.waits.after_checkpoint, test::seconds(1));
  EXPECT_EQ(artifact.waits.after_mps, test::seconds(2.5));
  EXPECT_EQ(job::checkpoint_time(artifact.costs, Bytes::mebibytes(4096)), test::seconds(1));
  EXPECT_FALSE(common_setup(sched::Setting::kPaper).device.full_reset.has_value());
}

}  // namespace
}  // namespace septule::sim
