#include "optimize/window_bound.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "optimize/company_pricing.hpp"
#include "optimize/group_time.hpp"
#include "optimize/linear_program.hpp"
#include "optimize/pair_pricing.hpp"

namespace septule::optimize {
namespace {

constexpr int kRoundsMax = 400;
/// Rounds end when the linear program and the bound are this close, relative.
constexpr double kGap = 1e-5;
constexpr double kThreshold = 1 + 1e-7;
/// Columns added in a round at most, the best ones.
constexpr std::size_t kColumnsPerRound = 40;
/// One repeat of pricing with other jobs for so many jobs.
constexpr std::size_t kJobsPerRepeat = 17;
/// What floating-point error may have added to a bound, as a part of it.
constexpr double kErrorPart = 1e-9;

/// Column generation. Work is measured in the window's mean solo time, so that figures are near 1.
class BoundSearch {
 public:
  BoundSearch(std::span<const plan::WindowJob> jobs, ColumnPricer& pricer, WorkBudget& budget)
      : pricer_(pricer), budget_(budget), program_(LinearGoal::kMinimise) {
    double sum = 0;
    for (const plan::WindowJob& job : jobs) {
      sum += static_cast<double>(job.solo.to_nanoseconds());
    }
    unit_ns_ = sum / static_cast<double>(jobs.size());
    for (const plan::WindowJob& job : jobs) {
      work_.push_back(static_cast<double>(job.solo.to_nanoseconds()) / unit_ns_);
    }
  }

  /// Equal prices alone: what holds for kSteadyState too.
  void try_equal_prices() { prove(std::vector<double>(work_.size(), 1.0)); }

  void run() {
    start();
    while (bound_.rounds < kRoundsMax && !budget_.is_exhausted()) {
      ++bound_.rounds;
      const Result<LinearSolution> solved = program_.solve();
      if (!solved || solved->outcome != LinearOutcome::kOptimal) {
        return;  // what is proven so far stays proven
      }
      const std::vector<double> prices = cleaned(solved->prices);
      PricedColumns found = prove(prices);
      if (found.columns.empty() || best_ >= solved->objective * (1 - kGap)) {
        bound_.is_converged = true;
        return;
      }
      if (!stable_.empty()) {
        // Prices between the best so far and these prove more, and their columns help as well.
        std::vector<double> between = prices;
        for (std::size_t j = 0; j < between.size(); ++j) {
          between[j] = 0.5 * between[j] + 0.5 * stable_[j];
        }
        PricedColumns more = prove(between);
        std::move(more.columns.begin(), more.columns.end(), std::back_inserter(found.columns));
      }
      cover(prices, found.columns);
      add(std::move(found.columns));
    }
  }

  /// No job ends before it could in its best company. Not so by the clock kSteadyState.
  void consider_single_jobs() {
    for (std::size_t j = 0; j < work_.size(); ++j) {
      longest_alone_ = std::max(longest_alone_, work_[j] / pricer_.rate_max(j));
    }
  }

  WindowBound finish() {
    const double longest = std::max(best_, longest_alone_);
    const double slack = static_cast<double>(work_.size()) + 1;
    const double ns = std::floor(longest * unit_ns_ * (1 - kErrorPart) - slack);
    bound_.lower_bound = Duration::nanoseconds(static_cast<std::int64_t>(std::max(0.0, ns)));
    bound_.prices = stable_.empty() ? std::vector<double>(work_.size(), 0.0) : stable_;
    return std::move(bound_);
  }

 private:
  void start() {
    std::vector<LinearRow> rows;
    std::vector<RateColumn> alone;
    for (std::size_t j = 0; j < work_.size(); ++j) {
      rows.push_back({work_[j], kUnlimited, {}});
      // Only a begin: nothing that is proven uses these columns.
      alone.push_back({{{j, pricer_.rate_max(j)}}, 0});
    }
    program_.add_rows(rows);
    add_columns(alone);
    prove(std::vector<double>(work_.size(), 1.0));
  }

  static std::vector<double> cleaned(std::vector<double> prices) {
    for (double& price : prices) {
      price = std::isfinite(price) ? std::max(0.0, price) : 0.0;
    }
    return prices;
  }

  /// What these prices prove; keeps the best, scaled so that no template earns more than 1.
  PricedColumns prove(const std::vector<double>& prices) {
    PricedColumns found = pricer_.price(prices, kThreshold, budget_);
    double sum = 0;
    for (std::size_t j = 0; j < work_.size(); ++j) {
      sum += prices[j] * work_[j];
    }
    const double bound = sum / found.value_max;
    if (bound > best_) {
      best_ = bound;
      stable_ = prices;
      for (double& price : stable_) {
        price /= found.value_max;
      }
    }
    return found;
  }

  /// In large windows a round needs columns with other jobs too: those that the columns so far have
  /// are worth nothing, and again.
  void cover(std::vector<double> prices, std::vector<RateColumn>& columns) {
    const std::size_t repeats = work_.size() / kJobsPerRepeat;
    std::size_t seen = 0;
    for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
      for (; seen < columns.size(); ++seen) {
        for (const RateColumn::Entry& entry : columns[seen].entries) {
          prices[entry.job] = 0;
        }
      }
      PricedColumns more = pricer_.price(prices, kThreshold, budget_);
      if (more.columns.empty()) {
        return;
      }
      std::move(more.columns.begin(), more.columns.end(), std::back_inserter(columns));
    }
  }

  void add(std::vector<RateColumn> columns) {
    std::stable_sort(columns.begin(), columns.end(), [](const RateColumn& a, const RateColumn& b) {
      return a.value > b.value;
    });
    columns.resize(std::min(columns.size(), kColumnsPerRound + 2 * work_.size()));
    add_columns(columns);
  }

  void add_columns(std::span<const RateColumn> columns) {
    std::vector<LinearColumn> packed;
    for (const RateColumn& column : columns) {
      LinearColumn& line = packed.emplace_back();
      line.cost = 1;
      for (const RateColumn::Entry& entry : column.entries) {
        line.entries.push_back({static_cast<int>(entry.job), entry.rate});
      }
    }
    program_.add_columns(packed);
  }

  ColumnPricer& pricer_;
  WorkBudget& budget_;
  LinearProgram program_;
  double unit_ns_ = 1;
  std::vector<double> work_;
  double best_ = 0;
  double longest_alone_ = 0;
  std::vector<double> stable_;  // prices that prove best_
  WindowBound bound_;
};

}  // namespace

Result<std::optional<WindowBound>> bound_window(const WindowProblem& problem, WorkBudget& budget) {
  SEPTULE_TRY_STATUS(check_window_problem(problem));
  if (problem.jobs.empty()) {
    return std::optional(WindowBound{.lower_bound = {}, .prices = {}, .is_converged = true});
  }
  const GroupTimer timer(problem);
  std::unique_ptr<ColumnPricer> pricer = CompanyPricer::make(timer, kCompaniesMax, budget);
  if (pricer == nullptr && problem.model->company_law() == predict::CompanyLaw::kDelaysAddUp) {
    pricer = std::make_unique<PairPricer>(timer, budget);
  }
  if (pricer == nullptr) {
    return std::optional<WindowBound>();
  }
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    if (!(pricer->rate_max(j) > 0)) {
      return Error{ErrorCode::kBlocked,
                   fmt::format("job {} runs nowhere on {}, in no company",
                               quoted_for_message(problem.jobs[j].name),
                               problem.catalogue->geometry->key())};
    }
  }
  BoundSearch search(problem.jobs, *pricer, budget);
  if (problem.clock == GroupClock::kSteadyState) {
    search.try_equal_prices();
  } else {
    search.run();
    search.consider_single_jobs();
  }
  return std::optional(search.finish());
}

}  // namespace septule::optimize
