#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/inline_vector.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"
#include "optimize/speed_matrix.hpp"

namespace septule::optimize {

/// Which instance each of up to seven jobs should get on one GPU, where moving a job costs
/// something: the question of a scheduler that lets untouched jobs run on. A plain value.
struct PlacedProblem {
  struct Job {
    std::array<double, gpu::LayoutBuilder::kProfilesMax> value{};  ///< by profile; 0 = does not fit
    /// Taken off its value wherever it does not stay where it is.
    double move_cost = 0;
    std::optional<gpu::PlacedProfile> current;  ///< where it runs now; nothing = it runs nowhere
  };
  InlineVector<Job, kAssignedJobsMax> jobs;
};

/// The best places. A plain value; without jobs it is feasible and worth nothing.
struct PlacedAnswer {
  bool is_feasible = false;
  double value = 0;  ///< sum of values less the cost of moves
  InlineVector<gpu::PlacedProfile, kAssignedJobsMax> places;  ///< by job
  std::uint32_t moved = 0;  ///< bit j: job j has a place and leaves it
};

/// The exact answer over all legal layouts of plain profiles.
///
/// Assumptions: values depend on the profile only; any part of a legal layout is legal, so that it
/// is enough to look at maximal layouts and to create only what is used.
/// Steps: for each maximal layout an upper bound (each job in its best instance); if it beats the
/// best so far, a dynamic program over sets of jobs, one instance after the other.
/// Ties (values within 1e-12): the maximal layout that comes first in canonical order; in it an
/// instance stays idle rather than take a job, and takes the job of the lowest index.
/// Cost: maximal layouts (19 on A100) x 2^jobs x instances in the worst case; no allocation.
/// Immutable after construction; solve() may be called from any thread.
class PlacedAssigner {
 public:
  explicit PlacedAssigner(const gpu::Geometry& geometry);

  void solve(const PlacedProblem& problem, PlacedAnswer& out) const;
  std::size_t layout_count() const { return layouts_.size(); }

 private:
  using Instances = InlineVector<gpu::PlacedProfile, kAssignedJobsMax>;

  std::vector<Instances> layouts_;
};

}  // namespace septule::optimize
