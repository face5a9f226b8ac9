#include "plan/objective.hpp"

#include <array>

namespace septule::plan {

std::string_view objective_name(ObjectiveKind kind) {
  switch (kind) {
    case ObjectiveKind::kSumOfSpeeds:
      return "sum";
    case ObjectiveKind::kMeanSlowdown:
      return "mean-slowdown";
    case ObjectiveKind::kWeightedSum:
      return "weighted";
    case ObjectiveKind::kMaxMin:
      return "max-min";
  }
  return "";
}

std::optional<ObjectiveKind> parse_objective(std::string_view text) {
  static constexpr std::array kKinds{ObjectiveKind::kSumOfSpeeds,
                                     ObjectiveKind::kMeanSlowdown,
                                     ObjectiveKind::kWeightedSum,
                                     ObjectiveKind::kMaxMin};
  for (const ObjectiveKind kind : kKinds) {
    if (text == objective_name(kind)) {
      return kind;
    }
  }
  return std::nullopt;
}

}  // namespace septule::plan
