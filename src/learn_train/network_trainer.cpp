#include "learn_train/network_trainer.hpp"

#include <algorithm>
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

template <class IsScored>
TrainingSplit split_rows(const TrainingData& data, IsScored is_scored) {
  TrainingSplit split;
  for (std::size_t i = 0; i < data.rows.size(); ++i) {
    const TrainingRow& row = data.rows[i];
    if (is_scored(row)) {
      split.scored.push_back(static_cast<int>(i));
    } else if (is_validation_mix(row.mix)) {
      split.validate.push_back(static_cast<int>(i));
    } else {
      split.train.push_back(static_cast<int>(i));
    }
  }
  return split;
}

}  // namespace

TrainingSplit split_by_mix(const TrainingData& data, std::optional<int> scored) {
  return split_rows(data, [&](const TrainingRow& row) { return scored == row.fold; });
}

TrainingSplit split_by_family(const TrainingData& data, std::string_view family) {
  return split_rows(data, [&](const TrainingRow& row) {
    return std::ranges::any_of(row.classes, [&](int job_class) {
      return data.classes[static_cast<std::size_t>(job_class)].model == family;
    });
  });
}

}  // namespace septule::learn_train
