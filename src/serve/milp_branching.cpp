#include "serve/milp_branching.hpp"

#include <algorithm>
#include <cmath>

#include "serve/milp_rounding.hpp"

namespace septule::serve {

void MilpPseudoCosts::learn(int column, double moved, double loss) {
  if (moved == 0 || !std::isfinite(loss)) {
    return;
  }
  Cost& cost = costs_[static_cast<std::size_t>(column)];
  const std::size_t direction = moved > 0 ? 1 : 0;
  cost.sum[direction] += std::max(0.0, loss) / std::abs(moved);
  ++cost.count[direction];
}

std::array<double, 2> MilpPseudoCosts::means() const {
  std::array<double, 2> means{};
  for (std::size_t direction = 0; direction < means.size(); ++direction) {
    double sum = 0;
    int count = 0;
    for (const Cost& cost : costs_) {
      sum += cost.sum[direction];
      count += cost.count[direction];
    }
    means[direction] = count > 0 ? sum / count : 1.0;
  }
  return means;
}

std::optional<std::size_t> MilpPseudoCosts::choose(std::span<const double> values) const {
  constexpr double kLeast = 1e-6;
  const std::array<double, 2> mean = means();
  std::optional<std::size_t> chosen;
  double best_score = -1;
  for (std::size_t column = 0; column < values.size(); ++column) {
    const double below = values[column] - std::floor(values[column]);
    if (!problem_->columns[column].is_integer || below < kMilpWhole || below > 1 - kMilpWhole) {
      continue;
    }
    const Cost& cost = costs_[column];
    const auto loss = [&](std::size_t direction) {
      return cost.count[direction] > 0 ? cost.sum[direction] / cost.count[direction]
                                       : mean[direction];
    };
    const double score =
        std::max(below * loss(0), kLeast) * std::max((1 - below) * loss(1), kLeast);
    if (score > best_score) {
      best_score = score;
      chosen = column;
    }
  }
  return chosen;
}

}  // namespace septule::serve
