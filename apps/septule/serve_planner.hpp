#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "gpu/inventory.hpp"
#include "septule/app.hpp"
#include "septule/serve_inputs.hpp"
#include "septule/serve_window.hpp"
#include "serve/gpu_holding.hpp"
#include "serve/window_problem.hpp"

namespace septule::app {

/// How a window is planned.
struct PlanSettings {
  enum class Mode {
    kSeptule,
    kMigrator,  ///< our reconstruction of MIGRator's program
  };
  enum class Initial {
    kNothing,  ///< the window begins with empty GPUs
    kBest,     ///< it begins with what is best for the rates it is dealt out by, ready
    kNode,     ///< it begins with what the tenants have on the one GPU of a node
  };
  Mode mode = Mode::kSeptule;
  Initial initial = Initial::kNothing;
  std::string method;  ///< "exact" or "milp"
  serve::WindowSetup window;
  int gpus = 1;
  GpuIndex first_index;        ///< of the GPUs planned, on their node
  serve::GpuHoldings current;  ///< of kNode
  std::int64_t units_max = 0;
  Duration time_limit;  ///< of CBC, by the wall clock
};

/// Options of `serve plan` that PlanSettings come from, and how they are read.
std::vector<OptionRecord> plan_settings_options();
/// `node`: its one GPU is planned; nothing = --gpus fresh ones.
Result<PlanSettings> plan_settings(const Invocation& invocation,
                                   const Context& context,
                                   const ServeInput& input,
                                   const std::optional<gpu::Inventory>& node);

/// Plans the window. Several GPUs: the fleet plan of greatest goodput for the largest rates says
/// which tenants are on which GPU (serve_split.hpp); each GPU is then planned by itself, with
/// its part of its tenants' requests. Every GPU's plan is judged by the independent checker; one
/// that it refuses is a bug and ends the program.
Result<ServePlan> plan_serving(const PlanSettings& settings, const ServeInput& input);

}  // namespace septule::app
