#include "base/portable_math.hpp"

#include <cmath>

#include "base/check.hpp"

namespace septule {

namespace {

// ln 2 in two parts: the high one has trailing zero bits, so that a whole multiple is exact.
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr int kLogTermsMax = 11;   // z <= 0.1716: z^23 / 23 is below 1e-18
constexpr int kExpTermsMax = 16;   // |r| <= 0.35: r^17 / 17! is below 1e-22
constexpr double kExpMax = 700.0;  // beyond it, exp leaves the range of a double

}  // namespace

double portable_log(double x) {
  SEPTULE_CHECK(std::isfinite(x) && x > 0, "a logarithm is taken of a positive number");
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // exact
  if (mantissa < kSqrtHalf) {
    mantissa *= 2;
    exponent -= 1;
  }
  // ln m = 2 atanh((m - 1) / (m + 1)), summed from the smallest term.
  const double z = (mantissa - 1) / (mantissa + 1);
  const double z2 = z * z;
  double sum = 0;
  for (int k = kLogTermsMax; k >= 0; --k) {
    sum = sum * z2 + 1.0 / (2 * k + 1);
  }
  const double of_mantissa = 2 * z * sum;
  return exponent * kLn2High + (exponent * kLn2Low + of_mantissa);
}

double portable_exp(double x) {
  SEPTULE_CHECK(std::abs(x) <= kExpMax, "an exponential is taken within +-700");
  const double turns = std::floor(x / (kLn2High + kLn2Low) + 0.5);
  const double rest = (x - turns * kLn2High) - turns * kLn2Low;
  double sum = 1;
  for (int k = kExpTermsMax; k >= 1; --k) {
    sum = 1 + sum * rest / k;
  }
  return std::ldexp(sum, static_cast<int>(turns));  // exact
}

}  // namespace septule
