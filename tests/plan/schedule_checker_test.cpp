#include "plan/schedule_checker.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
// clang-format off
#include <rapidcheck/gtest.h>  // needs gtest.h before it
// clang-format on

#include "plan/schedule_support.hpp"

namespace septule::plan {
namespace {

using test::CheckedSchedule;
using test::earlier;
using test::expect_exactly;
using test::instance_of;
using test::Kind;
using test::kinds;
using test::ms;
using test::schedule_example;
using test::templates_of;
using test::text;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ScheduleChecker_Legal, Example_Holds) {
  // Aim: the schedule that the others break is right, in what it claims and in its text.
  const CheckedSchedule one = schedule_example();
  EXPECT_THAT(one.violations(), IsEmpty()) << text(one);
  ASSERT_EQ(one.schedule.instances.size(), 5U);
  EXPECT_THAT(
      schedule_text(one.schedule, one.jobs),
      HasSubstr("whole GPU 181.468518521 s - 181.668518521 s - 203.668518521 s - 203.668518521 s\n"
                "  \"job8\" 181.668518521 s - 203.668518521 s x 1\n"));
}

TEST(ScheduleChecker_Legal, EmptySchedule_HoldsForAnEmptyWindow) {
  // Aim: no jobs, no instances: nothing to say; but nothing must be claimed either.
  CheckedSchedule one = schedule_example();
  one.jobs.clear();
  one.schedule.instances.clear();
  one.schedule.runs.clear();
  one.schedule.groups.clear();
  one.schedule.makespan = Duration();
  one.schedule.recutting = Duration();
  EXPECT_THAT(one.violations(), IsEmpty());
  one.schedule.makespan = ms(1);
  EXPECT_EQ(kinds(one), std::set<Kind>{Kind::kTotals});
}

TEST(ScheduleChecker_Legal, EveryTemplateOfEveryGpu_HoldsAloneAndAfterAnother) {
  // Aim: no false alarm for any way to cut and share, nor for any change from one to the next.
  for (const std::string_view key : {"A100-80GB", "A30-24GB", "H200-141GB"}) {
    const gpu::SharingCatalogue& catalogue = templates_of(key);
    const auto& all = catalogue.templates;
    for (std::size_t t = 0; t < all.size(); ++t) {
      const std::vector<const gpu::SharingTemplate*> pair = {&all[t],
                                                             &all[(t * 7 + 3) % all.size()]};
      const CheckedSchedule one = test::legal_schedule(catalogue, pair);
      EXPECT_THAT(one.violations(), IsEmpty()) << key << "\n" << text(one);
    }
  }
}

TEST(ScheduleChecker_Legal, TimelineWithoutGroups_NeedsNoBarrier) {
  // Aim: the same runs without groups hold; so does one that begins later than the others.
  CheckedSchedule one = schedule_example();
  one.schedule.groups.clear();
  EXPECT_THAT(one.violations(), IsEmpty()) << text(one);
  const Duration room = instance_of(one, 2).usable_until - one.schedule.runs[2].end();
  ASSERT_GT(room, Duration());
  for (RatePiece& piece : one.schedule.runs[2].pieces) {
    piece.from = piece.from + room;
    piece.until = piece.until + room;
  }
  EXPECT_THAT(one.violations(), IsEmpty()) << text(one);
}

TEST(ScheduleChecker_Jobs, MissingOrDoubledRuns_AreReportedAsSuch) {
  // Aim: a job that never runs, and one that runs twice.
  expect_exactly({
      {"missing",
       Kind::kJobs,
       [](auto& one) { one.schedule.runs.erase(one.schedule.runs.begin() + 3); }},
      {"twice",
       Kind::kJobs,
       [](auto& one) {
         one.schedule.runs.insert(one.schedule.runs.begin() + 4, one.schedule.runs[4]);
       }},
  });
}

TEST(ScheduleChecker_Partition, InstancesThatCannotBeTogether_AreReportedAsSuch) {
  // Aim: a place that does not exist, a profile that does not, compute instances that overlap, and
  // instances that are legal alone.
  expect_exactly({
      {"place",
       Kind::kPartition,
       [](auto& one) { instance_of(one, 2).placed->start = MemorySlices(5); }},
      {"overlap",
       Kind::kPartition,
       [](auto& one) { instance_of(one, 2).placed->start = MemorySlices(0); }},
      {"profile",
       Kind::kPartition,
       [](auto& one) { instance_of(one, 2).placed->profile = ProfileIndex(99); }},
      {"profile < 0",
       Kind::kPartition,
       [](auto& one) { instance_of(one, 2).placed->profile = ProfileIndex(-1); }},
      {"compute",
       Kind::kPartition,
       [](auto& one) { instance_of(one, 7).compute[1].placement.start = ComputeSlices(2); }},
      {"compute of no size",
       Kind::kPartition,
       [](auto& one) { instance_of(one, 7).compute[1].placement.size = ComputeSlices(0); }},
      {"MIG on and off at once",
       Kind::kPartition,
       [](auto& one) {
         one.schedule.instances.push_back({.placed = {},
                                           .compute = {},
                                           .create_begin = instance_of(one, 0).usable_from,
                                           .usable_from = instance_of(one, 0).usable_from,
                                           .usable_until = instance_of(one, 0).usable_until,
                                           .gone_at = instance_of(one, 0).usable_until});
       }},
      {"still there",
       Kind::kPartition,
       [](auto& one) {
         ScheduledInstance& third = instance_of(one, 2);
         ASSERT_GT(third.gone_at, third.usable_until);
         third.gone_at = third.gone_at + ms(300);
         third.usable_until = third.usable_until + ms(300);
         // The next is made at the same time: made apart, so that nothing else is wrong.
         ScheduledInstance& next = instance_of(one, 3);
         next.create_begin = next.usable_from;
         one.check.create_time = nullptr;
         one.schedule.recutting = one.schedule.recutting - ms(200);
         third.usable_until = third.gone_at;
         one.check.destroy_time = nullptr;
         one.schedule.recutting = one.schedule.recutting - ms(100);
       }},
  });
}

TEST(ScheduleChecker_Recut, ChangesAtOneTimeOrTooShort_AreReportedAsSuch) {
  // Aim: changes are serial, and take as long as they take.
  expect_exactly({
      {"two made at once",
       Kind::kRecut,
       [](auto& one) {
         instance_of(one, 2).create_begin = earlier(instance_of(one, 2).create_begin, ms(1));
         one.schedule.recutting += ms(1);
       }},
      {"unmade while one is made",
       Kind::kRecut,
       [](auto& one) {
         instance_of(one, 0).gone_at = instance_of(one, 0).gone_at + ms(1);
         one.schedule.recutting += ms(1);
       }},
      {"made too fast",
       Kind::kRecut,
       [](auto& one) {
         instance_of(one, 0).create_begin = SimTime() + ms(1);
         one.schedule.recutting = one.schedule.recutting - ms(1);
       }},
      {"making takes longer",
       Kind::kRecut,
       [](auto& one) {
         one.check.create_time = [](const auto&) { return ms(200) + Duration::nanoseconds(1); };
       }},
      {"unmaking takes longer",
       Kind::kRecut,
       [](auto& one) {
         one.check.destroy_time = [](const auto&) { return ms(100) + Duration::nanoseconds(1); };
       }},
      {"gone by itself",
       Kind::kRecut,
       [](auto& one) {
         instance_of(one, 3).gone_at = instance_of(one, 3).usable_until;
         one.schedule.recutting = one.schedule.recutting - ms(100);
       }},
  });
}

TEST(ScheduleChecker_Recut, ChangeOfComputeInstancesOnly_HasNoLeastLength) {
  // Aim: the exception that the header names, and that nothing that exists for no time uses it.
  const std::vector<std::string_view> names = {"7g{2}", "7g[4c+3c]"};
  CheckedSchedule one = test::legal_schedule(templates_of("A100-80GB"), names);
  one.check.create_time = [](const ScheduledInstance& instance) {
    return instance.create_begin == SimTime() ? ms(200) : ms(900);
  };
  one.check.destroy_time = [](const auto&) { return ms(900); };
  EXPECT_THAT(one.violations(), IsEmpty()) << text(one);

  const std::vector<std::string_view> others = {"full", "7g[4c+3c]"};
  one = test::legal_schedule(templates_of("A100-80GB"), others);
  ScheduledInstance ghost = instance_of(one, 1);
  ghost.usable_from = ghost.usable_until = ghost.gone_at = ghost.create_begin;
  one.schedule.instances.insert(one.schedule.instances.end(), 2, ghost);
  one.check.create_time = [&](const ScheduledInstance& instance) {
    const bool is_cut = instance.placed.has_value() && instance.create_begin < instance.gone_at;
    return is_cut ? ms(201) : Duration();
  };
  EXPECT_EQ(kinds(one), std::set<Kind>{Kind::kRecut}) << text(one);
}

TEST(ScheduleChecker_Recut, InstancesThereAtTheBegin_CostNothing) {
  // Aim: how the GPU was cut before is not for the checker to know.
  CheckedSchedule one =
      test::legal_schedule(templates_of("A100-80GB"), std::vector<std::string_view>{"full"});
  one.schedule.instances[0].create_begin = SimTime();
  one.schedule.instances[0].usable_from = SimTime();
  one.schedule.recutting = Duration();
  EXPECT_THAT(one.violations(), IsEmpty()) << text(one);
}

TEST(ScheduleChecker_Lifetime, RunsOutsideTheirInstance_AreReportedAsSuch) {
  // Aim: a job that begins before its instance is there, and one that ends after it has gone.
  expect_exactly({
      {"begins too early",
       Kind::kLifetime,
       [](auto& one) {
         ScheduledInstance& last = instance_of(one, 8);
         last.usable_from = last.usable_from + Duration::nanoseconds(1);
         one.schedule.recutting += Duration::nanoseconds(1);
       }},
      {"ends too late",
       Kind::kLifetime,
       [](auto& one) {
         ScheduledInstance& last = instance_of(one, 8);
         last.usable_until = earlier(last.usable_until, ms(100));
         one.schedule.recutting += ms(100);
       }},
  });
}

TEST(ScheduleChecker_Seat, PercentagesThatDoNotAddUp_AreReportedAsSuch) {
  // Aim: more than 100, some without, and no percentages at all.
  const auto atp = [](int percent) { return ActiveThreadPercentage(percent); };
  expect_exactly({
      {"101", Kind::kSeat, [&](auto& one) { one.schedule.runs[0].atp = atp(51); }},
      {"one without", Kind::kSeat, [](auto& one) { one.schedule.runs[0].atp.reset(); }},
      {"one with", Kind::kSeat, [&](auto& one) { one.schedule.runs[5].atp = atp(50); }},
      {"0", Kind::kSeat, [&](auto& one) { one.schedule.runs[0].atp = atp(0); }},
      {"-50", Kind::kSeat, [&](auto& one) { one.schedule.runs[0].atp = atp(-50); }},
      {"101 alone", Kind::kSeat, [&](auto& one) { one.schedule.runs[8].atp = atp(101); }},
      {"largest", Kind::kSeat, [&](auto& one) { one.schedule.runs[0].atp = atp(INT32_MAX); }},
  });
}

TEST(ScheduleChecker_Seat, NineJobsAtOnce_AreTooMany) {
  // Aim: the limit of a memory domain, and that no co-run model is asked beyond it.
  CheckedSchedule one =
      test::legal_schedule(templates_of("A100-80GB"), std::vector<std::string_view>{"full"});
  one.schedule.groups.clear();
  const ScheduledRun run = one.schedule.runs[0];
  for (std::size_t j = 1; j < 9; ++j) {
    one.jobs.push_back(one.jobs[0]);
    one.schedule.runs.push_back(run);
    one.schedule.runs.back().job = j;
  }
  EXPECT_EQ(kinds(one), std::set<Kind>{Kind::kSeat}) << text(one);
  one.jobs.pop_back();
  one.schedule.runs.pop_back();
  one.check.rates = nullptr;
  EXPECT_THAT(one.violations(), IsEmpty()) << text(one);
}

TEST(ScheduleChecker_Memory, JobsThatDoNotFit_AreReportedAsSuch) {
  // Aim: one too large, two too large together (also in two compute instances), one not known.
  const auto gib = [](std::uint64_t count) { return Bytes::mebibytes(count * 1024); };
  expect_exactly({
      {"alone", Kind::kMemory, [&](auto& one) { one.jobs[2].memory = gib(41); }},
      {"together",
       Kind::kMemory,
       [&](auto& one) { one.jobs[0].memory = one.jobs[1].memory = gib(20); }},
      {"in two compute instances",
       Kind::kMemory,
       [&](auto& one) { one.jobs[5].memory = one.jobs[7].memory = gib(39); }},
      {"on the whole GPU", Kind::kMemory, [&](auto& one) { one.jobs[8].memory = gib(80); }},
      {"not known", Kind::kMemory, [](auto& one) { one.jobs[7].memory.reset(); }},
      {"more than there can be",
       Kind::kMemory,
       [](auto& one) { one.jobs[0].memory = one.jobs[1].memory = Bytes(UINT64_MAX); }},
  });
}

TEST(ScheduleChecker_Memory, NotKnownButAlone_Fits) {
  // Aim: a job whose memory nobody stated has a memory domain of its own; one that ends before the
  // other begins is not in its company.
  CheckedSchedule one = schedule_example();
  one.jobs[2].memory.reset();
  one.jobs[8].memory.reset();
  EXPECT_THAT(one.violations(), IsEmpty()) << text(one);
}

TEST(ScheduleChecker_Memory, NotPublished_CannotBeShownToFit) {
  // Aim: an instance whose memory nobody published takes jobs of unknown memory only, one each.
  CheckedSchedule one =
      test::legal_schedule(templates_of("H20-96GB"), std::vector<std::string_view>{"4g+3g"});
  EXPECT_EQ(kinds(one), std::set<Kind>{Kind::kMemory}) << text(one);
  one.jobs[0].memory.reset();
  one.jobs[1].memory.reset();
  EXPECT_THAT(one.violations(), IsEmpty()) << text(one);
}

TEST(ScheduleChecker_Rules, UsersAndFaultDomains_AreReportedAsSharing) {
  // Aim: MPS servers only; jobs in different compute instances may be anybody's.
  expect_exactly({
      {"user", Kind::kSharing, [](auto& one) { one.jobs[0].user = "bob"; }},
      {"no user", Kind::kSharing, [](auto& one) { one.jobs[0].user = ""; }},
      {"trust", Kind::kSharing, [](auto& one) { one.jobs[4].trust = "lab"; }},
      {"trust, any users",
       Kind::kSharing,
       [](auto& one) {
         one.check.rules.mps_users = SharingRules::Users::kAnyUsers;
         one.jobs[5].trust = "lab";
       }},
  });
  CheckedSchedule one = schedule_example();
  one.jobs[2].trust = one.jobs[7].trust = one.jobs[8].trust = "lab";
  one.jobs[2].user = one.jobs[7].user = "";
  EXPECT_THAT(one.violations(), IsEmpty()) << text(one);
  one.check.rules.mps_users = SharingRules::Users::kAnyUsers;
  one.jobs[0].user = "bob";
  EXPECT_THAT(one.violations(), IsEmpty()) << text(one);
}

TEST(ScheduleChecker_Rules, FloorOfFairness_IsJudgedOverEachRun) {
  // Aim: just at the slowest job's speed it holds, just above it does not.
  CheckedSchedule one = schedule_example();
  double slowest = 1;
  for (const ScheduledRun& run : one.schedule.runs) {
    slowest = std::min(
        slowest, one.jobs[run.job].solo.to_seconds() / (run.end() - run.begin()).to_seconds());
  }
  one.check.rules.fairness = slowest * (1 - 1e-12);
  EXPECT_THAT(one.violations(), IsEmpty()) << text(one);
  one.check.rules.fairness = slowest * 1.001;
  EXPECT_EQ(kinds(one), std::set<Kind>{Kind::kFairness});
}

TEST(ScheduleChecker_Work, WorkThatIsNotDone_IsReportedAsSuch) {
  // Aim: too little, too much, and how much is forgiven.
  expect_exactly({
      {"more to do", Kind::kWork, [](auto& one) { one.jobs[8].solo += ms(1); }},
      {"less to do", Kind::kWork, [](auto& one) { one.jobs[0].solo = one.jobs[0].solo - ms(1); }},
  });
  CheckedSchedule one = schedule_example();
  one.jobs[8].solo += Duration::nanoseconds(one.jobs[8].solo.to_nanoseconds() / 2000000);
  EXPECT_THAT(one.violations(), IsEmpty()) << text(one);
}

TEST(ScheduleChecker_Rate, RatesThatTheModelDoesNotGive_AreReportedAsSuch) {
  // Aim: a model that says otherwise, that says nothing (0), and one whose answer is no number.
  const auto times = [](CheckedSchedule& one, double factor) {
    one.check.rates = [factor, rates = one.check.rates](
                          const auto& instance, const auto& clients, std::span<double> out) {
      rates(instance, clients, out);
      out[0] *= factor;
    };
  };
  expect_exactly({
      {"other", Kind::kRate, [&](auto& one) { times(one, 1 + 3e-9); }},
      {"none", Kind::kRate, [&](auto& one) { times(one, 0); }},
      {"NaN",
       Kind::kRate,
       [&](auto& one) { times(one, std::numeric_limits<double>::quiet_NaN()); }},
  });
  CheckedSchedule one = schedule_example();
  times(one, 1 + 1e-10);
  EXPECT_THAT(one.violations(), IsEmpty()) << text(one);
}

TEST(ScheduleChecker_Rate, RateThatStaysWhenCompanyLeaves_IsRightOnlyAsAtBegin) {
  // Aim: what ended jobs had lies idle, or survivors speed up: each holds under its own company.
  CheckedSchedule one =
      test::legal_schedule(templates_of("A100-80GB"), std::vector<std::string_view>{"mps{2}"});
  one.check.company = ScheduleCheck::Company::kAtBegin;
  EXPECT_EQ(kinds(one), std::set<Kind>{Kind::kRate}) << text(one);
  for (ScheduledRun& run : one.schedule.runs) {
    const double rate = 0.5 * (1 - 0.1);
    const Duration length = scaled(one.jobs[run.job].solo, 1 / rate);
    run.pieces = {{.from = run.begin(), .until = run.begin() + length, .rate = rate}};
  }
  one.schedule.instances[0].usable_until = one.schedule.instances[0].gone_at = SimTime::never();
  finish_schedule(one.schedule);
  one.schedule.groups[0].end = SimTime() + one.schedule.makespan;
  EXPECT_THAT(one.violations(), IsEmpty()) << text(one);
  one.check.company = ScheduleCheck::Company::kPresent;
  EXPECT_EQ(kinds(one), std::set<Kind>{Kind::kRate}) << text(one);
}

TEST(ScheduleChecker_Group, GroupsThatAreNotWhatRuns_AreReportedAsSuch) {
  // Aim: order, members, begin and end.
  expect_exactly({
      {"order",
       Kind::kGroup,
       [](auto& one) { std::swap(one.schedule.groups[1], one.schedule.groups[2]); }},
      {"left out", Kind::kGroup, [](auto& one) { one.schedule.groups[0].jobs = {0, 2}; }},
      {"in two", Kind::kGroup, [](auto& one) { one.schedule.groups[3].jobs = {7, 8}; }},
      {"missing group", Kind::kGroup, [](auto& one) { one.schedule.groups.pop_back(); }},
      {"no jobs",
       Kind::kGroup,
       [](auto& one) {
         one.schedule.groups.push_back({.template_name = "full",
                                        .begin = one.schedule.groups.back().end,
                                        .end = one.schedule.groups.back().end,
                                        .jobs = {}});
       }},
      {"begin",
       Kind::kGroup,
       [](auto& one) {
         one.schedule.groups[0].begin = earlier(one.schedule.groups[0].begin, ms(1));
       }},
      {"end",
       Kind::kGroup,
       [](auto& one) { one.schedule.groups[3].end = one.schedule.groups[3].end + ms(1); }},
  });
}

TEST(ScheduleChecker_Totals, StatedTimes_MustBeThoseOfTheTimeline) {
  // Aim: one nanosecond is enough.
  const Duration ns = Duration::nanoseconds(1);
  expect_exactly({
      {"makespan", Kind::kTotals, [&](auto& one) { one.schedule.makespan += ns; }},
      {"makespan -",
       Kind::kTotals,
       [&](auto& one) { one.schedule.makespan = one.schedule.makespan - ns; }},
      {"recutting", Kind::kTotals, [&](auto& one) { one.schedule.recutting += ns; }},
      {"largest",
       Kind::kTotals,
       [&](auto& one) { one.schedule.recutting = Duration::nanoseconds(INT64_MAX); }},
  });
}

TEST(ScheduleChecker_Report, ManyFaults_AreListedByKindUpToALimit) {
  // Aim: kinds ascend, and a hostile schedule cannot fill the memory with messages.
  CheckedSchedule one = schedule_example();
  one.schedule.makespan += ms(1);
  one.jobs[0].user = "bob";
  std::vector<Kind> order;
  for (const ScheduleViolation& violation : one.violations()) {
    order.push_back(violation.kind);
  }
  EXPECT_THAT(order, ElementsAre(Kind::kSharing, Kind::kTotals));
  one.jobs.resize(1000, one.jobs[1]);
  std::size_t jobs = 0;
  for (const ScheduleViolation& violation : one.violations()) {
    jobs += violation.kind == Kind::kJobs ? 1 : 0;
  }
  EXPECT_EQ(jobs, kScheduleViolationsMax);
}

}  // namespace
}  // namespace septule::plan
