#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/inline_vector.hpp"
#include "learn/partition_env.hpp"

namespace septule::learn {

/// Numbers of what a network sees. All are part of the weights' format.
inline constexpr std::size_t kRowFeatures = 30;      ///< of a job, the same all along
inline constexpr std::size_t kStepFeatures = 23;     ///< of a job at a step
inline constexpr std::size_t kContextFeatures = 88;  ///< of a step
inline constexpr std::size_t kPlanFeatures = 10;     ///< of a choice of form with a planned group
inline constexpr std::size_t kPlans = 24;            ///< choices that are shown, the most promising
/// Actions by index: a row takes the seat, or one of the plans' forms is chosen.
inline constexpr std::size_t kActions = kWindowRows + kPlans;

using RowFeatures = std::array<float, kRowFeatures>;

/// What a network sees of a step, in its own units (all of the order of 1). A plain value.
/// The features are made of what a job has to tell (predict::JobTraits; a flag says where something
/// is not known), of its speed alone in places, of the time of groups by the co-run model, and of
/// the prices of Row. For each action also what rows would be left after a plan: a group that is
/// filled up with the rows of the best price at hand.
struct Observation {
  bool is_choosing = true;
  RowSet left = 0;      ///< rows shown
  RowSet may_take = 0;  ///< rows that may take the seat
  std::array<std::array<float, kStepFeatures>, kWindowRows> steps{};
  std::array<float, kContextFeatures> context{};
  InlineVector<std::uint8_t, kPlans> choices;  ///< the plans' choices
  std::array<std::array<float, kPlanFeatures>, kPlans> plans{};
  std::array<RowSet, kActions> left_after{};  ///< by action
};

/// Features that stay the same in an episode.
RowFeatures row_features(const WindowRows& rows, std::size_t row);
/// What is seen of the environment now; not over. No heap memory of its own.
void observe(const PartitionEnv& env, Observation& out);

}  // namespace septule::learn
