#include "predict/slice_regression.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace septule::predict {

namespace {

constexpr std::size_t kUnknowns = 3;
/// A pivot below this part of the largest factor is taken for rounding.
constexpr double kPivotMin = 1e-9;

struct Point {
  std::array<double, kUnknowns> x{};  ///< speed on 4g, on 3g, and 1
  double y = 0;
};

/// Gaussian elimination with row exchanges; nothing if the equations have no single answer.
std::optional<std::array<double, kUnknowns>> solved(
    std::array<std::array<double, kUnknowns + 1>, kUnknowns> rows) {
  double largest = 0;
  for (const auto& row : rows) {
    for (std::size_t column = 0; column < kUnknowns; ++column) {
      largest = std::max(largest, std::fabs(row[column]));
    }
  }
  for (std::size_t step = 0; step < kUnknowns; ++step) {
    std::size_t best = step;
    for (std::size_t row = step + 1; row < kUnknowns; ++row) {
      if (std::fabs(rows[row][step]) > std::fabs(rows[best][step])) {
        best = row;
      }
    }
    std::swap(rows[step], rows[best]);
    if (std::fabs(rows[step][step]) <= kPivotMin * largest) {
      return std::nullopt;
    }
    for (std::size_t row = step + 1; row < kUnknowns; ++row) {
      const double factor = rows[row][step] / rows[step][step];
      for (std::size_t column = step; column <= kUnknowns; ++column) {
        rows[row][column] -= factor * rows[step][column];
      }
    }
  }
  std::array<double, kUnknowns> answer{};
  for (std::size_t row = kUnknowns; row-- > 0;) {
    double rest = rows[row][kUnknowns];
    for (std::size_t column = row + 1; column < kUnknowns; ++column) {
      rest -= rows[row][column] * answer[column];
    }
    answer[row] = rest / rows[row][row];
  }
  return answer;
}

Result<LinearSpeed> fit(std::span<const Point> points, std::string_view slice) {
  std::array<std::array<double, kUnknowns + 1>, kUnknowns> rows{};  // the normal equations
  for (const Point& point : points) {
    for (std::size_t row = 0; row < kUnknowns; ++row) {
      for (std::size_t column = 0; column < kUnknowns; ++column) {
        rows[row][column] += point.x[row] * point.x[column];
      }
      rows[row][kUnknowns] += point.x[row] * point.y;
    }
  }
  const std::optional<std::array<double, kUnknowns>> answer = solved(rows);
  if (points.size() < kUnknowns || !answer.has_value()) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("the {} jobs measured on {} do not determine a regression: at least "
                             "{} that do not lie on one line are needed",
                             points.size(),
                             slice,
                             kUnknowns)};
  }
  return LinearSpeed{.on_4g = (*answer)[0], .on_3g = (*answer)[1], .offset = (*answer)[2]};
}

double clipped(const LinearSpeed& line, double speed_4g, double speed_3g) {
  const double speed = line.on_4g * speed_4g + line.on_3g * speed_3g + line.offset;
  return std::min(std::max(speed, kRegressedSpeedMin), speed_3g);
}

}  // namespace

double SliceRegression::speed_2g(double speed_4g, double speed_3g) const {
  return clipped(to_2g, speed_4g, speed_3g);
}

double SliceRegression::speed_1g(double speed_4g, double speed_3g) const {
  return clipped(to_1g, speed_4g, speed_3g);
}

Result<SliceRegression> fit_slice_regression(std::span<const RegressionRow> rows) {
  std::vector<Point> on_2g;
  std::vector<Point> on_1g;
  for (const RegressionRow& row : rows) {
    Point point{.x = {row.speed_4g, row.speed_3g, 1}, .y = 0};
    if (row.speed_2g.has_value()) {
      point.y = *row.speed_2g;
      on_2g.push_back(point);
    }
    if (row.speed_1g.has_value()) {
      point.y = *row.speed_1g;
      on_1g.push_back(point);
    }
  }
  SEPTULE_TRY(const LinearSpeed to_2g, fit(on_2g, "2g"));
  SEPTULE_TRY(const LinearSpeed to_1g, fit(on_1g, "1g"));
  return SliceRegression{.to_2g = to_2g, .to_1g = to_1g};
}

}  // namespace septule::predict
