#pragma once

#include <optional>
#include <string>

#include "learn/weights_file.hpp"

namespace septule::learn {

/// What a training did without, by the command in its recipe. A plain value.
struct LeftOutPart {
  std::string folds;  ///< "mix" or "family"; empty if all rows trained
  std::string part;   ///< "2", "bert"; empty if all rows trained

  friend bool operator==(const LeftOutPart&, const LeftOutPart&) = default;
};

/// Nothing if the command is not one of `septule train predictor` that makes one training. Pure;
/// any thread.
std::optional<LeftOutPart> left_out_part(const TrainingRecipe& recipe);

/// Why figures on `part` of the data ("0" to "4", or a family) would look too good with such a
/// network, and what would be honest: a sentence. Empty if it was trained without the part.
std::string seen_part_warning(const TrainingRecipe& recipe, const std::string& part);

}  // namespace septule::learn
