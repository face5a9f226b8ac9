// septule completion SHELL: completion scripts from the command records.
#include "septule/app.hpp"

namespace septule::app {

namespace {

Result<int> run_completion(const Invocation& invocation, Context& context) {
  const std::string shell = invocation.text("SHELL");
  const Shell which = shell == "bash" ? Shell::kBash : shell == "zsh" ? Shell::kZsh : Shell::kFish;
  SEPTULE_TRY_STATUS(
      context.output.print(completion_script(which, context.commands, context.catalogue.keys())));
  return 0;
}

}  // namespace

Command completion_command() {
  return {
      .record = {.path = {"completion"},
                 .summary = "print a completion script for a shell",
                 .description = {"The script completes commands, options, their values, files "
                                 "and GPU models. It is made from the same records as the help."},
                 .arguments = {{.name = "SHELL",
                                .text = "The shell.",
                                .choices = {"bash", "zsh", "fish"},
                                .is_required = true}},
                 .options = {verbose_option()},
                 .examples = {{"source <(septule completion bash)", "in this bash"},
                              {"septule completion fish > septule.fish", "as a file for fish"}},
                 .exit_codes = {0, 1, 2}},
      .run = run_completion};
}

}  // namespace septule::app
