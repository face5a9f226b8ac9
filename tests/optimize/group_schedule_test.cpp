#include "optimize/group_schedule.hpp"

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "optimize/window_dp.hpp"
#include "optimize/window_support.hpp"

namespace septule::optimize {
namespace {

std::size_t template_named(const gpu::SharingCatalogue& catalogue, std::string_view name) {
  for (std::size_t i = 0; i < catalogue.templates.size(); ++i) {
    if (catalogue.templates[i].name == name) {
      return i;
    }
  }
  SEPTULE_CHECK(false, "tests name templates that are there");
}

/// A window where everybody runs everywhere, switches as published, MIG off at the begin.
std::unique_ptr<test::RandomWindow> plain_window(std::size_t job_count) {
  auto window = test::random_window(
      {.jobs = job_count, .clock = GroupClock::kSpeedUp, .can_lack_memory = false}, 1);
  window->model = std::make_unique<test::RandomCoRun>(
      job_count, test::RandomCoRun::Kind{.seed = 1, .only_slows = true, .zero_percent = 0});
  for (plan::WindowJob& job : window->jobs) {
    job.memory = Bytes::mebibytes(100);
  }
  window->costs = make_switch_costs(*window->catalogue.geometry, gpu::load_builtin_latencies());
  window->problem.model = window->model.get();
  window->problem.rules = {};
  window->problem.costs = &window->costs;
  window->problem.initial = std::nullopt;
  return window;
}

TEST(GroupSchedule, SharedInstance_StaysOne) {
  // Aim: the 4g that two groups have in common lives on while the rest is re-cut in between.
  const auto window = plain_window(5);
  const GroupTimer timer(window->problem);
  std::vector<SeatedGroup> groups(2);
  groups[0] = {.sharing = template_named(window->catalogue, "4g+3g"), .jobs = {}};
  groups[0].jobs.push_back(0);
  groups[0].jobs.push_back(1);
  groups[1] = {.sharing = template_named(window->catalogue, "4g+2g+1g"), .jobs = {}};
  for (const std::size_t job : {2U, 3U, 4U}) {
    groups[1].jobs.push_back(job);
  }
  const WindowAnswer answer = answer_from_groups(timer, groups, "test");
  EXPECT_EQ(test::wrong_with(window->problem, answer), "");
  EXPECT_EQ(answer.time, groups_time(timer, groups));
  EXPECT_EQ(answer.schedule.instances.size(), 4U);
  EXPECT_EQ(answer.schedule.runs[0].instance, answer.schedule.runs[2].instance);
  // MIG on and 4g, 3g; then 3g away and 2g, 1g: published medians of the A100.
  EXPECT_EQ(answer.schedule.recutting, Duration::milliseconds(4250 + 210 + 200 + 210 + 170 + 160));
}

TEST(GroupSchedule, InitialCutUnused_IsDestroyedFirst) {
  // Aim: what the GPU holds at the begin is part of the timeline until it is gone.
  const auto window = plain_window(1);
  const std::size_t full = template_named(window->catalogue, "full");
  window->problem.initial = cut_of(window->catalogue, template_named(window->catalogue, "7g"));
  const GroupTimer timer(window->problem);
  std::vector<SeatedGroup> groups(1);
  groups[0].sharing = full;
  groups[0].jobs.push_back(0);
  const WindowAnswer answer = answer_from_groups(timer, groups, "test");
  EXPECT_EQ(test::wrong_with(window->problem, answer), "");
  EXPECT_EQ(answer.schedule.instances.size(), 2U);
  EXPECT_EQ(answer.schedule.recutting, Duration::milliseconds(220 + 4250));
  EXPECT_EQ(answer.time, answer.schedule.recutting + window->jobs[0].solo);
}

TEST(GroupSchedule, ImpossibleGroup_HasNoTime) {
  // Aim: a group whose memory is too small is no group; a job that fits nowhere is named.
  const auto window = plain_window(2);
  window->jobs[1].memory = Bytes::mebibytes(50 * 1024);
  const GroupTimer timer(window->problem);
  SeatedGroup group{.sharing = template_named(window->catalogue, "4g+3g"), .jobs = {}};
  group.jobs.push_back(0);
  group.jobs.push_back(1);
  EXPECT_FALSE(group_time(timer, group).has_value());
  EXPECT_FALSE(groups_time(timer, {&group, 1}).has_value());
  EXPECT_TRUE(check_each_fits(timer).is_ok());
  window->jobs[1].memory = Bytes::mebibytes(500 * 1024);
  const Status status = check_each_fits(GroupTimer(window->problem));
  ASSERT_FALSE(status.is_ok());
  EXPECT_EQ(status.error().code, ErrorCode::kBlocked);
  EXPECT_NE(status.error().message.find("job1"), std::string::npos);
}

}  // namespace
}  // namespace septule::optimize
