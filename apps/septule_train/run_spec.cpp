#include "septule_train/run_spec.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "learn_train/slice_net_trainer.hpp"
#include "learn_train/unet_trainer.hpp"

namespace septule::train_app {

std::string model_name(Model model) {
  return model == Model::kOurs ? "ours" : "unet";
}

std::string RunSpec::command() const {
  std::string text =
      fmt::format("septule train predictor --model {} --seed {}", model_name(model), seed);
  if (left_out == Part::kMix) {
    text += fmt::format(" --folds mix --fold {}", fold);
  } else if (left_out == Part::kFamily) {
    text += fmt::format(" --folds family --fold {}", family);
  }
  if (counters == Counters::kShown) {
    text += " --counters";
  }
  if (epochs) {
    text += fmt::format(" --epochs {}", *epochs);
  }
  if (early_stop) {
    text += fmt::format(" --early-stop {}", *early_stop);
  }
  return text;
}

std::string RunSpec::name() const {
  const std::string part = left_out == Part::kNothing ? "all"
                           : left_out == Part::kMix   ? fmt::format("fold{}", fold)
                                                      : family;
  return fmt::format("{}{}{}{}-{}-seed{}",
                     model_name(model),
                     counters == Counters::kShown ? "-counters" : "",
                     epochs ? fmt::format("-epochs{}", *epochs) : "",
                     early_stop ? fmt::format("-stop{}", *early_stop) : "",
                     part,
                     seed);
}

learn_train::TrainingSplit split_of(const learn_train::TrainingData& data, const RunSpec& spec) {
  learn_train::TrainingSplit split =
      spec.left_out == RunSpec::Part::kFamily
          ? learn_train::split_by_family(data, spec.family)
          : learn_train::split_by_mix(
                data,
                spec.left_out == RunSpec::Part::kMix ? std::optional(spec.fold) : std::nullopt);
  if (spec.model == Model::kOurs && !spec.early_stop) {
    // Nothing is steered by an inner loss, so all of it trains.
    split.train.insert(split.train.end(), split.validate.begin(), split.validate.end());
    std::ranges::sort(split.train);
    split.validate.clear();
  }
  return split;
}

Result<std::unique_ptr<learn_train::NetworkTrainer>> trainer_of(
    const learn_train::TrainingData& data, const RunSpec& spec) {
  const learn_train::TrainingSplit split = split_of(data, spec);
  if (spec.model == Model::kUnet) {
    learn_train::UnetOptions options;
    options.seed = spec.seed;
    options.epochs = spec.epochs.value_or(options.epochs);
    return learn_train::make_unet_trainer(data, split, options);
  }
  learn_train::SliceNetOptions options;
  options.seed = spec.seed;
  options.epochs = spec.epochs;
  if (spec.counters == RunSpec::Counters::kShown) {
    options.counters = learn_train::SliceNetOptions::Counters::kShown;
  }
  return learn_train::make_slice_net_trainer(data, split, options);
}

}  // namespace septule::train_app
