#include "optimize/moldable_window.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/moldable_far.hpp"
#include "optimize/moldable_search.hpp"
#include "optimize/moldable_static.hpp"
#include "optimize/moldable_tree.hpp"
#include "optimize/switch_costs.hpp"

namespace septule::optimize {

namespace {

/// The rate of a job alone in an instance of this size; 0 = it may not or cannot run there.
double rate_on(const MoldableGpu& gpu,
               const WindowProblem& problem,
               std::size_t job,
               std::size_t size) {
  const ProfileIndex profile = gpu.sizes()[size].profile;
  const std::optional<Bytes> memory = gpu::domain_memory(gpu.geometry(), profile);
  const std::optional<Bytes> needed = problem.jobs[job].memory;
  if (needed.has_value() && (!memory.has_value() || *needed > *memory)) {
    return 0;
  }
  const std::array compute{gpu::full_compute_instance(gpu.geometry(), profile).placement};
  const std::array clients{predict::CoRunClient{.job = job}};
  std::array<double, 1> rates{};
  problem.model->rates({profile, compute}, clients, rates);
  return rates[0] >= problem.rules.fairness ? rates[0] : 0;
}

/// Solo time / rate; nothing where that is no time a problem takes.
std::optional<Duration> time_at(Duration solo, double rate) {
  if (!(rate > 0)) {
    return std::nullopt;
  }
  const double nanoseconds = std::round(static_cast<double>(solo.to_nanoseconds()) / rate);
  if (!(nanoseconds >= 1) || nanoseconds > static_cast<double>(kMoldableTimeMax.to_nanoseconds())) {
    return std::nullopt;
  }
  return Duration::nanoseconds(static_cast<std::int64_t>(nanoseconds));
}

/// The initial cut as the tree sees it.
struct InitialCut {
  MoldableStart start;
  std::vector<plan::ScheduledInstance> unmade;  ///< what is destroyed before anything else
};

std::optional<std::size_t> node_of(const MoldableGpu& gpu, const gpu::GpuInstance& instance) {
  for (std::size_t node = 0; node < gpu.nodes().size(); ++node) {
    if (gpu.node(node).placed == instance.placed && instance.compute_instances.size() == 1 &&
        gpu::is_full(gpu.geometry(), instance.placed.profile, instance.compute_instances.front())) {
      return node;
    }
  }
  return std::nullopt;
}

InitialCut initial_cut(const MoldableGpu& gpu, const WindowProblem& problem) {
  InitialCut initial;
  if (!problem.initial.has_value()) {
    initial.start.before_first = problem.costs != nullptr ? problem.costs->mig_toggle : Duration();
    return initial;
  }
  for (const gpu::GpuInstance& instance : problem.initial->instances) {
    if (const std::optional<std::size_t> node = node_of(gpu, instance)) {
      initial.start.instances.push_back(*node);
      continue;
    }
    const SimTime until = SimTime() + initial.start.driver_busy;
    initial.start.driver_busy += destroy_time(problem.costs, instance);
    initial.unmade.push_back({.placed = instance.placed,
                              .compute = instance.compute_instances,
                              .create_begin = {},
                              .usable_from = {},
                              .usable_until = until,
                              .gone_at = SimTime() + initial.start.driver_busy});
  }
  return initial;
}

plan::Schedule plan_schedule(const WindowProblem& problem,
                             const MoldableProblem& tasks,
                             const MoldableSchedule& laid_out,
                             const InitialCut& initial) {
  const MoldableGpu& gpu = *tasks.gpu;
  plan::Schedule schedule;
  schedule.geometry = &gpu.geometry();
  for (const MoldableInstance& instance : laid_out.instances) {
    const gpu::PlacedProfile placed = gpu.node(instance.node).placed;
    schedule.instances.push_back(
        {.placed = placed,
         .compute = {gpu::full_compute_instance(gpu.geometry(), placed.profile)},
         .create_begin = instance.create_begin,
         .usable_from = instance.usable_from,
         .usable_until = instance.usable_until,
         .gone_at = instance.gone_at});
  }
  schedule.instances.insert(schedule.instances.end(), initial.unmade.begin(), initial.unmade.end());
  for (std::size_t job = 0; job < laid_out.runs.size(); ++job) {
    const MoldableRun& run = laid_out.runs[job];
    const std::size_t size = gpu.node(laid_out.instances[run.instance].node).size;
    schedule.runs.push_back({.job = job,
                             .instance = run.instance,
                             .compute = 0,
                             .atp = {},
                             .pieces = {{run.begin, run.end, rate_on(gpu, problem, job, size)}}});
  }
  schedule.makespan = laid_out.makespan;
  schedule.recutting = laid_out.recutting;
  return schedule;
}

/// An assignment and how its timeline is made.
struct Candidate {
  MoldableAssignment assignment;
  TreeTies ties = TreeTies::kNodeOrder;
};

Result<std::vector<Candidate>> static_candidates(const MoldableProblem& tasks) {
  std::vector<Candidate> candidates;
  for (const StaticOrder order : {StaticOrder::kFirstComeFirstServed, StaticOrder::kLongestFirst}) {
    SEPTULE_TRY(StaticAnswer answer, best_static_schedule(tasks, order));
    candidates.push_back({std::move(answer.assignment), TreeTies::kNodeOrder});
  }
  return candidates;
}

Result<std::vector<Candidate>> candidates_of(MoldableMethod method,
                                             const MoldableProblem& tasks,
                                             WorkBudget& budget) {
  if (method == MoldableMethod::kStatic) {
    return static_candidates(tasks);
  }
  SEPTULE_TRY(FarAnswer far, far_schedule(tasks, budget));
  std::vector<Candidate> candidates = {{std::move(far.assignment), TreeTies::kNodeOrder}};
  if (method == MoldableMethod::kFar) {
    return candidates;
  }
  if (Result<std::vector<Candidate>> fixed = static_candidates(tasks); fixed.has_value()) {
    candidates.insert(candidates.end(), fixed->begin(), fixed->end());
  }
  // FAR once more inside: a tenth of a millisecond, and the search stays a function of its own.
  const Result<MoldableAnswer> searched = search_moldable(tasks, budget);
  if (searched.has_value()) {
    candidates.push_back({searched->assignment, TreeTies::kLongestFirst});
    candidates.push_back({searched->assignment, TreeTies::kNodeOrder});
  }
  return candidates;
}

}  // namespace

std::string_view moldable_method_name(MoldableMethod method) {
  switch (method) {
    case MoldableMethod::kStatic:
      return "static";
    case MoldableMethod::kFar:
      return "far";
    case MoldableMethod::kMoldable:
      return "moldable";
  }
  SEPTULE_CHECK(false, "every MoldableMethod has a name");
}

Result<MoldableProblem> moldable_tasks_of(const MoldableGpu& gpu, const WindowProblem& problem) {
  MoldableProblem tasks{&gpu, {}};
  for (std::size_t job = 0; job < problem.jobs.size(); ++job) {
    MoldableTask& task = tasks.tasks.emplace_back();
    bool fits = false;
    for (std::size_t size = 0; size < gpu.sizes().size(); ++size) {
      task.times.push_back(time_at(problem.jobs[job].solo, rate_on(gpu, problem, job, size)));
      fits = fits || task.times.back().has_value();
    }
    if (!fits) {
      return Error{ErrorCode::kBlocked,
                   fmt::format("job {} fits no GPU instance of {}: its memory, a speed that is not "
                               "known, or the fairness floor is in the way",
                               quoted_for_message(problem.jobs[job].name),
                               gpu.geometry().key())};
    }
  }
  return tasks;
}

Result<WindowAnswer> MoldableWindow::optimize(const WindowProblem& problem,
                                              WorkBudget& budget) const {
  const std::int64_t units_before = budget.units_spent();
  SEPTULE_TRY_STATUS(check_window_problem(problem));
  if (problem.clock == GroupClock::kSteadyState) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("method {} makes a timeline without groups, which has no {} time; "
                             "valid are the other clocks",
                             name(),
                             group_clock_name(problem.clock))};
  }
  const SwitchCosts free;
  SEPTULE_TRY(const MoldableGpu gpu,
              MoldableGpu::make(*problem.catalogue->geometry,
                                problem.costs != nullptr ? *problem.costs : free));
  SEPTULE_TRY(const MoldableProblem tasks, moldable_tasks_of(gpu, problem));
  SEPTULE_TRY_STATUS(check_moldable_problem(tasks));
  SEPTULE_TRY(const std::vector<Candidate> candidates, candidates_of(method_, tasks, budget));
  const InitialCut initial = initial_cut(gpu, problem);
  const MoldableTimes times(tasks);
  std::optional<MoldableSchedule> best;
  for (const Candidate& candidate : candidates) {
    MoldableSchedule schedule = lay_out(
        tasks, tree_blocks(gpu, times, candidate.assignment, candidate.ties), initial.start);
    if (!best.has_value() || schedule.makespan < best->makespan) {
      best = std::move(schedule);
    }
  }
  WindowAnswer answer;
  answer.schedule = plan_schedule(
      problem, tasks, checked_value(std::move(best), "a method has an answer"), initial);
  answer.time = answer.schedule.makespan;
  answer.method = name();
  answer.units_spent = budget.units_spent() - units_before;
  return answer;
}

}  // namespace septule::optimize
