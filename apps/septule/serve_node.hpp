#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "gpu/inventory.hpp"
#include "septule/app.hpp"
#include "septule/serve_inputs.hpp"
#include "serve/gpu_holding.hpp"

namespace septule::app {

/// Options of commands whose plan can be mapped onto a node: --state, --emit.
std::vector<OptionRecord> serve_node_options();
/// All options of min-gpus and max-goodput. `gpus_text`: what --gpus says there.
std::vector<OptionRecord> serve_fleet_options(std::string gpus_text);
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

/// What the tenants have on the node, GPU by GPU: instances whose holder has a tenant's name.
std::vector<serve::GpuHoldings> holdings_on(const gpu::Inventory& node, const ServeInput& input);
/// The node with the tenants' instances in nobody's hands: what is released is stopped before the
/// driver is asked to destroy it.
gpu::Inventory released(const gpu::Inventory& node);
/// So many GPUs of the tenants' model with nothing on them. kUsage for more than a node may have.
Result<gpu::Inventory> fresh_node(const ServeInput& input, int gpus);

}  // namespace septule::app
