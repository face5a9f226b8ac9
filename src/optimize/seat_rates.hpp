#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/inline_vector.hpp"
#include "base/result.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/group_time.hpp"
#include "optimize/window_optimizer.hpp"

namespace septule::optimize {

/// A job of the window in a seat.
using SeatedJob = std::uint16_t;
inline constexpr SeatedJob kEmptySeat = 0xffff;
/// Jobs of a window at most, for methods that keep seatings.
inline constexpr std::size_t kSeatedJobsMax = 0xfffe;
/// Who sits where in a memory domain: one for each of its seats.
using Seating = InlineVector<SeatedJob, gpu::kSeatsMax>;

/// Whether jobs may sit together in a memory domain of a problem, and how fast they then run:
/// memory and sharing rules (plan/window.hpp) and the co-run model in one answer. Fairness is a
/// matter of whole runs and not looked at. Answers are kept, so that equal questions ask the model
/// once. One owner; the problem outlives it.
class SeatRates {
 public:
  /// The problem has passed check_window_problem() and has at most kSeatedJobsMax jobs.
  explicit SeatRates(const WindowProblem& problem);

  /// One rate for each seat, 0 for empty ones, valid until the next call. Empty where these jobs
  /// may not sit so: too little memory or not known, sharing rules, no rate. Seats of `seated` and
  /// of the domain are as many; at least one is taken; no job is in two.
  std::span<const double> find(std::size_t domain, const Seating& seated);

  /// Whether the job can run in this seat with no other job in the domain.
  bool runs_alone(std::size_t domain, std::size_t seat, SeatedJob job);

  const WindowProblem& problem() const { return *problem_; }
  const GroupTimer& timer() const { return timer_; }
  /// Questions that were put to the model.
  std::int64_t models_asked() const { return models_asked_; }

 private:
  struct Entry {
    std::uint64_t low = 0;  // seats 0 to 3, 16 bits each
    std::uint64_t high = 0;
    std::uint32_t domain = 0;
    std::uint32_t rates = kFree;  // index into rates_, kFree or kImpossible
  };
  static constexpr std::uint32_t kFree = 0xffffffff;
  static constexpr std::uint32_t kImpossible = 0xfffffffe;
  static constexpr std::size_t kEntriesMax = std::size_t{1} << 20U;

  std::size_t slot_of(const Entry& key) const;
  void grow();
  bool is_allowed(std::size_t domain, const Seating& seated) const;
  bool ask(std::size_t domain, const Seating& seated, std::span<double> out);

  const WindowProblem* problem_;
  GroupTimer timer_;            // for who may sit together
  std::vector<Entry> entries_;  // a power of two, at most half of it used
  std::size_t used_ = 0;
  std::vector<double> rates_;
  std::int64_t models_asked_ = 0;
};

/// kBlocked, naming the first job that runs in no seat of the catalogue even alone in its memory
/// domain.
Status check_jobs_run_alone(SeatRates& rates);

}  // namespace septule::optimize
