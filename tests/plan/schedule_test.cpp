#include "plan/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/schedule_support.hpp"

namespace septule::plan {
namespace {

using testing::HasSubstr;

SimTime at(int milliseconds) {
  return SimTime() + Duration::milliseconds(milliseconds);
}

TEST(Schedule_Finish, TotalsAndOpenEnds_FollowFromTheRuns) {
  // Aim: runs by job, makespan of the last, changes added up, instances that stay end with it.
  Schedule schedule;
  schedule.instances = {{.placed = {},
                         .compute = {},
                         .create_begin = at(0),
                         .usable_from = at(100),
                         .usable_until = at(900),
                         .gone_at = at(950)},
                        {.placed = {},
                         .compute = {},
                         .create_begin = at(950),
                         .usable_from = at(1000),
                         .usable_until = SimTime::never(),
                         .gone_at = SimTime::never()}};
  schedule.runs = {{.job = 1, .instance = 1, .pieces = {{at(1000), at(1500), 1}}},
                   {.job = 0, .instance = 0, .pieces = {{at(100), at(500), 1}}}};
  finish_schedule(schedule);
  EXPECT_EQ(schedule.runs[0].job, 0U);
  EXPECT_EQ(schedule.makespan, Duration::milliseconds(1500));
  EXPECT_EQ(schedule.recutting, Duration::milliseconds(100 + 50 + 50));
  EXPECT_EQ(schedule.instances[1].usable_until, at(1500));
  EXPECT_EQ(schedule.instances[1].gone_at, at(1500));
}

TEST(Schedule_Finish, InstanceMadeAfterTheLastRun_StaysForNoTime) {
  // Aim: times never run backwards, also where there is nothing to run.
  Schedule schedule;
  schedule.instances = {{.placed = {},
                         .compute = {},
                         .create_begin = at(0),
                         .usable_from = at(100),
                         .usable_until = SimTime::never(),
                         .gone_at = SimTime::never()}};
  finish_schedule(schedule);
  EXPECT_EQ(schedule.makespan, Duration());
  EXPECT_EQ(schedule.instances[0].usable_until, at(100));
  EXPECT_EQ(schedule.instances[0].gone_at, at(100));
}

TEST(Schedule_Text, IndicesThatNameNothing_ArePrintedAsNumbers) {
  // Aim: the text of a schedule that the checker refuses.
  test::CheckedSchedule one = test::schedule_example();
  one.schedule.runs[0].job = 77;
  one.schedule.runs[1].instance = 88;
  one.schedule.instances[0].placed->profile = ProfileIndex(99);
  const std::string text = schedule_text(one.schedule, one.jobs);
  EXPECT_THAT(text, HasSubstr("  job #77 "));
  EXPECT_THAT(text, HasSubstr("instance #88\n  \"job1\" "));
  EXPECT_THAT(text, HasSubstr("profile #99@0 "));
  one.schedule.geometry = nullptr;
  EXPECT_THAT(schedule_text(one.schedule, one.jobs), HasSubstr("profile #"));
}

}  // namespace
}  // namespace septule::plan
