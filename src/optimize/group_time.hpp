#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/inline_vector.hpp"
#include "base/units.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/window_optimizer.hpp"
#include "plan/schedule.hpp"
#include "predict/co_run_model.hpp"

namespace septule::optimize {

/// A seat that nobody has.
inline constexpr std::size_t kNoJob = SIZE_MAX;

/// Jobs of one memory domain that begin together. A plain value.
struct DomainTime {
  /// kIdle, kSpeedUp: until the last has ended. kSteadyState: sum of solo times / sum of rates.
  Duration time;
  /// kIdle, kSpeedUp: of each seat, from the begin; kSteadyState: solo time / rate. 0 for seats
  /// that nobody has.
  InlineVector<Duration, gpu::kSeatsMax> ends;
  double rate_sum = 0;  ///< of all together, at the begin
  Duration solo_sum;
};

/// One job's run in a domain; of a seat that nobody has: none.
using RunPieces = InlineVector<plan::RatePiece, gpu::kSeatsMax>;

/// Which job sits in which seat: position in a list of jobs, by seat.
using SeatOrder = InlineVector<std::uint8_t, gpu::kSeatsMax>;

/// The best that a set of jobs can do in a domain.
struct BestSeating {
  SeatOrder order;
  DomainTime time;
};

/// How long jobs take in the memory domains of a window problem, by its clock, and whether the
/// rules let them. Times are whole nanoseconds: each stretch between two ends is rounded, jobs that
/// end within half a nanosecond end together, and the order of jobs does not matter.
/// - Nothing = impossible: a rate of 0 for any of them; more memory than the domain has, or memory
///   that is not known in company; fault domains or users that may not share an MPS server (a
///   compute instance; the whole GPU); a job slower than the fairness floor: solo time / its own
///   time < floor (kSteadyState: its rate); a time of 36 years or more (2^60 ns).
/// - Memory of a domain: gpu::domain_memory(). A job alone whose memory is not known fits where the
///   model has a rate for it, and any job alone fits the whole GPU if that one's memory is not
///   published: its solo time was measured there.
/// - kRefill: a domain's time is that of kSpeedUp; refilling is its optimizer's business.
/// Immutable; any thread. What the problem points to outlives it. No heap after construction.
class GroupTimer {
 public:
  /// `problem` is valid (check_window_problem()).
  explicit GroupTimer(const WindowProblem& problem);

  const WindowProblem& problem() const { return problem_; }  ///< with fairness_floor()
  /// `jobs`: one for each seat of the domain, kNoJob for none; at least one sits.
  std::optional<DomainTime> time(std::size_t domain, std::span<const std::size_t> jobs) const;
  /// The same with what each does from `begin` on; as many `runs` as seats. For kSteadyState each
  /// runs at its rate until its end.
  std::optional<DomainTime> runs(std::size_t domain,
                                 std::span<const std::size_t> jobs,
                                 SimTime begin,
                                 std::span<RunPieces> runs) const;
  /// The order in which as many jobs as seats take the least time (kSteadyState: have the largest
  /// sum of rates); of equal ones the first of orders(). Nothing = impossible in every order, or
  /// none takes less than `limit` (not looked at for kSteadyState).
  std::optional<BestSeating> best(std::size_t domain,
                                  std::span<const std::size_t> jobs,
                                  Duration limit = Duration::nanoseconds(INT64_MAX)) const;
  /// Orders of jobs in the seats of a domain that differ: seats of one compute instance with equal
  /// percentages are alike, and so are compute instances of equal size with equal seats.
  /// Lexicographic.
  std::span<const SeatOrder> orders(std::size_t domain) const { return orders_[domain]; }
  /// Whether these jobs may be in the domain together, by memory and rules, whatever their rates.
  bool may_sit(std::size_t domain, std::span<const std::size_t> jobs) const;

 private:
  bool may_share(std::size_t a, std::size_t b) const {
    return may_share_[a * problem_.jobs.size() + b] != 0;
  }
  void ask_alone();
  double bound(std::size_t domain, std::span<const std::size_t> jobs, const SeatOrder& order) const;
  bool is_fair(Duration solo, Duration end) const;
  std::optional<DomainTime> timed(std::size_t domain,
                                  std::span<const std::size_t> jobs,
                                  SimTime begin,
                                  std::span<RunPieces> runs) const;

  WindowProblem problem_;
  std::vector<std::optional<Bytes>> memory_;    ///< by domain; nothing = not published
  std::vector<std::uint8_t> may_share_;         ///< job by job: clients of one MPS server
  std::vector<std::vector<SeatOrder>> orders_;  ///< by domain
  /// Rates alone in a seat, 0 = cannot; by domain, then seat and job. Empty where company may make
  /// jobs faster.
  std::vector<std::vector<double>> alone_;
};

/// The time of a group that fills these domains, by the clock: the longest (kSteadyState: sum of
/// all solo times / sum of all rates). At least one.
Duration group_time(GroupClock clock, std::span<const DomainTime> domains);

}  // namespace septule::optimize
