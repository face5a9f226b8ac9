#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "learn/weights_file.hpp"
#include "learn_train/network_trainer.hpp"
#include "learn_train/training_data.hpp"
#include "predict/slice_prediction.hpp"

namespace septule::learn_train {

/// How Septule's network (learn/slice_net.hpp says what it is) is trained: cross entropy of the
/// class of each column, AdamW with warm-up and cosine decay, on the distinct measurements; fillers
/// and levels are left out at random, so that the network knows both. Chosen on inner folds only
/// (docs/predict.md).
struct SliceNetOptions {
  /// With kShown each column also has the job's four counters, with noise (they would give away
  /// which of the few jobs it is) and now and then left out. For evaluation by unseen family only.
  enum class Counters { kHidden, kShown };

  std::uint64_t seed = 1;
  int steps = 5000;           ///< of each member
  std::optional<int> epochs;  ///< passes over the data instead of `steps`
  int batch = 128;            ///< measurements
  int members = 1;
  double learning_rate = 3e-3;
  int warm_up_steps = 100;
  double weight_decay = 0.01;  ///< of matrices; none of biases
  double dropout = 0.1;        ///< probability, after each layer but the first
  double filler_weight = 0.5;  ///< of a filler's column in the loss
  double lone_weight = 0.2;    ///< of a job's column where it is the only job
  double filler_drop = 0.65;   ///< probability that a measurement's fillers are left out
  double level_drop = 0.15;    ///< probability that only some levels are shown
  Counters counters = Counters::kHidden;
  double counter_noise = 0.5;  ///< standard deviation, in those of the counter over the classes
  double counter_drop = 0.2;   ///< probability that a column's counters are left out
  double temperature = 1;      ///< see learn::SliceNet, as the next two
  double sd_floor = 0.005;
  double time_median_part = 0.5;
};

/// An epoch is one pass over the training measurements. Classes that occur in no training row are
/// not known to the network. `data` must outlive the trainer. kInvalidInput if there are fewer
/// training measurements than a batch.
Result<std::unique_ptr<NetworkTrainer>> make_slice_net_trainer(const TrainingData& data,
                                                               const TrainingSplit& split,
                                                               const SliceNetOptions& options);

/// What the weights say of rows under LibTorch in evaluation mode, written down once more and
/// apart from learn::SliceNet: what our own inference must equal. Shows counters (without noise) to
/// weights that were trained with them. With `kAbsent` fillers are
/// neither shown nor possible answers.
Result<std::vector<predict::SlicePredictions>> run_slice_net(const learn::NetworkWeights& weights,
                                                             const TrainingData& data,
                                                             std::span<const int> rows,
                                                             Fillers fillers);

}  // namespace septule::learn_train
