#pragma once

#include <cstdint>
#include <memory>
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
  std::uint64_t seed = 1;
  int steps = 5000;  ///< of each member
  int batch = 128;   ///< measurements
  int members = 1;
  double learning_rate = 3e-3;
  int warm_up_steps = 100;
  double weight_decay = 0.01;  ///< of matrices; none of biases
  double dropout = 0.1;
  double filler_weight = 0.5;     ///< of a filler's column in the loss
  double filler_drop = 0.6;       ///< probability that a measurement's fillers are left out
  double level_drop = 0.15;       ///< probability that only some levels are shown
  double temperature = 1.15;      ///< see learn::SliceNet
  double sd_floor = 0.005;        ///< see learn::SliceNet
  double time_median_part = 1.0;  ///< see learn::SliceNet
};

/// An epoch is one pass over the training measurements. Classes that occur in no training row are
/// not known to the network. `data` must outlive the trainer. kInvalidInput if there are fewer
/// training measurements than a batch.
Result<std::unique_ptr<NetworkTrainer>> make_slice_net_trainer(const TrainingData& data,
                                                               const TrainingSplit& split,
                                                               const SliceNetOptions& options);

/// What the weights say of rows under LibTorch in evaluation mode, written down once more and
/// apart from learn::SliceNet: what our own inference must equal. With `kAbsent` fillers are
/// neither shown nor possible answers.
Result<std::vector<predict::SlicePredictions>> run_slice_net(const learn::NetworkWeights& weights,
                                                             const TrainingData& data,
                                                             std::span<const int> rows,
                                                             Fillers fillers);

}  // namespace septule::learn_train
