#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/nvidia_smi_commands.hpp"
#include "interop/transition_samples.hpp"

namespace septule::interop {
namespace {

using gpu::Step;
using gpu::StepKind;
using test::recut;
using test::step;
using test::transition_of;
using ::testing::HasSubstr;
using ::testing::Not;

/// A pretended nvidia-smi of one A100: keeps its instances in files, logs its calls, and breaks in
/// the way that FAKE_FAULT names.
constexpr std::string_view kFake = R"sh(#!/bin/sh
d=$FAKE_STATE
echo "$*" >> "$d/log"
if [ "$1" != mig ]; then
  case $3 in
    -mig) [ "$FAKE_FAULT" = mode ] || echo "$4" > "$d/mode"; exit 0 ;;
    *) if [ "$(cat "$d/mode")" = 1 ]; then echo Enabled; else echo Disabled; fi; exit 0 ;;
  esac
fi
gpu= gi= ci= verb= arg= full=
while [ $# -gt 0 ]; do
  case $1 in
    -i) gpu=$2; shift ;;
    -gi) gi=$2; shift ;;
    -ci) ci=$2; shift ;;
    -cgi | -cci) verb=$1; arg=$2; shift ;;
    -C) full=1 ;;
    -lgi | -lci | -dgi | -dci) verb=$1 ;;
  esac
  shift
done
size_of() { case $1 in 19) echo 1 ;; 14 | 15) echo 2 ;; 9 | 5) echo 4 ;; 0) echo 8 ;; esac; }
case $verb in
  -lgi)
    [ "$FAKE_FAULT" != list ] || { echo "Insufficient Permissions"; exit 4; }
    [ -s "$d/gi" ] || { echo "No GPU instances found: Not Found"; exit 6; }
    echo "| GPU instances: |"; echo "|====|"
    while read -r g p id s z; do
      echo "|   $g  MIG 1g.5gb            $p        $id          $s:$z     |"
    done < "$d/gi" ;;
  -lci)
    [ -s "$d/ci" ] || { echo "No compute instances found: Not Found"; exit 6; }
    echo "| Compute instances: |"; echo "|====|"
    while read -r g i p id s z; do
      echo "|   $g      $i       MIG 1g.5gb           $p         $id          $s:$z     |"
    done < "$d/ci" ;;
  -cgi)
    [ "$FAKE_FAULT" != create ] || { echo "Insufficient Resources"; exit 23; }
    n=$(cat "$d/next"); echo $((n + 1)) > "$d/next"
    p=${arg%%:*}
    [ "$FAKE_FAULT" = ignore ] || echo "$gpu $p $n ${arg##*:} $(size_of "$p")" >> "$d/gi"
    [ -z "$full" ] || [ "$FAKE_FAULT" = half ] || echo "$gpu $n 0 0 0 1" >> "$d/ci" ;;
  -cci) echo "$gpu $gi ${arg%%:*} 5 ${arg##*:} 1" >> "$d/ci" ;;
  -dgi)
    if grep -q "^$gpu $gi " "$d/ci"; then echo "In use by another client"; exit 19; fi
    [ "$FAKE_FAULT" = ignore ] ||
      { grep -v "^$gpu [0-9]* $gi " "$d/gi" > "$d/t"; mv "$d/t" "$d/gi"; } ;;
  -dci)
    if [ -n "$ci" ]; then grep -v "^$gpu $gi [0-9]* $ci " "$d/ci" > "$d/t"; else
      grep -v "^$gpu $gi " "$d/ci" > "$d/t"; fi
    mv "$d/t" "$d/ci" ;;
esac
exit 0
)sh";

/// A directory of its own with the fake in it, removed at the end.
class FakeNode {
 public:
  FakeNode() {
    std::string pattern = (std::filesystem::temp_directory_path() / "septule_smi_XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    write("smi", kFake);
    std::filesystem::permissions(directory_ / "smi", std::filesystem::perms::owner_all);
    write("gi", "");
    write("ci", "");
    write("next", "20\n");
    write("mode", "1\n");
  }
  ~FakeNode() { std::filesystem::remove_all(directory_); }
  FakeNode(const FakeNode&) = delete;
  FakeNode& operator=(const FakeNode&) = delete;

  void write(const std::string& name, std::string_view text) const {
    std::ofstream(directory_ / name) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(directory_ / name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  /// Runs a script against the fake; its output is read("out").
  int run(const std::string& script,
          const std::string& fault,
          const std::string& shell = "sh") const {
    write("script", script);
    const std::string at = directory_.string();
    const std::string command = "FAKE_STATE='" + at + "' FAKE_FAULT='" + fault + "' NVIDIA_SMI='" +
                                at + "/smi' " + shell + " '" + at + "/script' > '" + at +
                                "/out' 2>&1";
    const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe)
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  std::filesystem::path directory_;
};

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
