#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/inline_vector.hpp"
#include "base/work_budget.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/group_time.hpp"
#include "optimize/window_optimizer.hpp"

namespace septule::optimize {

/// What a template does with jobs in its seats: how fast each job's work gets done. Jobs ascending.
struct RateColumn {
  struct Entry {
    std::size_t job = 0;
    double rate = 0;
  };
  std::vector<Entry> entries;
  double value = 0;  ///< sum of price x rate
};

/// The most that any template earns at given prices, and the columns that earn much.
struct PricedColumns {
  /// No template earns more than this, whoever sits in its seats.
  double value_max = 0;
  std::vector<RateColumn> columns;  ///< by template; those above the threshold
};

/// Finds what earns most. Implementations have their own tables. One owner.
class ColumnPricer {
 public:
  ColumnPricer() = default;
  ColumnPricer(const ColumnPricer&) = delete;
  ColumnPricer& operator=(const ColumnPricer&) = delete;
  virtual ~ColumnPricer() = default;

  /// `prices` >= 0, one for each job. Columns that earn `threshold` or less may be left out;
  /// value_max is at least `threshold` then.
  virtual PricedColumns price(std::span<const double> prices,
                              double threshold,
                              WorkBudget& budget) = 0;
  /// No company lets the job run faster; 0 = it runs nowhere.
  virtual double rate_max(std::size_t job) const = 0;
};

/// Seats of a domain that are taken, the others being empty: which compute instances and
/// percentages. Equal for domains of one place in which as many sit in the same way.
struct CompanyKind {
  std::size_t domain = 0;                           ///< one that has these seats
  InlineVector<std::size_t, gpu::kSeatsMax> seats;  ///< of it, ascending
  /// Seats (positions in `seats`) that must have a higher job than the one before, being alike.
  InlineVector<bool, gpu::kSeatsMax> is_like_before;
};

/// The kinds of companies of a catalogue's domains.
struct CompanyKinds {
  std::vector<CompanyKind> kinds;
  std::vector<std::vector<std::size_t>> of_domain;  ///< indices into kinds, ascending
};
CompanyKinds company_kinds(const gpu::SharingCatalogue& catalogue);
/// Companies of all kinds with jobs of a window of so many, whether they may be or not; a number
/// beyond 1e15 is cut to that.
std::int64_t company_count(const CompanyKinds& kinds, std::size_t job_count);

/// Prices by the rates of all companies there are: every set of jobs in every combination of seats.
/// Exact. For windows of up to kJobsMax jobs.
class CompanyPricer final : public ColumnPricer {
 public:
  static constexpr std::size_t kJobsMax = 64;

  /// Null where there are more than `companies_max`. The model is asked once for each: a unit of
  /// `budget`, whose limit is not looked at. What the timer's problem points to outlives it.
  static std::unique_ptr<CompanyPricer> make(const GroupTimer& timer,
                                             std::int64_t companies_max,
                                             WorkBudget& budget);

  PricedColumns price(std::span<const double> prices,
                      double threshold,
                      WorkBudget& budget) override;
  double rate_max(std::size_t job) const override { return rate_max_[job]; }

 private:
  /// All companies of one kind, those of a set of jobs one behind the other.
  struct Companies {
    std::size_t size = 0;                  ///< jobs in each
    std::vector<std::uint64_t> sets;       ///< bit j = job j
    std::vector<std::uint32_t> set_begin;  ///< first company of each set, and the end
    std::vector<std::uint8_t> jobs;        ///< `size` of each company
    std::vector<double> rates;
  };
  /// The best company of a set of jobs.
  struct Choice {
    double value = 0;
    std::uint64_t set = 0;
    std::uint32_t kind = 0;
    std::uint32_t company = 0;
  };
  class Maker;
  class Search;

  CompanyPricer() = default;
  void price_kind(std::size_t kind, std::span<const double> prices);
  void add_to(const Choice& choice, RateColumn& column) const;

  const gpu::SharingCatalogue* catalogue_ = nullptr;
  CompanyKinds kinds_;
  std::vector<Companies> companies_;          // by kind
  std::vector<std::vector<Choice>> choices_;  // by kind, one for each set
  std::vector<bool> is_combined_;             // by domain: in a template with others
  std::vector<double> rate_max_;
  std::int64_t company_count_ = 0;
};

}  // namespace septule::optimize
