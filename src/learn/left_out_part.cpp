#include "learn/left_out_part.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"

namespace septule::learn {

namespace {

constexpr std::string_view kCommand = "septule train predictor ";

/// The word behind ` --name `; empty if there is none.
std::string_view word_behind(std::string_view command, std::string_view name) {
  const std::string flag = fmt::format(" --{} ", name);
  const std::size_t at = command.find(flag);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = command.substr(at + flag.size());
  return rest.substr(0, rest.find(' '));
}

bool is_fold_number(std::string_view part) {
  return !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<LeftOutPart> left_out_part(const TrainingRecipe& recipe) {
  const std::string_view command = recipe.command;
  if (!command.starts_with(kCommand)) {
    return std::nullopt;
  }
  LeftOutPart left_out{std::string(word_behind(command, "folds")),
                       std::string(word_behind(command, "fold"))};
  if (left_out.folds.empty() != left_out.part.empty()) {
    return std::nullopt;
  }
  return left_out;
}

std::string seen_part_warning(const TrainingRecipe& recipe, const std::string& part) {
  const std::string folds = is_fold_number(part) ? "mix" : "family";
  const std::string kind = folds == "mix" ? "fold" : "family";
  const auto left_out = left_out_part(recipe);
  if (left_out && left_out->folds == folds && left_out->part == part) {
    return {};
  }
  const std::string was =
      !left_out                 ? "its recipe does not say what it was trained on; if that was not"
      : left_out->folds.empty() ? "it was trained on all rows of the data, not"
                                : fmt::format("it was trained without {} {}, not",
                                              left_out->folds == "mix" ? "fold" : "family",
                                              quoted_for_message(left_out->part));
  return fmt::format(
      "{} without {} {}: its errors look too small here; expected weights of \"septule train "
      "predictor --folds {} --fold {} --runs DIR\"",
      was,
      kind,
      part,
      folds,
      part);
}

}  // namespace septule::learn
