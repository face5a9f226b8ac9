#include "learn_train/network_trainer.hpp"

#include <cstddef>

#include "base/digest.hpp"

namespace septule::learn_train {

namespace {

/// One mix in ten validates. A digest, so that it depends on nothing but the mix.
constexpr std::uint64_t kValidationParts = 10;

bool is_validation_mix(int mix) {
  Digest digest;
  digest.add("validation-mix");
  digest.add(static_cast<std::uint64_t>(mix));
  // The upper half: FNV-1a mixes the low bits least.
  return (digest.value() >> 32U) % kValidationParts == 0;
}

}  // namespace

TrainingSplit split_by_mix(const TrainingData& data, std::optional<int> scored) {
  TrainingSplit split;
  for (std::size_t i = 0; i < data.rows.size(); ++i) {
    const TrainingRow& row = data.rows[i];
    if (scored == row.fold) {
      split.scored.push_back(static_cast<int>(i));
    } else if (is_validation_mix(row.mix)) {
      split.validate.push_back(static_cast<int>(i));
    } else {
      split.train.push_back(static_cast<int>(i));
    }
  }
  return split;
}

}  // namespace septule::learn_train
