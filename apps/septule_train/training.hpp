#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "learn/weights_file.hpp"
#include "learn_train/training_data.hpp"
#include "septule/interruption.hpp"
#include "septule_train/run_spec.hpp"

namespace septule::train_app {

/// What all trainings of a call share. Lives in main(); one thread.
struct Session {
  enum class Beginning { kNew, kResume };

  const learn_train::TrainingData* data = nullptr;  ///< not null
  const app::Interruption* interruption = nullptr;  ///< not null
  Beginning beginning = Beginning::kNew;
};

/// Reads the training data of a folder; an empty name means the folders of --data's help, in their
/// order. kNotFound if there is none, naming where was looked.
Result<learn_train::TrainingData> load_data(const std::string& folder);

/// Trains, with a progress bar, and gives the weights with their recipe. With a path the weights
/// are written there, whole or not at all, and a checkpoint beside them (PATH.checkpoint) every few
/// epochs and at an interruption. With Session::kResume weights that are there already are taken,
/// and a checkpoint is gone on from; both must be of this training (kInvalidInput otherwise).
/// kFailed after an interruption.
Result<learn::NetworkWeights> train(const RunSpec& spec,
                                    const Session& session,
                                    const std::string& path);
/// Weights of a finished training, or nothing if they are not there.
Result<std::optional<learn::NetworkWeights>> finished(const RunSpec& spec,
                                                      const Session& session,
                                                      const std::string& path);
Status write_weights_file(const std::string& path, const learn::NetworkWeights& weights);

/// Names of a recipe's figures.
inline constexpr const char* kBestEpoch = "best_epoch";
inline constexpr const char* kBestEpochError = "best_epoch_error";
inline constexpr const char* kLastEpochError = "last_epoch_error";

}  // namespace septule::train_app
