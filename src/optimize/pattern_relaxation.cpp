#include "optimize/pattern_relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace septule::optimize {
namespace {

constexpr double kEpsilon = 1e-9;
constexpr int kStepsMax = 4000;
constexpr int kDantzigSteps = 1500;  // afterwards Bland's rule, which cannot cycle

// Basis columns: real columns by index; the two artificial columns of demand k (unmet, over-met)
// follow as count + 2k and count + 2k + 1.
class Simplex {
 public:
  Simplex(const PatternColumns& columns, double artificial_cost)
      : columns_(columns),
        width_(columns.width()),
        rows_(columns.width() + columns.gpu_counts.size()),
        artificial_cost_(artificial_cost),
        inverse_(rows_ * rows_, 0.0),
        value_(rows_, 0.0),
        basis_(rows_, 0),
        price_(rows_, 0.0) {
    for (std::size_t k = 0; k < width_; ++k) {
      const bool is_negative = columns.demand[k] < 0;
      basis_[k] = columns.cost.size() + (2 * k) + (is_negative ? 1 : 0);
      inverse_[(k * rows_) + k] = is_negative ? -1.0 : 1.0;
      value_[k] = std::abs(static_cast<double>(columns.demand[k]));
    }
    for (std::size_t group = 0; group < columns.gpu_counts.size(); ++group) {
      const std::size_t row = width_ + group;
      basis_[row] = columns.first[group];
      inverse_[(row * rows_) + row] = 1.0;
      value_[row] = static_cast<double>(columns.gpu_counts[group]);
    }
  }

  void run() {
    for (int step = 0; step < kStepsMax; ++step) {
      update_prices();
      const std::size_t entering = find_entering(step >= kDantzigSteps);
      if (entering == kNone || !pivot(entering)) {
        return;
      }
    }
    update_prices();
  }

  double price(std::size_t k) const { return price_[k]; }
  std::int64_t columns_priced() const { return columns_priced_; }
  std::vector<double> use() const {
    std::vector<double> use(columns_.cost.size(), 0.0);
    for (std::size_t row = 0; row < rows_; ++row) {
      if (basis_[row] < use.size()) {
        use[basis_[row]] = value_[row];
      }
    }
    return use;
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  double cost_of(std::size_t column) const {
    return column < columns_.cost.size() ? static_cast<double>(columns_.cost[column])
                                         : artificial_cost_;
  }

  void update_prices() {
    std::fill(price_.begin(), price_.end(), 0.0);
    for (std::size_t row = 0; row < rows_; ++row) {
      const double cost = cost_of(basis_[row]);
      if (cost == 0.0) {
        continue;
      }
      for (std::size_t i = 0; i < rows_; ++i) {
        price_[i] += cost * inverse_[(row * rows_) + i];
      }
    }
  }

  std::size_t find_entering(bool is_first_enough) {
    const std::size_t count = columns_.cost.size();
    columns_priced_ += static_cast<std::int64_t>(count);
    std::size_t best = kNone;
    double best_reduced = -1e-7;
    for (std::size_t column = 0; column < count + (2 * width_); ++column) {
      double reduced = cost_of(column);
      if (column < count) {
        for (std::size_t k = 0; k < width_; ++k) {
          reduced -= price_[k] * static_cast<double>(columns_.take(column, k));
        }
        reduced -= price_[width_ + columns_.group[column]];
      } else {
        const std::size_t k = (column - count) / 2;
        reduced -= (column - count) % 2 == 0 ? price_[k] : -price_[k];
      }
      if (reduced < best_reduced) {
        best = column;
        best_reduced = reduced;
        if (is_first_enough) {
          break;
        }
      }
    }
    return best;
  }

  std::vector<double> direction_of(std::size_t column) const {
    std::vector<double> direction(rows_, 0.0);
    const std::size_t count = columns_.cost.size();
    for (std::size_t row = 0; row < rows_; ++row) {
      const double* inverse = &inverse_[row * rows_];
      if (column >= count) {
        const std::size_t k = (column - count) / 2;
        direction[row] = (column - count) % 2 == 0 ? inverse[k] : -inverse[k];
        continue;
      }
      double sum = inverse[width_ + columns_.group[column]];
      for (std::size_t k = 0; k < width_; ++k) {
        sum += inverse[k] * static_cast<double>(columns_.take(column, k));
      }
      direction[row] = sum;
    }
    return direction;
  }

  bool pivot(std::size_t entering) {
    const std::vector<double> direction = direction_of(entering);
    std::size_t leaving = kNone;
    double ratio = 0.0;
    for (std::size_t row = 0; row < rows_; ++row) {
      if (direction[row] <= kEpsilon) {
        continue;
      }
      const double candidate = value_[row] / direction[row];
      if (leaving == kNone || candidate < ratio - kEpsilon ||
          (candidate <= ratio + kEpsilon && basis_[row] > basis_[leaving])) {
        leaving = row;
        ratio = candidate;
      }
    }
    if (leaving == kNone) {
      return false;
    }
    const double scale = 1.0 / direction[leaving];
    double* pivot_row = &inverse_[leaving * rows_];
    for (std::size_t i = 0; i < rows_; ++i) {
      pivot_row[i] *= scale;
    }
    for (std::size_t row = 0; row < rows_; ++row) {
      if (row == leaving || direction[row] == 0.0) {
        continue;
      }
      for (std::size_t i = 0; i < rows_; ++i) {
        inverse_[(row * rows_) + i] -= direction[row] * pivot_row[i];
      }
      value_[row] = std::max(0.0, value_[row] - (direction[row] * ratio));
    }
    value_[leaving] = ratio;
    basis_[leaving] = entering;
    return true;
  }

  const PatternColumns& columns_;
  std::size_t width_;
  std::size_t rows_;
  double artificial_cost_;
  std::vector<double> inverse_;
  std::vector<double> value_;
  std::vector<std::size_t> basis_;
  std::vector<double> price_;
  std::int64_t columns_priced_ = 0;
};

std::pair<std::int64_t, std::int64_t> cost_range(const PatternColumns& columns) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::size_t group = 0; group < columns.gpu_counts.size(); ++group) {
    const auto begin = columns.cost.begin() + static_cast<std::ptrdiff_t>(columns.first[group]);
    const auto end = columns.cost.begin() + static_cast<std::ptrdiff_t>(columns.first[group + 1]);
    const auto [smallest, largest] = std::minmax_element(begin, end);
    low += *smallest * columns.gpu_counts[group];
    high += *largest * columns.gpu_counts[group];
  }
  return {low, high};
}

}  // namespace

PatternRelaxation relax_patterns(const PatternColumns& columns) {
  const auto [low, high] = cost_range(columns);
  // Demand left unmet by 1/256 must cost more than everything there is, else the bound is weak.
  Simplex simplex(columns, 256.0 * static_cast<double>(high - low + 1));
  simplex.run();

  PatternRelaxation result;
  result.cost_max = high;
  result.use = simplex.use();
  result.columns_priced = simplex.columns_priced();
  std::vector<std::int64_t> prices(columns.width());
  for (std::size_t k = 0; k < columns.width(); ++k) {
    prices[k] = std::llround(simplex.price(k) * static_cast<double>(PatternRelaxation::kScale));
    result.bound_scaled += prices[k] * columns.demand[k];
  }
  result.reduced_scaled.resize(columns.cost.size());
  for (std::size_t group = 0; group < columns.gpu_counts.size(); ++group) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t column = columns.first[group]; column < columns.first[group + 1]; ++column) {
      std::int64_t reduced = columns.cost[column] * PatternRelaxation::kScale;
      for (std::size_t k = 0; k < columns.width(); ++k) {
        reduced -= prices[k] * columns.take(column, k);
      }
      result.reduced_scaled[column] = reduced;
      least = std::min(least, reduced);
    }
    for (std::size_t column = columns.first[group]; column < columns.first[group + 1]; ++column) {
      result.reduced_scaled[column] -= least;
    }
    result.bound_scaled += least * columns.gpu_counts[group];
  }
  return result;
}

}  // namespace septule::optimize
