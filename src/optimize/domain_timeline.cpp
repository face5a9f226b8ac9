#include "optimize/domain_timeline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/check.hpp"

namespace septule::optimize {
namespace {

/// Work left, in nanoseconds of a whole GPU, that counts as done.
constexpr double kDone = 0.5;
/// Relative error allowed against the fairness floor.
constexpr double kFairnessTolerance = 1e-9;

/// The seats of a domain as time goes on.
class QueueRun {
 public:
  QueueRun(SeatRates& rates, const DomainQueues& queues) : rates_(rates), queues_(queues) {
    for (std::size_t s = 0; s < queues.seats.size(); ++s) {
      seated_.push_back(kEmptySeat);
    }
  }

  /// Seats whoever may sit now. False where nothing can go on.
  bool fill() {
    is_waiting_ = false;
    is_running_ = false;
    bool is_known = false;
    for (std::size_t s = 0; s < seated_.size(); ++s) {
      const std::vector<SeatedJob>& queue = queues_.seats[s];
      if (seated_[s] != kEmptySeat) {
        is_running_ = true;
        continue;
      }
      if (next_[s] == queue.size()) {
        continue;
      }
      seated_[s] = queue[next_[s]];
      const std::span<const double> found = rates_.find(queues_.domain, seated_);
      if (found.empty()) {
        seated_[s] = kEmptySeat;
        is_waiting_ = true;
        continue;
      }
      begin_[s] = now_;
      left_[s] = static_cast<double>(work_ns(queue[next_[s]]));
      ++next_[s];
      // Copied: the next question may move what was found.
      std::copy(found.begin(), found.end(), company_.begin());
      is_known = true;
      is_running_ = true;
    }
    if (!is_running_) {
      return !is_waiting_;
    }
    if (!is_known) {
      const std::span<const double> found = rates_.find(queues_.domain, seated_);
      std::copy(found.begin(), found.end(), company_.begin());
      return !found.empty();
    }
    return true;
  }

  bool is_running() const { return is_running_; }
  /// Whether somebody could not start beside the others.
  bool is_waiting() const { return is_waiting_; }

  /// Until the next end of a job.
  std::int64_t step_ns() const {
    double step = 9e18;
    for (std::size_t s = 0; s < seated_.size(); ++s) {
      if (seated_[s] != kEmptySeat) {
        step = std::min(step, left_[s] / company_[s]);
      }
    }
    return step < 9e18 ? std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(step))) : -1;
  }

  /// Goes on by `step` and calls ended(seat, job) for those that are done. False below the floor.
  template <class Ended>
  bool advance(std::int64_t step, Ended&& ended) {
    now_ += step;
    const double fairness = rates_.timer().problem().rules.fairness;
    for (std::size_t s = 0; s < seated_.size(); ++s) {
      if (seated_[s] == kEmptySeat) {
        continue;
      }
      left_[s] -= company_[s] * static_cast<double>(step);
      if (left_[s] > kDone) {
        continue;
      }
      const auto solo = static_cast<double>(work_ns(seated_[s]));
      if (static_cast<double>(now_ - begin_[s]) * fairness > solo * (1 + kFairnessTolerance) + 1) {
        return false;
      }
      ended(s, seated_[s]);
      seat_end_[s] = now_;
      seated_[s] = kEmptySeat;
    }
    return true;
  }

  DomainEnd end() const {
    DomainEnd end;
    end.end_ns = now_;
    for (std::size_t s = 0; s < seated_.size(); ++s) {
      end.seat_ends_ns += seat_end_[s];
    }
    return end;
  }

  std::int64_t now() const { return now_; }
  const Seating& seated() const { return seated_; }
  double rate(std::size_t seat) const { return company_[seat]; }
  double rate_sum() const {
    double sum = 0;
    for (std::size_t s = 0; s < seated_.size(); ++s) {
      sum += seated_[s] == kEmptySeat ? 0 : company_[s];
    }
    return sum;
  }
  std::int64_t work_ns(SeatedJob job) const {
    return rates_.problem().jobs[job].solo.to_nanoseconds();
  }

 private:
  SeatRates& rates_;
  const DomainQueues& queues_;
  Seating seated_;
  std::array<double, gpu::kSeatsMax> company_{};  // rate by seat
  std::array<std::size_t, gpu::kSeatsMax> next_{};
  std::array<double, gpu::kSeatsMax> left_{};
  std::array<std::int64_t, gpu::kSeatsMax> begin_{};
  std::array<std::int64_t, gpu::kSeatsMax> seat_end_{};
  std::int64_t now_ = 0;
  bool is_waiting_ = false;
  bool is_running_ = false;
};

}  // namespace

std::optional<DomainEnd> run_queues(SeatRates& rates,
                                    const DomainQueues& queues,
                                    Waiting waiting,
                                    WorkBudget& budget) {
  QueueRun run(rates, queues);
  std::int64_t units = 0;
  std::int64_t solo_sum = 0;
  bool is_fine = run.fill() && (waiting == Waiting::kAllowed || !run.is_waiting());
  const double rate_sum = is_fine ? run.rate_sum() : 0;
  while (is_fine && run.is_running()) {
    ++units;
    const std::int64_t step = run.step_ns();
    is_fine =
        step > 0 && run.now() <= INT64_MAX / 4 - step &&
        run.advance(step, [&](std::size_t, SeatedJob job) { solo_sum += run.work_ns(job); }) &&
        run.fill();
  }
  budget.spend(units);
  if (!is_fine) {
    return std::nullopt;
  }
  DomainEnd end = run.end();
  end.rate_sum = rate_sum;
  end.solo_sum_ns = solo_sum;
  return end;
}

void lay_out_queues(SeatRates& rates,
                    const DomainQueues& queues,
                    SimTime begin,
                    std::size_t instance,
                    std::vector<plan::ScheduledRun>& out) {
  const gpu::MemoryDomain& domain = rates.problem().catalogue->domains[queues.domain];
  QueueRun run(rates, queues);
  std::array<std::vector<plan::RatePiece>, gpu::kSeatsMax> pieces;
  bool is_fine = run.fill();
  while (is_fine && run.is_running()) {
    const std::int64_t step = run.step_ns();
    const SimTime from = begin + Duration::nanoseconds(run.now());
    const SimTime until = from + Duration::nanoseconds(step);
    for (std::size_t s = 0; s < queues.seats.size(); ++s) {
      if (run.seated()[s] == kEmptySeat) {
        continue;
      }
      const double rate = run.rate(s);
      if (!pieces[s].empty() && !(pieces[s].back().rate < rate) &&
          !(pieces[s].back().rate > rate)) {
        pieces[s].back().until = until;
      } else {
        pieces[s].push_back({from, until, rate});
      }
    }
    is_fine = run.advance(step, [&](std::size_t s, SeatedJob job) {
      const gpu::Seat& seat = domain.seats[s];
      out.push_back({job, instance, seat.compute, seat.atp, std::move(pieces[s])});
      pieces[s].clear();
    }) && run.fill();
  }
  SEPTULE_CHECK(is_fine, "lists that are laid out have been tried");
}

}  // namespace septule::optimize
