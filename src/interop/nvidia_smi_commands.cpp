#include "interop/nvidia_smi_commands.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "interop/input_text.hpp"
#include "interop/nvidia_smi_script.hpp"

namespace septule::interop {

namespace {

using gpu::Step;
using gpu::StepKind;

bool is_same_instance(const Step& a, const Step& b) {
  return a.gpu == b.gpu && a.placed == b.placed;
}

/// The compute instance that a compute-instance step is about.
const gpu::ComputeInstance& compute_of(const Step& step) {
  SEPTULE_CHECK(step.compute_instance.has_value(), "a compute-instance step names its instance");
  return *step.compute_instance;
}

/// For a step that creates a GPU instance: the only compute instance created in it, if that fills
/// it. Then -C does both, also where the compute profile's id cannot be told from its size.
std::optional<std::size_t> full_compute_step(const std::vector<Step>& steps, std::size_t at) {
  std::optional<std::size_t> found;
  for (std::size_t i = at + 1; i < steps.size(); ++i) {
    if (steps[i].kind != StepKind::kCreateComputeInstance ||
        !is_same_instance(steps[i], steps[at])) {
      continue;
    }
    if (found || !gpu::is_full(*steps[i].geometry, steps[i].placed.profile, compute_of(steps[i]))) {
      return std::nullopt;
    }
    found = i;
  }
  return found;
}

/// nvidia-smi's id of a compute instance's profile.
int compute_profile_id(const Step& step) {
  const ComputeSlices size = compute_of(step).placement.size;
  for (const gpu::ComputeInstanceProfile& known :
       step.geometry->compute_profiles(step.placed.profile)) {
    if (known.slices == size) {
      return known.smi_id.value();
    }
  }
  // The ids of sizes 1, 2, 3, 4 and 7 are the same on every part (mig-and-mps reference, A.3).
  constexpr int kIdOfSeven = 4;
  return size.value() == 7 ? kIdOfSeven : size.value() - 1;
}

std::string id_or_placeholder(const Step& step) {
  if (step.gpu_instance_id) {
    return fmt::format("{}", step.gpu_instance_id->value());
  }
  return fmt::format("'<id of {}>'", gpu::placed_text(*step.geometry, step.placed));
}

std::string compute_id_or_placeholder(const Step& step) {
  if (step.compute_instance_id) {
    return fmt::format("{}", step.compute_instance_id->value());
  }
  const gpu::ComputePlacement& place = compute_of(step).placement;
  return fmt::format("'<id of {}c@{}>'", place.size.value(), place.start.value());
}

SmiCommand command_of(const Step& step, std::size_t index, bool with_compute) {
  SmiCommand command;
  command.gpu = step.gpu;
  command.steps.push_back(index);
  const int gpu = step.gpu.value();
  switch (step.kind) {
    case StepKind::kEnableMig:
      command.text = fmt::format("nvidia-smi -i {} -mig 1", gpu);
      break;
    case StepKind::kDisableMig:
      command.text = fmt::format("nvidia-smi -i {} -mig 0", gpu);
      break;
    case StepKind::kDestroyComputeInstance:
      command.text = fmt::format("nvidia-smi mig -i {} -dci -gi {}", gpu, id_or_placeholder(step));
      command.has_placeholder = !step.gpu_instance_id;
      if (!step.is_every_compute_instance) {
        command.text += fmt::format(" -ci {}", compute_id_or_placeholder(step));
        command.has_placeholder = command.has_placeholder || !step.compute_instance_id;
      }
      break;
    case StepKind::kDestroyGpuInstance:
      command.text = fmt::format("nvidia-smi mig -i {} -dgi -gi {}", gpu, id_or_placeholder(step));
      command.has_placeholder = !step.gpu_instance_id;
      break;
    case StepKind::kCreateGpuInstance:
      command.text = fmt::format("nvidia-smi mig -i {} -cgi {}:{}{}",
                                 gpu,
                                 step.geometry->profile(step.placed.profile).smi_id.value(),
                                 step.placed.start.value(),
                                 with_compute ? " -C" : "");
      break;
    case StepKind::kCreateComputeInstance:
      command.text = fmt::format("nvidia-smi mig -i {} -gi {} -cci {}:{}",
                                 gpu,
                                 id_or_placeholder(step),
                                 compute_profile_id(step),
                                 compute_of(step).placement.start.value());
      command.has_placeholder = !step.gpu_instance_id;
      break;
  }
  return command;
}

std::vector<SmiCommand> commands_of(const gpu::GpuTransition& gpu) {
  std::vector<SmiCommand> commands;
  std::vector<bool> is_done(gpu.steps.size());
  for (std::size_t i = 0; i < gpu.steps.size(); ++i) {
    if (is_done[i]) {
      continue;
    }
    std::optional<std::size_t> compute;
    if (gpu.steps[i].kind == StepKind::kCreateGpuInstance) {
      compute = full_compute_step(gpu.steps, i);
    }
    commands.push_back(command_of(gpu.steps[i], i, compute.has_value()));
    if (compute) {
      commands.back().steps.push_back(*compute);
      is_done[*compute] = true;
    }
  }
  return commands;
}

/// The call of the script's function that does and verifies one command.
std::string script_call(const gpu::GpuTransition& gpu, const SmiCommand& command) {
  const Step& step = gpu.steps[command.steps.front()];
  const int index = step.gpu.value();
  if (step.kind == StepKind::kEnableMig || step.kind == StepKind::kDisableMig) {
    return fmt::format("set_mig {} {}", index, step.kind == StepKind::kEnableMig ? 1 : 0);
  }
  const gpu::Placement place = gpu::placement_of(*step.geometry, step.placed);
  const std::string where = fmt::format("{} {} {}:{} '{}'",
                                        index,
                                        step.geometry->profile(step.placed.profile).smi_id.value(),
                                        place.start.value(),
                                        place.size.value(),
                                        one_line(gpu::placed_text(*step.geometry, step.placed)));
  const std::string known =
      step.gpu_instance_id ? fmt::format("{}", step.gpu_instance_id->value()) : "-";
  switch (step.kind) {
    case StepKind::kDestroyGpuInstance:
      return fmt::format("destroy_gi {} {}", where, known);
    case StepKind::kCreateGpuInstance:
      return fmt::format("create_gi {} {}", where, command.steps.size() > 1 ? "-C" : "-");
    case StepKind::kDestroyComputeInstance:
      if (step.is_every_compute_instance) {
        return fmt::format("destroy_every_ci {} {}", where, known);
      }
      return fmt::format(
          "destroy_ci {} {} {} {}",
          where,
          known,
          compute_of(step).placement.start.value(),
          step.compute_instance_id ? fmt::format("{}", step.compute_instance_id->value()) : "-");
    case StepKind::kCreateComputeInstance:
      return fmt::format("create_ci {} {} {} {}",
                         where,
                         known,
                         compute_of(step).placement.start.value(),
                         compute_profile_id(step));
    case StepKind::kEnableMig:
    case StepKind::kDisableMig:
      break;
  }
  return {};
}

}  // namespace

std::vector<SmiCommand> smi_commands(const gpu::Transition& transition) {
  std::vector<SmiCommand> commands;
  for (const gpu::GpuTransition& gpu : transition.gpus) {
    for (SmiCommand& command : commands_of(gpu)) {
      commands.push_back(std::move(command));
    }
  }
  return commands;
}

std::vector<std::string> smi_script_calls(const gpu::GpuTransition& transition) {
  std::vector<std::string> calls;
  for (const SmiCommand& command : commands_of(transition)) {
    calls.push_back(script_call(transition, command));
  }
  return calls;
}

std::string smi_script(const gpu::Transition& transition) {
  std::string script(kScriptHead);
  std::size_t total = 0;
  for (const gpu::GpuTransition& gpu : transition.gpus) {
    total += commands_of(gpu).size();
  }
  script += fmt::format("\nsteps={}\n", total);
  for (const gpu::GpuTransition& gpu : transition.gpus) {
    const std::vector<std::string> calls = smi_script_calls(gpu);
    if (calls.empty() && gpu.undone.empty()) {
      continue;
    }
    script += fmt::format("\n# GPU {} ({})\n", gpu.gpu.value(), gpu.geometry->key());
    for (const gpu::UndoneGoal& undone : gpu.undone) {
      script += fmt::format(
          "# Not done: {}: {}\n", one_line(undone.wanted), one_line(undone.reason, 400));
    }
    for (const std::string& call : calls) {
      script += call + "\n";
    }
  }
  script += "\necho \"done: $step of $steps steps\"\n";
  return script;
}

}  // namespace septule::interop
