#include "septule/serve_script.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "gpu/partition.hpp"
#include "interop/nvidia_smi_commands.hpp"
#include "interop/nvidia_smi_script.hpp"

namespace septule::app {

namespace {

constexpr const char* kNextPhase = R"(
# next_phase N: waits until whoever runs this has stopped and started what the comments say.
next_phase() {
  echo "before phase $1: what was started must serve, and what is to go must be stopped (see the"
  echo "comments of this script); then press Enter"
  read -r _ || fail "nobody said that phase $1 may begin"
}
)";

/// What is done by hand around the driver's steps of a phase. Names are quoted: one line each.
std::string comments(std::span<const InstanceUse> uses, const char* what) {
  std::string text;
  for (const InstanceUse& use : uses) {
    text += fmt::format("# {} {}\n", what, use_text(use));
  }
  return text;
}

}  // namespace

InstanceUse instance_use(const serve::LayoutLattice& lattice,
                         int placement,
                         const serve::AdmittedTenant& tenant,
                         serve::Role role) {
  const auto& place = lattice.placements()[static_cast<std::size_t>(placement)];
  return {.gpu = 0,
          .instance = gpu::placed_text(lattice.geometry(), place.placed),
          .tenant = tenant.tenant.name,
          .role = role,
          .point = tenant.serving[static_cast<std::size_t>(place.size)].value_or(
              serve::OperatingPoint())};
}

std::string use_text(const InstanceUse& use) {
  const std::string who =
      fmt::format("GPU {} {}: {}", use.gpu, use.instance, quoted_for_message(use.tenant));
  return use.role == serve::Role::kRetrain ? who + " retrains"
                                           : fmt::format("{}, batch {}, {} process{}",
                                                         who,
                                                         use.point.batch,
                                                         use.point.processes,
                                                         use.point.processes == 1 ? "" : "es");
}

std::string phases_script(std::span<const ScriptPhase> phases) {
  std::string script(interop::kScriptHead);
  std::size_t total = 0;
  for (const ScriptPhase& phase : phases) {
    total += interop::smi_commands(*phase.transition).size();
  }
  script += kNextPhase;
  script += fmt::format("\nsteps={}\n", total);
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const ScriptPhase& phase = phases[i];
    script += fmt::format("\n# Phase {} of {}{}{}\n",
                          i + 1,
                          phases.size(),
                          phase.title.empty() ? "" : ": ",
                          phase.title);
    script += comments(phase.stop, "before it, stop");
    if (i > 0 || !phase.stop.empty()) {
      script += fmt::format("next_phase {}\n", i + 1);
    }
    for (const gpu::GpuTransition& gpu : phase.transition->gpus) {
      for (const std::string& call : interop::smi_script_calls(gpu)) {
        script += call + "\n";
      }
    }
    script += comments(phase.start, "after it, start");
  }
  return script + "\necho \"done: $step of $steps steps\"\n";
}

}  // namespace septule::app
