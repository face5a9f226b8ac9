// septule apply --dry-run FROM TO: the plan as numbered steps, commands, or an export.
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gpu/transition.hpp"
#include "interop/mig_parted.hpp"
#include "interop/nvidia_smi_commands.hpp"
#include "interop/slurm_gres.hpp"
#include "septule/app.hpp"
#include "septule/inputs.hpp"
#include "septule/transition_view.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

/// What the node will really hold: the goal where it is reached, what stays where it is not.
std::vector<gpu::DesiredGpu> reached_state(const gpu::Transition& transition) {
  std::vector<gpu::DesiredGpu> reached;
  for (const gpu::GpuTransition& gpu : transition.gpus) {
    reached.push_back(
        {.index = gpu.gpu, .is_mig_enabled = gpu.is_mig_enabled_after, .partition = gpu.reached});
  }
  return reached;
}

Result<std::string> export_text(const std::string& kind,
                                const gpu::Inventory& from,
                                const gpu::Transition& transition,
                                const Invocation& invocation) {
  const std::vector<interop::NodeGpu> node = node_of(from);
  if (kind == "shell") {
    return interop::smi_script(transition);
  }
  if (kind == "mig-parted") {
    const std::string name = invocation.is_given("config") ? invocation.text("config") : "septule";
    const interop::MigPartedText written =
        interop::write_mig_parted(name, reached_state(transition), node);
    for (const std::string& note : written.notes) {
      say_note(note);
    }
    return written.text;
  }
  if (transition.step_count() == 0) {
    // Nothing changes, so the ids that exist are the ids to name, if the state gives them all.
    if (const auto exact = interop::slurm_gres_of_inventory(from)) {
      for (const std::string& note : exact->notes) {
        say_note(note);
      }
      return exact->text;
    }
  }
  SEPTULE_TRY(const interop::SlurmGres written,
              interop::slurm_gres_of_goal(
                  from.node.empty() ? "localhost" : from.node, reached_state(transition), node));
  for (const std::string& note : written.notes) {
    say_note(note);
  }
  return written.text;
}

Json apply_document(const gpu::Transition& transition,
                    const std::vector<interop::SmiCommand>& commands) {
  Json document{{"schema", "septule-apply/1"}, {"dry_run", true}};
  document.update(transition_document(transition));
  document["commands"] = Json::array();
  for (const interop::SmiCommand& command : commands) {
    document["commands"].push_back({{"gpu", command.gpu.value()},
                                    {"command", command.text},
                                    {"has_placeholder", command.has_placeholder}});
  }
  return document;
}

std::string apply_text(const gpu::Transition& transition,
                       const std::vector<interop::SmiCommand>& commands) {
  std::string text = transition_text(transition);
  if (commands.empty()) {
    return text;
  }
  text += "commands (run as root, in this order; nothing has been done)\n";
  for (std::size_t i = 0; i < commands.size(); ++i) {
    text += fmt::format("  {:>2}. {}\n", i + 1, commands[i].text);
  }
  return text;
}

Result<int> run_apply(const Invocation& invocation, Context& context) {
  if (!invocation.is_given("dry-run")) {
    return Error{
        ErrorCode::kUsage,
        "this version plans but does not drive a GPU: give --dry-run, and run the commands "
        "it prints (or --export shell)"};
  }
  SEPTULE_TRY(const gpu::Inventory from, load_from(invocation.text("FROM"), invocation, context));
  SEPTULE_TRY(const auto goal, load_goal(invocation.text("TO"), from, invocation, context));
  SEPTULE_TRY(const gpu::Transition transition,
              gpu::plan_transition(from, goal, context.latencies));
  if (invocation.is_given("export")) {
    SEPTULE_TRY(const std::string text,
                export_text(invocation.text("export"), from, transition, invocation));
    SEPTULE_TRY_STATUS(context.output.print(text));
  } else {
    const auto commands = interop::smi_commands(transition);
    SEPTULE_TRY_STATUS(context.output.emit(apply_document(transition, commands),
                                           [&] { return apply_text(transition, commands); }));
  }
  if (std::string problem = undone_summary(transition); !problem.empty()) {
    return Error{ErrorCode::kBlocked, std::move(problem)};
  }
  return 0;
}

}  // namespace

Command apply_command() {
  return {.record =
              {.path = {"apply"},
               .summary = "turn a plan into commands (dry run), a script or a configuration",
               .description =
                   {"Prints the same steps as diff, numbered, and the nvidia-smi commands that "
                    "do them. With --export it prints one of: a mig-parted configuration, Slurm "
                    "gres.conf lines, or a shell script that looks instances up by placement, "
                    "reads back after every command and stops at the first difference.",
                    "Nothing is changed: --dry-run is required."},
               .arguments = transition_arguments(),
               .options = {{.name = "dry-run",
                            .short_name = 'n',
                            .text = "Only print; required in this version."},
                           {.name = "export",
                            .short_name = 'e',
                            .value = "KIND",
                            .text = "Print the result in another program's form.",
                            .choices = {"mig-parted", "gres", "shell"}},
                           gpu_option("GPU model (or node) for layouts and pasted output."),
                           config_option(),
                           index_option(),
                           output_option(),
                           verbose_option()},
               .examples =
                   {{"septule apply --dry-run node.json 3g.20gb,2g.10gb,2g.10gb --index 2",
                     "numbered steps and commands for one GPU"},
                    {"septule apply --dry-run node.json 3g,3g --index 2 --export shell > recut.sh",
                     "a script that checks every step"}},
               .exit_codes = {0, 1, 2, 3, 4, 5}},
          .run = run_apply};
}

}  // namespace septule::app
