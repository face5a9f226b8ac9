#include "optimize/answer_bound.hpp"

#include <algorithm>

#include "optimize/moldable_bound.hpp"
#include "optimize/moldable_gpu.hpp"
#include "optimize/moldable_window.hpp"
#include "optimize/window_bound.hpp"

namespace septule::optimize {

namespace {

/// Whether every layout of one job in each instance is a template of the catalogue.
bool has_all_layouts(const gpu::SharingCatalogue& catalogue) {
  int most = 0;
  for (const gpu::SharingTemplate& sharing : catalogue.templates) {
    most = std::max(most, sharing.concurrency);
  }
  return most >= catalogue.geometry->compute_slices().value();
}

/// Of the methods with a job in each instance; nothing where they have no answer.
std::optional<Duration> layout_bound(const WindowProblem& problem) {
  // Changes cost nothing here: at the begin an instance may stand already.
  const Result<MoldableGpu> gpu = MoldableGpu::make(*problem.catalogue->geometry, SwitchCosts());
  if (!gpu) {
    return std::nullopt;
  }
  const Result<MoldableProblem> tasks = moldable_tasks_of(*gpu, problem);
  if (!tasks) {
    return std::nullopt;
  }
  const Result<MoldableBounds> bounds = moldable_bounds(*tasks);
  return bounds ? std::optional(bounds->best()) : std::nullopt;
}

}  // namespace

Result<std::optional<Duration>> bound_answers(const WindowProblem& problem, WorkBudget& budget) {
  SEPTULE_TRY(const std::optional<WindowBound> bound, bound_window(problem, budget));
  if (!bound.has_value()) {
    return std::optional<Duration>();
  }
  Duration lower = bound->lower_bound;
  if (problem.clock != GroupClock::kSteadyState && !has_all_layouts(*problem.catalogue)) {
    lower = std::min(lower, layout_bound(problem).value_or(lower));
  }
  return std::optional(lower);
}

}  // namespace septule::optimize
