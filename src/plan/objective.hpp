#pragma once

#include <optional>
#include <string_view>

namespace septule::plan {

/// What a plan is judged by. "Speed" is a job's rate of progress relative to running alone on the
/// whole GPU (unit: fraction of the exclusive rate).
enum class ObjectiveKind {
  kSumOfSpeeds,   ///< maximise the sum of speeds (STP)
  kMeanSlowdown,  ///< minimise the mean of 1/speed
  kWeightedSum,   ///< maximise the sum of weight x speed
  kMaxMin,        ///< maximise the lowest speed; among equals the sum of speeds
};

/// "sum", "mean-slowdown", "weighted", "max-min".
std::string_view objective_name(ObjectiveKind kind);
/// The kind of exactly this name; nothing for any other text.
std::optional<ObjectiveKind> parse_objective(std::string_view text);
/// True where a larger objective value is the better one.
constexpr bool is_maximised(ObjectiveKind kind) {
  return kind != ObjectiveKind::kMeanSlowdown;
}

}  // namespace septule::plan
