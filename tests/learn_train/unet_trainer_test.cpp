#include "learn_train/unet_trainer.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "learn/unet.hpp"
#include "learn_train/synthetic_data.hpp"

namespace septule::learn_train {
namespace {

using test::parsed_synthetic_data;

std::unique_ptr<NetworkTrainer> trainer(const TrainingData& data, int epochs) {
  use_one_torch_thread();
  return std::move(make_unet_trainer(data, split_by_mix(data, 0), {.seed = 3, .epochs = epochs}))
      .value();
}

std::string bytes_after(NetworkTrainer& trainer, int epochs) {
  for (int epoch = 0; epoch < epochs; ++epoch) {
    EXPECT_TRUE(trainer.run_epoch().has_value());
  }
  return test::weights_bytes(trainer.weights());
}

std::vector<UnetCells> random_inputs(std::size_t count) {
  Rng rng(11);
  std::vector<UnetCells> inputs(count);
  for (UnetCells& input : inputs) {
    for (auto& level : input) {
      for (double& cell : level) {
        cell = 0.05 + 0.95 * rng.uniform();
      }
    }
  }
  return inputs;
}

void expect_parity(const learn::NetworkWeights& weights) {
  const std::vector<UnetCells> inputs = random_inputs(50);
  const auto torch = run_unet(weights, inputs);
  ASSERT_TRUE(torch.has_value()) << torch.error().message;
  const auto unet = learn::Unet::make(weights);
  ASSERT_TRUE(unet.has_value()) << unet.error().message;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const learn::Unet::Image ours = (*unet)->raw_output(inputs[i]);
    for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
      for (std::size_t column = 0; column < kColumns; ++column) {
        const double expected = (*torch)[i][slice][column];
        EXPECT_NEAR(ours[slice][column], expected, 1e-6 * std::max(1.0, std::abs(expected)))
            << "input " << i << ", slice " << slice << ", column " << column;
      }
    }
  }
}

TEST(UnetTrainer, Form_HasThePublishedParameters) {
  // Aim: the network is the published one: 494,849 trained values in the tensors of its form.
  const TrainingData data = parsed_synthetic_data(60);
  const learn::NetworkWeights weights = trainer(data, 1)->weights();
  std::size_t trained = 0;
  const auto form = learn::unet_form();
  ASSERT_EQ(weights.tensors.size(), form.size());
  for (std::size_t i = 0; i < form.size(); ++i) {
    EXPECT_EQ(weights.tensors[i].name, form[i].name);
    EXPECT_EQ(weights.tensors[i].shape, form[i].shape);
    trained += form[i].is_trained ? weights.tensors[i].data.size() : 0;
  }
  EXPECT_EQ(trained, static_cast<std::size_t>(learn::kUnetParameters));
}

TEST(UnetTrainer, Inference_EqualsLibTorch) {
  // Aim: our own inference gives what LibTorch gives, for random and for trained weights.
  const TrainingData data = parsed_synthetic_data(120);
  const auto network = trainer(data, 3);
  expect_parity(network->weights());
  bytes_after(*network, 3);
  expect_parity(network->weights());
}

TEST(UnetTrainer, Training_LowersTheLossAndRepeatsToTheByte) {
  // Aim: it learns something, and equal seeds give equal weights.
  const TrainingData data = parsed_synthetic_data(120);
  const auto first = trainer(data, 4);
  const auto begin = first->run_epoch();
  ASSERT_TRUE(begin.has_value());
  EXPECT_TRUE(begin->validation_loss.has_value());
  EXPECT_TRUE(begin->scored_error.has_value());
  const std::string bytes = bytes_after(*first, 2);
  const auto end = first->run_epoch();
  ASSERT_TRUE(end.has_value());
  EXPECT_LT(end->train_loss, 0.7 * begin->train_loss);
  EXPECT_EQ(bytes_after(*trainer(data, 4), 3), bytes);
  const auto other =
      std::move(make_unet_trainer(data, split_by_mix(data, 0), {.seed = 4, .epochs = 4})).value();
  EXPECT_NE(bytes_after(*other, 3), bytes);
}

TEST(UnetTrainer, Checkpoint_GoesOnToTheSameWeights) {
  // Aim: a training that was cut off and resumed from its file ends as one that was not.
  const TrainingData data = parsed_synthetic_data(120);
  const std::string whole = bytes_after(*trainer(data, 5), 5);
  const auto first = trainer(data, 5);
  bytes_after(*first, 2);
  const auto state = learn::parse_weights(test::weights_bytes(first->state()), "checkpoint");
  ASSERT_TRUE(state.has_value()) << state.error().message;
  const auto second = trainer(data, 5);
  const Status restored = second->restore(*state);
  ASSERT_TRUE(restored.is_ok()) << restored.error().message;
  EXPECT_EQ(second->epochs_done(), 2);
  EXPECT_EQ(bytes_after(*second, 3), whole);
}

TEST(UnetTrainer, Checkpoint_OfAnotherTrainingIsRefused) {
  // Aim: what does not belong to this training is an error, never a silent restart.
  const TrainingData data = parsed_synthetic_data(60);
  const learn::NetworkWeights state = trainer(data, 5)->state();
  EXPECT_FALSE(trainer(data, 6)->restore(state).is_ok());
  EXPECT_FALSE(trainer(data, 5)->restore(trainer(data, 5)->weights()).is_ok());
  learn::NetworkWeights cut = state;
  cut.tensors.pop_back();
  const Status restored = trainer(data, 5)->restore(cut);
  ASSERT_FALSE(restored.is_ok());
  EXPECT_THAT(restored.error().message, testing::HasSubstr("adam.second.output.bias"));
}

TEST(UnetTrainer, NoRows_IsAnError) {
  // Aim: a split without training or validating rows is refused.
  const TrainingData data = parsed_synthetic_data(60);
  TrainingSplit split = split_by_mix(data, 0);
  split.validate.clear();
  const auto made = make_unet_trainer(data, split, {});
  ASSERT_FALSE(made.has_value());
  EXPECT_THAT(made.error().message, testing::HasSubstr("0 validate"));
}

}  // namespace
}  // namespace septule::learn_train
