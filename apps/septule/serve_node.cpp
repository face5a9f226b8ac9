#include "septule/serve_node.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "septule/files.hpp"
#include "septule/inputs.hpp"

namespace septule::app {

namespace {

/// Whether every hold on the instance and in it is busy and has a name. What is foreign is never a
/// tenant's, whatever its holder is called; nor is what somebody holds who is not known.
bool is_held_by_name(const gpu::ObservedInstance& instance) {
  const auto is_named = [](gpu::Hold hold, const std::string& holder) {
    return hold == gpu::Hold::kIdle || (hold == gpu::Hold::kBusy && !holder.empty());
  };
  return is_named(instance.hold, instance.holder) &&
         (!instance.compute_instances ||
          std::ranges::all_of(*instance.compute_instances,
                              [&](const gpu::ObservedComputeInstance& inside) {
                                return is_named(inside.hold, inside.holder);
                              }));
}

/// The tenant who holds the instance, by the name of its holder; nothing = no tenant does.
std::optional<int> tenant_holding(const gpu::ObservedInstance& instance, const ServeInput& input) {
  const std::vector<std::string> holders = instance.holders();
  if (holders.size() != 1 || !is_held_by_name(instance)) {
    return std::nullopt;
  }
  for (std::size_t m = 0; m < input.tenants.size(); ++m) {
    if (holders.front() == input.tenants[m].tenant.name) {
      return static_cast<int>(m);
    }
  }
  return std::nullopt;
}

/// Takes away the GPUs on which somebody else holds an instance: a serving GPU is planned whole.
void leave_out_held(gpu::Inventory& node, const ServeInput& input) {
  std::erase_if(node.gpus, [&](const gpu::ObservedGpu& gpu) {
    for (const gpu::ObservedInstance& instance : gpu.instances) {
      if (instance.effective_hold() != gpu::Hold::kIdle && !tenant_holding(instance, input)) {
        say_warning(fmt::format("GPU {} is left out: {} stays, and is no tenant's",
                                gpu.index.value(),
                                gpu::observed_text(gpu, instance)));
        return true;
      }
    }
    return false;
  });
}

}  // namespace

std::vector<OptionRecord> serve_node_options() {
  OptionRecord state = state_option();
  state.text = "The GPUs that there are, and how they are cut now: " + state.text;
  return {std::move(state),
          {.name = "emit",
           .text = "Print a shell script that makes the instances, new ones before old ones go "
                   "where there is room, not the table."}};
}

Status check_emit(const Invocation& invocation, const Context& context) {
  if (invocation.is_given("emit") && !context.output.is_for_people()) {
    return Error{ErrorCode::kUsage, "--emit prints a shell script; it does not go with -o"};
  }
  return {};
}

Result<std::optional<gpu::Inventory>> load_serve_node(const Invocation& invocation,
                                                      const Context& context) {
  if (!invocation.is_given("state")) {
    return std::optional<gpu::Inventory>();
  }
  if (invocation.is_given("gpus")) {
    return Error{ErrorCode::kUsage,
                 "--state already says how many GPUs there are; leave --gpus out"};
  }
  const std::string path = invocation.text("state");
  SEPTULE_TRY(const std::string text, read_input(path));
  // In a JSON inventory --gpu chooses among the models; a pasted listing needs it for itself.
  SEPTULE_TRY(gpu::Inventory node,
              kind_of_file(text) == FileKind::kJson
                  ? inventory_of_json(text, source_name_of(path), context.catalogue)
                  : inventory_of_text(text, path, invocation, context));
  return std::optional(std::move(node));
}

Status keep_free_gpus(std::optional<gpu::Inventory>& node, const ServeInput& input) {
  if (!node) {
    return {};
  }
  const auto is_other = [&](const gpu::ObservedGpu& gpu) { return gpu.geometry != input.geometry; };
  if (std::ranges::all_of(node->gpus, is_other)) {
    return Error{
        ErrorCode::kNotFound,
        fmt::format("--state: the node has no {}; --gpu names another", input.geometry->key())};
  }
  for (const gpu::ObservedGpu& gpu : node->gpus) {
    if (is_other(gpu)) {
      say_note(fmt::format("GPU {} ({}) is left out: the plan is for {}",
                           gpu.index.value(),
                           gpu.geometry->key(),
                           input.geometry->key()));
    }
  }
  std::erase_if(node->gpus, is_other);
  leave_out_held(*node, input);
  if (node->gpus.empty()) {
    return Error{
        ErrorCode::kBlocked,
        fmt::format("--state: every {} of the node is in somebody's hands", input.geometry->key())};
  }
  return {};
}

std::optional<int> gpu_limit(const Invocation& invocation,
                             const std::optional<gpu::Inventory>& node) {
  if (node) {
    return static_cast<int>(node->gpus.size());
  }
  return invocation.is_given("gpus") ? std::optional(static_cast<int>(invocation.number("gpus")))
                                     : std::nullopt;
}

/// What the tenants have on the node, GPU by GPU.
std::vector<serve::GpuHoldings> holdings_on(const gpu::Inventory& node, const ServeInput& input) {
  std::vector<serve::GpuHoldings> holdings;
  for (const gpu::ObservedGpu& gpu : node.gpus) {
    serve::GpuHoldings& own = holdings.emplace_back();
    for (const gpu::ObservedInstance& instance : gpu.instances) {
      const std::optional<int> tenant = tenant_holding(instance, input);
      const std::optional<int> placement = input.lattice->find_placement(instance.placed);
      if (tenant && placement) {
        serve::insert_holding(
            own, {.placement = *placement, .tenant = *tenant, .role = {}, .since = {}});
      }
    }
  }
  return holdings;
}

/// The node with the tenants' instances in nobody's hands: what is released is stopped before the
/// driver is asked to destroy it.
gpu::Inventory released(const gpu::Inventory& node) {
  gpu::Inventory out = node;
  for (gpu::ObservedGpu& gpu : out.gpus) {
    for (gpu::ObservedInstance& instance : gpu.instances) {
      instance.hold = gpu::Hold::kIdle;
      instance.holder.clear();
      if (instance.compute_instances) {
        for (gpu::ObservedComputeInstance& compute : *instance.compute_instances) {
          compute.hold = gpu::Hold::kIdle;
          compute.holder.clear();
        }
      }
    }
  }
  return out;
}

Result<gpu::Inventory> fresh_node(const ServeInput& input, int gpus) {
  if (gpus > interop::kGpusMax) {
    return Error{ErrorCode::kUsage,
                 fmt::format("--emit: a script is for one node of at most {} GPUs, and {} are "
                             "planned",
                             interop::kGpusMax,
                             gpus)};
  }
  std::vector<interop::NodeGpu> node;
  for (int i = 0; i < gpus; ++i) {
    node.push_back({GpuIndex(i), input.geometry});
  }
  return empty_inventory(node);
}

}  // namespace septule::app
