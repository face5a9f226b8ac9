#include "learn/network_layers.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "base/check.hpp"
#include "learn/tensor_lookup.hpp"

namespace septule::learn {

namespace {

constexpr int kTaps = 4;  // of a 2x2 kernel, row by row

using ConstMatrix = Eigen::Map<const Eigen::MatrixXd>;
using Matrix = Eigen::Map<Eigen::MatrixXd>;
using ConstVector = Eigen::Map<const Eigen::VectorXd>;

ConstMatrix as_matrix(const FeatureMap& map) {
  return {map.values.data(), map.channels, map.pixels()};
}

Result<std::vector<double>> vector_of(const NetworkWeights& weights,
                                      std::string_view layer,
                                      std::string_view part,
                                      int size) {
  SEPTULE_TRY(const Tensor* tensor,
              tensor_of_shape(weights, fmt::format("{}.{}", layer, part), std::array{size}));
  return std::vector<double>(tensor->data.begin(), tensor->data.end());
}

/// Copies a pixel with its neighbours to the right, below and diagonally, zeros beyond the edge.
FeatureMap with_neighbours(const FeatureMap& input) {
  FeatureMap out(input.channels * kTaps, input.height, input.width);
  for (int row = 0; row < input.height; ++row) {
    for (int column = 0; column < input.width; ++column) {
      for (int tap = 0; tap < kTaps; ++tap) {
        const int from_row = row + tap / 2;
        const int from_column = column + tap % 2;
        if (from_row >= input.height || from_column >= input.width) {
          continue;
        }
        const double* const from = input.values.data() + input.at(from_row, from_column);
        std::copy_n(from,
                    input.channels,
                    out.values.data() + out.at(row, column) +
                        static_cast<std::ptrdiff_t>(tap) * input.channels);
      }
    }
  }
  return out;
}

}  // namespace

Result<Convolution> Convolution::make(const NetworkWeights& weights,
                                      std::string_view name,
                                      ChannelCounts channels,
                                      Kernel kernel) {
  const int extent = kernel == Kernel::k1x1 ? 1 : 2;
  SEPTULE_TRY(const Tensor* tensor,
              tensor_of_shape(weights,
                              fmt::format("{}.weight", name),
                              std::array{channels.outputs, channels.inputs, extent, extent}));
  Convolution layer;
  layer.channels_ = channels;
  layer.extent_ = extent;
  SEPTULE_TRY(layer.bias_, vector_of(weights, name, "bias", channels.outputs));
  const int taps = extent * extent;
  layer.weight_.resize(tensor->data.size());
  std::size_t from = 0;
  for (int output = 0; output < channels.outputs; ++output) {
    for (int input = 0; input < channels.inputs; ++input) {
      for (int tap = 0; tap < taps; ++tap) {
        const int to = (tap * channels.inputs + input) * channels.outputs + output;
        layer.weight_[static_cast<std::size_t>(to)] = static_cast<double>(tensor->data[from++]);
      }
    }
  }
  return layer;
}

FeatureMap Convolution::apply(const FeatureMap& input) const {
  SEPTULE_CHECK(input.channels == channels_.inputs, "a layer gets the channels it was made for");
  FeatureMap out(channels_.outputs, input.height, input.width);
  const int rows = channels_.inputs * extent_ * extent_;
  const FeatureMap spread = extent_ == 1 ? input : with_neighbours(input);
  Matrix result(out.values.data(), out.channels, out.pixels());
  result.noalias() = ConstMatrix(weight_.data(), channels_.outputs, rows) * as_matrix(spread);
  result.colwise() += ConstVector(bias_.data(), channels_.outputs);
  return out;
}

Result<TransposedConvolution> TransposedConvolution::make(const NetworkWeights& weights,
                                                          std::string_view name,
                                                          ChannelCounts channels) {
  SEPTULE_TRY(const Tensor* tensor,
              tensor_of_shape(weights,
                              fmt::format("{}.weight", name),
                              std::array{channels.inputs, channels.outputs, 2, 2}));
  TransposedConvolution layer;
  layer.channels_ = channels;
  SEPTULE_TRY(layer.bias_, vector_of(weights, name, "bias", channels.outputs));
  layer.weight_.resize(tensor->data.size());
  std::size_t from = 0;
  for (int input = 0; input < channels.inputs; ++input) {
    for (int output = 0; output < channels.outputs; ++output) {
      for (int tap = 0; tap < kTaps; ++tap) {
        const int to = (input * kTaps + tap) * channels.outputs + output;
        layer.weight_[static_cast<std::size_t>(to)] = static_cast<double>(tensor->data[from++]);
      }
    }
  }
  return layer;
}

FeatureMap TransposedConvolution::apply(const FeatureMap& input) const {
  SEPTULE_CHECK(input.channels == channels_.inputs, "a layer gets the channels it was made for");
  const int rows = channels_.outputs * kTaps;
  const Eigen::MatrixXd spread =
      ConstMatrix(weight_.data(), rows, channels_.inputs) * as_matrix(input);
  FeatureMap out(channels_.outputs, 2 * input.height, 2 * input.width);
  const ConstVector bias(bias_.data(), channels_.outputs);
  for (int row = 0; row < out.height; ++row) {
    for (int column = 0; column < out.width; ++column) {
      const int tap = (row % 2) * 2 + column % 2;
      const int pixel = (row / 2) * input.width + column / 2;
      Eigen::Map<Eigen::VectorXd>(out.values.data() + out.at(row, column), out.channels) =
          spread.col(pixel).segment(static_cast<Eigen::Index>(tap) * out.channels, out.channels) +
          bias;
    }
  }
  return out;
}

Result<NormalisedRectifier> NormalisedRectifier::make(const NetworkWeights& weights,
                                                      std::string_view name,
                                                      int channels) {
  SEPTULE_TRY(const std::vector<double> weight, vector_of(weights, name, "weight", channels));
  SEPTULE_TRY(const std::vector<double> bias, vector_of(weights, name, "bias", channels));
  SEPTULE_TRY(const std::vector<double> mean, vector_of(weights, name, "running_mean", channels));
  SEPTULE_TRY(const std::vector<double> variance,
              vector_of(weights, name, "running_var", channels));
  NormalisedRectifier layer;
  for (std::size_t channel = 0; channel < weight.size(); ++channel) {
    if (variance[channel] < 0) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("value {} of tensor \"{}.running_var\" is {}; a variance is not "
                               "negative",
                               channel,
                               name,
                               variance[channel])};
    }
    const double factor = weight[channel] / std::sqrt(variance[channel] + kEpsilon);
    layer.factor_.push_back(factor);
    layer.offset_.push_back(bias[channel] - mean[channel] * factor);
  }
  return layer;
}

void NormalisedRectifier::apply(FeatureMap* map) const {
  const auto channels = static_cast<Eigen::Index>(factor_.size());
  SEPTULE_CHECK(map->channels == channels, "a layer gets the channels it was made for");
  Matrix values(map->values.data(), channels, map->pixels());
  const ConstVector factor(factor_.data(), channels);
  const ConstVector offset(offset_.data(), channels);
  values = ((values.array().colwise() * factor.array()).colwise() + offset.array()).max(0.0);
}

FeatureMap max_pooled(const FeatureMap& input) {
  SEPTULE_CHECK(input.height % 2 == 0 && input.width % 2 == 0, "blocks of 2x2 cover the map");
  FeatureMap out(input.channels, input.height / 2, input.width / 2);
  for (int row = 0; row < out.height; ++row) {
    for (int column = 0; column < out.width; ++column) {
      const std::size_t to = out.at(row, column);
      for (int channel = 0; channel < input.channels; ++channel) {
        const auto offset = static_cast<std::size_t>(channel);
        out.values[to + offset] =
            std::max({input.values[input.at(2 * row, 2 * column) + offset],
                      input.values[input.at(2 * row, 2 * column + 1) + offset],
                      input.values[input.at(2 * row + 1, 2 * column) + offset],
                      input.values[input.at(2 * row + 1, 2 * column + 1) + offset]});
      }
    }
  }
  return out;
}

FeatureMap joined(const FeatureMap& first, const FeatureMap& second) {
  SEPTULE_CHECK(first.height == second.height, "joined maps have one height");
  SEPTULE_CHECK(first.width == second.width, "joined maps have one width");
  FeatureMap out(first.channels + second.channels, first.height, first.width);
  Matrix values(out.values.data(), out.channels, out.pixels());
  values.topRows(first.channels) = as_matrix(first);
  values.bottomRows(second.channels) = as_matrix(second);
  return out;
}

}  // namespace septule::learn
