#include <cmath>
#include <string>

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

static int run_one(const std::uint8_t* data, std::size_t size) {
  const auto parsed = learn::parse_weights(fuzz::text_of(data, size), "weights");
  if (!parsed) {
    fuzz::require_good(parsed.error());
    return 0;
  }
  fuzz::require(learn::check_weights(*parsed).is_ok(), "what was read may be written");
  std::size_t values = 0;
  for (const learn::Tensor& tensor : parsed->tensors) {
    values += tensor.data.size();
    for (const float value : tensor.data) {
      fuzz::require(std::isfinite(value), "weights are finite");
    }
  }
  fuzz::require(values * sizeof(float) <= size, "no value without bytes");
  const auto again = learn::parse_weights(learn::write_weights(*parsed), "again");
  fuzz::require(again.has_value() && *again == *parsed, "written weights are read back equal");
  check_model(*parsed);
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
