#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/units.hpp"

namespace septule {

/// A seedable stream of chance with our own distributions, so that a seed means the same with every
/// compiler and standard library. Generator: xoshiro256** (Blackman and Vigna), seeded through
/// splitmix64. Streams are named, so that a new draw in one shifts no other. A value; one owner.
class Rng {
 public:
  explicit Rng(std::uint64_t seed);
  /// The stream of this name under this seed: Rng(seed).stream("arrivals") is the same wherever it
  /// is asked for, and independent of draws made before.
  Rng stream(std::string_view name) const;
  Rng stream(std::string_view name, std::uint64_t index) const;

  std::uint64_t next();
  /// Uniform in 0..bound-1; bound > 0. Without bias (rejection).
  std::uint64_t below(std::uint64_t bound);
  /// Uniform in [0, 1): 53 bits.
  double uniform();
  /// Exponential with this mean (> 0).
  double exponential(double mean);
  /// Normal (Box-Muller in its polar form, both values used in turn).
  double normal(double mean, double sd);
  /// Poisson-distributed whole number with this mean (0 < mean <= 500), by inversion.
  std::int64_t poisson(double mean);
  /// True with probability numerator/denominator.
  bool chance(std::uint64_t numerator, std::uint64_t denominator);
  /// A whole permutation of `items`, each equally likely (Fisher-Yates).
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      std::swap(items[left - 1], items[static_cast<std::size_t>(below(left))]);
    }
  }

 private:
  std::uint64_t seed_;
  std::array<std::uint64_t, 4> state_{};
  double spare_normal_ = 0;
  bool has_spare_normal_ = false;
};

}  // namespace septule
