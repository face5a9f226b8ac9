#include "sched/decision_checker.hpp"

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/layout.hpp"
#include "support/policy_loop.hpp"

namespace septule {
namespace {

using job::JobId;
using sched::ClusterView;
using sched::Decisions;
using sched::GpuGoal;
using sched::Slot;
using ::testing::HasSubstr;

/// Four GPUs and nine jobs: 0 runs on GPU 0 (3g), 1 on GPU 1 (whole), gang 2 on GPUs 2 and 3, 3 has
/// ended, 4 was rejected, 5 and 6 wait, gang 7 (2 GPUs) waits; 8 was never submitted.
class DecisionCheckerTest : public test::PolicyTest {
 protected:
  static constexpr int kGpus = 4;

  DecisionCheckerTest()
      : view_(geometry(), kGpus, 9),
        predictor_(geometry()),
        checker_(geometry(), kGpus, sched::MemoryRule::kChecked) {
    for (int id = 0; id < 8; ++id) {
      specs_.push_back({.id = JobId(id), .gpus = id == 2 || id == 7 ? 2 : 1});
      view_.submit(specs_.back(), SimTime());
      predictor_.state(JobId(id), geometry().find_profile("1g.5gb").value());
    }
    GpuGoal cut;
    cut.instances.push_back(placed("3g.20gb", 0));
    cut.add({.job = JobId(0), .instance = 0});
    view_.set_goal(GpuId(0), cut, SimTime());
    view_.set_goal(GpuId(1), whole({1, 3}), SimTime());
    view_.set_goal(GpuId(2), whole({2}), SimTime());
    view_.set_goal(GpuId(3), whole({2}), SimTime());
    view_.apply(sched::JobEnded{.job = JobId(3), .gpu = GpuId(1)}, SimTime());
    view_.reject(JobId(4), SimTime());
  }

  static GpuGoal whole(const std::vector<int>& jobs) {
    GpuGoal goal;
    goal.mode = GpuGoal::Mode::kWholeGpu;
    for (const int job : jobs) {
      goal.slots.push_back({.job = JobId(job)});
    }
    return goal;
  }
  /// GPU 0 as 3g@0, 2g@4, 1g@6 with job 0 kept, 5 and 6 added (6 shares the 3g).
  Decisions legal() const {
    GpuGoal goal;
    goal.instances.push_back(placed("3g.20gb", 0));
    goal.instances.push_back(placed("2g.10gb", 4));
    goal.instances.push_back(placed("1g.5gb", 6));
    goal.add({.job = JobId(0), .instance = 0});
    goal.add({.job = JobId(5), .instance = 1, .atp = ActiveThreadPercentage(50)});
    goal.add({.job = JobId(6), .instance = 0, .atp = ActiveThreadPercentage(1)});
    return one(0, goal);
  }
  static Decisions one(int gpu, const GpuGoal& goal) {
    Decisions decisions;
    decisions.goals.push_back({.gpu = GpuId(gpu), .goal = goal, .reason = "test"});
    return decisions;
  }
  static Decisions both(const Decisions& a, const Decisions& b) {
    Decisions decisions = a;
    decisions.goals.insert(decisions.goals.end(), b.goals.begin(), b.goals.end());
    return decisions;
  }
  /// The refusal, or "" for none.
  std::string refusal(const Decisions& decisions) {
    return checker_.refusal(view_, predictor_, decisions).value_or("");
  }

  std::deque<job::JobSpec> specs_;
  ClusterView view_;
  test::StatedPredictor predictor_;
  sched::DecisionChecker checker_;
};

TEST_F(DecisionCheckerTest, LegalDecisions_OfEveryKind_AreAccepted) {
  // Aim: no false alarm: empty batches, sharing, moves, preemption, gangs, characterisations.
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal(legal()), "");
  EXPECT_EQ(refusal(legal()), "") << "the remembered verdict";
  EXPECT_EQ(refusal(one(0, GpuGoal())), "") << "preemption";
  EXPECT_EQ(refusal(both(one(0, whole({1})), one(1, whole({0})))), "") << "swap";
  EXPECT_EQ(refusal(one(1, whole({1, 5, 6}))), "") << "sharing a whole GPU";
  EXPECT_EQ(refusal(both(one(0, whole({7})), one(1, whole({7})))), "") << "a gang starts";
  EXPECT_EQ(refusal(both(one(1, whole({2})), one(3, whole({})))), "") << "half of a gang moves";
  EXPECT_EQ(refusal(both(one(2, whole({5})), one(3, whole({})))), "") << "a gang is preempted";
  EXPECT_EQ(refusal(one(2, whole({2}))), "") << "a gang stays";
  Decisions measured = legal();
  GpuGoal& goal = measured.goals[0].goal;
  goal = GpuGoal();
  goal.instances.push_back(placed("7g.40gb", 0));
  goal.add({.job = JobId(0), .instance = 0});
  goal.add({.job = JobId(5), .instance = 0});
  goal.purpose = sched::GoalPurpose::kCharacterise;
  goal.characterisation = sched::default_characterisation(sched::Setting::kPaper);
  EXPECT_EQ(refusal(measured), "") << "characterisation";
}

TEST_F(DecisionCheckerTest, EveryLayoutOfTheModel_IsAcceptedAndIllegalOnesAreNot) {
  // Aim: exhaustive: all legal layouts pass; each with one instance doubled is refused, twice over
  // (judged, then remembered).
  const auto profiles = geometry().profiles_in(gpu::ProfileSet::kDouble);
  int count = 0;
  gpu::for_each_layout(geometry(), profiles, {}, [&](const gpu::Layout& layout, bool) {
    GpuGoal goal;
    for (const gpu::PlacedProfile& instance : layout) {
      goal.instances.push_back(instance);
    }
    ASSERT_EQ(refusal(one(0, goal)), "");
    if (!layout.empty() && !goal.instances.is_full()) {
      goal.instances.push_back(goal.instances.back());
      ASSERT_NE(refusal(one(0, goal)), "");
      ASSERT_NE(refusal(one(0, goal)), "");
    }
    ++count;
  });
  EXPECT_GT(count, 200);
}

TEST_F(DecisionCheckerTest, EverySlotValue_OnSmallRanges_IsAcceptedExactlyIfLegal) {
  // Aim: exhaustive over job -1..9, instance -2..3 and ATP around its limits, in one slot.
  for (int job = -1; job <= 9; ++job) {
    for (int instance = -2; instance <= 3; ++instance) {
      for (const int atp : {-1, 0, 1, 100, 101}) {
        GpuGoal goal = legal().goals[0].goal;
        goal.slots.clear();
        goal.slots.push_back(
            {.job = JobId(job), .instance = instance, .atp = ActiveThreadPercentage(atp)});
        // 1 stays on GPU 1; 2 and 7 are gangs; 3, 4, 8 and the rest cannot run.
        const bool is_legal = (job == 0 || job == 5 || job == 6) && instance >= 0 &&
                              instance <= 2 && atp >= 1 && atp <= 100;
        ASSERT_EQ(refusal(one(0, goal)).empty(), is_legal)
            << "job " << job << " instance " << instance << " ATP " << atp << ": "
            << refusal(one(0, goal));
      }
    }
  }
}

TEST_F(DecisionCheckerTest, OneThingBroken_EachRule_IsRefusedNamingGpuAndJob) {
  // Aim: mutations of a legal decision: each breaks one rule and the sentence says which.
  struct Case {
    std::string_view text;  ///< in the refusal
    std::function<void(Decisions&)> breakage;
  };
  const auto goal_case = [](std::string_view text, const std::function<void(GpuGoal&)>& change) {
    return Case{text, [change](Decisions& decisions) { change(decisions.goals[0].goal); }};
  };
  const auto characterise = [](GpuGoal& goal) {
    for (Slot& slot : goal.slots) {
      slot.instance = 0;
    }
    goal.purpose = sched::GoalPurpose::kCharacterise;
    goal.characterisation = sched::default_characterisation(sched::Setting::kPaper);
  };
  const std::vector<Case> cases = {
      {"goal for GPU 4: no such GPU", [](Decisions& d) { d.goals[0].gpu = GpuId(4); }},
      {"goal for GPU -1: no such GPU", [](Decisions& d) { d.goals[0].gpu = GpuId(-1); }},
      {"second one", [](Decisions& d) { d.goals.push_back({.gpu = GpuId(0)}); }},
      goal_case("instances with MIG off", [](GpuGoal& g) { g.mode = GpuGoal::Mode::kWholeGpu; }),
      goal_case("in whole-GPU mode there are no instances",
                [](GpuGoal& g) {
                  g.mode = GpuGoal::Mode::kWholeGpu;
                  g.instances.clear();
                }),
      goal_case("job 0 is in instance -1", [](GpuGoal& g) { g.slots[0].instance = -1; }),
      goal_case("job 5 is in instance 3", [](GpuGoal& g) { g.slots[1].instance = 3; }),
      goal_case("has profile 99", [](GpuGoal& g) { g.instances[0].profile = ProfileIndex(99); }),
      goal_case("has profile -1", [](GpuGoal& g) { g.instances[0].profile = ProfileIndex(-1); }),
      goal_case("memory slice 8", [](GpuGoal& g) { g.instances[2].start = MemorySlices(8); }),
      goal_case("memory slice -1", [](GpuGoal& g) { g.instances[0].start = MemorySlices(-1); }),
      goal_case("not a possible placement",
                [](GpuGoal& g) { g.instances[1].start = MemorySlices(5); }),
      goal_case("both need", [](GpuGoal& g) { g.instances[2].start = MemorySlices(5); }),
      goal_case("instances go by their start",
                [](GpuGoal& g) { std::swap(g.instances[0], g.instances[1]); }),
      goal_case("slots go by job", [](GpuGoal& g) { std::swap(g.slots[0], g.slots[1]); }),
      goal_case("slots go by job", [](GpuGoal& g) { g.slots[1].job = JobId(0); }),
      goal_case("job 8 was never submitted", [](GpuGoal& g) { g.slots[2].job = JobId(8); }),
      goal_case("job 9 was never submitted", [](GpuGoal& g) { g.slots[2].job = JobId(9); }),
      goal_case("job 3 has ended", [](GpuGoal& g) { g.slots[1].job = JobId(3); }),
      goal_case("job 4 has been rejected", [](GpuGoal& g) { g.slots[1].job = JobId(4); }),
      goal_case("job 1 stays on GPU 1 too", [](GpuGoal& g) { g.slots[1].job = JobId(1); }),
      goal_case("job 7 is a gang", [](GpuGoal& g) { g.slots[2].job = JobId(7); }),
      goal_case("percentage of 0", [](GpuGoal& g) { g.slots[0].atp = ActiveThreadPercentage(0); }),
      goal_case("percentage of 101",
                [](GpuGoal& g) { g.slots[0].atp = ActiveThreadPercentage(101); }),
      {"job 5 is on GPU 0 too",
       [](Decisions& d) { d.goals.push_back({.gpu = GpuId(1), .goal = whole({1, 5})}); }},
      goal_case("needs a job",
                [&](GpuGoal& g) {
                  characterise(g);
                  g.slots.clear();
                }),
      goal_case("jobs 0 and 5 are characterised in different instances",
                [&](GpuGoal& g) {
                  characterise(g);
                  g.slots[1].instance = 1;
                }),
      goal_case("has 0 levels",
                [&](GpuGoal& g) {
                  characterise(g);
                  g.characterisation.levels.clear();
                }),
      goal_case("level is 0 %",
                [&](GpuGoal& g) {
                  characterise(g);
                  g.characterisation.levels[1] = ActiveThreadPercentage(0);
                }),
      goal_case("lasts 0 ns",
                [&](GpuGoal& g) {
                  characterise(g);
                  g.characterisation.per_level = Duration();
                }),
  };
  for (const Case& broken : cases) {
    Decisions decisions = legal();
    broken.breakage(decisions);
    EXPECT_THAT(refusal(decisions), HasSubstr(broken.text));
    EXPECT_THAT(refusal(decisions), HasSubstr("goal for GPU "));
    EXPECT_EQ(refusal(legal()), "");
  }
}

TEST_F(DecisionCheckerTest, Gangs_WrongNumberOrCompany_AreRefused) {
  // Aim: a gang has exactly its GPUs after the batch, whole, and alone on them.
  EXPECT_THAT(refusal(one(0, whole({7}))), HasSubstr("job 7 would have 1 GPU; its gang takes 2"));
  EXPECT_THAT(refusal(both(both(one(0, whole({7})), one(1, whole({7}))), one(2, whole({7})))),
              HasSubstr("job 2 would have 1"));
  EXPECT_THAT(refusal(one(1, whole({2}))), HasSubstr("job 2 would have 3 GPUs"));
  EXPECT_THAT(refusal(one(2, whole({}))), HasSubstr("job 2 would have 1 GPU;"));
  EXPECT_THAT(refusal(both(one(0, whole({5, 7})), one(1, whole({7})))),
              HasSubstr("job 7 is a gang"));
  GpuGoal cut;
  cut.instances.push_back(placed("7g.40gb", 0));
  cut.add({.job = JobId(7), .instance = 0});
  EXPECT_THAT(refusal(both(one(0, cut), one(1, cut))), HasSubstr("job 7 is a gang"));
}

TEST_F(DecisionCheckerTest, Memory_SumsPerInstance_AreHeldToItsMemory) {
  // Aim: the limit is exact, for an instance and for the whole GPU; the rule can be left out.
  const auto memory = [&](std::string_view profile) {
    return geometry().profile(geometry().find_profile(profile).value()).memory.value().value();
  };
  const ProfileIndex smallest = geometry().find_profile("1g.5gb").value();
  for (const bool is_whole : {false, true}) {
    const std::uint64_t there = memory(is_whole ? "7g.40gb" : "3g.20gb");
    const Decisions shared = is_whole ? one(0, whole({0, 6})) : legal();  // 0 and 6 together
    predictor_.state(JobId(0), smallest, Bytes(there - 10));
    predictor_.state(JobId(6), smallest, Bytes(10));
    EXPECT_EQ(refusal(shared), "");
    predictor_.state(JobId(6), smallest, Bytes(11));
    EXPECT_THAT(refusal(shared), HasSubstr("job 6 needs 0 MiB"));
    predictor_.state(JobId(6), smallest, Bytes(UINT64_MAX));
    EXPECT_THAT(refusal(shared), HasSubstr("goal for GPU 0: job 6 needs"));
    sched::DecisionChecker careless(geometry(), kGpus, sched::MemoryRule::kIgnored);
    EXPECT_EQ(careless.refusal(view_, predictor_, shared).value_or(""), "");
  }
}

TEST_F(DecisionCheckerTest, RandomMutations_OfPolicyDecisions_AreRefused) {
  // Aim: over random runs, each decision of a policy with one thing broken is refused.
  const std::vector<std::function<void(Decisions&, Slot&)>> mutations = {
      [](Decisions& d, Slot&) { d.goals.push_back(d.goals.front()); },
      [](Decisions& d, Slot&) { d.goals.front().gpu = GpuId(kGpus); },
      [](Decisions&, Slot& s) { s.job = JobId(test::PolicyLoop::kJobsMax); },
      [](Decisions&, Slot& s) { s.job = JobId(-1); },
      [](Decisions&, Slot& s) { s.instance = 7; },
      [](Decisions&, Slot& s) { s.instance = -2; },
      [](Decisions&, Slot& s) { s.atp = ActiveThreadPercentage(0); },
      [](Decisions& d, Slot& s) { d.goals.front().goal.slots.push_back(s); },
  };
  int count = 0;
  for (const std::string_view name : {"nopart", "optsta-promote", "mps-only"}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      test::Draws draws(seed);
      auto loop = this->loop(name, kGpus);
      for (int step = 0; step < 30; ++step) {
        loop.submit({.smallest = draws.number(2) == 0 ? "1g.5gb" : "2g.10gb"});
        const auto running = loop.jobs_in(sched::JobView::State::kPlaced);
        if (!running.empty() && draws.number(3) == 0) {
          loop.end(draws.one_of(running));
        }
        Decisions decisions = loop.decide();  // applied by now, and legal once more
        const auto with_slot = std::ranges::find_if(
            decisions.goals, [](const sched::SetGoal& set) { return !set.goal.slots.empty(); });
        if (with_slot == decisions.goals.end()) {
          continue;
        }
        std::iter_swap(decisions.goals.begin(), with_slot);
        ASSERT_EQ(checker_.refusal(loop.view(), loop.predictor(), decisions).value_or(""), "");
        draws.one_of(mutations)(decisions, decisions.goals.front().goal.slots[0]);
        ASSERT_TRUE(checker_.refusal(loop.view(), loop.predictor(), decisions).has_value())
            << name << " seed " << seed << " step " << step;
        ++count;
      }
    }
  }
  EXPECT_GT(count, 500);
}

}  // namespace
}  // namespace septule
