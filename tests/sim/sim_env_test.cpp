#include "sim/sim_env.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace septule::sim {
namespace {

using port::TimerClass;

/// Notes when it was called with what; may set one more timer from inside a call.
class Notes final : public port::TimerTarget {
 public:
  explicit Notes(SimEnv& env) : env_(&env) {}
  void on_timer(std::uint64_t payload) override {
    payloads.push_back(payload);
    times.push_back(env_->now().to_nanoseconds());
    if (payload == again_at) {
      env_->call_at(again_time, again_class, *this, again_payload);
    }
  }
  std::vector<std::uint64_t> payloads;
  std::vector<std::int64_t> times;
  std::uint64_t again_at = UINT64_MAX;
  SimTime again_time;
  TimerClass again_class = TimerClass::kWorld;
  std::uint64_t again_payload = 0;

 private:
  SimEnv* env_;
};

void fire_all(SimEnv& env) {
  while (env.fire_next()) {
  }
}

TEST(SimEnv_TimersOfOneInstant, FireByClassThenInTheOrderSet) {
  // The world first, then agents, then the controller; within a class as set.
  SimEnv env;
  Notes notes(env);
  const SimTime at = SimTime::nanoseconds(5);
  env.call_at(at, TimerClass::kController, notes, 5);
  env.call_at(at, TimerClass::kAgent, notes, 3);
  env.call_at(at, TimerClass::kWorld, notes, 1);
  env.call_at(at, TimerClass::kWorld, notes, 2);
  env.call_at(at, TimerClass::kAgent, notes, 4);
  env.call_at(SimTime::nanoseconds(4), TimerClass::kController, notes, 0);
  fire_all(env);
  EXPECT_EQ(notes.payloads, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(notes.times, (std::vector<std::int64_t>{4, 5, 5, 5, 5, 5}));
  EXPECT_EQ(env.fired_count(), 6);
  EXPECT_EQ(env.pending_count(), 0U);
}

TEST(SimEnv_TimerInThePast, CountsAsNow) {
  // The clock never goes back.
  SimEnv env;
  Notes notes(env);
  notes.again_at = 1;
  notes.again_time = SimTime::nanoseconds(3);
  notes.again_payload = 2;
  env.call_at(SimTime::nanoseconds(10), TimerClass::kWorld, notes, 1);
  fire_all(env);
  EXPECT_EQ(notes.times, (std::vector<std::int64_t>{10, 10}));
}

TEST(SimEnv_TimerSetWhileFiring, OfALowerClassComesBeforeWaitingOnesOfTheInstant) {
  // What the controller does at an instant and the world answers at once, it sees before its next
  // timer of the instant.
  SimEnv env;
  Notes notes(env);
  notes.again_at = 1;
  notes.again_time = SimTime::nanoseconds(7);
  notes.again_class = TimerClass::kWorld;
  notes.again_payload = 9;
  env.call_at(SimTime::nanoseconds(7), TimerClass::kController, notes, 1);
  env.call_at(SimTime::nanoseconds(7), TimerClass::kController, notes, 2);
  fire_all(env);
  EXPECT_EQ(notes.payloads, (std::vector<std::uint64_t>{1, 9, 2}));
}

TEST(SimEnv_WithoutTimers, FiresNothingAndKeepsTheTime) {
  // False, and nothing else.
  SimEnv env;
  EXPECT_FALSE(env.fire_next());
  EXPECT_EQ(env.now(), SimTime());
  EXPECT_EQ(env.fired_count(), 0);
}

TEST(SimEnv_Digest, TellsTimeClassOrderAndPayloadApart) {
  // Each part of a timer that was fired shows in the digest.
  const auto digest = [](std::int64_t time, TimerClass timer_class, std::uint64_t payload) {
    SimEnv env;
    Notes notes(env);
    env.call_at(SimTime::nanoseconds(time), timer_class, notes, payload);
    fire_all(env);
    return env.digest();
  };
  const std::uint64_t base = digest(5, TimerClass::kWorld, 1);
  EXPECT_EQ(base, digest(5, TimerClass::kWorld, 1));
  EXPECT_NE(base, digest(6, TimerClass::kWorld, 1));
  EXPECT_NE(base, digest(5, TimerClass::kAgent, 1));
  EXPECT_NE(base, digest(5, TimerClass::kWorld, 2));
  EXPECT_NE(base, SimEnv().digest());
}

RC_GTEST_PROP(SimEnv, AnyTimers_FireInOrderOfTimeClassAndSequence, ()) {
  // A stable sort says the same.
  SimEnv env;
  Notes notes(env);
  using Timer = std::tuple<std::int64_t, int, std::uint64_t>;
  std::vector<Timer> timers;
  const auto wanted = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 20), rc::gen::inRange(0, 3)));
  for (const auto& [time, timer_class] : wanted) {
    const std::uint64_t payload = timers.size();
    timers.emplace_back(time, timer_class, payload);
    env.call_at(SimTime::nanoseconds(time), static_cast<TimerClass>(timer_class), notes, payload);
  }
  std::ranges::sort(timers);
  fire_all(env);
  std::vector<std::uint64_t> expected;
  for (const Timer& timer : timers) {
    expected.push_back(std::get<2>(timer));
  }
  RC_ASSERT(notes.payloads == expected);
}

}  // namespace
}  // namespace septule::sim
