#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "serve/layout_graph.hpp"
#include "serve/reservation.hpp"

namespace septule::serve {

/// A stretch of steps in which one instance retrains a tenant, before it has a place.
struct RetrainingRun {
  int tenant = 0;
  int label = 0;
  int size = 0;
  int begin = 0;
  int end = 0;                   ///< one past the last step
  std::optional<int> continues;  ///< placement of the instance in force that goes on
  friend bool operator==(const RetrainingRun&, const RetrainingRun&) = default;
};
/// By tenant, then begin. One tenant's runs do not overlap.
using RetrainingRuns = std::vector<RetrainingRun>;

/// The runs of these tenants on a way through a graph.
RetrainingRuns runs_of(const GoodputProblem& problem,
                       const LayoutGraph& graph,
                       const std::vector<LayoutGraph::Counts>& path,
                       std::span<const int> tenants);
/// Cuts runs where the work is complete and drops those of tenants whose work is not; by tenant,
/// the step from which the retrained model answers (frozen instances count too).
std::vector<std::optional<int>> complete_runs(const GoodputProblem& problem, RetrainingRuns& runs);
/// Instances of each size that runs hold, by step.
std::vector<SizeTable<int>> sizes_beside(const GoodputProblem& problem, const RetrainingRuns& runs);

/// Ways to give every run a placement that are legal in every step, at most `ways_max`, those first
/// that leave the most placed layouts for others over all steps. Each way is reservations by run.
std::vector<std::vector<Reservation>> place_runs(const GoodputProblem& problem,
                                                 const RetrainingRuns& runs,
                                                 std::size_t ways_max);

}  // namespace septule::serve
