#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "optimize/group_schedule.hpp"
#include "optimize/group_table.hpp"
#include "optimize/window_dp.hpp"
#include "optimize/window_optimizer.hpp"
#include "predict/co_run_views.hpp"
#include "predict/job_traits.hpp"

namespace septule::optimize {

/// Jobs in a piece of a window that is too large for one table [D]: tables of 10 jobs cost a
/// tenth of tables of 16 and lose little.
inline constexpr std::size_t kPieceJobs = 10;

/// Some jobs of a window as a window of their own, numbered anew. Not copied or moved (the problem
/// points into it). What the whole problem points to outlives it.
class WindowPart {
 public:
  WindowPart(const WindowProblem& whole, std::span<const std::size_t> jobs);
  WindowPart(const WindowPart&) = delete;
  WindowPart& operator=(const WindowPart&) = delete;
  ~WindowPart() = default;

  const WindowProblem& problem() const { return problem_; }
  /// A group of the part as one of the whole window.
  SeatedGroup of_whole(SeatedGroup group) const;

 private:
  std::vector<std::size_t> numbers_;
  std::vector<plan::WindowJob> jobs_;
  std::vector<predict::JobTraits> traits_;
  predict::SelectedCoRun model_;
  WindowProblem problem_;
};

/// Puts groups into an order with few switches: always the group whose cut is nearest, the first of
/// equals.
void order_by_cut(const WindowProblem& problem, std::vector<SeatedGroup>& groups);

/// Makes groups out of the jobs of a table.
using GroupMaker = std::function<SeatedSequence(const GroupTable& table, WorkBudget& budget)>;

/// Groups for a window of any size. Up to kTableJobsMax jobs: as `make` has them. Beyond, in pieces
/// of kPieceJobs with as equal solo times as possible (by solo time, longest first; ties by
/// number), each by itself and not proven; order_by_cut() joins them. Fails as GroupTable::make()
/// does (its limit aside).
Result<WindowAnswer> optimize_in_pieces(const WindowProblem& problem,
                                        WorkBudget& budget,
                                        std::string_view method,
                                        const GroupMaker& make);

}  // namespace septule::optimize
