#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/options.hpp"
#include "base/result.hpp"
#include "gpu/inventory.hpp"
#include "septule/app.hpp"
#include "septule/serve_fleet_view.hpp"

namespace septule::app {

/// Options of commands whose plan can be mapped onto a node: --state, --emit.
std::vector<OptionRecord> serve_moves_options();
/// kUsage where --emit and -o are both given.
Status check_emit(const Invocation& invocation, const Context& context);

/// What --state says; nothing without it. kUsage where --gpus is given too.
Result<std::optional<gpu::Inventory>> load_serve_node(const Invocation& invocation,
                                                      const Context& context);
/// Keeps the GPUs of the tenants' model that are free for them: GPUs of which somebody else holds
/// an instance are left out with a warning. kNotFound where none is of that model, kBlocked where
/// none is free.
Status keep_free_gpus(std::optional<gpu::Inventory>& node, const ServeInput& input);
/// How many GPUs there are, by the node or --gpus; nothing = neither is given.
std::optional<int> gpu_limit(const Invocation& invocation,
                             const std::optional<gpu::Inventory>& node);

/// A view that is made already; moves are added to it.
struct FleetView {
  nlohmann::ordered_json document;
  std::string text;
};
/// Prints the answer, mapped onto the node if there is one; with --emit the script of the moves
/// instead (of fresh GPUs without --state). kBlocked, with the result printed, where busy or
/// foreign instances are in the way.
Result<int> print_fleet(const FleetAnswer& answer,
                        const std::optional<gpu::Inventory>& node,
                        const Invocation& invocation,
                        Context& context,
                        FleetView view);

}  // namespace septule::app
