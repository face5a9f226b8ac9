#include "septule/inputs.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "gpu/layout_request.hpp"
#include "gpu/transition.hpp"
#include "interop/inventory_json.hpp"
#include "interop/limits.hpp"
#include "interop/nvidia_smi_listing.hpp"
#include "septule/files.hpp"

namespace septule::app {

namespace {

void say_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    say_note(note);
  }
}

/// A plan or defragmentation document holds the state it leads to under "after": that part is an
/// inventory and can be used wherever one is asked for.
Result<std::string> inventory_part(const std::string& text, const std::string& name) {
  const auto document = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!document.is_object()) {
    return text;
  }
  if (document.contains("after") && document["after"].is_object()) {
    return document["after"].dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  if (document.contains("feasible") && document["feasible"] == false) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{}: is a plan that was not feasible: it leads to no state", name)};
  }
  return text;
}

}  // namespace

// A node without GPUs has no state to plan from and says nothing about a goal.
Result<gpu::Inventory> inventory_of_json(const std::string& text,
                                         const std::string& name,
                                         const gpu::Catalogue& catalogue) {
  SEPTULE_TRY(const std::string part, inventory_part(text, name));
  SEPTULE_TRY(gpu::Inventory inventory, interop::parse_inventory_json({part, name}, catalogue));
  if (inventory.gpus.empty()) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{}: /gpus: is an empty list; expected at least one GPU", name)};
  }
  return inventory;
}

std::string source_name_of(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

Result<gpu::Inventory> inventory_of_text(const std::string& text,
                                         const std::string& path,
                                         const Invocation& invocation,
                                         const Context& context) {
  const std::string name = source_name_of(path);
  switch (kind_of_file(text)) {
    case FileKind::kJson: {
      if (invocation.is_given("gpu")) {
        say_warning(fmt::format("--gpu is not used: {} names the model of each GPU", name));
      }
      return inventory_of_json(text, name, context.catalogue);
    }
    case FileKind::kSmiListing: {
      if (!invocation.is_given("gpu")) {
        return Error{
            ErrorCode::kUsage,
            fmt::format("{} holds nvidia-smi output, which does not say the model: give it "
                        "with --gpu",
                        name)};
      }
      SEPTULE_TRY(const gpu::Geometry* geometry, model_option(invocation, context));
      SEPTULE_TRY(interop::SmiListing listing, interop::parse_smi_listing({text, name}, *geometry));
      // What a listing leaves open decides what may be destroyed: more than a note.
      for (const std::string& note : listing.notes) {
        say_warning(note);
      }
      return std::move(listing.inventory);
    }
    case FileKind::kMigParted:
      break;
  }
  return Error{
      ErrorCode::kInvalidInput,
      fmt::format("{}: is neither a JSON inventory nor the output of `nvidia-smi mig -lgi` "
                  "(a mig-parted file says what should be, not what is)",
                  name)};
}

/// What nvidia-smi says instead of a table.
bool is_smi_failure(std::string_view body) {
  for (const std::string_view saying : {"NVIDIA-SMI",
                                        "Insufficient Permissions",
                                        "No devices were found",
                                        "MIG devices found",
                                        "Failed to initialize NVML"}) {
    if (body.find(saying) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

FileKind kind_of_file(std::string_view text) {
  const std::string_view body = trimmed(text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text);
  if (body.starts_with('{') || body.starts_with('[')) {
    // JSON is YAML too, and a mig-parted configuration may be written so.
    const bool is_inventory = body.find("\"schema\"") != std::string_view::npos;
    return !is_inventory && body.find("mig-configs") != std::string_view::npos
               ? FileKind::kMigParted
               : FileKind::kJson;
  }
  const bool is_table =
      body.find("+--") != std::string_view::npos || body.find("| ") != std::string_view::npos ||
      body.find("instances found") != std::string_view::npos || is_smi_failure(body);
  const bool is_config =
      body.find("mig-configs") != std::string_view::npos || body.starts_with("version:");
  return is_table && !is_config ? FileKind::kSmiListing : FileKind::kMigParted;
}

namespace {

/// Where the sign of "8 x A100-40GB" stands; npos if the item is a name alone. "0x20B0" is a PCI
/// id (whoever's), not no GPUs at all.
std::size_t count_sign(std::string_view item) {
  const std::size_t sign = item.find_first_of("x*");
  const bool is_count = sign != std::string_view::npos && !trimmed(item).starts_with("0x") &&
                        parse_integer(trimmed(item.substr(0, sign))).has_value();
  return is_count ? sign : std::string_view::npos;
}

}  // namespace

bool is_single_model(std::string_view text) {
  return text.find(',') == std::string_view::npos && count_sign(text) == std::string_view::npos;
}

Result<std::vector<interop::NodeGpu>> parse_node(const gpu::Catalogue& catalogue,
                                                 std::string_view text) {
  std::vector<interop::NodeGpu> node;
  for (const std::string_view item : split_outside_brackets(text, ',')) {
    std::string_view name = item;
    std::int64_t count = 1;
    if (const std::size_t sign = count_sign(item); sign != std::string_view::npos) {
      count = parse_integer(trimmed(item.substr(0, sign))).value_or(0);
      name = trimmed(item.substr(sign + 1));
    }
    if (count < 1 || count > interop::kGpusMax) {
      return Error{ErrorCode::kUsage,
                   fmt::format("--gpu: {}: the number of GPUs must be from 1 to {}",
                               quoted_for_message(item),
                               interop::kGpusMax)};
    }
    SEPTULE_TRY(const gpu::Geometry* geometry, catalogue.find(name));
    for (std::int64_t i = 0; i < count; ++i) {
      node.push_back({GpuIndex(static_cast<int>(node.size())), geometry});
    }
  }
  if (node.size() > static_cast<std::size_t>(interop::kGpusMax)) {
    return Error{ErrorCode::kUsage,
                 fmt::format("--gpu: a node has at most {} GPUs", interop::kGpusMax)};
  }
  return node;
}

std::vector<interop::NodeGpu> node_of(const gpu::Inventory& inventory) {
  std::vector<interop::NodeGpu> node;
  for (const gpu::ObservedGpu& gpu : inventory.gpus) {
    node.push_back({gpu.index, gpu.geometry});
  }
  return node;
}

gpu::Inventory empty_inventory(const std::vector<interop::NodeGpu>& node) {
  gpu::Inventory inventory;
  for (const interop::NodeGpu& gpu : node) {
    inventory.gpus.push_back({.index = gpu.index, .uuid = "", .geometry = gpu.geometry});
  }
  return inventory;
}

Result<const gpu::Geometry*> model_option(const Invocation& invocation, const Context& context) {
  if (!invocation.is_given("gpu")) {
    return Error{ErrorCode::kUsage,
                 "which GPU? Give its model with --gpu (septule gpus lists them)"};
  }
  SEPTULE_TRY(const std::vector<interop::NodeGpu> node,
              parse_node(context.catalogue, invocation.text("gpu")));
  for (const interop::NodeGpu& gpu : node) {
    if (gpu.geometry != node.front().geometry) {
      return Error{ErrorCode::kUsage, "--gpu: one model is expected here, not several"};
    }
  }
  return node.front().geometry;
}

Result<gpu::Inventory> load_inventory(const std::string& path,
                                      const Invocation& invocation,
                                      const Context& context) {
  SEPTULE_TRY(const std::string text, read_input(path));
  return inventory_of_text(text, path, invocation, context);
}

Result<gpu::Inventory> load_from(const std::string& value,
                                 const Invocation& invocation,
                                 const Context& context) {
  if (is_meant_as_file(value)) {
    return load_inventory(value, invocation, context);
  }
  SEPTULE_TRY([[maybe_unused]] const gpu::Geometry* model, model_option(invocation, context));
  SEPTULE_TRY(const auto node, parse_node(context.catalogue, invocation.text("gpu")));
  gpu::Inventory inventory = empty_inventory(node);
  for (gpu::ObservedGpu& gpu : inventory.gpus) {
    SEPTULE_TRY(const gpu::LayoutRequest request, gpu::parse_layout_request(*gpu.geometry, value));
    if (gpu.index == GpuIndex(0)) {
      say_notes(request.notes);
    }
    SEPTULE_TRY(const gpu::Partition partition, gpu::place_layout_request(*gpu.geometry, request));
    for (const gpu::GpuInstance& instance : partition.instances) {
      gpu::ObservedInstance observed{.placed = instance.placed};
      observed.compute_instances.emplace();
      for (const gpu::ComputeInstance& compute : instance.compute_instances) {
        observed.compute_instances->push_back({.instance = compute});
      }
      gpu.instances.push_back(std::move(observed));
    }
  }
  return inventory;
}

const gpu::ObservedGpu* find_gpu(const gpu::Inventory& inventory, GpuIndex index) {
  const auto found = std::ranges::find(inventory.gpus, index, &gpu::ObservedGpu::index);
  return found == inventory.gpus.end() ? nullptr : &*found;
}

Result<std::vector<GpuIndex>> selected_gpus(const Invocation& invocation,
                                            const gpu::Inventory& inventory) {
  std::vector<GpuIndex> indices;
  if (!invocation.is_given("index")) {
    for (const gpu::ObservedGpu& gpu : inventory.gpus) {
      indices.push_back(gpu.index);
    }
    return indices;
  }
  const GpuIndex wanted(static_cast<int>(invocation.number("index")));
  if (find_gpu(inventory, wanted) == nullptr) {
    std::vector<std::string> present;
    for (const gpu::ObservedGpu& gpu : inventory.gpus) {
      present.push_back(std::to_string(gpu.index.value()));
    }
    return Error{ErrorCode::kNotFound,
                 fmt::format("--index: the node has no GPU {}; it has: {}",
                             wanted.value(),
                             fmt::join(present, ", "))};
  }
  indices.push_back(wanted);
  return indices;
}

namespace {

Result<std::vector<gpu::DesiredGpu>> goal_from_text(const std::string& value,
                                                    const gpu::Inventory& from,
                                                    const std::vector<GpuIndex>& indices) {
  std::vector<gpu::DesiredGpu> goal;
  for (const GpuIndex index : indices) {
    const gpu::ObservedGpu& gpu = *find_gpu(from, index);
    SEPTULE_TRY(const gpu::LayoutRequest request, gpu::parse_layout_request(*gpu.geometry, value));
    if (index == indices.front()) {
      say_notes(request.notes);
    }
    SEPTULE_TRY(gpu::Partition partition, gpu::place_near(gpu, request));
    goal.push_back({.index = index, .partition = std::move(partition)});
  }
  return goal;
}

Result<std::vector<gpu::DesiredGpu>> goal_from_config(const std::string& text,
                                                      const std::string& name,
                                                      const gpu::Inventory& from,
                                                      const Invocation& invocation) {
  SEPTULE_TRY(const interop::MigPartedFile file, interop::parse_mig_parted({text, name}));
  const std::vector<std::string> names = file.names();
  if (!invocation.is_given("config") && names.size() > 1) {
    return Error{ErrorCode::kUsage,
                 fmt::format("{} holds several configurations: choose one with "
                             "--config; it has: {}",
                             name,
                             fmt::join(names, ", "))};
  }
  const std::string chosen =
      invocation.is_given("config") ? invocation.text("config") : names.front();
  SEPTULE_TRY(const interop::MigPartedConfig* config, interop::find_config(file, chosen));
  const interop::ResolvedMigParted resolved = interop::resolve_mig_parted(*config, node_of(from));
  say_notes(resolved.notes);
  if (!resolved.is_valid()) {
    return Error{ErrorCode::kInvalidInput, interop::problem_text(name, resolved.problems.front())};
  }
  std::vector<gpu::DesiredGpu> goal;
  for (const interop::MigPartedGpu& wanted : resolved.gpus) {
    gpu::DesiredGpu desired = wanted.desired;
    if (desired.is_mig_enabled) {
      SEPTULE_TRY(desired.partition,
                  gpu::place_near(*find_gpu(from, desired.index), wanted.request));
    }
    goal.push_back(std::move(desired));
  }
  return goal;
}

/// Reads TO as an inventory of its own and keeps what it says should be there.
Result<std::vector<gpu::DesiredGpu>> goal_from_json(const std::string& text,
                                                    const std::string& name,
                                                    const gpu::Inventory& from,
                                                    const gpu::Catalogue& catalogue) {
  SEPTULE_TRY(const gpu::Inventory wanted, inventory_of_json(text, name, catalogue));
  std::vector<gpu::DesiredGpu> goal;
  for (const gpu::ObservedGpu& gpu : wanted.gpus) {
    const gpu::ObservedGpu* present = find_gpu(from, gpu.index);
    if (present != nullptr && present->geometry != gpu.geometry) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("{}: GPU {} is an {} there, but what exists is an {}",
                               name,
                               gpu.index.value(),
                               gpu.geometry->key(),
                               present->geometry->key())};
    }
    goal.push_back(
        {.index = gpu.index, .is_mig_enabled = gpu.is_mig_enabled, .partition = gpu.partition()});
  }
  return goal;
}

}  // namespace

Result<std::vector<gpu::DesiredGpu>> load_goal(const std::string& value,
                                               const gpu::Inventory& from,
                                               const Invocation& invocation,
                                               const Context& context) {
  SEPTULE_TRY(const std::vector<GpuIndex> indices, selected_gpus(invocation, from));
  if (!is_meant_as_file(value)) {
    return goal_from_text(value, from, indices);
  }
  SEPTULE_TRY(const std::string text, read_input(value));
  const std::string name = source_name_of(value);
  std::vector<gpu::DesiredGpu> goal;
  if (kind_of_file(text) == FileKind::kJson) {
    SEPTULE_TRY(goal, goal_from_json(text, name, from, context.catalogue));
  } else if (kind_of_file(text) == FileKind::kMigParted) {
    SEPTULE_TRY(goal, goal_from_config(text, name, from, invocation));
  } else {
    SEPTULE_TRY(const gpu::Inventory listed, inventory_of_text(text, value, invocation, context));
    for (const gpu::ObservedGpu& gpu : listed.gpus) {
      goal.push_back({.index = gpu.index, .partition = gpu.partition()});
    }
  }
  std::erase_if(goal, [&](const gpu::DesiredGpu& gpu) {
    return std::ranges::find(indices, gpu.index) == indices.end() && invocation.is_given("index");
  });
  for (const gpu::DesiredGpu& gpu : goal) {
    if (find_gpu(from, gpu.index) == nullptr) {
      return Error{ErrorCode::kNotFound,
                   fmt::format("{}: GPU {} is not on the node, which has {} GPUs",
                               name,
                               gpu.index.value(),
                               from.gpus.size())};
    }
  }
  return goal;
}

gpu::Inventory inventory_after(const gpu::Inventory& before,
                               const std::vector<gpu::DesiredGpu>& desired) {
  gpu::Inventory after = before;
  for (const gpu::DesiredGpu& goal : desired) {
    const auto found = std::ranges::find(after.gpus, goal.index, &gpu::ObservedGpu::index);
    if (found == after.gpus.end()) {
      continue;
    }
    found->is_mig_enabled = goal.is_mig_enabled;
    std::vector<gpu::ObservedInstance> instances;
    for (const gpu::GpuInstance& wanted : goal.partition.instances) {
      gpu::ObservedInstance observed{.placed = wanted.placed};
      const auto same =
          std::ranges::find(found->instances, wanted.placed, &gpu::ObservedInstance::placed);
      const bool is_kept = same != found->instances.end();
      if (is_kept) {
        observed = *same;
        if (observed.effective_hold() != gpu::Hold::kIdle) {
          instances.push_back(std::move(observed));  // in use: stays as it is, inside too
          continue;
        }
      }
      const std::vector<gpu::ObservedComputeInstance> compute_before =
          observed.compute_instances.value_or(std::vector<gpu::ObservedComputeInstance>());
      std::vector<gpu::ObservedComputeInstance> compute;
      for (const gpu::ComputeInstance& instance : wanted.compute_instances) {
        gpu::ObservedComputeInstance part{.instance = instance};
        const auto old =
            std::ranges::find(compute_before, instance, &gpu::ObservedComputeInstance::instance);
        part = old == compute_before.end() ? part : *old;
        compute.push_back(std::move(part));
      }
      observed.compute_instances = std::move(compute);
      instances.push_back(std::move(observed));
    }
    found->instances = std::move(instances);
  }
  return after;
}

}  // namespace septule::app
