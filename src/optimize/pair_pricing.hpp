#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/work_budget.hpp"
#include "optimize/company_pricing.hpp"
#include "optimize/group_time.hpp"

namespace septule::optimize {

/// Prices templates from above by what jobs do alone and in pairs, for windows in which sets of
/// three and more are too many. For models that keep predict::CompanyLaw::kDelaysAddUp only.
///
/// Relaxation [D]. Let A_i be the step (1 / rate) of job i alone in its seat, d_ij what job j in
/// another seat of its compute instance adds to it. Of m jobs in a compute instance, by the law:
///   rate_i <= 1 / (A_i + sum of d_ij) <= mean over j of 1 / (A_i + (m - 1) d_ij)
/// (1 / x is convex), so that what they earn together is at most
///   1 / (m - 1) x sum over pairs of seats of the best pair of jobs for them, each pair at
///   p_i / (A_i + (m - 1) d_ij) + p_j / (A_j + (m - 1) d_ji).
/// Given away: that pairs of seats may choose different jobs, that a job may sit in several seats,
/// and what compute instances of one GPU instance do to each other (but for two jobs alone there).
/// With two seats in a compute instance and one compute instance in each instance it is exact but
/// for jobs that sit twice.
/// One owner; what the timer's problem points to outlives it.
class PairPricer final : public ColumnPricer {
 public:
  /// The model is asked once for each job in each seat and each pair in two seats: a unit of
  /// `budget`, whose limit is not looked at.
  PairPricer(const GroupTimer& timer, WorkBudget& budget);

  PricedColumns price(std::span<const double> prices,
                      double threshold,
                      WorkBudget& budget) override;
  double rate_max(std::size_t job) const override { return rate_max_[job]; }

 private:
  /// Two seats of a domain with jobs in them, among `jobs` of their compute instance; or one seat.
  struct Table {
    std::size_t domain = 0;
    std::size_t first = 0;   ///< seat
    std::size_t second = 0;  ///< seat; equal to `first` = alone
    double others = 1;       ///< m - 1
    /// Rates from above, by job in the first seat, then in the second; alone: by job.
    std::vector<double> first_rates, second_rates;
    // The best at the prices asked last.
    double value = 0;
    std::size_t first_job = 0, second_job = 0;
  };
  /// A part of what a domain earns: a table with its weight.
  struct Part {
    std::size_t table = 0;
    double weight = 1;
  };
  using Kind = std::vector<Part>;

  Kind make_kind(const CompanyKind& kind);
  std::size_t table_of(const Table& wanted);
  void fill(Table& table);
  double rate_alone(std::size_t domain, std::size_t seat, std::size_t job);
  void price_table(Table& table, std::span<const double> prices) const;
  double value_of(const Kind& kind) const;

  const GroupTimer* timer_;
  WorkBudget* budget_;
  CompanyKinds kinds_;
  std::vector<Table> tables_;
  std::vector<Kind> parts_;  // by kind
  std::vector<double> rate_max_;
};

}  // namespace septule::optimize
