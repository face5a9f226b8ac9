#include "sched/policies/mps_only.hpp"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "sched/policies/first_fit_tree.hpp"
#include "support/policy_loop.hpp"

namespace septule {
namespace {

using job::JobId;
using sched::GpuGoal;
using sched::Setting;

class MpsOnlyTest : public test::PolicyTest {};

TEST(FirstFitTreeTest, FirstWith_RandomRooms_EqualsALinearScan) {
  // Aim: for sizes around powers of two the tree finds the lowest index with enough room.
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    test::Draws draws(seed);
    const auto size = static_cast<std::size_t>(draws.number(18));
    sched::FirstFitTree tree(size);
    std::vector<std::uint64_t> rooms(size, 0);
    for (int step = 0; step < 60; ++step) {
      if (size > 0) {
        const auto index = static_cast<std::size_t>(draws.number(static_cast<int>(size)));
        rooms[index] = static_cast<std::uint64_t>(draws.number(6));
        tree.set(index, rooms[index]);
      }
      const auto wanted = static_cast<std::uint64_t>(1 + draws.number(6));
      std::optional<std::size_t> expected;
      for (std::size_t i = 0; i < size && !expected.has_value(); ++i) {
        if (rooms[i] >= wanted) {
          expected = i;
        }
      }
      ASSERT_EQ(tree.first_with(wanted), expected) << "seed " << seed;
    }
  }
}

TEST_F(MpsOnlyTest, Spread_Arrivals_GoToTheFewestJobsAtThirtyThreePercent) {
  // Aim: round and round over the GPUs, three jobs each at 33 %, then they wait.
  auto loop = this->loop("mps-only", 2);
  for (int i = 0; i < 7; ++i) {
    loop.submit({});
  }
  loop.decide();
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(loop.gpu_of(JobId(i)), GpuId(i % 2));
    EXPECT_EQ(loop.slot_of(JobId(i)).atp, ActiveThreadPercentage(33));
    EXPECT_EQ(loop.slot_of(JobId(i)).instance, sched::Slot::kWholeGpu);
  }
  EXPECT_FALSE(loop.is_placed(JobId(6)));
  EXPECT_EQ(loop.view().gpu(GpuId(0)).goal.mode, GpuGoal::Mode::kWholeGpu);
}

TEST_F(MpsOnlyTest, Pack_Arrivals_FillTheFirstGpuFirst) {
  // Aim: GPU 0 takes three jobs before GPU 1 takes one; a hole in GPU 0 is filled first.
  auto loop = this->loop("mps-only-pack", 2);
  for (int i = 0; i < 4; ++i) {
    loop.submit({});
  }
  loop.decide();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(loop.gpu_of(JobId(i)), GpuId(i / 3));
  }
  loop.end(JobId(1));
  loop.submit({});
  loop.decide();
  EXPECT_EQ(loop.gpu_of(JobId(4)), GpuId(0));
}

TEST_F(MpsOnlyTest, Memory_TwoLargeJobs_ShareNoGpuTheyDoNotFit) {
  // Aim: needs add up; a job that no GPU has memory for waits, and holds back the others.
  for (const std::string_view name : {"mps-only", "mps-only-pack"}) {
    auto loop = this->loop(name, 2);
    const Bytes large = Bytes::mebibytes(30000);
    for (int i = 0; i < 3; ++i) {
      loop.submit({.smallest = "7g.40gb", .need = large});
    }
    const JobId small = loop.submit({.need = Bytes::mebibytes(1000)});
    loop.decide();
    EXPECT_EQ(loop.gpu_of(JobId(0)), GpuId(0)) << name;
    EXPECT_EQ(loop.gpu_of(JobId(1)), GpuId(1)) << name;
    EXPECT_FALSE(loop.is_placed(JobId(2))) << name;
    EXPECT_FALSE(loop.is_placed(small)) << name;
    loop.end(JobId(1));
    loop.decide();
    EXPECT_EQ(loop.gpu_of(JobId(2)), GpuId(1)) << name;
    EXPECT_EQ(loop.gpu_of(small), GpuId(0)) << name;
  }
}

TEST_F(MpsOnlyTest, Memory_ArtifactPacking_LooksAtNone) {
  // Aim: the artifact puts three jobs on GPU 0 whatever they need.
  test::PolicyLoop loop(geometry(),
                        2,
                        policy("mps-only-pack", setup(2, Setting::kArtifact)),
                        sched::MemoryRule::kIgnored);
  for (int i = 0; i < 4; ++i) {
    loop.submit({.smallest = "7g.40gb"});
  }
  loop.decide();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(loop.gpu_of(JobId(i)), GpuId(i / 3));
  }
}

TEST_F(MpsOnlyTest, Memory_WholeGpuNeeded_RunsAloneAndWithJobsThatNeedNothing) {
  // Aim: a GPU without free memory still differs from a full one.
  auto loop = this->loop("mps-only", 1);
  loop.submit({.smallest = "7g.40gb"});
  loop.submit({.need = Bytes(0)});
  const JobId third = loop.submit({.need = Bytes(1)});
  loop.decide();
  EXPECT_TRUE(loop.is_placed(JobId(0)));
  EXPECT_TRUE(loop.is_placed(JobId(1)));
  EXPECT_FALSE(loop.is_placed(third));
}

TEST_F(MpsOnlyTest, Gang_EmptyGpus_AreSharedWithNobody) {
  // Aim: gangs take empty GPUs whole at 100 %, later jobs go elsewhere, and all is given back.
  for (const std::string_view name : {"mps-only", "mps-only-pack"}) {
    auto loop = this->loop(name, 3);
    const JobId single = loop.submit({});
    const JobId gang = loop.submit({.gpus = 2});
    const JobId late = loop.submit({});
    loop.decide();
    EXPECT_EQ(loop.view().gpus_of(gang), (std::vector<GpuId>{GpuId(1), GpuId(2)})) << name;
    EXPECT_EQ(loop.gpu_of(late), loop.gpu_of(single)) << name;
    loop.end(gang);
    const JobId next = loop.submit({.gpus = 2});
    loop.decide();
    EXPECT_TRUE(loop.is_placed(next)) << name;
  }
}

TEST_F(MpsOnlyTest, Placement_RandomEvents_AgreesWithLookingAtEverything) {
  // Aim: both variants give what a scan over all GPUs gives, over seeds.
  constexpr int kGpus = 5;
  const std::vector<std::string_view> profiles = {"1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"};
  const std::uint64_t whole =
      geometry().profile(geometry().find_profile("7g.40gb").value()).memory.value().value();
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    test::Draws draws(seed);
    const bool is_spread = seed % 2 == 0;
    auto loop = this->loop(is_spread ? "mps-only" : "mps-only-pack", kGpus);
    for (int step = 0; step < 60; ++step) {
      const auto running = loop.jobs_in(sched::JobView::State::kPlaced);
      const bool is_empty = loop.view().queue().empty();
      if (!running.empty() && (!is_empty || draws.number(5) == 0)) {
        loop.end(draws.one_of(running));
        loop.decide();
        continue;
      }
      const std::string_view smallest = draws.one_of(profiles);
      const auto need =
          geometry().profile(geometry().find_profile(smallest).value()).memory.value();
      std::optional<int> expected;
      std::size_t fewest = 3;
      for (int gpu = 0; gpu < kGpus; ++gpu) {
        const auto& slots = loop.view().gpu(GpuId(gpu)).goal.slots;
        std::uint64_t used = need.value();
        for (const sched::Slot& slot : slots) {
          used += loop.predictor().need(slot.job).value();
        }
        const bool is_better =
            is_spread ? slots.size() < fewest : slots.size() < 3 && !expected.has_value();
        if (used <= whole && is_better) {
          expected = gpu;
          fewest = slots.size();
        }
      }
      const JobId job = loop.submit({.smallest = smallest});
      loop.decide();
      ASSERT_EQ(loop.is_placed(job), is_empty && expected.has_value()) << "seed " << seed;
      if (loop.is_placed(job)) {
        ASSERT_EQ(loop.gpu_of(job).value(), *expected) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace septule
