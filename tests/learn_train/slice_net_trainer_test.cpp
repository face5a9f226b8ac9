#include "learn_train/slice_net_trainer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "learn/slice_net.hpp"
#include "learn_train/judgement.hpp"
#include "learn_train/synthetic_data.hpp"
#include "support/shared_data.hpp"

namespace septule::learn_train {
namespace {

using test::parsed_synthetic_data;
using Counters = SliceNetOptions::Counters;

SliceNetOptions small_options(int epochs, Counters counters = Counters::kHidden) {
  SliceNetOptions options;
  options.seed = 3;
  options.epochs = epochs;
  options.batch = 16;
  options.counters = counters;
  return options;
}

std::unique_ptr<NetworkTrainer> trainer(const TrainingData& data, const SliceNetOptions& options) {
  use_one_torch_thread();
  auto made = make_slice_net_trainer(data, split_by_mix(data, 0), options);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return std::move(made).value();
}

std::string bytes_after(NetworkTrainer& trainer, int epochs) {
  for (int epoch = 0; epoch < epochs; ++epoch) {
    EXPECT_TRUE(trainer.run_epoch().has_value());
  }
  return test::weights_bytes(trainer.weights());
}

void expect_near(const predict::SlicePrediction& a, const predict::SlicePrediction& b) {
  for (std::size_t slice = 0; slice < predict::kSlices; ++slice) {
    EXPECT_NEAR(a.speed[slice], b.speed[slice], 1e-6);
    EXPECT_NEAR(a.speed_sd[slice], b.speed_sd[slice], 1e-6);
  }
  for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
    EXPECT_NEAR(a.time[slice], b.time[slice], 1e-6);
    EXPECT_NEAR(a.time_sd[slice], b.time_sd[slice], 1e-6);
  }
}

/// Our own inference against LibTorch's on all rows, with and without fillers.
void expect_parity(const TrainingData& data,
                   const learn::NetworkWeights& weights,
                   MatrixContents::Part counters) {
  const auto network = learn::SliceNet::make(weights);
  ASSERT_TRUE(network.has_value()) << network.error().message;
  const std::vector<int> rows = first_permutations(data);
  for (const Fillers fillers : {Fillers::kMeasured, Fillers::kAbsent}) {
    const auto torch = run_slice_net(weights, data, rows, fillers);
    ASSERT_TRUE(torch.has_value()) << torch.error().message;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const TrainingRow& row = data.rows[static_cast<std::size_t>(rows[i])];
      const auto ours = (*network)->predict_with(
          matrix_of(data, row, {.fillers = fillers, .counters = counters}),
          fillers == Fillers::kAbsent ? learn::SliceNet::Fillers::kExcluded
                                      : learn::SliceNet::Fillers::kPossible);
      ASSERT_TRUE(ours.has_value()) << ours.error().message;
      for (std::size_t column = 0; column < kColumns; ++column) {
        ASSERT_EQ((*ours)[column].has_value(), (*torch)[i][column].has_value());
        if ((*ours)[column]) {
          expect_near(*(*ours)[column], *(*torch)[i][column]);
        }
      }
    }
  }
}

TEST(SliceNetTrainer, Inference_EqualsLibTorch) {
  // Aim: our own inference gives what LibTorch gives, for random and trained weights, with several
  // members and with counters.
  const TrainingData data = parsed_synthetic_data(120);
  for (const Counters counters : {Counters::kHidden, Counters::kShown}) {
    const auto part =
        counters == Counters::kShown ? MatrixContents::Part::kShown : MatrixContents::Part::kHidden;
    SliceNetOptions options = small_options(2, counters);
    options.members = 2;
    options.temperature = 1.3;
    const auto network = trainer(data, options);
    expect_parity(data, network->weights(), part);
    bytes_after(*network, 4);
    EXPECT_TRUE(network->is_done());
    expect_parity(data, network->weights(), part);
  }
}

TEST(SliceNetTrainer, Training_LowersTheLossAndRepeatsToTheByte) {
  // Aim: it learns the jobs apart, and equal seeds give equal weights.
  const TrainingData data = parsed_synthetic_data(120);
  const auto first = trainer(data, small_options(20));
  const auto begin = first->run_epoch();
  ASSERT_TRUE(begin.has_value());
  const std::string bytes = bytes_after(*first, 18);
  const auto end = first->run_epoch();
  ASSERT_TRUE(end.has_value());
  EXPECT_LT(end->train_loss, 0.5 * begin->train_loss);
  EXPECT_EQ(bytes_after(*trainer(data, small_options(20)), 19), bytes);
  SliceNetOptions other = small_options(20);
  other.seed = 4;
  EXPECT_NE(bytes_after(*trainer(data, other), 19), bytes);
}

TEST(SliceNetTrainer, Checkpoint_GoesOnToTheSameWeights) {
  // Aim: a training that was cut off, within a member or between two, ends as one that was not.
  const TrainingData data = parsed_synthetic_data(120);
  SliceNetOptions options = small_options(3, Counters::kShown);
  options.members = 2;
  const std::string whole = bytes_after(*trainer(data, options), 6);
  for (const int done : {1, 3, 4}) {
    const auto first = trainer(data, options);
    bytes_after(*first, done);
    const auto state = learn::parse_weights(test::weights_bytes(first->state()), "checkpoint");
    ASSERT_TRUE(state.has_value()) << state.error().message;
    const auto second = trainer(data, options);
    const Status restored = second->restore(*state);
    ASSERT_TRUE(restored.is_ok()) << restored.error().message;
    EXPECT_EQ(bytes_after(*second, 6 - done), whole) << "cut off after epoch " << done;
  }
}

TEST(SliceNetTrainer, Checkpoint_OfAnotherTrainingIsRefused) {
  // Aim: what does not belong to this training is an error, never a silent restart.
  const TrainingData data = parsed_synthetic_data(120);
  const learn::NetworkWeights state = trainer(data, small_options(3))->state();
  EXPECT_FALSE(trainer(data, small_options(4))->restore(state).is_ok());
  SliceNetOptions other = small_options(3);
  other.seed = 9;
  EXPECT_FALSE(trainer(data, other)->restore(state).is_ok());
  EXPECT_FALSE(
      trainer(data, small_options(3))->restore(trainer(data, small_options(3))->weights()).is_ok());
}

TEST(SliceNetTrainer, LeftOutFamily_IsNoAnswer) {
  // Aim: classes that no training row has are not known to the network.
  const TrainingData data = parsed_synthetic_data(200);
  use_one_torch_thread();
  const auto made = make_slice_net_trainer(data, split_by_family(data, "alpha"), small_options(1));
  ASSERT_TRUE(made.has_value()) << made.error().message;
  const learn::NetworkWeights weights = (*made)->weights();
  EXPECT_EQ(weights.settings.at("classes"), 3);  // two of beta and the filler
}

TEST(SliceNetTrainer, TooFewMeasurements_AreAnError) {
  // Aim: a batch larger than the data is refused.
  const TrainingData data = parsed_synthetic_data(60);
  const auto made = make_slice_net_trainer(data, split_by_mix(data, 0), SliceNetOptions{});
  ASSERT_FALSE(made.has_value());
  EXPECT_THAT(made.error().message, testing::HasSubstr("at least 128 (a batch) are needed"));
}

TEST(SliceNetTrainer, SharedData_OneSmallFoldLearnsWithinSeconds) {
  // Aim: on the published data a short training (a tenth of the real one) is already better than
  // every baseline by job mix. This is what CI trains.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/unet_input.npy");
  const auto data = test::shared_training_data(path.parent_path());
  ASSERT_TRUE(data.has_value()) << data.error().message;
  use_one_torch_thread();
  const TrainingSplit split = split_by_mix(*data, 0);
  SliceNetOptions options;
  options.epochs = 35;
  const auto network = std::move(make_slice_net_trainer(*data, split, options)).value();
  bytes_after(*network, network->epoch_count());
  const auto model = learn::SliceNet::make(network->weights());
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const auto judge_of = DecisionJudge::make(**catalogue.find("A100-40GB"));
  ASSERT_TRUE(judge_of.has_value());
  const auto judgement =
      judge(*data,
            *judge_of,
            [&](const TrainingRow& row, const MatrixContents& contents) {
              return (*model)->predict_with(matrix_of(*data, row, contents),
                                            contents.fillers == Fillers::kAbsent
                                                ? learn::SliceNet::Fillers::kExcluded
                                                : learn::SliceNet::Fillers::kPossible);
            },
            {.rows = split.scored, .spread = Spread::kGiven});
  ASSERT_TRUE(judgement.has_value()) << judgement.error().message;
  EXPECT_LT(judgement->errors.all.mean().value_or(1), 0.022);
  EXPECT_LT(judgement->errors.real.mean().value_or(1), 0.034);
  EXPECT_LT(judgement->errors.time[0].mean().value_or(1), 0.068);
  EXPECT_LT(summarise(judgement->losses_informed)->mean, 0.009);
}

}  // namespace
}  // namespace septule::learn_train
