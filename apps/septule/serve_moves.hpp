#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/result.hpp"
#include "gpu/inventory.hpp"
#include "septule/app.hpp"
#include "septule/serve_fleet_view.hpp"

namespace septule::app {

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
