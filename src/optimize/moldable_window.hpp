#pragma once

#include <string_view>

#include "base/result.hpp"
#include "optimize/moldable.hpp"
#include "optimize/window_optimizer.hpp"
#include "plan/schedule.hpp"

namespace septule::optimize {

/// The jobs of a window as moldable tasks: each alone in a GPU instance of a plain profile with one
/// compute instance of its whole size, for solo time / the model's rate there, rounded to
/// nanoseconds. A job does not fit where the model has no rate for it, where its memory is more
/// than the instance's (unknown memory: the model decides), or where it would be below the fairness
/// floor. Fails with kBlocked, naming the job, where one fits nowhere. `problem` is valid
/// (check_window_problem()); `gpu` outlives the result.
Result<MoldableProblem> moldable_tasks_of(const MoldableGpu& gpu, const WindowProblem& problem);

/// Methods that give each job an instance of its own, whose sizes change over time without
/// barriers.
enum class MoldableMethod {
  kStatic,    ///< "static": the best layout that stays, by list scheduling in both orders
  kFar,       ///< "far": FAR
  kMoldable,  ///< "moldable": ours, never worse than both
};
std::string_view moldable_method_name(MoldableMethod method);

/// A method for moldable tasks as a window optimizer. Ignores what it does not use: templates,
/// traits, MPS. Makes a timeline without groups from the GPU's initial cut: instances that stand on
/// a place of the tree, with one compute instance, are used, others are destroyed first; MIG is
/// switched on before the first creation. The methods themselves reckon with an empty GPU, so that
/// "moldable" compares the three timelines after they were made. No proof.
/// Fails as WindowOptimizer::optimize() says; with kInvalidInput for kSteadyState (a timeline
/// without groups has no such time) and for windows beyond kMoldableTasksMax jobs; with kBlocked
/// for GPUs without a tree and, "static", where no single layout fits all jobs.
class MoldableWindow final : public WindowOptimizer {
 public:
  explicit MoldableWindow(MoldableMethod method) : method_(method) {}

  std::string_view name() const override { return moldable_method_name(method_); }
  Result<WindowAnswer> optimize(const WindowProblem& problem, WorkBudget& budget) const override;

 private:
  MoldableMethod method_;
};

}  // namespace septule::optimize
