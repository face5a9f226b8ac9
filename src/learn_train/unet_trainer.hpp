#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "learn/weights_file.hpp"
#include "learn_train/network_trainer.hpp"
#include "learn_train/training_data.hpp"

namespace septule::learn_train {

/// The schedule of MISO's U-Net (miso.md 3.3): mean absolute error, Adam, a fixed shuffle cut into
/// batches whose content stays the same while their order changes from epoch to epoch, learning
/// rate x `rate_factor` after `patience` epochs without a better validation loss, last epoch kept.
struct UnetOptions {
  std::uint64_t seed = 1;
  int epochs = 50;
  int batch = 53;
  double learning_rate = 0.05718;
  double rate_factor = 0.2;
  int patience = 10;
};

/// `data` must outlive the trainer. kInvalidInput if no row trains or validates.
Result<std::unique_ptr<NetworkTrainer>> make_unet_trainer(const TrainingData& data,
                                                          const TrainingSplit& split,
                                                          const UnetOptions& options);

/// Outputs of the weights under LibTorch in evaluation mode: what our own inference must equal.
using UnetCells = std::array<std::array<double, kColumns>, kTargetSlices>;
Result<std::vector<UnetCells>> run_unet(const learn::NetworkWeights& weights,
                                        std::span<const UnetCells> inputs);

}  // namespace septule::learn_train
