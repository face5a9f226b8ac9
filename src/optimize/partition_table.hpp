#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/inline_vector.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"
#include "optimize/speed_matrix.hpp"
#include "plan/objective.hpp"
#include "predict/speed_book.hpp"

namespace septule::optimize {

/// What a partition is wanted for. The spans need to hold during solve() only.
struct PartitionQuestion {
  /// Speeds of each job, at least one. A speed that is not a number of at least kSpeedMin means
  /// "does not fit"; one above kSpeedMax counts as kSpeedMax (beliefs may be wild).
  std::span<const predict::SpeedRow* const> jobs;
  plan::ObjectiveKind objective = plan::ObjectiveKind::kSumOfSpeeds;
  /// Where each job is now; shorter than `jobs` = the rest is nowhere. Decides ties only.
  std::span<const std::optional<gpu::PlacedProfile>> current;
};

/// The best partition of a PartitionTable. Fields beyond `is_feasible` mean something only if it is
/// true. Fixed size, no heap memory.
struct PartitionAnswer {
  bool is_feasible = false;
  int code = 0;                                                  ///< index into the table
  InlineVector<gpu::PlacedProfile, kAssignedJobsMax> instances;  ///< by start
  std::array<int, kAssignedJobsMax> instance_of{};               ///< by job, into `instances`
  double objective = 0;                                          ///< the mean for kMeanSlowdown
  int moved = 0;  ///< jobs that were somewhere and end somewhere else
};

/// MISO's table of partitions and its per-GPU optimizer (SoCC'22; miso.md sections 4 and 12).
///
/// Assumptions: n jobs get a partition of exactly n instances, one each; no instance stays idle;
/// placement matters only for ties, because a re-cut restarts every job of the GPU anyway.
///
/// Table: the multisets of the maximal layouts of plain profiles, without a 4-slice instance beside
/// a 3-slice one (drivers before R510 refused it): 18 layouts, 13 multisets on an A100. The
/// published table has 18 entries too, but those are creation orders; equal slices are merged here.
/// Code order: largest profile first (descending), then compute slices in total (ascending), then
/// the profiles from large to small (descending): the order in which the 13 multisets first appear
/// in the published table of the A100.
///
/// Steps: every way to give n jobs the profiles of a multiset of n (1, 1, 15, 24, 15, 6, 1 of them
/// for n = 1..7 on an A100) was tabulated at construction; solve() adds up each and keeps the best.
/// Figures are whole multiples of 1e-9, so that sums do not depend on their order and ties are
/// exact.
///
/// Ties, in this order: fewest moved jobs (a job moves if its placement differs), lowest code, job
/// 0 gets the larger profile, then job 1, and so on. kMaxMin: the sum of speeds comes before these.
/// Placement: the layout of the multiset in which most jobs stay, then the first in canonical
/// order; jobs that do not stay get the instances of their profile in job order by ascending start.
///
/// Cost: assignments x n additions; no allocation in solve(). Immutable after construction; any
/// thread may call solve().
class PartitionTable {
 public:
  /// The table of the paper for this geometry; empty (everything infeasible) for a board without a
  /// profile table. Layouts of more than kAssignedJobsMax instances are left out.
  static PartitionTable paper(const gpu::Geometry& geometry);

  /// No job or more than kAssignedJobsMax is answered as infeasible.
  void solve(const PartitionQuestion& question, PartitionAnswer& answer) const;

  std::size_t code_count() const { return codes_.size(); }
  std::size_t layout_count() const { return layouts_.size(); }
  /// Profiles of a code, largest first.
  std::span<const ProfileIndex> profiles(int code) const;
  /// Assignments looked at for so many jobs.
  std::size_t assignment_count(int job_count) const;

 private:
  using Instances = InlineVector<gpu::PlacedProfile, kAssignedJobsMax>;
  struct Code {
    std::vector<ProfileIndex> profiles;  // largest first
    std::size_t layout_begin = 0;        // into layouts_
    std::size_t layout_end = 0;
  };
  struct Assignment {
    int code = 0;
    std::array<std::uint8_t, kAssignedJobsMax> profile{};  // by job: ProfileIndex
  };
  struct Worth {
    std::int64_t first = 0;   // larger is better
    std::int64_t second = 0;  // kMaxMin only
    friend auto operator<=>(const Worth&, const Worth&) = default;
  };
  /// Worth of job x profile in units of 1e-9.
  using Units = std::array<std::array<std::int64_t, predict::kProfilesMax>, kAssignedJobsMax>;
  struct Placing {
    const Instances* layout = nullptr;
    int kept = 0;
  };

  PartitionTable() = default;
  void add_code(const gpu::Geometry& geometry, const std::vector<gpu::Layout>& layouts);
  void add_assignments();
  void fill_units(const PartitionQuestion& question, Units& units) const;
  static Worth worth_of(const Assignment& assignment,
                        const Units& units,
                        std::size_t job_count,
                        plan::ObjectiveKind objective);
  Placing best_placing(const Assignment& assignment, const PartitionQuestion& question) const;
  static void place(const Assignment& assignment,
                    const Instances& layout,
                    const PartitionQuestion& question,
                    PartitionAnswer& answer);

  std::vector<Code> codes_;
  std::vector<Instances> layouts_;
  std::vector<ProfileIndex> profiles_;                                 // those of any code
  std::array<std::vector<Assignment>, kAssignedJobsMax> assignments_;  // by job count - 1
};

}  // namespace septule::optimize
