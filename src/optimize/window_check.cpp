#include "optimize/window_check.hpp"

#include <cstdint>
#include <span>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/inline_vector.hpp"

namespace septule::optimize {

namespace {

using plan::ScheduleCheck;
using plan::ScheduleClient;
using plan::ScheduledInstance;

/// Figures of a GPU instance with its compute instances, straight from the problem.
Duration change_time(std::span<const Duration> by_profile,
                     Duration each_compute,
                     const ScheduledInstance& instance) {
  const gpu::PlacedProfile placed = checked_value(instance.placed, "it is a GPU instance");
  const auto profile = static_cast<std::size_t>(placed.profile.value());
  const Duration whole = profile < by_profile.size() ? by_profile[profile] : Duration();
  const std::int64_t more = std::ssize(instance.compute) - 1;
  return whole + Duration::nanoseconds(more * each_compute.to_nanoseconds());
}

void add_costs(const SwitchCosts& costs, ScheduleCheck& check) {
  check.create_time = [&costs](const ScheduledInstance& instance) {
    return instance.placed.has_value() ? change_time(costs.create, costs.compute_create, instance)
                                       : costs.mig_toggle;
  };
  check.destroy_time = [&costs](const ScheduledInstance& instance) {
    return instance.placed.has_value() ? change_time(costs.destroy, costs.compute_destroy, instance)
                                       : Duration();
  };
}

void ask(const predict::CoRunModel& model,
         const ScheduledInstance& instance,
         std::span<const ScheduleClient> clients,
         std::span<double> out) {
  std::vector<gpu::ComputePlacement> compute;
  for (const gpu::ComputeInstance& one : instance.compute) {
    compute.push_back(one.placement);
  }
  std::vector<predict::CoRunClient> asked;
  for (const ScheduleClient& client : clients) {
    asked.push_back({.job = client.job, .compute = client.compute, .atp = client.atp});
  }
  predict::CoRunPlace place{.profile = std::nullopt, .compute = compute};
  if (instance.placed.has_value()) {
    place.profile = instance.placed->profile;
  }
  model.rates(place, asked, out);
}

}  // namespace

std::vector<plan::ScheduleViolation> check_window_answer(const WindowProblem& problem,
                                                         const WindowAnswer& answer) {
  ScheduleCheck check{.rules = problem.rules};
  if (problem.costs != nullptr) {
    add_costs(*problem.costs, check);
  }
  // A timeline without groups is what it is, whatever the clock.
  const GroupClock clock = answer.schedule.groups.empty() ? GroupClock::kRefill : problem.clock;
  if (clock == GroupClock::kSteadyState) {
    check.rules.fairness = 0;
  } else {
    check.company = clock == GroupClock::kIdle ? ScheduleCheck::Company::kAtBegin
                                               : ScheduleCheck::Company::kPresent;
    check.rates = [&problem](const ScheduledInstance& instance,
                             std::span<const ScheduleClient> clients,
                             std::span<double> out) {
      ask(*problem.model, instance, clients, out);
    };
  }
  std::vector<plan::ScheduleViolation> found =
      plan::check_schedule(answer.schedule, problem.jobs, check);
  if (answer.time != answer.schedule.makespan) {
    found.push_back({.kind = plan::ScheduleViolationKind::kTotals,
                     .message = fmt::format("the answer says {} s, its schedule {} s",
                                            answer.time.to_seconds(),
                                            answer.schedule.makespan.to_seconds())});
  }
  return found;
}

}  // namespace septule::optimize
