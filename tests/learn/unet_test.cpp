// learn::Unet against the description in miso.md 3.3 and against plain loops written apart from it.
#include "learn/unet.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "learn/learn_support.hpp"
#include "predict/slice_regression.hpp"

namespace septule::learn {
namespace {

constexpr std::array<int, 3> kPaperLevels = {100, 50, 14};

/// A map as [channel][row][column].
using Volume = std::vector<std::vector<std::vector<double>>>;

Volume empty_volume(std::size_t channels, std::size_t rows, std::size_t columns) {
  return Volume(channels, std::vector<std::vector<double>>(rows, std::vector<double>(columns)));
}

/// The network once more, by the definitions of its layers: one output value at a time.
class PlainUnet {
 public:
  explicit PlainUnet(const NetworkWeights& weights) : weights_(weights) {}

  Volume apply(const Volume& input) const {
    const Volume outer = block("encoder0", input);
    const Volume inner = block("encoder1", pooled(outer));
    const Volume middle = block("center", pooled(inner));
    return conv("output", decoder("decoder0", decoder("decoder1", middle, inner), outer));
  }

 private:
  double value(const std::string& name, std::initializer_list<std::size_t> at) const {
    const Tensor* const tensor = weights_.find(name);
    std::size_t index = 0;
    auto extent = tensor->shape.begin();
    for (const std::size_t part : at) {
      index = index * static_cast<std::size_t>(*extent++) + part;
    }
    return static_cast<double>(tensor->data[index]);
  }
  Volume conv(const std::string& name, const Volume& in) const {
    const std::vector<int>& shape = weights_.find(name + ".weight")->shape;
    Volume out = empty_volume(static_cast<std::size_t>(shape[0]), in[0].size(), in[0][0].size());
    for (std::size_t o = 0; o < out.size(); ++o) {
      for (std::size_t y = 0; y < out[o].size(); ++y) {
        for (std::size_t x = 0; x < out[o][y].size(); ++x) {
          double sum = value(name + ".bias", {o});
          for (std::size_t i = 0; i < in.size(); ++i) {
            for (std::size_t dy = 0; dy < static_cast<std::size_t>(shape[2]); ++dy) {
              for (std::size_t dx = 0; dx < static_cast<std::size_t>(shape[3]); ++dx) {
                if (y + dy < in[i].size() && x + dx < in[i][y].size()) {
                  sum += in[i][y + dy][x + dx] * value(name + ".weight", {o, i, dy, dx});
                }
              }
            }
          }
          out[o][y][x] = sum;
        }
      }
    }
    return out;
  }
  Volume up(const std::string& name, const Volume& in) const {
    const auto outputs = static_cast<std::size_t>(weights_.find(name + ".weight")->shape[1]);
    Volume out = empty_volume(outputs, 2 * in[0].size(), 2 * in[0][0].size());
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t y = 0; y < out[o].size(); ++y) {
        for (std::size_t x = 0; x < out[o][y].size(); ++x) {
          double sum = value(name + ".bias", {o});
          for (std::size_t i = 0; i < in.size(); ++i) {
            sum += in[i][y / 2][x / 2] * value(name + ".weight", {i, o, y % 2, x % 2});
          }
          out[o][y][x] = sum;
        }
      }
    }
    return out;
  }
  Volume norm(const std::string& name, Volume in) const {
    for (std::size_t c = 0; c < in.size(); ++c) {
      const double sd = std::sqrt(value(name + ".running_var", {c}) + 1e-3);
      for (std::vector<double>& row : in[c]) {
        for (double& cell : row) {
          cell = (cell - value(name + ".running_mean", {c})) / sd * value(name + ".weight", {c}) +
                 value(name + ".bias", {c});
          cell = std::max(cell, 0.0);
        }
      }
    }
    return in;
  }
  Volume block(const std::string& name, const Volume& in) const {
    return norm(name + ".norm1",
                conv(name + ".conv1", norm(name + ".norm0", conv(name + ".conv0", in))));
  }
  Volume decoder(const std::string& name, const Volume& in, const Volume& skipped) const {
    Volume both = skipped;
    for (const auto& channel : up(name + ".up", in)) {
      both.push_back(channel);
    }
    return block(name, norm(name + ".norm_up", both));
  }
  static Volume pooled(const Volume& in) {
    Volume out = empty_volume(in.size(), in[0].size() / 2, in[0][0].size() / 2);
    for (std::size_t c = 0; c < out.size(); ++c) {
      for (std::size_t y = 0; y < out[c].size(); ++y) {
        for (std::size_t x = 0; x < out[c][y].size(); ++x) {
          out[c][y][x] = std::max({in[c][2 * y][2 * x],
                                   in[c][2 * y][2 * x + 1],
                                   in[c][2 * y + 1][2 * x],
                                   in[c][2 * y + 1][2 * x + 1]});
        }
      }
    }
    return out;
  }

  const NetworkWeights& weights_;
};

void expect_refused(const Result<predict::SlicePredictions>& result, std::string_view what) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(result.error().message.find(what), std::string::npos) << result.error().message;
}

TEST(Unet_Form, HasThePublishedParameters) {
  // 494,849 trained values, counted from the table of layers.
  int trained = 0;
  for (const TensorForm& form : unet_form()) {
    int size = 1;
    for (const int extent : form.shape) {
      size *= extent;
    }
    trained += form.is_trained ? size : 0;
  }
  EXPECT_EQ(trained, kUnetParameters);
}

TEST(Unet_RawOutput, EqualsPlainLoops) {
  // Layers in the right order with the right padding, strides and layouts of weights.
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const NetworkWeights weights = test::drawn_unet(seed);
    const auto unet = Unet::make(weights);
    ASSERT_TRUE(unet.has_value()) << unet.error().message;
    Rng rng(seed);
    Unet::Image image{};
    Volume input = empty_volume(1, 4, 8);
    for (std::size_t level = 0; level < 3; ++level) {
      for (std::size_t column = 0; column < 7; ++column) {
        image[level][column] = input[0][level][column] = rng.uniform();
      }
    }
    const Unet::Image output = (*unet)->raw_output(image);
    const Volume expected = PlainUnet(weights).apply(input);
    double largest = 0;
    for (std::size_t slice = 0; slice < 3; ++slice) {
      for (std::size_t column = 0; column < 7; ++column) {
        const double value = expected[0][slice][column];
        EXPECT_NEAR(output[slice][column], value, 1e-9 * (1 + std::fabs(value)));
        largest = std::max(largest, std::fabs(value - expected[0][0][0]));
      }
    }
    EXPECT_GT(largest, 1e-3) << "the outputs must differ for this to be a test";
  }
}

TEST(Unet_Prediction, IsMadeOfTheRawOutput) {
  // Columns are normalised, absent ones filled, outputs turned into speeds.
  NetworkWeights weights = test::drawn_unet(4);
  const auto unet = Unet::make(weights);
  ASSERT_TRUE(unet.has_value());
  Rng rng(5);
  for (std::size_t jobs = 1; jobs <= 7; ++jobs) {
    const predict::MpsMatrix matrix = test::drawn_matrix(kPaperLevels, jobs, &rng);
    Unet::Image image{};
    for (std::size_t column = 0; column < 7; ++column) {
      double largest = 0;
      for (std::size_t level = 0; level < 3; ++level) {
        largest = std::max(largest, matrix.levels[level].step[column].value_or(0));
      }
      for (std::size_t level = 0; level < 3; ++level) {
        const std::size_t dummy = (jobs - 1) * 3 + level;
        image[level][column] = matrix.is_present(column)
                                   ? *matrix.levels[level].step[column] / largest
                                   : static_cast<double>(weights.find("dummy_input")->data[dummy]);
      }
    }
    const Unet::Image output = (*unet)->raw_output(image);
    const auto predicted = (*unet)->predict(matrix);
    ASSERT_TRUE(predicted.has_value()) << predicted.error().message;
    for (std::size_t column = 0; column < 7; ++column) {
      ASSERT_EQ((*predicted)[column].has_value(), matrix.is_present(column));
      if (!matrix.is_present(column)) {
        continue;
      }
      const predict::SlicePrediction& job = *(*predicted)[column];
      for (std::size_t slice = 0; slice < 3; ++slice) {
        EXPECT_EQ(job.time[slice], std::clamp(output[slice][column], kUnetTimeMin, 1.0));
        EXPECT_EQ(job.time_sd[slice],
                  static_cast<double>(weights.find("residual_sd")->data[slice]));
      }
      EXPECT_EQ(job.speed[0], 1);
      EXPECT_EQ(job.speed_sd[0], 0);
      EXPECT_EQ(job.speed[1], job.time[0] / job.time[1]);
      EXPECT_EQ(job.speed[2], job.time[0] / job.time[2]);
      EXPECT_EQ(job.speed[4], predict::kMisoRegression.speed_1g(job.speed[1], job.speed[2]));
      EXPECT_EQ(job.speed_sd[4], static_cast<double>(weights.find("residual_sd")->data[6]));
    }
  }
}

TEST(Unet_UnitsAndOrderOfLevels, DoNotMatter) {
  // Only ratios within a column count, and levels are told apart by their percentage.
  const auto unet = Unet::make(test::drawn_unet(6));
  ASSERT_TRUE(unet.has_value());
  Rng rng(7);
  predict::MpsMatrix matrix = test::drawn_matrix(kPaperLevels, 4, &rng);
  const auto before = (*unet)->predict(matrix);
  std::swap(matrix.levels[0], matrix.levels[2]);
  for (predict::MpsMatrix::Level& level : matrix.levels) {
    for (std::size_t column = 0; column < 7; ++column) {
      if (level.step[column].has_value()) {
        *level.step[column] *= 1024;
      }
    }
  }
  const auto after = (*unet)->predict(matrix);
  ASSERT_TRUE(before.has_value() && after.has_value());
  for (std::size_t column = 0; column < 7; ++column) {
    ASSERT_EQ((*before)[column].has_value(), (*after)[column].has_value());
    if ((*before)[column].has_value()) {
      EXPECT_EQ((*before)[column]->time, (*after)[column]->time);
    }
  }
}

TEST(Unet_OtherLevels, AreRefusedByName) {
  // The network knows three levels; nothing is interpolated or left out silently.
  const auto unet = Unet::make(test::drawn_unet(8));
  ASSERT_TRUE(unet.has_value());
  Rng rng(9);
  expect_refused((*unet)->predict(test::drawn_matrix(std::array{100, 14}, 2, &rng)),
                 "the level 50 % is missing");
  expect_refused((*unet)->predict(test::drawn_matrix(std::array{100, 50, 14, 25}, 2, &rng)),
                 "the level 25 % is one that the model \"unet\" does not know");
  predict::MpsMatrix matrix = test::drawn_matrix(kPaperLevels, 7, &rng);
  matrix.levels[2].step[3].reset();
  expect_refused((*unet)->predict(matrix), "column 4 has no step time at 14 %");
  matrix.levels[2].step[3] = -1;
  expect_refused((*unet)->predict(matrix), "the step time at 14 % of column 4 is -1");
}

TEST(Unet_WrongWeights, AreRefusedByName) {
  // Each tensor is asked for by name and shape; none may be missing, different or unknown.
  const NetworkWeights weights = test::drawn_unet(10);
  for (std::size_t index = 0; index < weights.tensors.size(); ++index) {
    NetworkWeights wrong = weights;
    const std::string name = wrong.tensors[index].name;
    wrong.tensors[index].name = "other";
    const auto missing = Unet::make(wrong);
    ASSERT_FALSE(missing.has_value());
    EXPECT_NE(missing.error().message.find("lack the tensor \"" + name + "\""), std::string::npos)
        << missing.error().message;
    wrong = weights;
    wrong.tensors[index].shape[0] += 1;
    const auto shape = Unet::make(wrong);
    ASSERT_FALSE(shape.has_value());
    EXPECT_NE(shape.error().message.find("the shape of tensor \"" + name), std::string::npos);
  }
  NetworkWeights more = weights;
  more.tensors.push_back({.name = "encoder2.conv0.weight", .shape = {1}, .data = {0}});
  ASSERT_FALSE(Unet::make(more).has_value());
  EXPECT_EQ(Unet::make(more).error().message,
            "kind \"unet\" has no tensor \"encoder2.conv0.weight\"");
  for (Tensor& tensor : more.tensors) {
    if (tensor.name == "center.norm0.running_var") {
      tensor.data[3] = -1;
    }
  }
  more.tensors.pop_back();
  ASSERT_FALSE(Unet::make(more).has_value());
  EXPECT_NE(Unet::make(more).error().message.find("a variance is not negative"), std::string::npos);
}

}  // namespace
}  // namespace septule::learn
