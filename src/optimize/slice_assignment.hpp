#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"
#include "optimize/speed_matrix.hpp"
#include "plan/objective.hpp"

namespace septule::optimize {

/// What may happen to an instance that is there already.
enum class InstanceUse {
  kFrozen,    ///< stays; none of the jobs may run in it
  kHost,      ///< stays; one of the jobs may run in it
  kPinned,    ///< stays; `job` stays in it
  kReusable,  ///< may stay (with a job or idle) or be destroyed
};

/// An instance of the current layout.
struct CurrentInstance {
  gpu::PlacedProfile placed;
  InstanceUse use = InstanceUse::kFrozen;
  /// The job (index into the job table) that is in it now. Needed for kPinned; not for kFrozen.
  std::optional<int> job = {};
};

/// What a change is charged, in units of the objective (for kMeanSlowdown it is added, otherwise
/// subtracted). Each in 0..kSpeedMax.
struct ChangeCosts {
  double create = 0;   ///< per new instance
  double destroy = 0;  ///< per current instance that goes
  double move = 0;     ///< per job that has a current instance and ends in another one
};

/// Which layouts count as legal beside what the geometry says.
enum class LayoutRule {
  kEveryLayout,
  /// No 4-slice instance beside a 3-slice one (drivers before R510 refused it); 18 instead of 19
  /// maximal layouts on A100. A pair that is there already may stay.
  kForbidFourPlusThree,
};

/// Why no assignment exists.
enum class Infeasibility {
  kNone,
  kTooManyJobs,     ///< more jobs than the GPU can hold instances for
  kJobFitsNowhere,  ///< a job has speed 0 on everything it could get
  kNoLayout,        ///< each job fits somewhere, but no legal layout serves all of them
};

/// The answer of the hot path; fixed size, no heap memory. Fields beyond `infeasibility` mean
/// something only if it is kNone.
struct SliceAssignment {
  struct Slot {
    gpu::PlacedProfile placed;
    std::optional<int> current = {};  ///< index of the current instance used; nothing = a new one
  };
  Infeasibility infeasibility = Infeasibility::kNone;
  int infeasible_job = 0;  ///< for kJobFitsNowhere
  int job_count = 0;
  std::array<Slot, kAssignedJobsMax> slots{};  ///< by job
  double objective = 0;                        ///< without change costs
  double change_cost = 0;                      ///< in units of the objective
  std::uint32_t kept = 0;                      ///< bit i: current instance i stays
  int created = 0;
  int destroyed = 0;
  int moved = 0;
  /// What could be created beside everything in the layout: one maximal completion, the largest
  /// profile first, each at its lowest start.
  std::array<gpu::PlacedProfile, kAssignedJobsMax> idle_room{};
  int idle_room_count = 0;

  bool is_feasible() const { return infeasibility == Infeasibility::kNone; }
};

/// The tables a SliceAssigner works on (slice_assignment_graph.hpp).
struct AssignmentGraph;

/// The exact per-GPU optimizer: which instances to cut and which job gets which, at most one job
/// per instance, every job served.
///
/// Assumptions: a job's speed depends on the profile only, so that placement matters only through
/// legality and through what is kept; any subset of a legal layout is legal, so that only used
/// instances need be created (creating more never helps).
///
/// Method: for each set of current instances that may stay (one, if nothing is reusable), a dynamic
/// program over states (hosts in use, legal multiset of new profiles) with one job per level; the
/// transitions are tabulated at construction. The empty A100 has 38 such multisets with plain
/// profiles and 128 with all. kMaxMin first finds the highest floor, then the best sum above it
/// (with costs: one pass per possible floor). Values are 64-bit multiples of 1e-9, so that sums do
/// not depend on their order and ties are exact; figures that differ by less are equal.
///
/// Ties, in this order:
///  1. objective with costs (kMaxMin: then the sum of speeds);
///  2. fewest changes (created + destroyed + moved);
///  3. job 0 gets the instance that comes first by (ProfileIndex, current before new, start of the
///     current one), then job 1, and so on;
///  4. the current instances kept: the set that keeps the last-listed ones where two sets differ;
///  5. new instances are placed so that the largest profile stays placeable (by memory slices, then
///     compute slices; then the second largest ...), then by canonical order of the layout;
///  6. jobs with equal new profiles get them in job order by ascending start.
///
/// Immutable after construction; any thread may call solve(). solve() allocates nothing.
/// Cost of solve() in table steps: jobs x transitions; construction looks at every legal layout
/// once per set of current instances that may stay.
class SliceAssigner {
 public:
  struct Options {
    gpu::ProfileSet profiles = gpu::ProfileSet::kPlain;
    LayoutRule rule = LayoutRule::kEveryLayout;
    std::span<const CurrentInstance> current = {};  ///< read during construction only
    ChangeCosts costs = {};
  };

  /// Fails with kNotFound for a board without a profile table, and with kInvalidInput for current
  /// instances that are not legal together, a job named twice or missing, and costs out of range.
  static Result<SliceAssigner> make(const gpu::Geometry& geometry, const Options& options);

  SliceAssigner(SliceAssigner&& other) noexcept;
  SliceAssigner& operator=(SliceAssigner&& other) noexcept;
  SliceAssigner(const SliceAssigner&) = delete;
  SliceAssigner& operator=(const SliceAssigner&) = delete;
  ~SliceAssigner();

  /// Jobs named by current instances must exist in `jobs` (SEPTULE_CHECK).
  void solve(const SpeedMatrix& jobs, plan::ObjectiveKind objective, SliceAssignment& out) const;

  /// Legal multisets of new profiles beside the instances that must stay, the empty one included.
  std::size_t multiset_count() const;
  /// Sets of current instances that may stay; 1 if nothing is reusable.
  std::size_t kept_set_count() const;

 private:
  explicit SliceAssigner(std::unique_ptr<const AssignmentGraph> graph);

  std::unique_ptr<const AssignmentGraph> graph_;
};

}  // namespace septule::optimize
