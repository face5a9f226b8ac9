#include "interop/nvidia_smi_commands.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/transition_samples.hpp"

namespace septule::interop {
namespace {

using gpu::Step;
using gpu::StepKind;
using test::recut;
using test::step;
using test::transition_of;
using ::testing::ElementsAre;

std::vector<std::string> texts(const std::vector<SmiCommand>& commands) {
  std::vector<std::string> list;
  for (const SmiCommand& command : commands) {
    list.push_back(command.text);
  }
  return list;
}

TEST(SmiCommands, Recut_MergesOnlyAFullComputeInstance) {
  // Placements always, -C where one compute instance fills the new GPU instance, else one by one.
  const std::vector<SmiCommand> commands = smi_commands(recut());
  EXPECT_THAT(texts(commands),
              ElementsAre("nvidia-smi mig -i 0 -dci -gi 11 -ci 0",
                          "nvidia-smi mig -i 0 -dgi -gi 11",
                          "nvidia-smi mig -i 0 -cgi 9:4 -C",
                          "nvidia-smi mig -i 0 -cgi 14:0",
                          "nvidia-smi mig -i 0 -gi '<id of 2g.10gb@0>' -cci 0:0",
                          "nvidia-smi mig -i 0 -gi '<id of 2g.10gb@0>' -cci 0:1"));
  EXPECT_THAT(commands[2].steps, ElementsAre(2U, 4U));
  EXPECT_FALSE(commands[3].has_placeholder);
  EXPECT_TRUE(commands[4].has_placeholder);
}

TEST(SmiCommands, ModesAndUnlistedComputeInstances_HaveTheirForms) {
  // MIG mode, "whatever it holds", and ids that are not known.
  Step every = step(StepKind::kDestroyComputeInstance, "1g.5gb", 2);
  every.is_every_compute_instance = true;
  EXPECT_THAT(
      texts(smi_commands(transition_of({step(StepKind::kDisableMig),
                                        step(StepKind::kEnableMig),
                                        every,
                                        step(StepKind::kDestroyGpuInstance, "1g.5gb", 2)}))),
      ElementsAre("nvidia-smi -i 0 -mig 0",
                  "nvidia-smi -i 0 -mig 1",
                  "nvidia-smi mig -i 0 -dci -gi '<id of 1g.5gb@2>'",
                  "nvidia-smi mig -i 0 -dgi -gi '<id of 1g.5gb@2>'"));
}

}  // namespace
}  // namespace septule::interop
