// The weights that come with Septule (data/weights/), against LibTorch.
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "learn/slice_models.hpp"
#include "learn/slice_net.hpp"
#include "learn/unet.hpp"
#include "learn_train/slice_net_trainer.hpp"
#include "learn_train/synthetic_data.hpp"
#include "learn_train/unet_trainer.hpp"

namespace septule::learn_train {
namespace {

TEST(ShippedWeights, Recipes_SayHowTheyWereMade) {
  // Aim: each file names the command, the seed, the data and the honest figures of its kind.
  for (const std::string_view name : learn::builtin_model_names()) {
    const auto weights = learn::builtin_weights(name);
    ASSERT_TRUE(weights.has_value()) << weights.error().message;
    EXPECT_EQ(weights->recipe.command,
              fmt::format("septule train predictor --model {} --seed 1", name));
    EXPECT_EQ(weights->recipe.data_digest, "7579739a102b5a37");
    EXPECT_GE(weights->recipe.metrics.at("val5_seeds"), 3);
    EXPECT_LT(weights->recipe.metrics.at("val5_all"), 0.0195);
  }
}

TEST(ShippedWeights, Unet_EqualsLibTorch) {
  // Aim: what is shipped gives what LibTorch gives, to 1e-6.
  const auto weights = learn::builtin_weights("unet");
  ASSERT_TRUE(weights.has_value()) << weights.error().message;
  Rng rng(5);
  std::vector<UnetCells> inputs(100);
  for (UnetCells& input : inputs) {
    for (std::size_t column = 0; column < kColumns; ++column) {
      input[0][column] = 0.1 + 0.5 * rng.uniform();
      input[1][column] = input[0][column] + 0.4 * rng.uniform();
      input[2][column] = 1;
    }
  }
  const auto torch = run_unet(*weights, inputs);
  ASSERT_TRUE(torch.has_value()) << torch.error().message;
  const auto unet = learn::Unet::make(*weights);
  ASSERT_TRUE(unet.has_value()) << unet.error().message;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const learn::Unet::Image ours = (*unet)->raw_output(inputs[i]);
    for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
      for (std::size_t column = 0; column < kColumns; ++column) {
        EXPECT_NEAR(ours[slice][column], (*torch)[i][slice][column], 1e-6);
      }
    }
  }
}

TEST(ShippedWeights, SliceNet_EqualsLibTorch) {
  // Aim: what is shipped gives what LibTorch gives, to 1e-6, on co-runs it was not made for.
  const auto weights = learn::builtin_weights("ours");
  ASSERT_TRUE(weights.has_value()) << weights.error().message;
  const auto network = learn::SliceNet::make(*weights);
  ASSERT_TRUE(network.has_value()) << network.error().message;
  const TrainingData data = test::parsed_synthetic_data(100);
  const std::vector<int> rows = first_permutations(data);
  const auto torch = run_slice_net(*weights, data, rows, Fillers::kAbsent);
  ASSERT_TRUE(torch.has_value()) << torch.error().message;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TrainingRow& row = data.rows[static_cast<std::size_t>(rows[i])];
    const auto ours = (*network)->predict(matrix_of(data, row, {.fillers = Fillers::kAbsent}));
    ASSERT_TRUE(ours.has_value()) << ours.error().message;
    for (std::size_t column = 0; column < kColumns; ++column) {
      ASSERT_EQ((*ours)[column].has_value(), (*torch)[i][column].has_value());
      for (std::size_t slice = 0; slice < predict::kSlices && (*ours)[column]; ++slice) {
        EXPECT_NEAR((*ours)[column]->speed[slice], (*torch)[i][column]->speed[slice], 1e-6);
        EXPECT_NEAR((*ours)[column]->speed_sd[slice], (*torch)[i][column]->speed_sd[slice], 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace septule::learn_train
