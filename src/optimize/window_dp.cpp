#include "optimize/window_dp.hpp"

#include <optional>
#include <utility>

#include "base/check.hpp"
#include "optimize/group_sequence.hpp"

namespace septule::optimize {

WindowAnswer answer_from_groups(const GroupTimer& timer,
                                std::span<const SeatedGroup> groups,
                                std::string_view method) {
  WindowAnswer answer;
  answer.schedule = make_group_schedule(timer, groups);
  answer.time = answer.schedule.makespan;
  answer.method = method;
  return answer;
}

SeatedSequence best_sequence(const GroupTable& table, WorkBudget& budget) {
  const std::optional<GroupSequence> found = find_best_sequence(table.costs(), budget);
  SEPTULE_CHECK(found.has_value(), "every job of a table can run alone");
  SeatedSequence seated{.groups = {}, .is_proven = found->is_proven && table.is_complete()};
  for (const GroupSequence::Step& step : found->steps) {
    seated.groups.push_back(table.seated(step.group, step.cut));
  }
  return seated;
}

Result<WindowAnswer> WindowDp::optimize(const WindowProblem& problem, WorkBudget& budget) const {
  const std::int64_t before = budget.units_spent();
  SEPTULE_TRY(const GroupTable table, GroupTable::make(problem, budget));
  const SeatedSequence best = best_sequence(table, budget);
  WindowAnswer answer = answer_from_groups(table.timer(), best.groups, name());
  if (best.is_proven) {
    answer.certificate.proof = plan::Proof::kOptimal;
    answer.certificate.scope = kGroupScope;
  }
  answer.units_spent = budget.units_spent() - before;
  return answer;
}

}  // namespace septule::optimize
