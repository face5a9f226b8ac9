#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "gpu/inventory.hpp"
#include "interop/mig_parted.hpp"
#include "septule/app.hpp"

namespace septule::app {

/// What messages call an input: its path, or "standard input" for "-".
std::string source_name_of(const std::string& path);

/// What a file holds, judged by its first characters and words.
enum class FileKind { kJson, kSmiListing, kMigParted };
FileKind kind_of_file(std::string_view text);

/// A node without instances, from "A100-40GB", "8 x A100-40GB" or "A100-40GB,A30-24GB".
Result<std::vector<interop::NodeGpu>> parse_node(const gpu::Catalogue& catalogue,
                                                 std::string_view text);
/// Whether the text names one model without a count, so that the size of the node is left open.
bool is_single_model(std::string_view text);

std::vector<interop::NodeGpu> node_of(const gpu::Inventory& inventory);
gpu::Inventory empty_inventory(const std::vector<interop::NodeGpu>& node);

/// The model named with --gpu; kUsage if the option is missing (no driver is asked yet).
Result<const gpu::Geometry*> model_option(const Invocation& invocation, const Context& context);

/// What exists: a JSON inventory (also the "after" of a plan), or pasted nvidia-smi output (then
/// the model comes from --gpu). Notes are said.
Result<gpu::Inventory> load_inventory(const std::string& path,
                                      const Invocation& invocation,
                                      const Context& context);

/// The same of a text already read from `path`.
Result<gpu::Inventory> inventory_of_text(const std::string& text,
                                         const std::string& path,
                                         const Invocation& invocation,
                                         const Context& context);

/// A JSON inventory, which names the model of each GPU itself; `name` is for messages.
Result<gpu::Inventory> inventory_of_json(const std::string& text,
                                         const std::string& name,
                                         const gpu::Catalogue& catalogue);

/// FROM of a transition: a file as above, or a layout text that every GPU of --gpu is taken to
/// have.
Result<gpu::Inventory> load_from(const std::string& value,
                                 const Invocation& invocation,
                                 const Context& context);

/// TO of a transition: a layout text (for every GPU, or the one of --index), a mig-parted file
/// (--config NAME), a JSON inventory or a plan. Places are chosen near what exists.
Result<std::vector<gpu::DesiredGpu>> load_goal(const std::string& value,
                                               const gpu::Inventory& from,
                                               const Invocation& invocation,
                                               const Context& context);

/// The GPU indices that --index selects; all of `inventory` if it is not given.
Result<std::vector<GpuIndex>> selected_gpus(const Invocation& invocation,
                                            const gpu::Inventory& inventory);
const gpu::ObservedGpu* find_gpu(const gpu::Inventory& inventory, GpuIndex index);

/// The inventory after `desired` has been reached: holds and ids of kept instances
/// stay, and instances in use stay exactly as they are.
gpu::Inventory inventory_after(const gpu::Inventory& before,
                               const std::vector<gpu::DesiredGpu>& desired);

}  // namespace septule::app
