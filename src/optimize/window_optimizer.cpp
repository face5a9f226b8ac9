#include "optimize/window_optimizer.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "optimize/window_limits.hpp"
#include "plan/schedule_checker.hpp"

namespace septule::optimize {

namespace {

constexpr std::array kClocks{
    GroupClock::kSteadyState, GroupClock::kIdle, GroupClock::kSpeedUp, GroupClock::kRefill};

Error invalid(std::string message) {
  return {ErrorCode::kInvalidInput, std::move(message)};
}

}  // namespace

std::string_view group_clock_name(GroupClock clock) {
  switch (clock) {
    case GroupClock::kSteadyState:
      return "steady-state";
    case GroupClock::kIdle:
      return "idle";
    case GroupClock::kSpeedUp:
      return "speed-up";
    case GroupClock::kRefill:
      return "refill";
  }
  SEPTULE_CHECK(false, "every GroupClock has a name");
}

std::optional<GroupClock> parse_group_clock(std::string_view text) {
  for (const GroupClock clock : kClocks) {
    if (group_clock_name(clock) == text) {
      return clock;
    }
  }
  return std::nullopt;
}

Status check_window_problem(const WindowProblem& problem) {
  if (problem.model == nullptr || problem.catalogue == nullptr ||
      problem.catalogue->geometry == nullptr) {
    return invalid("a window needs a model of its jobs and a catalogue of a GPU");
  }
  if (problem.model->job_count() != problem.jobs.size()) {
    return invalid(fmt::format("the window has {} jobs and its model {}",
                               problem.jobs.size(),
                               problem.model->job_count()));
  }
  if (!problem.traits.empty() && problem.traits.size() != problem.jobs.size()) {
    return invalid(fmt::format(
        "the window has {} jobs and the traits of {}", problem.jobs.size(), problem.traits.size()));
  }
  // Written so that a floor that is not a number is refused too.
  if (!(problem.rules.fairness >= 0 && problem.rules.fairness <= 1)) {
    return invalid(
        fmt::format("the fairness floor is {}; valid are 0 to 1", problem.rules.fairness));
  }
  std::set<std::string_view> names;
  Duration sum;
  for (const plan::WindowJob& job : problem.jobs) {
    if (!names.insert(job.name).second) {
      return invalid(fmt::format("two jobs are named {}", quoted_for_message(job.name)));
    }
    if (job.solo <= Duration()) {
      return invalid(fmt::format("job {} takes {} s alone; valid are times above 0",
                                 quoted_for_message(job.name),
                                 job.solo.to_seconds()));
    }
    if (job.solo > kWindowTimeMax - sum) {
      return invalid(fmt::format("the times alone of the jobs up to {} add up to more than {} s",
                                 quoted_for_message(job.name),
                                 kWindowTimeMax.to_seconds()));
    }
    sum += job.solo;
  }
  return {};
}

double fairness_floor(const WindowProblem& problem) {
  double sum = 0;
  for (const plan::WindowJob& job : problem.jobs) {
    sum += job.solo.to_seconds();
  }
  return std::max(problem.rules.fairness, sum / (plan::kScheduleTimeMax.to_seconds() / 2));
}

}  // namespace septule::optimize
