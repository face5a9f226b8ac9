#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "gpu/sharing_template.hpp"
#include "learn/weights_file.hpp"
#include "learn_train/window_source.hpp"
#include "report/learning_report.hpp"
#include "septule/interruption.hpp"

namespace septule::train_app {

/// One training of the network for windows. A plain value.
struct WindowRunSpec {
  std::uint64_t seed = 1;
  std::optional<int> updates;  ///< instead of the schedule's own number
  enum class Beginning { kNew, kResume };
  Beginning beginning = Beginning::kNew;
  std::string path;  ///< where the weights go; PATH.checkpoint beside it meanwhile

  /// The command that makes exactly this training; part of the weights' recipe.
  std::string command() const;
};

/// Windows by which a training is watched: some of the validation jobs.
inline constexpr int kWatchedWindows = 200;
/// How often it is looked at them.
inline constexpr int kLooks = 12;

/// Trains with a progress bar and gives the weights with their recipe, in whose metrics stands how
/// it went; they are written, whole or not at all. Checkpoints at each look and at an interruption.
/// With kResume weights that are there already are taken, and a checkpoint is gone on from; both
/// must be of this training (kInvalidInput otherwise). kFailed after an interruption.
Result<learn::NetworkWeights> train_window_net(const WindowRunSpec& spec,
                                               const learn_train::WindowSource& source,
                                               const app::Interruption& interruption);

/// Which windows a network is judged on.
struct WindowJudging {
  predict::PoolPart part = predict::PoolPart::kTest;
  int windows = 300;
};
/// The network beside other methods on the same windows of generated jobs, with decision times.
Result<report::MethodComparison> judge_window_net(const learn::NetworkWeights& weights,
                                                  const learn_train::WindowSource& source,
                                                  const WindowJudging& judging);

/// How a training went, from the metrics of its recipe.
std::vector<report::LinePlot> learning_curves(const learn::TrainingRecipe& recipe);

}  // namespace septule::train_app
