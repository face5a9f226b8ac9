#pragma once

#include <string>
#include <vector>

#include "gpu/transition.hpp"

namespace septule::interop {

/// One `nvidia-smi` command that carries out one or more steps of a transition.
struct SmiCommand {
  GpuIndex gpu;
  std::string text;  ///< "nvidia-smi mig -i 0 -cgi 9:4 -C"
  /// Indices into GpuTransition::steps: a created GPU instance and the one compute instance that
  /// fills it are one command (-C), all else is a command of its own.
  std::vector<std::size_t> steps;
  /// True if the text holds "<id of 3g.20gb@4>" in place of an id that only the driver knows.
  bool has_placeholder = false;
};

/// The commands of a transition in order, GPU by GPU. Placements are always given; ids that are not
/// known stand as placeholders. Needs an administrator when run. Source: nvidia-smi mig --help.
std::vector<SmiCommand> smi_commands(const gpu::Transition& transition);

/// The same as a POSIX shell script that stops at the first failure: before each command it looks
/// the instance up by GPU, profile and placement in the driver's listing (a known id must agree),
/// after it the listing is read again. Instances that no step names are not touched. The
/// environment variable NVIDIA_SMI may name another nvidia-smi. Goals that stay undone are
/// comments.
std::string smi_script(const gpu::Transition& transition);

/// The calls of that script's functions (nvidia_smi_script.hpp) for one GPU, in order: a line for
/// each of its commands.
std::vector<std::string> smi_script_calls(const gpu::GpuTransition& transition);

}  // namespace septule::interop
