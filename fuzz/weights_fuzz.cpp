#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/digest.hpp"
#include "learn/slice_models.hpp"
#include "learn/weights_file.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

/// Weights of any content make a model that answers with numbers, or are refused.
static void check_model(const learn::NetworkWeights& weights) {
  const auto model = learn::make_slice_model(weights);
  if (!model) {
    fuzz::require_good(model.error());
    return;
  }
  predict::MpsMatrix matrix;
  for (const int percentage : {100, 50, 14}) {
    matrix.levels.push_back({.atp = ActiveThreadPercentage(percentage), .step = {}});
    matrix.levels.back().step[1] = 1.0;
    matrix.levels.back().step[4] = 100.0 / percentage;
  }
  const auto predictions = (*model)->predict(matrix);
  if (!predictions) {
    fuzz::require_good(predictions.error());
    return;
  }
  fuzz::require((*predictions)[1].has_value() && (*predictions)[4].has_value(),
                "present columns are answered");
  for (const double speed : (*predictions)[1]->speed) {
    fuzz::require(std::isfinite(speed) && speed > 0, "speeds are positive numbers");
  }
}

/// The input with the digest that its content has, so that changes get beyond the digest.
static std::string repaired(std::string_view text) {
  const std::size_t header = text.find('\n') + 1;
  const std::size_t payload = text.find('\n', header) + 1;
  const std::size_t at = text.substr(0, payload).rfind("\"digest\"");
  if (header == 0 || payload == 0 || at == std::string_view::npos || at < header) {
    return std::string(text);
  }
  Digest digest;
  digest.add(text.substr(header, at - header));
  digest.add(text.substr(payload));
  return fmt::format(
      "{}\"digest\":\"{}\"}}\n{}", text.substr(0, at), digest.text(), text.substr(payload));
}

static void check_text(std::string_view text) {
  const auto parsed = learn::parse_weights(text, "weights");
  if (!parsed) {
    fuzz::require_good(parsed.error());
    return;
  }
  fuzz::require(learn::check_weights(*parsed).is_ok(), "what was read may be written");
  std::size_t values = 0;
  for (const learn::Tensor& tensor : parsed->tensors) {
    values += tensor.data.size();
    for (const float value : tensor.data) {
      fuzz::require(std::isfinite(value), "weights are finite");
    }
  }
  fuzz::require(values * sizeof(float) <= text.size(), "no value without bytes");
  const auto again = learn::parse_weights(learn::write_weights(*parsed), "again");
  fuzz::require(again.has_value() && *again == *parsed, "written weights are read back equal");
  check_model(*parsed);
}

static int run_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  check_text(text);
  check_text(repaired(text));
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
