// An agent on a device that refuses: every code, at every call.
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "control/agent.hpp"
#include "control/agent_support.hpp"

namespace septule::control {
namespace {

using job::JobId;
using port::DeviceCode;
using sched::GpuGoal;
using test::AgentTest;
using test::characterisation;
using test::goal;
using test::halves;
using test::placed;
using test::whole_gpu;
using Kind = AgentReport::Kind;

constexpr DeviceCode kRefusals[] = {DeviceCode::kInvalidArgument,
                                    DeviceCode::kNotSupported,
                                    DeviceCode::kNoPermission,
                                    DeviceCode::kNotFound,
                                    DeviceCode::kInsufficientResources,
                                    DeviceCode::kInUse,
                                    DeviceCode::kResetRequired,
                                    DeviceCode::kGpuLost};

/// The way of one GPU through everything an agent does: shared and single instances, limits, both
/// modes, a characterisation run.
std::vector<GpuGoal> tour() {
  GpuGoal reset = goal(halves(), {{1, 0}, {2, 1}, {3, 1}});
  reset.restart = sched::RestartRule::kEverything;
  return {goal(halves(), {{1, 0}, {2, 1}}),
          goal({placed("2g.10gb", 0), placed("1g.5gb", 2), placed("3g.20gb", 4)},
               {{1, 0}, {2, 2}, {3, 2}, {4, 1, 50}}),
          reset,
          whole_gpu({{1}, {2}}),
          characterisation({1, 2, 3}, sched::LevelsFrom::kFirstStep),
          goal({placed("4g.20gb", 0), placed("3g.20gb", 4)}, {{2, 0}, {3, 1}})};
}

TEST_F(AgentTest, EveryRefusal_AtEveryCall_IsReportedAndSurvived) {
  // The refused order is reported with code and step; ordered again it is carried out. Also if the
  // next call, which tidies up, is refused too. Nothing is launched twice or left behind.
  const std::vector<GpuGoal> stops = tour();
  int refusals = 0;
  for (const DeviceCode code : kRefusals) {
    for (std::size_t leg = 0; leg < stops.size(); ++leg) {
      for (int number = 1; number < 40; ++number) {
        for (const std::set<int>& calls :
             {std::set<int>{number}, std::set<int>{number, number + 1}}) {
          make({}, {});
          for (std::size_t i = 0; i < leg; ++i) {
            carry_out(stops[i]);
          }
          reports_.kinds();
          device_->begin(calls, code);
          carry_out(stops[leg]);
          const bool was_refused = device_->was_refused();
          const std::string what = fmt::format("{} at call {} of leg {}: {}",
                                               port::device_code_name(code),
                                               number,
                                               leg,
                                               device_->refused_call());
          device_->begin({}, DeviceCode::kOk);
          if (!was_refused) {
            expect_is(stops[leg], what);
            continue;
          }
          if (code == DeviceCode::kNotFound &&
              device_->refused_call() == "destroy_compute_instance") {
            continue;  // what is not there is as good as destroyed: no refusal, here a lie
          }
          ++refusals;
          const AgentReport& last = reports_.reports.back();
          ASSERT_EQ(last.kind, Kind::kTroubled) << what;
          EXPECT_EQ(last.code, code) << what;
          EXPECT_FALSE(last.step.empty()) << what;
          EXPECT_EQ(last.epoch, epoch_) << what;
          carry_out(stops[leg]);
          expect_is(stops[leg], what);
        }
      }
    }
  }
  EXPECT_GT(refusals, 500);
}

TEST_F(AgentTest, RefusedOrder_ThenAnotherGoal_IsCarriedOutToo) {
  // The policy may have changed its mind: also back to the layout that was half taken down.
  const std::vector<GpuGoal> stops = tour();
  for (std::size_t leg = 1; leg < stops.size(); ++leg) {
    for (int number = 1; number < 40; ++number) {
      for (const std::set<int>& calls :
           {std::set<int>{number}, std::set<int>{number, number + 1}}) {
        for (const std::size_t next : {leg - 1, (leg + 2) % stops.size()}) {
          make({}, {});
          for (std::size_t i = 0; i < leg; ++i) {
            carry_out(stops[i]);
          }
          device_->begin(calls, DeviceCode::kInUse);
          carry_out(stops[leg]);
          device_->begin({}, DeviceCode::kOk);
          carry_out(stops[next]);
          expect_is(
              stops[next],
              fmt::format(
                  "call {} of leg {}, then {}: {}", number, leg, next, device_->refused_call()));
        }
      }
    }
  }
}

}  // namespace
}  // namespace septule::control
