#pragma once

#include <span>
#include <vector>

#include "serve/capacity_choices.hpp"
#include "serve/gpu_holding.hpp"
#include "serve/serving_policy.hpp"

namespace septule::serve {

/// What is known when jobs are placed on one GPU. Spans hold during the call.
struct JobPlacementInput {
  SimTime now;
  Duration step;
  std::span<const int> tenants;                    ///< of this GPU, ascending
  std::span<const std::vector<double>> rates_rps;  ///< by entry of `tenants`, then step
  std::span<const TenantState> states;             ///< by tenant; work left only if it is for here
  const GpuHoldings* holdings = nullptr;
  WarmUpQuantile warm_up = WarmUpQuantile::kP90;
  /// What others lose counts so many times: the estimate forgets the moves that a run sets off, and
  /// the run is a bet on a forecast.
  double caution = 1;
};

/// When and on what size a job would best run.
struct JobRun {
  int tenant = 0;
  int size = 0;
  int begin = 0;   ///< step
  int end = 0;     ///< step after the last one of the run
  double net = 0;  ///< goodput gained less goodput lost, estimated
};

/// Where retraining jobs would best run: for each size and begin, what the retrained model earns
/// until its period ends less what the others lose by the instance (the best shares of the GPU
/// without it against those with it, moves forgotten: capacity_choices.hpp), warm-ups before and
/// after the run included. The best run of all tenants is placed first, the next beside it, until
/// nothing gains. Jobs that run already keep their sizes. A quick estimate in place of
/// retraining_search.hpp: it is asked every few seconds, and only runs that begin at step 0 are
/// acted on. Ties: smaller size, lower tenant, earlier begin. Cost: jobs^2 x sizes x steps x ways.
std::vector<JobRun> place_jobs(const HoldingContext& context,
                               const JobPlacementInput& input,
                               CapacityBook& book);

/// The holdings with a retraining instance for this run, at the placement of its size that costs
/// the least throughput; the serving instances in its way go. Nothing where only instances that
/// must stay (`fixed`, placements) are in the way. Ties: lower placement.
std::optional<GpuHoldings> with_job(const HoldingContext& context,
                                    const GpuHoldings& holdings,
                                    const JobRun& run,
                                    std::uint32_t fixed,
                                    SimTime now);

}  // namespace septule::serve
