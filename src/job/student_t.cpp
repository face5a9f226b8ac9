#include "job/student_t.hpp"

#include <cmath>

#include "base/check.hpp"

namespace septule::job {

namespace {

constexpr double kHalfPi = 1.57079632679489661923;
constexpr double kQuantileMax = 1e9;
constexpr int kRoundsMax = 200;

/// Probability that |T| <= t, from the finite sums for whole degrees of freedom n, with
/// theta = atan(t / sqrt(n)) (Abramowitz and Stegun, 26.7.3 and 26.7.4):
///   n odd:  2/pi (theta + sin theta (cos theta + 2/3 cos^3 + (2 4)/(3 5) cos^5 + ...))
///   n even: sin theta (1 + 1/2 cos^2 + (1 3)/(2 4) cos^4 + ...)
double central_probability(double t, int degrees) {
  const double n = degrees;
  const double sine = t / std::sqrt(n + t * t);
  const double cosine_squared = n / (n + t * t);
  const bool is_odd = degrees % 2 == 1;
  double term = is_odd ? std::sqrt(cosine_squared) : 1;
  double sum = degrees == 1 ? 0 : term;
  for (int k = is_odd ? 3 : 2; k <= degrees - 2; k += 2) {
    term *= cosine_squared * (k - 1) / k;
    sum += term;
  }
  return is_odd ? (std::atan(t / std::sqrt(n)) + sine * sum) / kHalfPi : sine * sum;
}

}  // namespace

double student_t_quantile(const StudentTPoint& point) {
  SEPTULE_CHECK(point.degrees >= 1, "there is at least one degree of freedom");
  SEPTULE_CHECK(point.probability > 0.5 && point.probability < 1, "an upper quantile is asked for");
  const double wanted = 2 * point.probability - 1;
  double low = 0;
  double high = 1;
  while (high < kQuantileMax && central_probability(high, point.degrees) < wanted) {
    low = high;
    high *= 2;
  }
  for (int round = 0; round < kRoundsMax && high - low > 1e-13 * high; ++round) {
    const double middle = (low + high) / 2;
    (central_probability(middle, point.degrees) < wanted ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace septule::job
