#pragma once

#include <string>
#include <vector>

#include "base/options.hpp"

namespace septule::test {

/// A few commands in the shape of the program's own, with text that is awkward to quote.
inline std::vector<CommandRecord> sample_commands() {
  const OptionRecord gpu{.name = "gpu",
                         .value = "MODEL",
                         .text = "GPU model; it's a key, board name or PCI id.",
                         .completion = CompletionKind::kGpuModel};
  const OptionRecord jobs{.name = "jobs",
                          .value = "FILE",
                          .text = "Jobs [CSV]: one a line.",
                          .completion = CompletionKind::kFile};
  const OptionRecord output{.name = "output",
                            .short_name = 'o',
                            .value = "FORMAT",
                            .text = "Form of the output.",
                            .default_text = "table",
                            .choices = {"table", "json"}};
  const OptionRecord policy{.name = "policy",
                            .value = "POLICY",
                            .text = ".starts with a dot, holds back\\slashes",
                            .choices = {"pack", "same-gpu", "two words", "$HOME"}};
  const OptionRecord count{.name = "count",
                           .value = "N",
                           .text = "'quoted' at the start.",
                           .unit = "GPUs",
                           .min = 1,
                           .max = 64};
  const OptionRecord check{.name = "check", .text = "A flag."};
  const OptionRecord model{.name = "GPU",
                           .text = "The model.",
                           .is_required = true,
                           .completion = CompletionKind::kGpuModel};
  const OptionRecord layout{
      .name = "LAYOUT", .text = "The layout.", .completion = CompletionKind::kFile};
  const OptionRecord shell{.name = "SHELL",
                           .text = "The shell.",
                           .choices = {"bash", "zsh", "fish"},
                           .is_required = true};
  return {
      {.path = {"gpus"},
       .summary = "list the GPU models",
       .description = {"One paragraph.", ".Dots and -dashes \\& more."},
       .options = {output},
       .examples = {{"septule gpus", "List all."}, {".hidden 'x'", "'Odd."}},
       .exit_codes = {0, 2}},
      {.path = {"gpus", "show"},
       .summary = "show one model",
       .description = {"Text."},
       .arguments = {model},
       .options = {output},
       .examples = {{"septule gpus show A30-24GB", "Show it."}},
       .exit_codes = {0, 2, 4}},
      {.path = {"plan"},
       .summary = "plan a layout",
       .options = {gpu, jobs, policy, count, check},
       .exit_codes = {0}},
      {.path = {"validate"}, .summary = "judge", .arguments = {layout}, .options = {gpu}},
      {.path = {"completion"}, .summary = "script", .arguments = {shell}},
      {.path = {"explain", "fit"}, .summary = "say why", .options = {}},
  };
}

inline const std::vector<std::string>& sample_models() {
  static const std::vector<std::string> models{"A30-24GB", "A100-40GB", "A100-80GB"};
  return models;
}

}  // namespace septule::test
