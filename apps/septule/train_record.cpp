#include "septule/train_record.hpp"

#include <vector>

#include "septule/app.hpp"

namespace septule::app {

namespace {

std::vector<OptionRecord> training_options() {
  return {{.name = "model",
           .value = "MODEL",
           .text = "Our network (\"ours\") or the paper's U-Net. Default: ours; with --evaluate "
                   "both.",
           .choices = {"ours", "unet"}},
          {.name = "data",
           .value = "DIR",
           .text = "Folder with the training data (docs/commands/train.md). Default: data/miso "
                   "below SEPTULE_SHARED, else below ../shared, else data/miso.",
           .completion = CompletionKind::kDirectory},
          {.name = "out",
           .value = "FILE",
           .text = "Where to write the weights.",
           .completion = CompletionKind::kFile},
          {.name = "seed",
           .value = "N",
           .text = "Of all chance in the training.",
           .default_text = "1",
           .min = 0,
           .max = 1000000,
           .is_integer = true},
          {.name = "folds",
           .value = "HOW",
           .text = "Leave a part out and judge on it: a fifth of the job mixes, or all mixes with "
                   "one family of jobs. Without it all rows train.",
           .choices = {"mix", "family"}},
          {.name = "fold",
           .value = "NAME",
           .text = "Only this part: 0 to 4, or a family such as bert. Default: each in turn."},
          {.name = "counters",
           .text = "Show the network the counters of each job, too (ours; only with --folds "
                   "family: a counter tells the jobs of the data apart)."},
          {.name = "epochs",
           .value = "N",
           .text = "Passes over the data instead of the model's own number.",
           .min = 1,
           .max = 10000,
           .is_integer = true},
          {.name = "early-stop",
           .value = "N",
           .text = "Stop after so many epochs without a better loss on a tenth of the training "
                   "mixes, which then do not train. Never looks at the part left out.",
           .min = 1,
           .max = 10000,
           .is_integer = true}};
}

std::vector<OptionRecord> evaluation_options() {
  return {{.name = "evaluate",
           .text = "Train and judge all parts by mix and by family, with several seeds, and print "
                   "all figures beside those of simple baselines."},
          {.name = "seeds",
           .value = "N",
           .text = "Seeds of --evaluate, from --seed on.",
           .default_text = "3",
           .min = 1,
           .max = 100,
           .is_integer = true},
          {.name = "runs",
           .value = "DIR",
           .text = "Keeps the weights of each finished training of --folds and --evaluate there. "
                   "With --out and no --folds: the figures of those trainings become part of the "
                   "weights' recipe.",
           .completion = CompletionKind::kDirectory},
          {.name = "resume",
           .text = "Go on after an interruption: finished trainings in --runs and the checkpoint "
                   "of the one under way are used."},
          output_option(),
          verbose_option()};
}

}  // namespace

CommandRecord train_predictor_record() {
  CommandRecord record{
      .path = {"train", "predictor"},
      .summary = "train or judge a predictor of speeds on slices",
      .description =
          {"Trains the networks behind septule predict with LibTorch, in a program of its own "
           "(septule-train) that starts slowly and is not needed for anything else. Parts are left "
           "out by mix of jobs or by family, never by row; nothing is chosen on the part left "
           "out.",
           "Equal data, options and seed give equal weights on one kind of processor, also across "
           "an interruption. One thread is used."},
      .arguments = {},
      .options = training_options(),
      .examples = {{"septule train predictor --out slice_net.septule-weights",
                    "our network on all data"},
                   {"septule train predictor --model unet --folds mix --fold 0",
                    "the paper's, judged on a fifth of the mixes"},
                   {"septule train predictor --evaluate --runs runs --resume",
                    "all figures; hours"}},
      .exit_codes = {0, 1, 2, 3, 4, 130, 143}};
  for (OptionRecord& option : evaluation_options()) {
    record.options.push_back(std::move(option));
  }
  return record;
}

}  // namespace septule::app
