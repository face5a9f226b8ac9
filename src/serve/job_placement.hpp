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

/// Where retraining jobs would best run, all together: sizes and begins with which the tenants earn
/// the most until the periods end. What they earn in a step is the best that the GPU can give
/// beside the sizes taken (capacity_choices.hpp: places and moves forgotten) with the models that
/// answer by then; what is lost against a GPU where nothing is taken counts `caution` times. A run
/// takes its size for a warm-up, the driver's 0.25 s and its work, and for the warm-up of what
/// comes back, unless another run takes the size over. Search: from no run at all and from the
/// first run of each job and size, each job in turn is given its best run beside the others (begins
/// of every second step only from the 8th on), until a pass gains nothing (four at most); the best
/// of all. Jobs that run already keep their sizes. A quick estimate in place of
/// retraining_search.hpp: it is asked every few seconds, and only runs that begin at step 0 are
/// acted on. `net` is what all earn less what they earn without the run. Order: larger sizes first,
/// as they are harder to place. Ties: the first found (no run, lower tenant, smaller size, earlier
/// begin). More than 8 jobs: none is placed. Cost: jobs^2 x sizes^2 x steps^2 look-ups, and ways x
/// steps for each set of sizes and models met.
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
