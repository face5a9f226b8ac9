#include "serve/horizon_triggers.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace septule::serve {
namespace {

using Expectation = HorizonTriggers::Expectation;
using Instances = HorizonTriggers::Instances;

/// One tenant that is told of second by second.
struct Teller {
  HorizonTriggers triggers{1, TriggerOptions{}};
  std::vector<double> arrived;
  TenantState state;
  Expectation expected{.mean_rps = 100, .margin_rps = 20, .promised_rps = 100};

  std::optional<Trigger> tell(double rate,
                              double in_slo,
                              Instances instances = Instances::kAsOrdered) {
    arrived.push_back(rate);
    state.arrived = arrived;
    state.answered_in_slo = static_cast<std::int64_t>(in_slo);
    const auto now = SimTime() + Duration::milliseconds(1000 * std::ssize(arrived));
    const std::vector<TenantState> states = {state};
    return triggers.look(
        {.now = now, .gpu_count = 1, .tenants = states}, std::span(&expected, 1), instances);
  }
};

TEST(HorizonTriggers, AsExpected_NothingFires) {
  // Aim: rates within the margin and promises kept give no reason to plan anew.
  Teller teller;
  for (int s = 0; s < 60; ++s) {
    EXPECT_FALSE(teller.tell(s % 2 == 0 ? 85 : 115, s % 2 == 0 ? 85 : 100));
  }
}

TEST(HorizonTriggers, OutsideTheMargin_FiresAfterThreeSecondsInARow) {
  // Aim: a single second outside is chance; three in a row are not, and three more fire again.
  Teller teller;
  EXPECT_FALSE(teller.tell(150, 100));
  EXPECT_FALSE(teller.tell(150, 100));
  EXPECT_FALSE(teller.tell(100, 100));
  EXPECT_FALSE(teller.tell(150, 100));
  EXPECT_FALSE(teller.tell(150, 100));
  EXPECT_EQ(teller.tell(150, 100), Trigger::kForecastError);
  EXPECT_FALSE(teller.tell(150, 100));
}

TEST(HorizonTriggers, PromisesBroken_FireAfterThreeSeconds) {
  // Aim: more misses than allowed; fewer are not counted.
  Teller teller;
  EXPECT_FALSE(teller.tell(100, 50));
  EXPECT_FALSE(teller.tell(100, 50));
  EXPECT_EQ(teller.tell(100, 50), Trigger::kMisses);
  for (int s = 0; s < 10; ++s) {
    EXPECT_FALSE(teller.tell(100, 92));
  }
}

TEST(HorizonTriggers, Retraining_FiresWhenReleasedAndWhenDone) {
  // Aim: a job that becomes due, and one that is complete, but not what was due at the first look.
  Teller teller;
  teller.state.retraining_left_s = 30;
  teller.state.retraining_release = SimTime() + Duration::milliseconds(3000);
  EXPECT_FALSE(teller.tell(100, 100));
  EXPECT_FALSE(teller.tell(100, 100));
  EXPECT_EQ(teller.tell(100, 100), Trigger::kRetraining);
  EXPECT_FALSE(teller.tell(100, 100));
  teller.state.retraining_left_s = 0;
  teller.state.is_retrained = true;
  EXPECT_EQ(teller.tell(100, 100), Trigger::kRetraining);
  EXPECT_FALSE(teller.tell(100, 100));
}

TEST(HorizonTriggers, Silence_FiresOnceAndAgainWhenItEnds) {
  // Aim: a tenant that falls silent for half a minute, then sends again.
  Teller teller;
  teller.expected = {.mean_rps = 0, .margin_rps = 5, .promised_rps = 0};
  for (int s = 0; s < 29; ++s) {
    EXPECT_FALSE(teller.tell(0, 0)) << s;
  }
  EXPECT_EQ(teller.tell(0, 0), Trigger::kTenant);
  EXPECT_FALSE(teller.tell(0, 0));
  EXPECT_EQ(teller.tell(3, 3), Trigger::kTenant);
}

TEST(HorizonTriggers, OtherInstances_FireLast) {
  // Aim: the order of the enumeration decides between triggers of one second.
  Teller teller;
  EXPECT_EQ(teller.tell(100, 100, Instances::kOther), Trigger::kInstances);
  EXPECT_EQ(teller.tell(150, 100, Instances::kOther), Trigger::kInstances);
  EXPECT_EQ(teller.tell(150, 100, Instances::kOther), Trigger::kInstances);
  EXPECT_EQ(teller.tell(150, 100, Instances::kOther), Trigger::kForecastError);
}

}  // namespace
}  // namespace septule::serve
