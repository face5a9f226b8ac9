#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "learn_train/network_trainer.hpp"
#include "learn_train/training_data.hpp"

namespace septule::train_app {

enum class Model { kOurs, kUnet };
/// "ours", "unet".
std::string model_name(Model model);

/// One training: which network, on what, with which seed. A plain value.
struct RunSpec {
  enum class Part { kNothing, kMix, kFamily };
  enum class Counters { kHidden, kShown };

  Model model = Model::kOurs;
  std::uint64_t seed = 1;
  Part left_out = Part::kNothing;
  int fold = 0;        ///< for kMix
  std::string family;  ///< for kFamily
  Counters counters = Counters::kHidden;
  std::optional<int> epochs;      ///< instead of the model's own number
  std::optional<int> early_stop;  ///< epochs without a better inner loss

  /// The command that makes exactly this training; part of the weights' recipe.
  std::string command() const;
  /// "unet-fold0-seed1": its file in the folder of runs, without the ending.
  std::string name() const;
};

/// Which rows train, validate and are scored.
learn_train::TrainingSplit split_of(const learn_train::TrainingData& data, const RunSpec& spec);
/// A trainer at its beginning. `data` must outlive it.
Result<std::unique_ptr<learn_train::NetworkTrainer>> trainer_of(
    const learn_train::TrainingData& data, const RunSpec& spec);

}  // namespace septule::train_app
