#include "learn/unet.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "learn/network_layers.hpp"
#include "learn/tensor_lookup.hpp"
#include "predict/slice_regression.hpp"

namespace septule::learn {

namespace {

constexpr std::size_t kLevels = 3;
constexpr std::array<int, kLevels> kLevelPercentages = {100, 50, 14};
constexpr std::size_t kColumns = predict::kCoRunnersMax;
constexpr int kPaddedHeight = 4;
constexpr int kPaddedWidth = 8;
constexpr std::size_t kResiduals = 7;

/// Channels of the blocks (miso.md 3.3).
constexpr int kOuter = 32;
constexpr int kInner = 64;
constexpr int kCenter = 256;

class FormBuilder {
 public:
  void convolution(const std::string& name, std::vector<int> shape, int outputs) {
    form.push_back({.name = name + ".weight", .shape = std::move(shape)});
    form.push_back({.name = name + ".bias", .shape = {outputs}});
  }
  void normalisation(const std::string& name, int channels) {
    form.push_back({.name = name + ".weight", .shape = {channels}});
    form.push_back({.name = name + ".bias", .shape = {channels}});
    form.push_back({.name = name + ".running_mean", .shape = {channels}, .is_trained = false});
    form.push_back({.name = name + ".running_var", .shape = {channels}, .is_trained = false});
  }
  /// [conv, norm] x 2.
  void block(const std::string& name, int inputs, int outputs) {
    convolution(name + ".conv0", {outputs, inputs, 2, 2}, outputs);
    normalisation(name + ".norm0", outputs);
    convolution(name + ".conv1", {outputs, outputs, 2, 2}, outputs);
    normalisation(name + ".norm1", outputs);
  }
  void decoder(const std::string& name, int inputs, int outputs) {
    convolution(name + ".up", {inputs, outputs, 2, 2}, outputs);
    normalisation(name + ".norm_up", 2 * outputs);
    block(name, 2 * outputs, outputs);
  }

  std::vector<TensorForm> form;
};

Error invalid(std::string what) {
  return {ErrorCode::kInvalidInput, std::move(what)};
}

/// [conv, norm, ReLU] x 2.
struct Block {
  Convolution first;
  NormalisedRectifier first_norm;
  Convolution second;
  NormalisedRectifier second_norm;

  static Result<Block> make(const NetworkWeights& weights,
                            const std::string& name,
                            ChannelCounts channels) {
    using Kernel = Convolution::Kernel;
    Block block;
    const int outputs = channels.outputs;
    SEPTULE_TRY(block.first, Convolution::make(weights, name + ".conv0", channels, Kernel::k2x2));
    SEPTULE_TRY(block.first_norm, NormalisedRectifier::make(weights, name + ".norm0", outputs));
    SEPTULE_TRY(block.second,
                Convolution::make(weights, name + ".conv1", {outputs, outputs}, Kernel::k2x2));
    SEPTULE_TRY(block.second_norm, NormalisedRectifier::make(weights, name + ".norm1", outputs));
    return block;
  }
  FeatureMap apply(const FeatureMap& input) const {
    FeatureMap map = first.apply(input);
    first_norm.apply(&map);
    map = second.apply(map);
    second_norm.apply(&map);
    return map;
  }
};

/// Up to twice the size, with what the encoder of that size had, and a block.
struct Decoder {
  TransposedConvolution up;
  NormalisedRectifier up_norm;
  Block block;

  static Result<Decoder> make(const NetworkWeights& weights,
                              const std::string& name,
                              ChannelCounts channels) {
    Decoder decoder;
    const int joint = 2 * channels.outputs;
    SEPTULE_TRY(decoder.up, TransposedConvolution::make(weights, name + ".up", channels));
    SEPTULE_TRY(decoder.up_norm, NormalisedRectifier::make(weights, name + ".norm_up", joint));
    SEPTULE_TRY(decoder.block, Block::make(weights, name, {joint, channels.outputs}));
    return decoder;
  }
  FeatureMap apply(const FeatureMap& input, const FeatureMap& skipped) const {
    FeatureMap map = joined(skipped, up.apply(input));
    up_norm.apply(&map);
    return block.apply(map);
  }
};

/// Levels in the order of kLevelPercentages. Fails if the set of levels is another.
Result<std::array<const predict::MpsMatrix::Level*, kLevels>> levels_of(
    const predict::MpsMatrix& matrix) {
  std::array<const predict::MpsMatrix::Level*, kLevels> found{};
  for (const predict::MpsMatrix::Level& level : matrix.levels) {
    const auto at = std::ranges::find(kLevelPercentages, level.atp.value());
    if (at == kLevelPercentages.end()) {
      return invalid(fmt::format(
          "the level {} % is one that the model \"unet\" does not know; it takes 100, 50 and 14 %",
          level.atp.value()));
    }
    found[static_cast<std::size_t>(at - kLevelPercentages.begin())] = &level;
  }
  for (std::size_t index = 0; index < kLevels; ++index) {
    if (found[index] == nullptr) {
      return invalid(fmt::format(
          "the level {} % is missing; the model \"unet\" needs times at 100, 50 and 14 %",
          kLevelPercentages[index]));
    }
  }
  return found;
}

}  // namespace

std::vector<TensorForm> unet_form() {
  FormBuilder builder;
  builder.block("encoder0", 1, kOuter);
  builder.block("encoder1", kOuter, kInner);
  builder.block("center", kInner, kCenter);
  builder.decoder("decoder1", kCenter, kInner);
  builder.decoder("decoder0", kInner, kOuter);
  builder.convolution("output", {1, kOuter, 1, 1}, 1);
  builder.form.push_back({.name = "dummy_input",
                          .shape = {static_cast<int>(kColumns), static_cast<int>(kLevels)},
                          .is_trained = false});
  builder.form.push_back(
      {.name = "residual_sd", .shape = {static_cast<int>(kResiduals)}, .is_trained = false});
  return builder.form;
}

struct Unet::Network {
  Block encoder0;
  Block encoder1;
  Block center;
  Decoder decoder1;
  Decoder decoder0;
  Convolution output;
  std::array<std::array<double, kLevels>, kColumns> dummy_input{};  ///< by present jobs - 1
  std::array<double, kResiduals> residual_sd{};

  FeatureMap apply(const FeatureMap& input) const {
    const FeatureMap outer = encoder0.apply(input);
    const FeatureMap inner = encoder1.apply(max_pooled(outer));
    const FeatureMap middle = center.apply(max_pooled(inner));
    return output.apply(decoder0.apply(decoder1.apply(middle, inner), outer));
  }
  Result<Image> image_of(const predict::MpsMatrix& matrix) const;
  predict::SlicePrediction prediction(const Image& output_image, std::size_t column) const;
};

Result<std::unique_ptr<Unet>> Unet::make(const NetworkWeights& weights) {
  std::set<std::string_view> names;
  const std::vector<TensorForm> form = unet_form();
  for (const TensorForm& part : form) {
    SEPTULE_TRY_STATUS(tensor_of_shape(weights, part.name, part.shape));
    names.insert(part.name);
  }
  for (const Tensor& tensor : weights.tensors) {
    if (!names.contains(tensor.name)) {
      return invalid(
          fmt::format("kind \"unet\" has no tensor {}", quoted_for_message(tensor.name)));
    }
  }
  auto network = std::make_unique<Network>();
  SEPTULE_TRY(network->encoder0, Block::make(weights, "encoder0", {1, kOuter}));
  SEPTULE_TRY(network->encoder1, Block::make(weights, "encoder1", {kOuter, kInner}));
  SEPTULE_TRY(network->center, Block::make(weights, "center", {kInner, kCenter}));
  SEPTULE_TRY(network->decoder1, Decoder::make(weights, "decoder1", {kCenter, kInner}));
  SEPTULE_TRY(network->decoder0, Decoder::make(weights, "decoder0", {kInner, kOuter}));
  SEPTULE_TRY(network->output,
              Convolution::make(weights, "output", {kOuter, 1}, Convolution::Kernel::k1x1));
  const Tensor& dummy = *weights.find("dummy_input");
  for (std::size_t index = 0; index < dummy.data.size(); ++index) {
    network->dummy_input[index / kLevels][index % kLevels] = static_cast<double>(dummy.data[index]);
  }
  const Tensor& residual = *weights.find("residual_sd");
  for (std::size_t index = 0; index < kResiduals; ++index) {
    if (residual.data[index] < 0) {
      return invalid(fmt::format("value {} of tensor \"residual_sd\" is {}; it is not negative",
                                 index,
                                 residual.data[index]));
    }
    network->residual_sd[index] = static_cast<double>(residual.data[index]);
  }
  return std::unique_ptr<Unet>(new Unet(std::move(network)));
}

Unet::Unet(std::unique_ptr<const Network> network) : network_(std::move(network)) {}
Unet::~Unet() = default;

Result<Unet::Image> Unet::Network::image_of(const predict::MpsMatrix& matrix) const {
  SEPTULE_TRY(const auto levels, levels_of(matrix));
  const std::array<double, kLevels>& dummy = dummy_input[matrix.present_count() - 1];
  Image image{};
  for (std::size_t column = 0; column < kColumns; ++column) {
    double largest = 1;
    if (matrix.is_present(column)) {
      largest = 0;
      for (std::size_t level = 0; level < kLevels; ++level) {
        const std::optional<double>& step = levels[level]->step[column];
        if (!step.has_value()) {
          return invalid(fmt::format(
              "column {} has no step time at {} %; the model \"unet\" needs one at each level",
              column + 1,
              kLevelPercentages[level]));
        }
        largest = std::max(largest, *step);
      }
    }
    for (std::size_t level = 0; level < kLevels; ++level) {
      image[level][column] = levels[level]->step[column].value_or(dummy[level]) / largest;
    }
  }
  return image;
}

predict::SlicePrediction Unet::Network::prediction(const Image& output_image,
                                                   std::size_t column) const {
  predict::SlicePrediction out;
  for (std::size_t slice = 0; slice < out.time.size(); ++slice) {
    out.time[slice] = std::clamp(output_image[slice][column], kUnetTimeMin, 1.0);
    out.time_sd[slice] = residual_sd[slice];
  }
  const double speed_4g = out.time[0] / out.time[1];
  const double speed_3g = out.time[0] / out.time[2];
  out.speed = {1,
               speed_4g,
               speed_3g,
               predict::kMisoRegression.speed_2g(speed_4g, speed_3g),
               predict::kMisoRegression.speed_1g(speed_4g, speed_3g)};
  for (std::size_t slice = 1; slice < predict::kSlices; ++slice) {
    out.speed_sd[slice] = residual_sd[out.time.size() + slice - 1];
  }
  return out;
}

Unet::Image Unet::raw_output(const Image& input) const {
  FeatureMap map(1, kPaddedHeight, kPaddedWidth);
  for (std::size_t level = 0; level < kLevels; ++level) {
    for (std::size_t column = 0; column < kColumns; ++column) {
      map.values[map.at(static_cast<int>(level), static_cast<int>(column))] = input[level][column];
    }
  }
  const FeatureMap result = network_->apply(map);
  Image image{};
  for (std::size_t slice = 0; slice < kLevels; ++slice) {
    for (std::size_t column = 0; column < kColumns; ++column) {
      image[slice][column] =
          result.values[result.at(static_cast<int>(slice), static_cast<int>(column))];
    }
  }
  return image;
}

Result<predict::SlicePredictions> Unet::predict(const predict::MpsMatrix& matrix) const {
  SEPTULE_TRY_STATUS(predict::check_mps_matrix(matrix));
  SEPTULE_TRY(const Image input, network_->image_of(matrix));
  const Image output = raw_output(input);
  predict::SlicePredictions predictions;
  for (std::size_t column = 0; column < kColumns; ++column) {
    if (!matrix.is_present(column)) {
      continue;
    }
    if (!std::isfinite(output[0][column] + output[1][column] + output[2][column])) {
      return invalid("the weights of the model \"unet\" are so large that sums overflow");
    }
    predictions[column] = network_->prediction(output, column);
  }
  return predictions;
}

}  // namespace septule::learn
