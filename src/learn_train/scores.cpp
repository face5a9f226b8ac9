#include "learn_train/scores.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace septule::learn_train {

namespace {

void score_spread(const JobClass& job, const predict::SlicePrediction& estimate, ErrorSums& sums) {
  for (std::size_t slice = 1; slice < predict::kSlices; ++slice) {
    if (const std::optional<double>& speed = job.speed[slice]) {
      const double error = std::abs(estimate.speed[slice] - *speed);
      sums.within_one_sd.add(error <= estimate.speed_sd[slice] ? 1 : 0);
      sums.within_two_sd.add(error <= 2 * estimate.speed_sd[slice] ? 1 : 0);
    }
  }
}

}  // namespace

std::optional<double> MeanSum::mean() const {
  return count == 0 ? std::nullopt : std::optional(total / static_cast<double>(count));
}

void ErrorSums::add(const ErrorSums& other) {
  all.add(other.all);
  real.add(other.real);
  dummy.add(other.dummy);
  for (std::size_t i = 0; i < time.size(); ++i) {
    time[i].add(other.time[i]);
  }
  for (std::size_t i = 0; i < speed.size(); ++i) {
    speed[i].add(other.speed[i]);
  }
  within_one_sd.add(other.within_one_sd);
  within_two_sd.add(other.within_two_sd);
}

ErrorSums score_row(const TrainingData& data,
                    const TrainingRow& row,
                    const predict::SlicePredictions& estimates,
                    const ScoreScope& scope) {
  ErrorSums sums;
  std::size_t counted = 0;
  for (std::size_t column = 0; column < kColumns; ++column) {
    const JobClass& job = data.classes[static_cast<std::size_t>(row.classes[column])];
    const std::optional<predict::SlicePrediction>& found = estimates[column];
    if (!found || (!scope.family.empty() && job.model != scope.family)) {
      continue;
    }
    const predict::SlicePrediction& estimate = *found;
    ++counted;
    for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
      const double error = std::abs(estimate.time[slice] - row.target[slice][column]);
      sums.all.add(error);
      (job.is_dummy ? sums.dummy : sums.real).add(error);
      if (!job.is_dummy) {
        sums.time[slice].add(error);
      }
    }
    if (job.is_dummy) {
      continue;
    }
    for (std::size_t slice = 0; slice < predict::kSlices; ++slice) {
      if (const std::optional<double>& speed = job.speed[slice]) {
        sums.speed[slice].add(std::abs(estimate.speed[slice] - *speed));
      }
    }
    if (scope.spread == Spread::kGiven) {
      score_spread(job, estimate, sums);
    }
  }
  if (counted < kColumns) {
    sums.all = {};
  }
  return sums;
}

std::optional<LossSummary> summarise(std::vector<double> losses) {
  if (losses.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(losses);
  LossSummary summary;
  summary.count = static_cast<int>(losses.size());
  for (const double loss : losses) {
    summary.mean += loss / static_cast<double>(losses.size());
  }
  constexpr double kHigh = 0.95;
  const double at = kHigh * static_cast<double>(losses.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, losses.size() - 1);
  summary.p95 = losses[below] + (at - std::floor(at)) * (losses[above] - losses[below]);
  summary.max = losses.back();
  return summary;
}

}  // namespace septule::learn_train
