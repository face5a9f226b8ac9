#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/rng.hpp"
#include "optimize/phase_plan.hpp"

namespace septule::optimize {

/// Simulated annealing on a plan of phases. Moves: a job to another place of any list, two jobs
/// exchanged, a job and those after it into a phase of their own, one or two phases dealt anew to
/// templates drawn, two phases exchanged. One use; one owner.
class PhaseSearch {
 public:
  /// `shapes`: templates to draw from, not empty. The planner outlives it.
  PhaseSearch(PhasePlanner& planner, std::vector<std::size_t> shapes, Rng rng);

  /// From `start` on until the planner's budget stands at `units_end` (of units spent). The best
  /// plan seen; never worse than `start`.
  PhasePlan improve(const PhasePlan& start, std::int64_t units_end);

 private:
  /// A place in a list.
  struct Spot {
    std::size_t phase = 0;
    std::size_t domain = 0;
    std::size_t seat = 0;
    std::size_t index = 0;
  };
  /// A domain that a move changes, and what it was.
  struct Touched {
    std::size_t phase = 0;
    std::size_t domain = 0;
    DomainEnd before;
  };

  /// Phases to replace.
  struct Change {
    std::vector<std::size_t> out;  ///< indices of phases, ascending
    std::vector<SeatPhase> in;     ///< in their stead, at the place of the first
  };

  void restart(const PhasePlan& plan);
  void find_spots();
  Spot spot_of(SeatedJob job) const;
  std::vector<SeatedJob>& list_at(const Spot& spot);
  Spot random_spot(std::size_t phase);
  bool is_accepted(double before, double after);
  void step();
  void relocate();
  void exchange(SeatedJob a, SeatedJob b);
  void keep_if_best();
  void rebuild();
  bool split(Change& change);
  bool remix(Change& change);
  void reorder();
  /// Gives the jobs seats on templates drawn, one phase more where one is full.
  bool seat_all(std::vector<SeatedJob> jobs, Change& change);
  std::vector<SeatedJob> jobs_of(std::size_t phase) const;
  static void apply(const Change& change, PhasePlan& plan);
  /// Times the touched domains anew; the change of the score, or nothing where one cannot run.
  bool retime(const Spot& a, const Spot& b, double& change);
  void undo_times();
  void accept_change(double change);
  SeatedJob random_job() { return static_cast<SeatedJob>(random_below(spots_.size())); }
  /// A job about as long as the one of this rank by length.
  SeatedJob neighbour_of(std::size_t rank);
  std::size_t random_below(std::size_t bound) {
    return static_cast<std::size_t>(rng_.below(bound));
  }

  PhasePlanner* planner_;
  std::vector<std::size_t> shapes_;
  Rng rng_;
  PhasePlan plan_;
  PhaseCost cost_;
  PhasePlan best_;
  PhaseCost best_cost_;
  std::vector<Spot> spots_;  // by job; index not kept
  std::vector<Touched> touched_;
  double temperature_ = 0;
};

}  // namespace septule::optimize
