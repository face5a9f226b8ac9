#include "optimize/window_portfolio.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "optimize/answer_bound.hpp"

namespace septule::optimize {

namespace {

bool is_better(const WindowAnswer& a, const WindowAnswer& b) {
  if (a.time != b.time) {
    return a.time < b.time;
  }
  return a.certificate.proof == plan::Proof::kOptimal &&
         b.certificate.proof != plan::Proof::kOptimal;
}

}  // namespace

WindowPortfolio::WindowPortfolio(std::vector<Entry> methods, Bounds bounds)
    : methods_(std::move(methods)), bounds_(bounds) {
  SEPTULE_CHECK(!methods_.empty(), "a portfolio has a method");
}

Result<WindowAnswer> WindowPortfolio::optimize(const WindowProblem& problem,
                                               WorkBudget& budget) const {
  SEPTULE_TRY(PortfolioReport report, run(problem, budget));
  return std::move(report.answer);
}

/// One part more than there are methods left: the last is for the bound.
std::int64_t WindowPortfolio::units_for(std::size_t entry,
                                        std::size_t job_count,
                                        std::int64_t left) const {
  const std::int64_t part = left / static_cast<std::int64_t>(methods_.size() - entry + 1);
  return methods_[entry].units_enough == nullptr
             ? part
             : std::min(part, methods_[entry].units_enough(job_count));
}

Result<PortfolioReport> WindowPortfolio::run(const WindowProblem& problem,
                                             WorkBudget& budget) const {
  SEPTULE_TRY_STATUS(check_window_problem(problem));
  const std::int64_t before = budget.units_spent();
  PortfolioReport report;
  std::optional<WindowAnswer> best;
  std::optional<Duration> lower_bound;
  for (std::size_t i = 0; i < methods_.size(); ++i) {
    WorkBudget own(units_for(i, problem.jobs.size(), budget.units_left()));
    Result<WindowAnswer> answer = methods_[i].method->optimize(problem, own);
    budget.spend(own.units_spent());
    MethodOutcome outcome{.name = methods_[i].method->name(),
                          .time = std::nullopt,
                          .error = std::nullopt,
                          .units_spent = own.units_spent()};
    if (!answer) {
      outcome.error = answer.error();
      report.outcomes.push_back(std::move(outcome));
      continue;
    }
    outcome.time = answer->time;
    outcome.proof = answer->certificate.proof;
    report.outcomes.push_back(std::move(outcome));
    lower_bound = std::max(lower_bound, answer->certificate.lower_bound);
    if (!best.has_value() || is_better(*answer, *best)) {
      best = *std::move(answer);
      report.winner = i;
    }
  }
  if (!best.has_value()) {
    return checked_value(report.outcomes.front().error, "a method without an answer has failed");
  }
  report.answer = *std::move(best);
  if (bounds_ == Bounds::kWorkedOut) {
    const Result<std::optional<Duration>> bound = bound_answers(problem, budget);
    if (bound) {
      lower_bound = std::max(lower_bound, *bound);
    }
  }
  report.answer.certificate.lower_bound = lower_bound;
  report.answer.units_spent = budget.units_spent() - before;
  return report;
}

}  // namespace septule::optimize
