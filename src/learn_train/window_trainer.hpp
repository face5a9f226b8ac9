#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "learn/weights_file.hpp"
#include "learn/window_features.hpp"
#include "learn_train/window_source.hpp"

namespace septule::learn_train {

/// How the network for windows (learn/q_network.hpp) is trained: dueling double deep Q-learning
/// (docs/window-rl.md). Chosen on windows of the validation jobs only. A plain value.
struct WindowTrainingOptions {
  std::uint64_t seed = 1;
  int updates = 20000;
  int environments = 128;     ///< episodes under way, each one action a round
  int updates_per_round = 4;  ///< after the first `rounds_before` rounds
  int rounds_before = 40;
  int rounds_kept = 800;  ///< of the replay memory: 102,400 steps
  int batch = 128;
  int steps_max = 4;  ///< rewards that are summed up to the group's end, at most
  double learning_rate = 2e-3;
  double learning_rate_last = 4e-5;  ///< by half a cosine
  double adam_epsilon = 1e-5;
  double gradient_norm_max = 5;
  double huber = 0.3;          ///< from here on the loss is linear, in units of 10 x return
  double target_rate = 0.005;  ///< of the target network, each update
  double mean_rate = 0.001;    ///< of the mean over updates that is handed out
  double exploration = 0.05;   ///< part of actions that are drawn, at first
  double exploration_last = 0.02;
  double exploration_part = 0.3;  ///< of the updates over which it falls
};

/// What a round came to.
struct WindowRound {
  int updates = 0;             ///< done so far
  std::optional<double> loss;  ///< mean of the round's updates; nothing before the first
  double exploration = 0;
  std::optional<double> gain;  ///< mean of 1 / (1 - return) of the episodes that ended in it
};

/// Trains the network round by round. Deterministic: equal source and options give equal weights on
/// equal machines (one BLAS thread), also if state() is taken in between and given to restore() of
/// a new trainer. Owned by one thread. Memory: about 350 MB.
class WindowTrainer {
 public:
  WindowTrainer() = default;
  WindowTrainer(const WindowTrainer&) = delete;
  WindowTrainer& operator=(const WindowTrainer&) = delete;
  virtual ~WindowTrainer() = default;

  virtual int updates_done() const = 0;
  virtual bool is_done() const = 0;
  /// Must not be called once done. kFailed if the loss is no longer finite or LibTorch fails.
  virtual Result<WindowRound> run_round() = 0;
  /// The mean network as it stands; the recipe is left to the caller.
  virtual learn::NetworkWeights weights() const = 0;
  /// All that is needed to go on, in the same file format; what was seen is left out and seen again
  /// by restore(), which takes up to a minute.
  virtual learn::NetworkWeights state() const = 0;
  /// kInvalidInput if `state` is not of such a training.
  virtual Status restore(const learn::NetworkWeights& state) = 0;
};

/// `source` outlives the trainer. kInvalidInput for options that make no training: nothing to do, a
/// batch larger than what is kept.
Result<std::unique_ptr<WindowTrainer>> make_window_trainer(const WindowSource& source,
                                                           const WindowTrainingOptions& options);

/// What weights say of observations under LibTorch, written down once more and apart from
/// learn::QNetwork: what our own inference must equal. Values of allowed actions; the others are
/// far below.
Result<std::vector<std::array<float, learn::kActions>>> run_window_net(
    const learn::NetworkWeights& weights,
    std::span<const learn::Observation> seen,
    std::span<const learn::RowFeatures> rows);

/// Weights as a new training begins with them; for tests.
Result<learn::NetworkWeights> untrained_window_net(std::uint64_t seed);

}  // namespace septule::learn_train
