#include "optimize/phase_schedule.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/inline_vector.hpp"
#include "optimize/phase_layout.hpp"

namespace septule::optimize {
namespace {

/// Runs of a domain whose jobs begin together, if there are any.
void lay_out_group(PhasePlanner& planner,
                   const DomainQueues& queues,
                   const plan::ScheduledGroup& group,
                   std::size_t instance,
                   std::vector<plan::ScheduledRun>& out) {
  InlineVector<std::size_t, gpu::kSeatsMax> jobs;
  for (const std::vector<SeatedJob>& seat : queues.seats) {
    jobs.push_back(seat.empty() ? kNoJob : std::size_t{seat.front()});
  }
  if (std::any_of(jobs.begin(), jobs.end(), [](std::size_t job) { return job != kNoJob; })) {
    lay_out_together(planner.rates().timer(),
                     queues.domain,
                     std::span(jobs.begin(), jobs.size()),
                     group,
                     instance,
                     out);
  }
}

plan::ScheduledGroup group_of(const SeatPhase& phase, SimTime begin, Duration length) {
  plan::ScheduledGroup group;
  group.begin = begin;
  group.end = begin + length;
  for (const DomainQueues& queues : phase.domains) {
    for (const std::vector<SeatedJob>& seat : queues.seats) {
      group.jobs.insert(group.jobs.end(), seat.begin(), seat.end());
    }
  }
  std::sort(group.jobs.begin(), group.jobs.end());
  return group;
}

}  // namespace

plan::Schedule make_phase_schedule(PhasePlanner& planner, const PhasePlan& plan) {
  std::vector<LaidPhase> phases;
  for (const SeatPhase& phase : plan.phases) {
    phases.push_back({phase.shape, Duration::nanoseconds(planner.length_ns(phase))});
  }
  PhaseLayout layout = lay_out_phases(planner.rates().problem(), phases);
  plan::Schedule& schedule = layout.schedule;
  for (std::size_t p = 0; p < plan.phases.size(); ++p) {
    const SeatPhase& phase = plan.phases[p];
    plan::ScheduledGroup group = group_of(phase, layout.begins[p], phases[p].length);
    group.template_name = planner.catalogue().templates[phase.shape].name;
    for (std::size_t d = 0; d < phase.domains.size(); ++d) {
      const std::size_t instance = layout.instances[p][d];
      if (planner.is_refilling()) {
        lay_out_queues(
            planner.rates(), phase.domains[d], layout.begins[p], instance, schedule.runs);
      } else {
        lay_out_group(planner, phase.domains[d], group, instance, schedule.runs);
      }
    }
    if (planner.rule() == SeatRule::kOneJob) {
      schedule.groups.push_back(std::move(group));
    }
  }
  std::sort(schedule.runs.begin(), schedule.runs.end(), [](const auto& a, const auto& b) {
    return a.job < b.job;
  });
  return std::move(layout.schedule);
}

Result<WindowAnswer> optimize_phases(const WindowProblem& problem,
                                     WorkBudget& budget,
                                     SeatRule rule,
                                     std::string_view method,
                                     const PlanFinder& find) {
  SEPTULE_TRY_STATUS(check_window_problem(problem));
  if (problem.jobs.size() > kSeatedJobsMax) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("a window of {} jobs; method {} takes up to {}",
                             problem.jobs.size(),
                             method,
                             kSeatedJobsMax)};
  }
  WindowAnswer answer;
  answer.method = method;
  answer.schedule.geometry = problem.catalogue->geometry;
  if (problem.jobs.empty()) {
    return answer;
  }
  const std::int64_t units_before = budget.units_spent();
  SeatRates rates(problem);
  SEPTULE_TRY_STATUS(check_jobs_run_alone(rates));
  PhasePlanner planner(rates, rule, budget);
  const std::optional<PhasePlan> plan = find(planner);
  if (!plan.has_value()) {
    return Error{ErrorCode::kBlocked,
                 fmt::format("no template of {} takes these jobs above a fairness floor of {}",
                             problem.catalogue->geometry->key(),
                             problem.rules.fairness)};
  }
  answer.schedule = make_phase_schedule(planner, *plan);
  answer.time = answer.schedule.makespan;
  answer.units_spent = budget.units_spent() - units_before;
  return answer;
}

}  // namespace septule::optimize
