#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "learn/weights_file.hpp"

namespace septule::learn {

/// The layers of an image network, for inference only (Eigen; docs/adr/0018). Weights are float32,
/// sums are made in double, so that no rounding of ours adds to that of the training. One column of
/// a map holds the channels of one pixel; pixels go row by row. Names of tensors and their layouts
/// are those of LibTorch. All values; any thread.
struct FeatureMap {
  int channels = 0;
  int height = 0;
  int width = 0;
  std::vector<double> values;  ///< [pixel][channel]

  FeatureMap() = default;
  FeatureMap(int channel_count, int rows, int columns)
      : channels(channel_count),
        height(rows),
        width(columns),
        values(static_cast<std::size_t>(channel_count) * static_cast<std::size_t>(rows) *
               static_cast<std::size_t>(columns)) {}
  int pixels() const { return height * width; }
  /// First channel of a pixel.
  std::size_t at(int row, int column) const {
    return (static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
            static_cast<std::size_t>(column)) *
           static_cast<std::size_t>(channels);
  }
};

/// What goes into a layer and comes out of it.
struct ChannelCounts {
  int inputs = 1;
  int outputs = 1;
};

/// Convolution with bias, kernel 2x2, stride 1, zeros added below and to the right so that the size
/// stays ("same"); or kernel 1x1. Tensors: NAME.weight [outputs, inputs, k, k], NAME.bias
/// [outputs].
class Convolution {
 public:
  enum class Kernel { k1x1, k2x2 };
  /// Fails with kInvalidInput if a tensor is missing or has another shape (so do all below).
  static Result<Convolution> make(const NetworkWeights& weights,
                                  std::string_view name,
                                  ChannelCounts channels,
                                  Kernel kernel);
  FeatureMap apply(const FeatureMap& input) const;

 private:
  ChannelCounts channels_;
  int extent_ = 1;
  std::vector<double> weight_;  ///< [tap][input][output]
  std::vector<double> bias_;
};

/// Transposed convolution with bias, kernel 2x2, stride 2: each pixel becomes 2x2 pixels. Tensors:
/// NAME.weight [inputs, outputs, 2, 2], NAME.bias [outputs].
class TransposedConvolution {
 public:
  static Result<TransposedConvolution> make(const NetworkWeights& weights,
                                            std::string_view name,
                                            ChannelCounts channels);
  FeatureMap apply(const FeatureMap& input) const;

 private:
  ChannelCounts channels_;
  std::vector<double> weight_;  ///< [input][tap][output]
  std::vector<double> bias_;
};

/// Batch normalisation with the statistics of the training, epsilon 1e-3 (miso.md 3.3), followed by
/// max(0, x). Tensors: NAME.weight, NAME.bias, NAME.running_mean, NAME.running_var, all [channels].
class NormalisedRectifier {
 public:
  static constexpr double kEpsilon = 1e-3;
  static Result<NormalisedRectifier> make(const NetworkWeights& weights,
                                          std::string_view name,
                                          int channels);
  void apply(FeatureMap* map) const;

 private:
  std::vector<double> factor_;
  std::vector<double> offset_;
};

/// Largest value of each 2x2 block; height and width must be even.
FeatureMap max_pooled(const FeatureMap& input);
/// The channels of `first`, then those of `second`; same height and width.
FeatureMap joined(const FeatureMap& first, const FeatureMap& second);

}  // namespace septule::learn
