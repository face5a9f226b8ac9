#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/fake_node.hpp"
#include "interop/nvidia_smi_commands.hpp"
#include "interop/transition_samples.hpp"

namespace septule::interop {
namespace {

using gpu::Step;
using gpu::StepKind;
using test::FakeNode;
using test::recut;
using test::step;
using test::transition_of;
using ::testing::HasSubstr;
using ::testing::Not;

class SmiScript : public ::testing::TestWithParam<const char*> {};

TEST_P(SmiScript, Recut_ReachesTheGoalAndTouchesNothingElse) {
  // The script is run by a real shell against a pretended driver whose ids nobody could guess.
  const FakeNode node;
  node.write("gi", "0 19 11 4 1\n0 19 13 3 1\n1 19 11 4 1\n");
  node.write("ci", "0 11 0 0 0 1\n0 13 0 0 0 1\n1 11 0 0 0 1\n");
  ASSERT_EQ(node.run(smi_script(recut()), "", GetParam()), 0) << node.read("out");
  EXPECT_EQ(node.read("gi"), "0 19 13 3 1\n1 19 11 4 1\n0 9 20 4 4\n0 14 21 0 2\n");
  EXPECT_EQ(node.read("ci"),
            "0 13 0 0 0 1\n1 11 0 0 0 1\n0 20 0 0 0 1\n0 21 0 5 0 1\n0 21 0 5 1 1\n");
  EXPECT_THAT(node.read("out"), HasSubstr("done: 6 of 6 steps"));
}

TEST(SmiScriptText, Shellcheck_FindsNothing) {
  // Operators run it through the same checks as their own scripts.
  const FakeNode node;
  constexpr int kNotInstalled = 127;
  const int status = node.run(smi_script(recut()), "", "shellcheck");
  if (status == kNotInstalled) {
    GTEST_SKIP() << "needs shellcheck";
  }
  EXPECT_EQ(status, 0) << node.read("out");
}

TEST_P(SmiScript, DriverThatOnlyPretends_IsNoticed) {
  // Success without effect is the sharp edge of the field: the listing is read after each step.
  const auto expect_stop = [&](const std::string& fault, const std::string& said, int creations) {
    const FakeNode node;
    node.write("gi", "0 19 11 4 1\n");
    node.write("ci", "0 11 0 0 0 1\n");
    EXPECT_NE(node.run(smi_script(recut()), fault, GetParam()), 0);
    EXPECT_THAT(node.read("out"), HasSubstr(said));
    EXPECT_THAT(node.read("out"), HasSubstr("later steps were not started"));
    const std::string log = node.read("log");
    int found = 0;
    for (std::size_t at = log.find("-cgi"); at != std::string::npos;
         at = log.find("-cgi", at + 1)) {
      ++found;
    }
    EXPECT_EQ(found, creations) << fault << "\n" << node.read("out");
  };
  expect_stop(
      "ignore", "stopped at step 2 of 6: GPU instance 1g.5gb@4 of GPU 0 is still listed", 0);
  expect_stop("create", "failed: Insufficient Resources", 1);
  expect_stop("half", "was created without its compute instance", 1);
  expect_stop("list", "stopped at step 1 of 6: nvidia-smi mig -i 0 -lgi failed", 0);
}

TEST_P(SmiScript, StateThatMoved_StopsBeforeTouchingIt) {
  // Another id or another instance than planned: the plan is out of date.
  const FakeNode other_id;
  other_id.write("gi", "0 19 12 4 1\n");
  other_id.write("ci", "0 12 0 0 0 1\n");
  EXPECT_NE(other_id.run(smi_script(recut()), "", GetParam()), 0);
  EXPECT_THAT(other_id.read("out"), HasSubstr("has id 12, not 11 as planned"));
  EXPECT_THAT(other_id.read("log"), Not(HasSubstr("-dci")));
  const FakeNode gone;
  EXPECT_NE(gone.run(smi_script(recut()), "", GetParam()), 0);
  EXPECT_THAT(gone.read("out"), HasSubstr("GPU 0 has no GPU instance 1g.5gb@4 now"));
  const FakeNode taken;
  taken.write("gi", "0 9 1 4 4\n");
  EXPECT_NE(taken.run(smi_script(transition_of({step(StepKind::kCreateGpuInstance, "3g.20gb", 4)})),
                      "",
                      GetParam()),
            0);
  EXPECT_THAT(taken.read("out"), HasSubstr("has a GPU instance 3g.20gb@4 already"));
}

TEST_P(SmiScript, MigModeAndUnknownIds_AreHandled) {
  // Ids that nobody knows are looked up; a mode that stays pending is noticed.
  const FakeNode node;
  node.write("mode", "0\n");
  node.write("gi", "0 19 14 2 1\n");
  node.write("ci", "0 14 0 0 0 1\n");
  Step every = step(StepKind::kDestroyComputeInstance, "1g.5gb", 2);
  every.is_every_compute_instance = true;
  const gpu::Transition plan = transition_of(
      {step(StepKind::kEnableMig), every, step(StepKind::kDestroyGpuInstance, "1g.5gb", 2)});
  ASSERT_EQ(node.run(smi_script(plan), "", GetParam()), 0) << node.read("out");
  EXPECT_EQ(node.read("gi"), "");
  EXPECT_EQ(node.read("mode"), "1\n");
  const FakeNode pending;
  pending.write("mode", "0\n");
  EXPECT_NE(pending.run(smi_script(plan), "mode", GetParam()), 0);
  EXPECT_THAT(pending.read("out"), HasSubstr("the MIG mode of GPU 0 is still Disabled"));
}

INSTANTIATE_TEST_SUITE_P(Shells, SmiScript, ::testing::Values("sh", "bash"));

TEST(SmiScriptText, HostileHolders_StayInsideComments) {
  // A holder's name comes from a file: it must not become a command.
  gpu::Transition transition = transition_of({});
  transition.gpus[0].undone.push_back({"3g.20gb@4", {}, "in the way:\ntouch /tmp/owned\r`id`"});
  const FakeNode node;
  EXPECT_THAT(smi_script(transition), HasSubstr("# Not done: 3g.20gb@4: in the way:\\x0atouch"));
  EXPECT_EQ(node.run(smi_script(transition), ""), 0);
}

}  // namespace
}  // namespace septule::interop
