#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/inline_vector.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "base/work_budget.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/group_schedule.hpp"
#include "optimize/group_sequence.hpp"
#include "optimize/group_time.hpp"
#include "optimize/window_optimizer.hpp"

namespace septule::optimize {

/// The best time of every group of jobs of a small window on every distinct cut of a catalogue, and
/// how to get it.
///
/// A cut is a layout with its compute instances (or MIG off); templates that differ only in seats
/// and percentages share one. Memory domains do not slow each other down, so the work is split:
/// (1) the best seating of every set of jobs in every domain, once (GroupTimer::best());
/// (2) domains of one place with equally many seats are choices: the best of them, once;
/// (3) a group on a cut: over the ways to deal its jobs to the cut's places, the slowest place (for
///     kSteadyState: the sum of all rates). Where the catalogue lacks some combination of choices,
///     each template is dealt with alone.
/// Ties: the first template, then the first seating (GroupTimer::orders()).
/// Cost: a unit for each seating timed and each deal; 16 jobs by 4 on an A100 (percentages 25, 50,
/// 75) are 900 thousand. Groups are worked out by size; when the budget ends, larger ones are
/// missing (is_complete()).
/// Immutable after make(); any thread. What the problem points to outlives it.
class GroupTable {
 public:
  /// Fails with kInvalidInput for a problem that is not valid or has more than kTableJobsMax jobs
  /// (naming the limit and the method for larger ones) or templates of more than kTableGroupMax
  /// seats; kBlocked naming the first job that can run in no template alone; kTimedOut if the
  /// budget ends before all jobs alone are worked out.
  static Result<GroupTable> make(const WindowProblem& problem, WorkBudget& budget);

  const GroupTimer& timer() const { return timer_; }
  const WindowProblem& problem() const { return timer_.problem(); }
  /// Distinct cuts, by the fewest jobs they take, then as in the catalogue.
  std::span<const GpuCut> cuts() const { return cuts_; }
  /// Times by group and cut in nanoseconds, and switches between cuts.
  const GroupCosts& costs() const { return costs_; }
  /// Whether all groups were worked out.
  bool is_complete() const { return is_complete_; }
  /// How the group gets its time on the cut. It must be possible there.
  SeatedGroup seated(JobSet group, std::size_t cut) const;

 private:
  class Maker;
  /// Domains of one place with equally many seats.
  struct Choice {
    std::vector<std::size_t> domains;  ///< ascending
    std::size_t seats = 1;
    /// By index of the group: nanoseconds, or minus the sum of rates for kSteadyState; kNever where
    /// it is impossible or of another size.
    std::vector<double> value;
  };
  /// Templates of one cut whose places have the same numbers of seats.
  struct Bundle {
    std::size_t cut = 0;
    std::size_t seats = 1;
    InlineVector<std::size_t, gpu::kSeatsMax> choices;  ///< by place: index into choices_
    std::vector<std::size_t> templates;                 ///< ascending
  };
  /// Who gets which jobs, and what it takes.
  struct Deal {
    double value = 0;
    InlineVector<JobSet, gpu::kSeatsMax> sets;  ///< by place
  };
  static constexpr double kNever = 1e300;

  GroupTable(const WindowProblem& problem, std::vector<GpuCut> cuts, std::size_t group_max);
  double joined(double a, double b) const;
  void deal(const Bundle& bundle, JobSet left, const Deal& open, Deal& best) const;
  Deal best_deal(const Bundle& bundle, JobSet group) const;
  std::int64_t time_of(JobSet group, double value) const;
  /// kNever also where it is not below `limit` (not looked at for kSteadyState).
  double value_in(std::size_t domain, JobSet group, double limit) const;
  SeatedGroup seated_in(const Bundle& bundle, const Deal& deal) const;

  GroupTimer timer_;
  std::vector<GpuCut> cuts_;
  std::vector<Choice> choices_;
  std::vector<Bundle> bundles_;
  GroupCosts costs_;
  bool is_complete_ = true;
};

}  // namespace septule::optimize
