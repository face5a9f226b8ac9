#include "optimize/window_pieces.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "optimize/switch_costs.hpp"

namespace septule::optimize {

WindowPart::WindowPart(const WindowProblem& whole, std::span<const std::size_t> jobs)
    : numbers_(jobs.begin(), jobs.end()), model_(*whole.model, numbers_), problem_(whole) {
  for (const std::size_t job : jobs) {
    jobs_.push_back(whole.jobs[job]);
    if (!whole.traits.empty()) {
      traits_.push_back(whole.traits[job]);
    }
  }
  problem_.jobs = jobs_;
  problem_.traits = traits_;
  problem_.model = &model_;
}

SeatedGroup WindowPart::of_whole(SeatedGroup group) const {
  for (std::size_t& job : group.jobs) {
    job = numbers_[job];
  }
  return group;
}

void order_by_cut(const WindowProblem& problem, std::vector<SeatedGroup>& groups) {
  GpuCut at = problem.initial;
  for (auto next = groups.begin(); next != groups.end(); ++next) {
    const auto nearest = std::min_element(next, groups.end(), [&](const auto& a, const auto& b) {
      return switch_time(problem.costs, at, cut_of(*problem.catalogue, a.sharing)) <
             switch_time(problem.costs, at, cut_of(*problem.catalogue, b.sharing));
    });
    at = cut_of(*problem.catalogue, nearest->sharing);
    std::rotate(next, nearest, std::next(nearest));
  }
}

Result<WindowAnswer> optimize_in_pieces(const WindowProblem& problem,
                                        WorkBudget& budget,
                                        std::string_view method,
                                        const GroupMaker& make) {
  SEPTULE_TRY_STATUS(check_window_problem(problem));
  const std::int64_t before = budget.units_spent();
  if (problem.jobs.size() <= kTableJobsMax) {
    SEPTULE_TRY(const GroupTable table, GroupTable::make(problem, budget));
    const SeatedSequence made = make(table, budget);
    WindowAnswer answer = answer_from_groups(table.timer(), made.groups, method);
    answer.units_spent = budget.units_spent() - before;
    return answer;
  }
  std::vector<std::size_t> by_solo(problem.jobs.size());
  std::iota(by_solo.begin(), by_solo.end(), std::size_t{0});
  std::ranges::sort(by_solo, [&](std::size_t a, std::size_t b) {
    const Duration solo_a = problem.jobs[a].solo;
    const Duration solo_b = problem.jobs[b].solo;
    return solo_a != solo_b ? solo_a > solo_b : a < b;
  });
  std::vector<SeatedGroup> groups;
  for (std::size_t begin = 0; begin < by_solo.size(); begin += kPieceJobs) {
    const std::size_t count = std::min(kPieceJobs, by_solo.size() - begin);
    const WindowPart part(problem, std::span(by_solo).subspan(begin, count));
    SEPTULE_TRY(const GroupTable table, GroupTable::make(part.problem(), budget));
    for (const SeatedGroup& group : make(table, budget).groups) {
      groups.push_back(part.of_whole(group));
    }
  }
  order_by_cut(problem, groups);
  const GroupTimer timer(problem);
  WindowAnswer answer = answer_from_groups(timer, groups, method);
  answer.units_spent = budget.units_spent() - before;
  return answer;
}

}  // namespace septule::optimize
