#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace septule::learn {

/// A tensor of a trained network, row-major float32. A plain value.
struct Tensor {
  std::string name;         ///< "phi.0.weight", as the training names it
  std::vector<int> shape;   ///< each >= 1; a dense layer's weight is [outputs, inputs]
  std::vector<float> data;  ///< finite; as many as the product of `shape`

  friend bool operator==(const Tensor&, const Tensor&) = default;
};

/// Where trained weights come from, and how well they did. A plain value.
struct TrainingRecipe {
  std::string command;  ///< that made the file: "septule train predictor --model ours --seed 1"
  std::uint64_t seed = 0;
  std::string data_digest;                ///< of the training data as read, 16 hexadecimal digits
  int rows = 0;                           ///< training rows (measurements)
  std::map<std::string, double> metrics;  ///< "val5_all": 0.0157

  friend bool operator==(const TrainingRecipe&, const TrainingRecipe&) = default;
};

/// A trained network as it is kept in a file: kind, settings of its form, tensors, recipe. A plain
/// value.
struct NetworkWeights {
  std::string kind;                        ///< "slice-net" or "unet"
  std::map<std::string, double> settings;  ///< of the form: widths, number of members ...
  std::vector<Tensor> tensors;             ///< in the order of the layers; names differ
  TrainingRecipe recipe;

  /// Null if there is none.
  const Tensor* find(std::string_view name) const;
  friend bool operator==(const NetworkWeights&, const NetworkWeights&) = default;
};

inline constexpr int kWeightsVersion = 1;
/// Size of a weights file at most.
inline constexpr std::size_t kWeightsBytesMax = std::size_t{64} << 20U;

/// kInvalidInput, naming the tensor or field: a value that is not finite (a training that ran
/// away), a shape that is not valid or does not match the data, a name that is empty, too long or
/// there twice, text that is not UTF-8, a data digest that is not 16 hexadecimal digits.
Status check_weights(const NetworkWeights& weights);

/// The file format "septule-weights" (docs/formats.md, "Weights"): one line "septule-weights 1",
/// one line of JSON (kind, settings, layer list with name and shape, recipe, bytes of the payload,
/// and last the digest of all of this line before it and of the payload), then the tensors' float32
/// values, little-endian, in the order of the list. Equal weights give equal bytes. `weights` must
/// pass check_weights().
std::string write_weights(const NetworkWeights& weights);
/// Fails with kInvalidInput, saying what is wrong in one sentence: not such a file, another
/// version, truncated (bytes found and expected), digest differs, a shape that is not valid, a
/// value that is not finite. Never reads beyond `bytes`, never allocates more than they justify.
Result<NetworkWeights> parse_weights(std::string_view bytes, std::string_view source_name);

}  // namespace septule::learn
