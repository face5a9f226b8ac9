#include "septule/train_window_record.hpp"

#include <vector>

#include "septule/app.hpp"

namespace septule::app {

namespace {

std::vector<OptionRecord> training_options() {
  return {
      {.name = "out",
       .value = "FILE",
       .text = "Train, and write the weights there. FILE.checkpoint stands beside it meanwhile.",
       .completion = CompletionKind::kFile},
      {.name = "seed",
       .value = "N",
       .text =
           "Of all chance in the training: first weights, exploration, replay. Jobs and windows "
           "are the same for every seed.",
       .default_text = "1",
       .min = 0,
       .max = 1000000,
       .is_integer = true},
      {.name = "steps",
       .value = "N",
       .text = "Updates of the network instead of the schedule's own number; the schedule "
               "shrinks or stretches with it.",
       .min = 1,
       .max = 10000000,
       .is_integer = true},
      {.name = "resume",
       .text = "Go on from the checkpoint of an interrupted training; the weights are the "
               "same, to the last bit."}};
}

std::vector<OptionRecord> evaluation_options() {
  return {{.name = "evaluate",
           .text = "Judge the network on windows of jobs that it was not trained on, beside the "
                   "exact answer, beam, greedy and time sharing: the one just trained, or that "
                   "of --weights, or the built-in one."},
          {.name = "weights",
           .value = "FILE",
           .text = "Weights to judge.",
           .completion = CompletionKind::kFile},
          {.name = "windows",
           .value = "N",
           .text = "Windows of --evaluate.",
           .default_text = "300",
           .min = 2,
           .max = 100000,
           .is_integer = true},
          {.name = "part",
           .value = "PART",
           .text = "Jobs of --evaluate. Choose with validation; look at test once.",
           .default_text = "test",
           .choices = {"validation", "test"}},
          {.name = "curves",
           .value = "FILE",
           .text = "Draw how the training went, as SVG.",
           .completion = CompletionKind::kFile},
          {.name = "report",
           .value = "FILE",
           .text = "One HTML page with the curves and the comparison.",
           .completion = CompletionKind::kFile},
          output_option(),
          verbose_option()};
}

}  // namespace

CommandRecord train_window_record() {
  CommandRecord record{
      .path = {"train", "window"},
      .summary = "train or judge the network that plans windows of jobs",
      .description =
          {"Trains the network behind septule window --method rl (a dueling double deep Q-network) "
           "with LibTorch, in a program of its own (septule-train). Jobs are generated from "
           "published ranges of fitted parameters; three fifths of them train, a fifth validates, "
           "a fifth is only judged on. Nothing is chosen on the last.",
           "Equal options and seed give equal weights on one kind of processor, also across an "
           "interruption. One thread is used."},
      .arguments = {},
      .options = training_options(),
      .examples = {{"septule train window --out window.septule-weights --evaluate --report rl.html",
                    "train and judge; minutes"},
                   {"septule train window --evaluate --windows 300", "judge the built-in network"}},
      .exit_codes = {0, 1, 2, 3, 4, 130, 143}};
  for (OptionRecord& option : evaluation_options()) {
    record.options.push_back(std::move(option));
  }
  return record;
}

}  // namespace septule::app
