#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/work_budget.hpp"
#include "optimize/domain_timeline.hpp"
#include "optimize/seat_rates.hpp"
#include "optimize/window_optimizer.hpp"

namespace septule::optimize {

/// What a seat may do in a phase.
enum class SeatRule {
  kOneJob,  ///< one job: phases are groups between barriers, timed by the problem's clock
  kQueue,   ///< a list of jobs, one after another: refilled
};

/// A stretch of time under one template: every seat works through its list (domain_timeline.hpp),
/// and the stretch is over when all are done. A value.
struct SeatPhase {
  std::size_t shape = 0;              ///< index into SharingCatalogue::templates
  std::vector<DomainQueues> domains;  ///< as the template's domains
  std::vector<DomainEnd> ends;        ///< of each

  std::size_t job_count() const;
};

/// Phases one after another, each job in one of them. A value.
struct PhasePlan {
  std::vector<SeatPhase> phases;
};

/// What a plan costs.
struct PhaseCost {
  std::int64_t total_ns = 0;  ///< with switches
  /// What the search compares: the total, and a part of when seats are done on average, so that
  /// there is a slope where the last end does not move. Nanoseconds.
  double score = 0;
};

/// Building and costing plans of one problem. One owner; the rates outlive it.
class PhasePlanner {
 public:
  PhasePlanner(SeatRates& rates, SeatRule rule, WorkBudget& budget);

  const gpu::SharingCatalogue& catalogue() const { return *rates_->problem().catalogue; }
  SeatRates& rates() { return *rates_; }
  WorkBudget& budget() { return *budget_; }
  SeatRule rule() const { return rule_; }
  bool is_switching_free() const { return is_free_; }
  /// Whether domains are timed by run_queues(), rates changing with the company.
  bool is_refilling() const;

  /// No jobs yet.
  SeatPhase empty_phase(std::size_t shape) const;
  /// Works out the ends of one domain of a phase; false where its lists cannot be worked off.
  bool time_domain(SeatPhase& phase, std::size_t domain);
  /// Puts the job at the end of the list (with kOneJob: in an empty seat) where the phase's score
  /// then is least; false where it runs in no seat.
  bool insert(SeatPhase& phase, SeatedJob job);
  /// The jobs, in this order, each inserted; those that no seat takes run in phases behind, each
  /// where it is fastest alone. Nothing where one of them fits nowhere.
  std::optional<PhasePlan> build(std::size_t shape, std::span<const SeatedJob> jobs);

  std::int64_t length_ns(const SeatPhase& phase) const;
  double score(const SeatPhase& phase) const;
  PhaseCost cost(const PhasePlan& plan) const;
  /// Longest first, then by number.
  const std::vector<SeatedJob>& jobs_by_length() const { return by_length_; }

 private:
  /// Template and seat in which a job is fastest with the GPU to itself.
  struct BestAlone {
    std::size_t shape = 0;
    double rate = 0;
  };
  BestAlone best_alone(SeatedJob job);
  std::int64_t switch_ns(std::optional<std::size_t> from, std::size_t to) const;

  std::optional<DomainEnd> time_of_one_each(const DomainQueues& queues) const;

  SeatRates* rates_;
  SeatRule rule_;
  WorkBudget* budget_;
  std::vector<SeatedJob> by_length_;
  bool is_free_ = true;
  /// By template before (0 = as the GPU is cut at the begin, else template + 1), then template.
  std::vector<std::vector<std::int64_t>> switches_;
};

}  // namespace septule::optimize
