#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <limits>

#include "optimize/slice_assignment_graph.hpp"
#include "plan/objective.hpp"

namespace septule::optimize {

// Keys. A value is a multiple of 1e-9 of the objective's unit. A *score* is value x 32 - changes:
// at most 21 changes (7 created, 7 destroyed, 7 moved) never outweigh one unit of value. Largest
// magnitudes: a value is at most 1e6 (1/kSpeedMin, or weight x speed) = 1e15 units, seven of them
// x 32 = 2.3e17, costs 21 x 7 x 1e3 = 1.5e14 units x 32 = 4.8e15. An impossible step is -2^59
// = -5.8e17: seven of them stay above -2^63, and one of them with six best steps (1.93e17) is
// still below every possible sum (-2.4e17).
inline constexpr double kUnitsPerOne = 1e9;
inline constexpr std::int64_t kChangesScale = 32;
inline constexpr std::int64_t kImpossible = -(std::int64_t{1} << 59);
inline constexpr std::int64_t kPossibleMin = -300'000'000'000'000'000;

/// Two additive figures of which the first decides: for kMaxMin with costs.
struct CostThenScore {
  std::int64_t minus_cost = 0;
  std::int64_t score = 0;

  friend constexpr auto operator<=>(const CostThenScore&, const CostThenScore&) = default;
};

/// Key arithmetic of one pass of the program: `join` combines a step with what follows it.
struct Additive {
  using Key = std::int64_t;
  static constexpr Key impossible() { return kImpossible; }
  static constexpr Key end() { return 0; }
  static constexpr Key join(Key a, Key b) { return a + b; }
  static constexpr bool is_possible(Key key) { return key > kPossibleMin; }
};
struct Bottleneck {
  using Key = std::int64_t;
  static constexpr Key impossible() { return kImpossible; }
  static constexpr Key end() { return std::numeric_limits<std::int64_t>::max(); }
  static constexpr Key join(Key a, Key b) { return std::min(a, b); }
  static constexpr bool is_possible(Key key) { return key > kPossibleMin; }
};
struct AdditivePair {
  using Key = CostThenScore;
  static constexpr Key impossible() { return {.minus_cost = kImpossible, .score = 0}; }
  static constexpr Key end() { return {}; }
  static constexpr Key join(const Key& a, const Key& b) {
    return {.minus_cost = a.minus_cost + b.minus_cost, .score = a.score + b.score};
  }
  static constexpr bool is_possible(const Key& key) { return key.minus_cost > kPossibleMin; }
};

/// `value` >= 0 in units, half up. Unlike llround it is no library call, of which the hot path
/// would make dozens; for the figures allowed (at most 1e15) the two are equal.
inline std::int64_t to_units(double value) {
  // NOLINTNEXTLINE(bugprone-incorrect-roundings)
  return static_cast<std::int64_t>((value * kUnitsPerOne) + 0.5);
}

inline std::int64_t value_units(plan::ObjectiveKind objective, double speed, double weight) {
  switch (objective) {
    case plan::ObjectiveKind::kMeanSlowdown:
      return -to_units(1.0 / speed);
    case plan::ObjectiveKind::kWeightedSum:
      return to_units(speed * weight);
    case plan::ObjectiveKind::kSumOfSpeeds:
    case plan::ObjectiveKind::kMaxMin:
      break;
  }
  return to_units(speed);
}

/// Value of a job on each profile it could get, and on each current instance; kImpossible where it
/// cannot be. Without costs.
struct ValueTable {
  std::array<std::array<std::int64_t, kProfilesPerSetMax>, kAssignedJobsMax> on_new;
  std::array<std::array<std::int64_t, kAssignedJobsMax>, kAssignedJobsMax> on_current;
};

/// The same as keys of a pass, costs and changes included.
template <class Algebra>
struct StepTable {
  using Key = typename Algebra::Key;
  std::array<std::array<Key, kProfilesPerSetMax>, kAssignedJobsMax> on_new;
  std::array<std::array<Key, kAssignedJobsMax>, kAssignedJobsMax> on_current;
  Key destroy;
};

}  // namespace septule::optimize
