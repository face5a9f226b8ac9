#include "base/rng.hpp"

#include <bit>
#include <cmath>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "base/portable_math.hpp"

namespace septule {

namespace {

constexpr double kPoissonMeanMax = 500;
constexpr std::int64_t kPoissonMax = 10000;  // 400 standard deviations: ends the search always

/// splitmix64 (Steele, Lea and Flood; public domain reference by Vigna).
std::uint64_t next_of_splitmix(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

}  // namespace

Rng::Rng(std::uint64_t seed) : seed_(seed) {
  std::uint64_t mixed = seed;
  for (std::uint64_t& word : state_) {
    word = next_of_splitmix(mixed);
  }
}

Rng Rng::stream(std::string_view name) const {
  return stream(name, 0);
}

Rng Rng::stream(std::string_view name, std::uint64_t index) const {
  Digest digest;
  digest.add(seed_);
  digest.add(name);
  digest.add(index);
  return Rng(digest.value());
}

std::uint64_t Rng::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Rng::below(std::uint64_t bound) {
  SEPTULE_CHECK(bound > 0, "a draw below a bound needs a positive bound");
  // The lowest 2^64 mod bound values would make small results likelier.
  const std::uint64_t refused = (0 - bound) % bound;
  std::uint64_t drawn = next();
  while (drawn < refused) {  // each round refuses with a chance below 1/2
    drawn = next();
  }
  return drawn % bound;
}

double Rng::uniform() {
  return static_cast<double>(next() >> 11U) * 0x1.0p-53;
}

double Rng::exponential(double mean) {
  SEPTULE_CHECK(std::isfinite(mean) && mean > 0, "an exponential draw needs a positive mean");
  return -mean * portable_log(1 - uniform());
}

double Rng::normal(double mean, double sd) {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return mean + sd * spare_normal_;
  }
  double x = 0;
  double y = 0;
  double square = 0;
  do {  // each round refuses with a chance of 1 - pi / 4
    x = 2 * uniform() - 1;
    y = 2 * uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double factor = std::sqrt(-2 * portable_log(square) / square);
  spare_normal_ = y * factor;
  has_spare_normal_ = true;
  return mean + sd * (x * factor);
}

std::int64_t Rng::poisson(double mean) {
  SEPTULE_CHECK(mean > 0 && mean <= kPoissonMeanMax, "a Poisson draw needs a mean in (0, 500]");
  double left = uniform();
  double probability = portable_exp(-mean);
  std::int64_t count = 0;
  while (left >= probability && count < kPoissonMax) {
    left -= probability;
    ++count;
    probability *= mean / static_cast<double>(count);
    // Beyond the mean a probability of nothing means that `left` is rounding error.
    if (probability == 0 && static_cast<double>(count) > mean) {
      break;
    }
  }
  return count;
}

bool Rng::chance(std::uint64_t numerator, std::uint64_t denominator) {
  return below(denominator) < numerator;
}

}  // namespace septule
