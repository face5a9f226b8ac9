#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "learn/weights_file.hpp"
#include "predict/slice_prediction.hpp"

namespace septule::learn {

/// The GPU model on which the training data of all networks were measured: the built-in ones, and,
/// as the file does not say it, those of any weights file. What fits a slice tells alike jobs apart
/// (MpsMatrix::smallest) on this model only: equal slices of others have other memory.
inline constexpr std::string_view kTrainedGpu = "A100-40GB";

/// Builds the network that the weights describe ("slice-net": ours; "unet": the paper's). The model
/// keeps what it needs of `weights`. Fails with kInvalidInput if the kind is unknown or a tensor or
/// setting is missing or has another shape than the form asks for.
Result<std::unique_ptr<predict::SliceModel>> make_slice_model(const NetworkWeights& weights);

/// Names of the models compiled in: "ours", "unet".
std::vector<std::string_view> builtin_model_names();
/// The weights that come with Septule, those of the network for windows ("window") among them
/// (data/weights/, made by our own training; docs/predict.md). kNotFound for another name, naming
/// those there are. Parses on each call: keep the result.
Result<NetworkWeights> builtin_weights(std::string_view name);
Result<std::unique_ptr<predict::SliceModel>> builtin_slice_model(std::string_view name);

}  // namespace septule::learn
