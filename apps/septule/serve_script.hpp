#pragma once

#include <span>
#include <string>
#include <vector>

#include "gpu/transition.hpp"
#include "serve/admission.hpp"
#include "serve/deployment.hpp"
#include "serve/layout_lattice.hpp"

namespace septule::app {

/// Who is in an instance, and how: for texts and documents.
struct InstanceUse {
  int gpu = 0;           ///< index on its node
  std::string instance;  ///< "3g.40gb@4"
  std::string tenant;
  serve::Role role = serve::Role::kServe;
  serve::OperatingPoint point;  ///< of serving
};
/// `placement` indexes LayoutLattice::placements(). The GPU is the caller's to fill in.
InstanceUse instance_use(const serve::LayoutLattice& lattice,
                         int placement,
                         const serve::AdmittedTenant& tenant,
                         serve::Role role);
/// "GPU 0 3g.40gb@4: "bert", batch 4, 2 processes"; "GPU 0 2g.20gb@2: "bert" retrains".
std::string use_text(const InstanceUse& use);

/// A part of a script: what is stopped before the driver's steps and started after them.
struct ScriptPhase {
  std::string title;  ///< behind "Phase 2 of 5: "; may be empty
  std::vector<InstanceUse> stop;
  std::vector<InstanceUse> start;
  const gpu::Transition* transition = nullptr;
};
/// A POSIX shell script of the driver's steps (interop/nvidia_smi_commands.hpp) that waits for its
/// user before every phase that needs something stopped, or something started before to serve.
std::string phases_script(std::span<const ScriptPhase> phases);

}  // namespace septule::app
