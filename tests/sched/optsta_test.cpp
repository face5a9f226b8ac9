#include "sched/policies/optsta.hpp"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "support/policy_loop.hpp"

namespace septule {
namespace {

using job::JobId;
using sched::GpuGoal;
using sched::GpuPhase;
using sched::Setting;

class OptstaTest : public test::PolicyTest {
 protected:
  // Instances of the layout 2g@0, 2g@2, 3g@4.
  static constexpr int k3g = 2;
  static constexpr int kFirst2g = 0;
  static constexpr int kSecond2g = 1;

  std::string place_of(const test::PolicyLoop& loop, JobId job) const {
    return loop.is_placed(job)
               ? fmt::format("{}.{}", loop.gpu_of(job).value(), loop.slot_of(job).instance)
               : "waits";
  }
};

TEST_F(OptstaTest, FirstDecision_EmptyCluster_CutsEveryGpuOnce) {
  // Aim: the layout is on all GPUs from the start and is not ordered again.
  auto loop = this->loop("optsta", 3);
  loop.submit({});
  EXPECT_EQ(loop.decide().goals.size(), 3U);
  for (int gpu = 0; gpu < 3; ++gpu) {
    const GpuGoal& goal = loop.view().gpu(GpuId(gpu)).goal;
    EXPECT_EQ(goal.mode, GpuGoal::Mode::kPartitioned);
    EXPECT_EQ(gpu::Layout(goal.instances.begin(), goal.instances.end()), layout_3_2_2());
    EXPECT_EQ(goal.restart, sched::RestartRule::kMovedOnly);
  }
  loop.submit({});
  EXPECT_EQ(loop.decide().goals.size(), 1U);
}

TEST_F(OptstaTest, Placement_Arrivals_TakeLargestIdleInstanceAnywhere) {
  // Aim: all 3g first, GPU by GPU, then the 2g by GPU and start.
  auto loop = this->loop("optsta", 2);
  std::vector<std::string> places;
  for (int i = 0; i < 7; ++i) {
    const JobId job = loop.submit({});
    loop.decide();
    places.push_back(place_of(loop, job));
  }
  EXPECT_EQ(places, (std::vector<std::string>{"0.2", "1.2", "0.0", "0.1", "1.0", "1.1", "waits"}));
}

TEST_F(OptstaTest, LayoutInAnyOrder_IsMadeCanonical) {
  // Aim: a layout written in another order gives the same goals.
  auto setup = this->setup(1);
  std::swap(setup.static_layout.front(), setup.static_layout.back());
  test::PolicyLoop loop(geometry(), 1, policy("optsta", setup));
  loop.submit({.smallest = "3g.20gb"});
  loop.decide();
  EXPECT_EQ(loop.slot_of(JobId(0)).instance, k3g);
}

TEST_F(OptstaTest, Paper_HeadNeedsABusyInstance_NobodyOvertakes) {
  // Aim: strict order in the paper's setting; the artifact tries every waiting job.
  for (const Setting setting : {Setting::kPaper, Setting::kArtifact}) {
    auto loop = this->loop("optsta", 1, setting);
    const JobId first = loop.submit({});
    const JobId large = loop.submit({.smallest = "3g.20gb"});
    const JobId small = loop.submit({});
    loop.decide();
    EXPECT_EQ(place_of(loop, large), "waits");
    EXPECT_EQ(place_of(loop, small), setting == Setting::kPaper ? "waits" : "0.0");
    loop.end(first);
    loop.decide();
    EXPECT_EQ(place_of(loop, large), "0.2");
    EXPECT_EQ(place_of(loop, small), "0.0");
  }
}

TEST_F(OptstaTest, JobThatFitsNoInstance_WaitsWithoutBlockingOthers) {
  // Aim: an infeasible layout stops only the jobs it cannot hold.
  auto loop = this->loop("optsta", 1);
  const JobId huge = loop.submit({.smallest = "7g.40gb"});
  const JobId small = loop.submit({});
  loop.decide();
  EXPECT_EQ(place_of(loop, huge), "waits");
  EXPECT_EQ(place_of(loop, small), "0.2");
}

TEST_F(OptstaTest, Promotion_LargerInstanceFallsIdle_MovesTheJobInTheSmallest) {
  // Aim: when the 3g falls idle and nobody waits, the first 2g job moves up; without it, nobody.
  for (const std::string_view name : {"optsta", "optsta-promote"}) {
    auto loop = this->loop(name, 1);
    for (int i = 0; i < 3; ++i) {
      loop.submit({});
    }
    loop.decide();
    loop.end(JobId(0));
    loop.decide();
    const bool is_on = name == "optsta-promote";
    EXPECT_EQ(loop.slot_of(JobId(1)).instance, is_on ? k3g : kFirst2g);
    EXPECT_EQ(loop.slot_of(JobId(2)).instance, kSecond2g);
    EXPECT_TRUE(loop.decide().goals.empty());
  }
}

TEST_F(OptstaTest, Promotion_SeveralIdle_PairsSmallestUsedWithLargestIdle) {
  // Aim: in 4g, 2g, 1g the job of the 1g takes the 4g; the one in the 2g stays.
  auto setup = this->setup(1);
  setup.static_layout = {placed("4g.20gb", 0), placed("2g.10gb", 4), placed("1g.5gb", 6)};
  test::PolicyLoop loop(geometry(), 1, policy("optsta-promote", setup));
  for (int i = 0; i < 3; ++i) {
    loop.submit({});
  }
  loop.decide();
  loop.end(JobId(0));
  loop.decide();
  EXPECT_EQ(loop.slot_of(JobId(2)).instance, 0);
  EXPECT_EQ(loop.slot_of(JobId(1)).instance, 1);
}

TEST_F(OptstaTest, Promotion_JobWaits_OnlyTheArtifactPromotes) {
  // Aim: with a job waiting that fits nothing idle, the paper's setting moves nobody. In 3g, 2g, 1g
  // the 2g falls idle beside a used 1g while a 3g job waits for the used 3g.
  for (const Setting setting : {Setting::kPaper, Setting::kArtifact}) {
    auto setup = this->setup(1, setting);
    setup.static_layout = {placed("3g.20gb", 0), placed("2g.10gb", 4), placed("1g.5gb", 6)};
    test::PolicyLoop loop(geometry(), 1, policy("optsta-promote", setup));
    for (int i = 0; i < 3; ++i) {
      loop.submit({});
    }
    loop.submit({.smallest = "3g.20gb"});
    loop.decide();
    loop.end(JobId(1));
    loop.decide();
    EXPECT_EQ(place_of(loop, JobId(3)), "waits");
    EXPECT_EQ(place_of(loop, JobId(2)), setting == Setting::kArtifact ? "0.1" : "0.2");
  }
}

TEST_F(OptstaTest, Promotion_GpuChanging_WaitsUntilItIsReady) {
  // Aim: a GPU that is being changed is left alone and looked at again later.
  auto loop = this->loop("optsta-promote", 1);
  for (int i = 0; i < 2; ++i) {
    loop.submit({});
  }
  loop.decide();
  loop.set_phase(GpuId(0), GpuPhase::kChanging);
  loop.end(JobId(0));
  EXPECT_TRUE(loop.decide().goals.empty());
  loop.happened(sched::GpuReady{GpuId(0)});
  EXPECT_EQ(loop.decide().goals.size(), 1U);
  EXPECT_EQ(loop.slot_of(JobId(1)).instance, k3g);
}

TEST_F(OptstaTest, Gang_IdleGpus_UncutForItAndCutBackAfterwards) {
  // Aim: a gang waits for idle GPUs, runs on whole ones, and the layout comes back after it.
  auto loop = this->loop("optsta", 3);
  const JobId single = loop.submit({});
  const JobId gang = loop.submit({.gpus = 2});
  const JobId late = loop.submit({});
  loop.decide();
  EXPECT_EQ(loop.view().gpus_of(gang), (std::vector<GpuId>{GpuId(1), GpuId(2)}));
  EXPECT_EQ(loop.view().gpu(GpuId(1)).goal.mode, GpuGoal::Mode::kWholeGpu);
  EXPECT_EQ(place_of(loop, late), "0.0");
  loop.end(gang);
  const JobId after = loop.submit({});
  loop.decide();
  EXPECT_EQ(place_of(loop, after), "1.2");
  EXPECT_EQ(loop.view().gpu(GpuId(2)).goal.mode, GpuGoal::Mode::kPartitioned);
  EXPECT_EQ(loop.view().gpu(GpuId(2)).goal.instances.size(), 3U);
  EXPECT_TRUE(loop.is_placed(single));
}

TEST_F(OptstaTest, Gang_HeadOfTheQueue_IsNotOvertaken) {
  // Aim: with too few idle GPUs a gang at the head holds back later jobs in the paper's setting.
  auto loop = this->loop("optsta", 2);
  const JobId single = loop.submit({});
  const JobId gang = loop.submit({.gpus = 2});
  const JobId late = loop.submit({});
  loop.decide();
  EXPECT_EQ(place_of(loop, late), "waits");
  loop.end(single);
  loop.decide();
  EXPECT_TRUE(loop.is_placed(gang));
  EXPECT_EQ(place_of(loop, late), "waits");
  loop.end(gang);
  loop.decide();
  EXPECT_EQ(place_of(loop, late), "0.2");
}

/// The largest idle instance that holds `smallest`, lowest GPU and start first, found by looking at
/// everything.
std::optional<std::string> expected_place(const sched::ClusterView& view, ProfileIndex smallest) {
  std::optional<std::string> best;
  int best_slices = 0;
  for (int gpu = 0; gpu < view.gpu_count(); ++gpu) {
    const GpuGoal& goal = view.gpu(GpuId(gpu)).goal;
    for (std::size_t i = 0; i < goal.instances.size(); ++i) {
      const gpu::GpuInstanceProfile& profile = view.geometry().profile(goal.instances[i].profile);
      const bool is_used =
          std::ranges::count(goal.slots, static_cast<int>(i), &sched::Slot::instance) > 0;
      if (!is_used && profile.memory >= view.geometry().profile(smallest).memory &&
          profile.slices.value() > best_slices) {
        best_slices = profile.slices.value();
        best = fmt::format("{}.{}", gpu, i);
      }
    }
  }
  return best;
}

TEST_F(OptstaTest, Placement_RandomEvents_AgreesWithLookingAtEverything) {
  // Aim: the index sets give what a scan of the cluster gives, over layouts and seeds.
  const std::vector<gpu::Layout> layouts = {
      layout_3_2_2(),
      {placed("4g.20gb", 0), placed("2g.10gb", 4), placed("1g.5gb", 6)},
      {placed("3g.20gb", 0), placed("3g.20gb", 4)},
      {placed("7g.40gb", 0)}};
  const std::vector<std::string_view> profiles = {"1g.5gb", "2g.10gb", "3g.20gb"};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    test::Draws draws(seed);
    auto setup = this->setup(3);
    setup.static_layout = draws.one_of(layouts);
    test::PolicyLoop loop(geometry(), 3, policy("optsta", setup));
    loop.decide();
    for (int step = 0; step < 80; ++step) {
      const auto running = loop.jobs_in(sched::JobView::State::kPlaced);
      const bool is_empty = loop.view().queue().empty();
      if (!running.empty() && (!is_empty || draws.number(2) == 0)) {
        loop.end(draws.one_of(running));
        loop.decide();
        continue;
      }
      const std::string_view smallest = draws.one_of(profiles);
      const auto expected = expected_place(loop.view(), geometry().find_profile(smallest).value());
      const JobId job = loop.submit({.smallest = smallest});
      loop.decide();
      ASSERT_EQ(place_of(loop, job), is_empty ? expected.value_or("waits") : "waits")
          << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace septule
