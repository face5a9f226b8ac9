#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.hpp"
#include "predict/solo_fit.hpp"

// fit_law(): non-negative least squares on serial, compute and memory for each of a grid of
// `usable`, then a golden-section search around the best. Three variables have seven sets that may
// be positive, so all are tried.
namespace septule::predict {
namespace {

constexpr std::size_t kTerms = 3;
using Row = std::array<double, kTerms>;

/// Sums of the normal equations; every row has the aim 1 (relative weights).
struct Sums {
  std::array<Row, kTerms> product{};
  Row aim{};
  double count = 0;
};

/// Residual sum of squares and the coefficients.
struct Solution {
  double residual = 0;
  Row coefficient{};
};

/// Below this part of the product of its diagonal a determinant counts as 0: the columns cannot be
/// told apart.
constexpr double kSingular = 1e-13;

/// Solves for the terms in `used` by elimination; false if they cannot be told apart or one becomes
/// negative.
bool solve(const Sums& sums, unsigned used, Row& out) {
  std::array<std::size_t, kTerms> index{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < kTerms; ++i) {
    if ((used >> i & 1U) != 0) {
      index[count++] = i;
    }
  }
  std::array<std::array<double, kTerms + 1>, kTerms> matrix{};
  for (std::size_t row = 0; row < count; ++row) {
    for (std::size_t column = 0; column < count; ++column) {
      matrix[row][column] = sums.product[index[row]][index[column]];
    }
    matrix[row][kTerms] = sums.aim[index[row]];
  }
  // Positive definite, so no pivoting is needed.
  for (std::size_t pivot = 0; pivot < count; ++pivot) {
    const double diagonal = sums.product[index[pivot]][index[pivot]];
    if (!(matrix[pivot][pivot] > kSingular * diagonal)) {
      return false;
    }
    for (std::size_t row = pivot + 1; row < count; ++row) {
      const double factor = matrix[row][pivot] / matrix[pivot][pivot];
      for (std::size_t column = pivot; column <= kTerms; ++column) {
        matrix[row][column] -= factor * matrix[pivot][column];
      }
    }
  }
  out = {};
  for (std::size_t row = count; row-- > 0;) {
    double value = matrix[row][kTerms];
    for (std::size_t column = row + 1; column < count; ++column) {
      value -= matrix[row][column] * out[index[column]];
    }
    out[index[row]] = value / matrix[row][row];
    if (out[index[row]] < 0) {
      return false;
    }
  }
  return true;
}

class LawFitter {
 public:
  LawFitter(std::span<const SoloPoint> points, unsigned terms) : points_(points), terms_(terms) {}

  Solution solve_for(double usable) const {
    Sums sums;
    for (const SoloPoint& point : points_) {
      const Row row = row_of(point, usable);
      for (std::size_t i = 0; i < kTerms; ++i) {
        for (std::size_t j = 0; j < kTerms; ++j) {
          sums.product[i][j] += row[i] * row[j];
        }
        sums.aim[i] += row[i];
      }
    }
    Solution best{.residual = static_cast<double>(points_.size()), .coefficient = {}};
    for (unsigned used = 1; used < (1U << kTerms); ++used) {
      Row coefficient{};
      if ((used & ~terms_) != 0 || !solve(sums, used, coefficient)) {
        continue;
      }
      const double residual = residual_of(coefficient, usable);
      // More terms have to be worth it: rounding alone must not bring one in.
      if (residual < best.residual - kWorth * static_cast<double>(points_.size())) {
        best = {.residual = residual, .coefficient = coefficient};
      }
    }
    return best;
  }

  double residual_of(const Row& coefficient, double usable) const {
    double sum = 0;
    for (const SoloPoint& point : points_) {
      const Row row = row_of(point, usable);
      double predicted = 0;
      for (std::size_t i = 0; i < kTerms; ++i) {
        predicted += row[i] * coefficient[i];
      }
      sum += (predicted - 1) * (predicted - 1);
    }
    return sum;
  }

 private:
  static constexpr double kWorth = 1e-20;

  static Row row_of(const SoloPoint& point, double usable) {
    const SoloTerms unit =
        SoloLaw{.serial = 1, .compute = 1, .memory = 1, .usable = usable}.terms(point.at);
    return {unit.serial / point.step, unit.compute / point.step, unit.memory / point.step};
  }

  std::span<const SoloPoint> points_;
  unsigned terms_;
};

constexpr int kGrid = 100;
constexpr int kGoldenRounds = 60;

/// The least residual between `low` and `high`, at its place.
double refined(const LawFitter& fitter, double low, double high) {
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double left = high - golden * (high - low);
  double right = low + golden * (high - low);
  double at_left = fitter.solve_for(left).residual;
  double at_right = fitter.solve_for(right).residual;
  for (int round = 0; round < kGoldenRounds; ++round) {
    if (at_left < at_right) {
      high = right;
      right = left;
      at_right = at_left;
      left = high - golden * (high - low);
      at_left = fitter.solve_for(left).residual;
    } else {
      low = left;
      left = right;
      at_left = at_right;
      right = low + golden * (high - low);
      at_right = fitter.solve_for(right).residual;
    }
  }
  return (low + high) / 2;
}

}  // namespace

SoloLaw fit_law(std::span<const SoloPoint> points, LawForm form) {
  SEPTULE_CHECK(!points.empty(), "a law is fitted to points");
  constexpr unsigned kSerialAndCompute = 0b011;
  const LawFitter fitter(points, form == LawForm::kWhole ? 0b111U : kSerialAndCompute);
  double usable = 1;
  Solution best = fitter.solve_for(usable);
  const auto consider = [&](double candidate) {
    const Solution solution = fitter.solve_for(candidate);
    if (solution.residual < best.residual) {
      best = solution;
      usable = candidate;
    }
  };
  if (form != LawForm::kAmdahl) {
    // From all SMs downwards, so that a job that shows no limit has none.
    for (int i = kGrid - 1; i > 0; --i) {
      consider(static_cast<double>(i) / kGrid);
    }
    const double middle = usable;
    // The residual has kinks where a point begins to be limited: never search across one.
    std::array<double, 2 * kSoloPointsMax + 2> borders{};
    std::size_t count = 0;
    borders[count++] = std::max(middle - 1.0 / kGrid, 0.1 / kGrid);
    borders[count++] = std::min(middle + 1.0 / kGrid, 1.0);
    for (const SoloPoint& point : points) {
      const double kink = point.at.compute / point.at.sm_speed;
      if (kink > borders[0] && kink < borders[1] && count < borders.size() - 1) {
        borders[count++] = kink;
      }
    }
    borders[count++] = middle;
    std::ranges::sort(borders.begin(), borders.begin() + count);
    for (std::size_t i = 0; i + 1 < count; ++i) {
      consider(borders[i]);
      consider(refined(fitter, borders[i], borders[i + 1]));
    }
  }
  return {.serial = best.coefficient[0],
          .compute = best.coefficient[1],
          .memory = best.coefficient[2],
          .usable = usable};
}

}  // namespace septule::predict
