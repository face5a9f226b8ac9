#include "sched/events.hpp"

#include <set>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace septule {
namespace {

TEST(EventsTest, Name_EveryEvent_IsItsOwn) {
  // Aim: each kind of event has one name of its own, in the order of the variant.
  const std::vector<sched::Event> events = {sched::JobSubmitted{},
                                            sched::JobEnded{},
                                            sched::GpuReady{},
                                            sched::GpuSettled{},
                                            sched::GpuCharacterised{},
                                            sched::JobSpeedChanged{},
                                            sched::GpuTroubled{},
                                            sched::WokeUp{}};
  ASSERT_EQ(events.size(), std::variant_size_v<sched::Event>);
  std::set<std::string_view> names;
  for (const sched::Event& event : events) {
    names.insert(sched::event_name(event));
  }
  EXPECT_EQ(names.size(), events.size());
  EXPECT_EQ(sched::event_name(sched::JobEnded{}), "job-ended");
  EXPECT_EQ(sched::event_name(sched::WokeUp{}), "woke-up");
}

TEST(EventsTest, Clear_FilledDecisions_LeavesNothing) {
  // Aim: decisions are reused from call to call, so clear() empties both lists.
  sched::Decisions decisions;
  decisions.goals.emplace_back();
  decisions.wakes.emplace_back();
  decisions.clear();
  EXPECT_TRUE(decisions.goals.empty());
  EXPECT_TRUE(decisions.wakes.empty());
}

}  // namespace
}  // namespace septule
