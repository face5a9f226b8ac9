#include "port/milp_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include <fmt/format.h>

#include "base/check.hpp"

namespace septule::port {

namespace {

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalidInput, std::move(message)};
}

/// `scale`: of the numbers that were added up.
bool is_between(double value, double lower, double upper, double scale) {
  const auto slack = [scale](double bound) {
    return std::isfinite(bound) ? kMilpTolerance * std::max({1.0, std::abs(bound), scale}) : 0.0;
  };
  return value >= lower - slack(lower) && value <= upper + slack(upper);
}

bool is_interval(double lower, double upper) {
  return lower <= upper && lower < kMilpUnlimited && upper > -kMilpUnlimited;
}

Status validate_row(const MilpProblem& problem, std::size_t index, std::vector<int>& last_row) {
  const MilpRow& row = problem.rows[index];
  if (!is_interval(row.lower, row.upper)) {
    return invalid(
        fmt::format("row {} of the program has bounds {} and {}; the lower one must not "
                    "be above the upper one",
                    index,
                    row.lower,
                    row.upper));
  }
  for (const MilpEntry& entry : row.entries) {
    if (entry.column < 0 || std::cmp_greater_equal(entry.column, problem.columns.size())) {
      return invalid(fmt::format("row {} of the program names column {}; there are columns 0 to {}",
                                 index,
                                 entry.column,
                                 static_cast<std::int64_t>(problem.columns.size()) - 1));
    }
    if (!std::isfinite(entry.coefficient)) {
      return invalid(
          fmt::format("row {} of the program has coefficient {} in column {}; it must "
                      "be finite",
                      index,
                      entry.coefficient,
                      entry.column));
    }
    int& last = last_row[static_cast<std::size_t>(entry.column)];
    if (std::cmp_equal(last, index)) {
      return invalid(fmt::format(
          "row {} of the program names column {} twice; once is enough", index, entry.column));
    }
    last = static_cast<int>(index);
  }
  return {};
}

}  // namespace

Status validate(const MilpProblem& problem) {
  for (std::size_t index = 0; index < problem.columns.size(); ++index) {
    const MilpColumn& column = problem.columns[index];
    if (!std::isfinite(column.cost)) {
      return invalid(fmt::format(
          "column {} of the program has cost {}; it must be finite", index, column.cost));
    }
    if (!is_interval(column.lower, column.upper)) {
      return invalid(
          fmt::format("column {} of the program has bounds {} and {}; the lower one "
                      "must not be above the upper one",
                      index,
                      column.lower,
                      column.upper));
    }
  }
  std::vector<int> last_row(problem.columns.size(), -1);
  for (std::size_t index = 0; index < problem.rows.size(); ++index) {
    SEPTULE_TRY_STATUS(validate_row(problem, index, last_row));
  }
  return {};
}

Status validate_seed(const MilpProblem& problem, std::span<const double> seed) {
  if (!seed.empty() && seed.size() != problem.columns.size()) {
    return invalid(fmt::format("the seed has {} values; a program of {} columns wants one for each",
                               seed.size(),
                               problem.columns.size()));
  }
  return {};
}

Status check_values(const MilpProblem& problem, std::span<const double> values) {
  if (values.size() != problem.columns.size()) {
    return invalid(fmt::format(
        "{} values for a program of {} columns", values.size(), problem.columns.size()));
  }
  for (std::size_t index = 0; index < values.size(); ++index) {
    const MilpColumn& column = problem.columns[index];
    const double value = values[index];
    if (!std::isfinite(value) || !is_between(value, column.lower, column.upper, 0)) {
      return invalid(fmt::format("column {} has value {}; its bounds are {} and {}",
                                 index,
                                 value,
                                 column.lower,
                                 column.upper));
    }
    if (column.is_integer && value != std::round(value)) {
      return invalid(fmt::format("column {} has value {}; it must be whole", index, value));
    }
  }
  for (std::size_t index = 0; index < problem.rows.size(); ++index) {
    const MilpRow& row = problem.rows[index];
    double sum = 0;
    double scale = 0;
    for (const MilpEntry& entry : row.entries) {
      const double term = entry.coefficient * values[static_cast<std::size_t>(entry.column)];
      sum += term;
      scale = std::max(scale, std::abs(term));
    }
    if (!is_between(sum, row.lower, row.upper, scale)) {
      return invalid(fmt::format(
          "row {} has value {}; its bounds are {} and {}", index, sum, row.lower, row.upper));
    }
  }
  return {};
}

std::optional<MilpSolution> solution_without_columns(const MilpProblem& problem) {
  if (!problem.columns.empty()) {
    return std::nullopt;
  }
  const bool is_solution = check_values(problem, {}).is_ok();
  return MilpSolution{.outcome = is_solution ? MilpOutcome::kOptimal : MilpOutcome::kInfeasible,
                      .bound = is_solution ? std::optional(0.0) : std::nullopt};
}

double objective_of(const MilpProblem& problem, std::span<const double> values) {
  SEPTULE_CHECK(values.size() == problem.columns.size(), "there is a value for each column");
  double sum = 0;
  for (std::size_t index = 0; index < values.size(); ++index) {
    sum += problem.columns[index].cost * values[index];
  }
  return sum;
}

void tidy_values(const MilpProblem& problem, std::span<double> values) {
  SEPTULE_CHECK(values.size() == problem.columns.size(), "there is a value for each column");
  for (std::size_t index = 0; index < values.size(); ++index) {
    const MilpColumn& column = problem.columns[index];
    double& value = values[index];
    if (column.is_integer) {
      value = std::round(value);
    } else if (is_between(value, column.lower, column.upper, 0)) {
      value = std::clamp(value, column.lower, column.upper);
    }
  }
}

bool is_within_gap(double objective, double bound, const MilpLimits& limits) {
  const double size = std::abs(objective);
  const double gap =
      std::max({limits.gap_absolute, limits.gap_relative * size, 1e-9 * std::max(1.0, size)});
  return std::abs(objective - bound) <= gap;
}

}  // namespace septule::port
