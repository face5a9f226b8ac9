#include "predict/mps_matrix.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace septule::predict {

namespace {

constexpr double kPercentMax = 100;

Error invalid(std::string what) {
  return {ErrorCode::kInvalidInput, std::move(what)};
}

Status check_level(const MpsMatrix::Level& level) {
  const int atp = level.atp.value();
  if (atp < 1 || atp > 100) {
    return invalid(fmt::format(
        "an active thread percentage is {}; valid are whole numbers from 1 to 100", atp));
  }
  for (std::size_t column = 0; column < kCoRunnersMax; ++column) {
    const std::optional<double>& step = level.step[column];
    if (step.has_value() && !(std::isfinite(*step) && *step > 0)) {
      return invalid(fmt::format(
          "the step time at {} % of column {} is {}; valid are finite numbers above 0, and nothing "
          "for an absent job",
          atp,
          column + 1,
          *step));
    }
  }
  return {};
}

enum class Counter { kPercentage, kAmount };

Status check_counter(std::string_view name,
                     std::optional<double> value,
                     Counter kind,
                     std::size_t column) {
  if (!value.has_value()) {
    return {};
  }
  const bool is_percentage = kind == Counter::kPercentage;
  const bool is_in_range =
      is_percentage ? *value >= 0 && *value <= kPercentMax : std::isfinite(*value) && *value > 0;
  if (is_in_range) {
    return {};
  }
  return invalid(fmt::format("{} of column {} is {}; valid are numbers {}",
                             name,
                             column + 1,
                             *value,
                             is_percentage ? "from 0 to 100" : "above 0"));
}

Status check_counters(const JobCounters& counters, std::size_t column) {
  SEPTULE_TRY_STATUS(
      check_counter("sm_percent", counters.sm_percent, Counter::kPercentage, column));
  SEPTULE_TRY_STATUS(
      check_counter("memory_percent", counters.memory_percent, Counter::kPercentage, column));
  SEPTULE_TRY_STATUS(check_counter("power_watts", counters.power_watts, Counter::kAmount, column));
  return check_counter("footprint_mib", counters.footprint_mib, Counter::kAmount, column);
}

Status check_smallest(std::optional<ComputeSlices> smallest, std::size_t column) {
  static constexpr std::array kSizes = {1, 2, 3, 4, 7};
  if (!smallest.has_value() || std::ranges::find(kSizes, smallest->value()) != kSizes.end()) {
    return {};
  }
  return invalid(fmt::format(
      "the smallest slice that column {} fits is said to have {} compute slices; valid are {}",
      column + 1,
      smallest->value(),
      fmt::join(kSizes, ", ")));
}

}  // namespace

bool MpsMatrix::is_present(std::size_t column) const {
  return std::ranges::any_of(
      levels, [column](const Level& level) { return level.step[column].has_value(); });
}

std::size_t MpsMatrix::present_count() const {
  std::size_t count = 0;
  for (std::size_t column = 0; column < kCoRunnersMax; ++column) {
    count += is_present(column) ? 1 : 0;
  }
  return count;
}

Status check_mps_matrix(const MpsMatrix& matrix) {
  if (matrix.levels.empty() || matrix.levels.size() > kMatrixLevelsMax) {
    return invalid(fmt::format("there are {} levels (active thread percentages); valid are 1 to {}",
                               matrix.levels.size(),
                               kMatrixLevelsMax));
  }
  for (std::size_t index = 0; index < matrix.levels.size(); ++index) {
    SEPTULE_TRY_STATUS(check_level(matrix.levels[index]));
    for (std::size_t before = 0; before < index; ++before) {
      if (matrix.levels[before].atp == matrix.levels[index].atp) {
        return invalid(
            fmt::format("the level {} % is there twice", matrix.levels[index].atp.value()));
      }
    }
  }
  for (std::size_t column = 0; column < kCoRunnersMax; ++column) {
    SEPTULE_TRY_STATUS(check_counters(matrix.counters[column], column));
    SEPTULE_TRY_STATUS(check_smallest(matrix.smallest[column], column));
  }
  if (matrix.present_count() == 0) {
    return invalid("no column has a step time: at least one job must be present");
  }
  return {};
}

}  // namespace septule::predict
