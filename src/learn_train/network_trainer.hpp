#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "learn/weights_file.hpp"
#include "learn_train/training_data.hpp"

namespace septule::learn_train {

/// Which rows (indices into TrainingData::rows) do what. A plain value.
struct TrainingSplit {
  std::vector<int> train;
  /// Steer the learning rate; cut from the training part by mix, never from the scored fold.
  std::vector<int> validate;
  /// Only looked at: their error is reported after each epoch. May be empty.
  std::vector<int> scored;
};

/// Splits by job mix (miso.md section 11, rule 1): the rows of fold `scored` are scored, of the
/// others a tenth of the mixes (chosen by a hash of the mix's number, fixed beforehand) validate,
/// the rest trains. With no fold all rows train or validate.
TrainingSplit split_by_mix(const TrainingData& data, std::optional<int> scored);
/// Leaves a family out: rows in which it occurs are scored and no other part of the training sees
/// them; the rest is split as above.
TrainingSplit split_by_family(const TrainingData& data, std::string_view family);

/// What an epoch came to; losses are the network's own, over all rows of their kind.
struct EpochRecord {
  int epoch = 0;  ///< from 1
  double learning_rate = 0;
  double train_loss = 0;
  std::optional<double> validation_loss;
  /// Mean absolute error of the scored rows' 21 cells; nothing if there are none.
  std::optional<double> scored_error;
};

/// Trains one network, epoch by epoch. Deterministic: equal data, split and options give equal
/// weights on equal machines (one BLAS thread), also if state() is taken in between and given to
/// restore() of a new trainer. Owned by one thread.
class NetworkTrainer {
 public:
  NetworkTrainer() = default;
  NetworkTrainer(const NetworkTrainer&) = delete;
  NetworkTrainer& operator=(const NetworkTrainer&) = delete;
  virtual ~NetworkTrainer() = default;

  virtual int epoch_count() const = 0;
  virtual int epochs_done() const = 0;
  bool is_done() const { return epochs_done() >= epoch_count(); }
  /// Must not be called once done. kFailed if the loss is no longer finite or LibTorch fails.
  virtual Result<EpochRecord> run_epoch() = 0;
  /// The network as it stands; the recipe is left to the caller.
  virtual learn::NetworkWeights weights() const = 0;
  /// All that is needed to go on, as tensors and settings of the same file format.
  virtual learn::NetworkWeights state() const = 0;
  /// kInvalidInput if `state` is not of such a training (another network, other options).
  virtual Status restore(const learn::NetworkWeights& state) = 0;
};

/// Makes LibTorch compute in one thread, which sums in one order: equal weights need it. For the
/// whole process; before the first trainer is made.
void use_one_torch_thread();

}  // namespace septule::learn_train
