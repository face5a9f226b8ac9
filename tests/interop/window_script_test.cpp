#include "interop/window_script.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/fake_node.hpp"
#include "interop/interop_support.hpp"

namespace septule::interop {
namespace {

using plan::ScheduledInstance;
using plan::ScheduledRun;
using test::FakeNode;
using test::model;
using test::profile_of;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kFakeMps = R"sh(#!/bin/sh
if [ "$1" = -d ]; then
  echo "start $2 ${CUDA_VISIBLE_DEVICES:-none} ${CUDA_MPS_PIPE_DIRECTORY##*/run/}" \
    >> "$FAKE_STATE/events"
  [ "$FAKE_FAULT" != mps ]
else
  read -r word
  echo "$word ${CUDA_MPS_PIPE_DIRECTORY##*/run/}" >> "$FAKE_STATE/events"
fi
)sh";
constexpr std::string_view kJob = R"sh(#!/bin/sh
echo "${0##*/} $CUDA_VISIBLE_DEVICES ${CUDA_MPS_PIPE_DIRECTORY##*/run/}" \
  "${CUDA_MPS_ACTIVE_THREAD_PERCENTAGE:-none}" >> "$FAKE_STATE/events"
[ "$FAKE_FAULT" != "job-${0##*/}" ]
)sh";

SimTime at(int seconds) {
  return SimTime::nanoseconds(std::int64_t{1'000'000'000} * seconds);
}

const gpu::Geometry& a100() {
  return model("A100-40GB");
}

ScheduledInstance instance(std::string_view profile, int start, int from, int until) {
  const ProfileIndex index = profile_of(a100(), profile);
  return {.placed = gpu::PlacedProfile{index, MemorySlices(start)},
          .compute = {gpu::full_compute_instance(a100(), index)},
          .create_begin = at(from),
          .usable_from = at(from + 1),
          .usable_until = at(until),
          .gone_at = at(until + 1)};
}

ScheduledRun run(std::size_t job, std::size_t where, int from, int until, int atp = 0) {
  ScheduledRun made{.job = job, .instance = where, .compute = 0, .atp = std::nullopt, .pieces = {}};
  if (atp > 0) {
    made.atp = ActiveThreadPercentage(atp);
  }
  made.pieces.push_back({.from = at(from), .until = at(until), .rate = 0.5});
  return made;
}

/// Two jobs share a 4g, one has a 3g beside them; then one has the whole GPU, MIG off.
struct TwoGroups {
  TwoGroups() {
    for (const char* name : {"a", "b", "c c", "d"}) {
      jobs.push_back({.name = name, .user = {}, .trust = {}, .memory = {}, .solo = {}});
    }
    schedule.geometry = &a100();
    schedule.instances = {instance("4g.20gb", 0, 0, 9), instance("3g.20gb", 4, 1, 10)};
    schedule.instances.push_back({.placed = std::nullopt,
                                  .compute = {},
                                  .create_begin = at(11),
                                  .usable_from = at(12),
                                  .usable_until = at(20),
                                  .gone_at = at(20)});
    schedule.runs = {run(0, 0, 3, 9, 75), run(1, 0, 3, 8, 25), run(2, 1, 3, 7), run(3, 2, 12, 20)};
    schedule.groups = {
        {.template_name = "4g(75,25)+3g", .begin = at(3), .end = at(9), .jobs = {0, 1, 2}},
        {.template_name = "full", .begin = at(12), .end = at(20), .jobs = {3}}};
    schedule.makespan = at(20) - SimTime();
    before.geometry = &a100();
    before.is_mig_enabled = false;
  }

  Result<std::string> script() const {
    return window_script(
        {.schedule = schedule, .jobs = jobs, .before = before, .latencies = latencies});
  }
  /// On a node that has what the script needs.
  int run_on(const FakeNode& node, const std::string& fault, const std::string& shell) const {
    node.write("mode", "0\n");
    node.program("mps", kFakeMps);
    for (const plan::WindowJob& job : jobs) {
      node.program("jobs/" + job.name, kJob);
    }
    return node.run(script().value(), fault, shell);
  }

  plan::Schedule schedule;
  std::vector<plan::WindowJob> jobs;
  gpu::ObservedGpu before;
  gpu::LatencyTable latencies = gpu::load_builtin_latencies();
};

/// Where jobs of one group log in no order that is known.
std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    out.push_back(line);
  }
  return out;
}

class WindowScript : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Shells, WindowScript, ::testing::Values("sh", "bash"));

TEST_P(WindowScript, TwoGroups_RunEachJobWhereItBelongs) {
  // Aim: devices by UUID, own MPS daemon, percentages, the barrier and MIG off again.
  const FakeNode node;
  ASSERT_EQ(TwoGroups().run_on(node, "", GetParam()), 0) << node.read("out");
  const std::vector<std::string> events = lines(node.read("events"));
  ASSERT_EQ(events.size(), 6U) << node.read("events");
  EXPECT_EQ(events[0], "start  MIG-20-0 mps-1/pipe");
  EXPECT_THAT(
      std::vector(events.begin() + 1, events.begin() + 4),
      ::testing::UnorderedElementsAre(
          "a MIG-20-0 mps-1/pipe 75", "b MIG-20-0 mps-1/pipe 25", "c c MIG-21-0 no-mps none"));
  EXPECT_EQ(events[4], "quit mps-1/pipe");
  EXPECT_EQ(events[5], "d GPU-zero no-mps none");
  EXPECT_EQ(node.read("gi"), "");
  EXPECT_EQ(node.read("mode"), "0\n");
  EXPECT_THAT(node.read("out"), HasSubstr("done: 14 of 14 steps"));
}

TEST_P(WindowScript, FailedJob_IsSaidAndTheRestIsDone) {
  // Aim: one job's failure does not leave the others undone; the exit code says it.
  const FakeNode node;
  EXPECT_EQ(TwoGroups().run_on(node, "job-b", GetParam()), 1);
  EXPECT_THAT(node.read("out"), HasSubstr("job b failed with exit code 1"));
  EXPECT_THAT(node.read("out"), HasSubstr("jobs that failed: b"));
  EXPECT_THAT(node.read("events"), HasSubstr("d GPU-zero"));
}

TEST_P(WindowScript, DaemonThatDoesNotStart_StopsBeforeItsJobs) {
  // Aim: no job runs without the percentages that keep the others safe from it.
  const FakeNode node;
  EXPECT_NE(TwoGroups().run_on(node, "mps", GetParam()), 0);
  EXPECT_THAT(node.read("out"), HasSubstr("MPS does not start for MIG-20-0"));
  EXPECT_THAT(node.read("events"), Not(HasSubstr("a MIG")));
}

TEST_P(WindowScript, MissingProgram_StopsBeforeTheGpuIsTouched) {
  // Aim: all is looked at first.
  const FakeNode node;
  node.write("mode", "0\n");
  node.program("mps", kFakeMps);
  node.program("jobs/a", kJob);
  EXPECT_EQ(node.run(TwoGroups().script().value(), "", GetParam()), 1);
  EXPECT_THAT(node.read("out"), HasSubstr("jobs/b is not a program"));
  EXPECT_EQ(node.read("log"), "");
}

TEST(WindowScriptText, Shellcheck_FindsNothing) {
  // Aim: operators run it through the same checks as their own scripts.
  const FakeNode node;
  constexpr int kNotInstalled = 127;
  const int status = node.run(TwoGroups().script().value(), "", "shellcheck");
  if (status == kNotInstalled) {
    GTEST_SKIP() << "needs shellcheck";
  }
  EXPECT_EQ(status, 0) << node.read("out");
}

TEST(WindowScriptText, Reader_FindsWhatItDoesAndToWhich) {
  // Between the functions and the first step stand the jobs' number, the GPU and the time planned.
  const std::string script = TwoGroups().script().value();
  EXPECT_THAT(script, HasSubstr("begins what is done: 4 jobs on GPU 0 (A100-40GB)."));
  EXPECT_THAT(script, HasSubstr("20.000 s. Steps wait for each other and not for the clock.\nst"));
}

TEST(WindowScriptText, HostileNames_StayWords) {
  // Aim: a job's name comes from a file: it must not become a command, nor lead out of the jobs.
  TwoGroups window;
  window.jobs[0].name = "a'; touch owned; '$(id)";
  window.jobs[0].user = "u'\"";
  EXPECT_THAT(window.script().value(),
              HasSubstr("start_job 1 'a'\\''; touch owned; '\\''$(id)' 'u'\\''\"' mps-1 75\n"));
  for (const char* name : {"../a", ".", "..", "x/y"}) {
    window.jobs[0].name = name;
    const Result<std::string> script = window.script();
    ASSERT_FALSE(script.has_value()) << name;
    EXPECT_EQ(script.error().code, ErrorCode::kInvalidInput);
    EXPECT_THAT(script.error().message, HasSubstr(name));
  }
}

TEST(WindowScriptText, UserDash_Refused) {
  // Aim: "-" is the script's word for no user: the job would run as whoever runs the script.
  TwoGroups window;
  window.jobs[1].user = "-";
  const Result<std::string> script = window.script();
  ASSERT_FALSE(script.has_value());
  EXPECT_EQ(script.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(script.error().message, HasSubstr("\"b\""));
}

TEST(WindowScriptText, SeveralUsers_GetAServerForSeveral) {
  // Aim: without it the second user's client would wait for the first one's end.
  TwoGroups window;
  EXPECT_THAT(window.script().value(), HasSubstr("start_mps mps-1\n"));
  window.jobs[1].user = "ben";
  EXPECT_THAT(window.script().value(), HasSubstr("start_mps mps-1 -multiuser-server\n"));
}

TEST(WindowScriptText, InstancesThatStand_AreKeptOrUnmade) {
  // Aim: what the schedule has from the begin on is not touched, other idle instances go.
  TwoGroups window;
  window.before.is_mig_enabled = true;
  const ProfileIndex whole = profile_of(a100(), "4g.20gb");
  window.before.instances = {
      {.placed = {whole, MemorySlices(0)},
       .id = GpuInstanceId(7),
       .holder = {},
       .compute_instances = {{{.instance = gpu::full_compute_instance(a100(), whole)}}}},
      {.placed = {profile_of(a100(), "1g.5gb"), MemorySlices(4)},
       .id = GpuInstanceId(9),
       .holder = {},
       .compute_instances = {std::vector<gpu::ObservedComputeInstance>{}}}};
  window.schedule.instances[0].usable_from = at(0);
  const std::string script = window.script().value();
  EXPECT_THAT(script, Not(HasSubstr("create_gi 0 5 ")));
  EXPECT_THAT(script, HasSubstr("destroy_gi 0 19 4:1 '1g.5gb@4' 9\n"));
  EXPECT_THAT(script, HasSubstr("create_gi 0 9 4:4 '3g.20gb@4' -C\n"));
  EXPECT_THAT(script, HasSubstr("destroy_gi 0 5 0:4 '4g.20gb@0' 7\n"));
}

TEST(WindowScriptText, ForeignInstanceInTheWay_IsBlocked) {
  // Aim: what somebody holds is never destroyed.
  TwoGroups window;
  window.before.is_mig_enabled = true;
  window.before.instances = {{.placed = {profile_of(a100(), "1g.5gb"), MemorySlices(4)},
                              .id = std::nullopt,
                              .hold = gpu::Hold::kForeign,
                              .holder = "ops",
                              .compute_instances = std::nullopt}};
  const Result<std::string> script = window.script();
  ASSERT_FALSE(script.has_value());
  EXPECT_EQ(script.error().code, ErrorCode::kBlocked);
  EXPECT_THAT(script.error().message, HasSubstr("1g.5gb@4"));
}

TEST(WindowScriptText, TimelineWithoutGroups_WaitsInItsInstanceOnly) {
  // Aim: a seat that is taken again waits for its job; the neighbour's is not waited for.
  TwoGroups window;
  window.schedule.instances = {instance("4g.20gb", 0, 0, 19), instance("3g.20gb", 4, 1, 19)};
  window.schedule.runs = {run(0, 0, 3, 9), run(1, 0, 9, 18), run(2, 1, 3, 15), run(3, 1, 15, 19)};
  window.schedule.groups.clear();
  const std::string script = window.script().value();
  const std::string body = script.substr(script.rfind("ready\n"));
  const std::size_t second = body.find("start_job 2 ");
  ASSERT_NE(second, std::string::npos);
  EXPECT_LT(body.find("finish 1 'a'"), second);
  EXPECT_GT(body.find("finish 3 "), second);
  EXPECT_THAT(body, Not(HasSubstr("start_mps")));
}

}  // namespace
}  // namespace septule::interop
