#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/inline_vector.hpp"
#include "base/work_budget.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/seat_rates.hpp"
#include "plan/schedule.hpp"

namespace septule::optimize {

/// What the seats of a memory domain do: each works through its own list, one job after another.
struct DomainQueues {
  std::size_t domain = 0;                                      ///< index into the catalogue
  InlineVector<std::vector<SeatedJob>, gpu::kSeatsMax> seats;  ///< as many as its seats
};

/// When the seats of a domain are done, counted from its begin.
struct DomainEnd {
  std::int64_t end_ns = 0;        ///< of its last job
  std::int64_t seat_ends_ns = 0;  ///< sum over the seats
  double rate_sum = 0;            ///< at the begin
  std::int64_t solo_sum_ns = 0;   ///< of all jobs
};

/// Whether jobs may wait for others of their domain to end.
enum class Waiting { kAllowed, kRefused };

/// Works the lists off. A job starts as soon as the one before it in its seat has ended, or, where
/// it may not join those that run then (memory, sharing rules, no rate), at the first later end of
/// one at which it may. Rates change whenever the company does. Nothing where that comes to a stop
/// (a job that runs nowhere alone, or one left in company without a rate), or where a job falls
/// below the fairness floor over its run. Ends are rounded up to whole nanoseconds, so that no run
/// is shorter than its work. With kRefused, nothing also where the first of each list do not all
/// start at once. A unit of `budget` is an end of jobs; its limit is not looked at.
std::optional<DomainEnd> run_queues(SeatRates& rates,
                                    const DomainQueues& queues,
                                    Waiting waiting,
                                    WorkBudget& budget);

/// The same, appending the runs: `begin` is when the domain begins, `instance` the index for
/// ScheduledRun. The lists must be ones that run_queues() takes.
void lay_out_queues(SeatRates& rates,
                    const DomainQueues& queues,
                    SimTime begin,
                    std::size_t instance,
                    std::vector<plan::ScheduledRun>& out);

}  // namespace septule::optimize
