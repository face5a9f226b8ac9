#include "septule/serve_moves.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "gpu/partition.hpp"
#include "gpu/transition.hpp"
#include "interop/nvidia_smi_commands.hpp"
#include "interop/nvidia_smi_script.hpp"
#include "septule/files.hpp"
#include "septule/inputs.hpp"
#include "septule/packing_view.hpp"
#include "septule/transition_view.hpp"
#include "serve/fleet_mapping.hpp"
#include "serve/fleet_moves.hpp"
#include "serve/gpu_holding.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

/// The tenant who holds the instance, by the name of its holder; nothing = no tenant does.
std::optional<int> tenant_holding(const gpu::ObservedInstance& instance, const ServeInput& input) {
  const std::vector<std::string> holders = instance.holders();
  for (std::size_t m = 0; m < input.tenants.size(); ++m) {
    if (holders.size() == 1 && holders.front() == input.tenants[m].tenant.name) {
      return static_cast<int>(m);
    }
  }
  return std::nullopt;
}

/// A phase of the moves with the driver's part of it.
struct PlannedPhase {
  serve::MovePhase phase;
  gpu::Transition transition;
};

/// From what a node holds to the plan.
struct NodeMoves {
  serve::FleetMapping mapping;
  serve::FleetMoves moves;
  std::vector<PlannedPhase> phases;  ///< those in which nothing happens are left out
  gpu::Inventory after;
  std::string undone;  ///< what the driver cannot do now; empty = nothing
};

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

std::vector<GpuIndex> indices_of(const gpu::Inventory& node) {
  std::vector<GpuIndex> indices;
  for (const gpu::ObservedGpu& gpu : node.gpus) {
    indices.push_back(gpu.index);
  }
  return indices;
}

Result<serve::FleetMoves> ordered(const FleetAnswer& answer,
                                  std::span<const serve::GpuHoldings> from,
                                  std::span<const serve::GpuHoldings> to) {
  std::vector<serve::SizeTable<double>> throughput;
  std::vector<double> need;
  for (std::size_t m = 0; m < answer.problem.tenants.size(); ++m) {
    throughput.push_back(answer.problem.tenants[m].throughput);
    need.push_back(answer.plan.served_rps[m]);
  }
  return serve::order_moves({.lattice = answer.input->lattice.get(),
                             .throughput = throughput,
                             .need_rps = need,
                             .from = from,
                             .to = to});
}

Result<NodeMoves> moves_of(const FleetAnswer& answer,
                           const gpu::Inventory& node,
                           const gpu::LatencyTable& latencies) {
  NodeMoves out;
  const serve::LayoutLattice& lattice = *answer.input->lattice;
  const std::vector<serve::GpuHoldings> from = holdings_on(node, *answer.input);
  SEPTULE_TRY(out.mapping, serve::map_fleet(lattice, answer.plan, from));
  SEPTULE_TRY(out.moves, ordered(answer, from, out.mapping.gpus));
  out.after = released(node);
  const std::vector<GpuIndex> indices = indices_of(node);
  for (const serve::MovePhase& phase : out.moves.phases) {
    std::vector<gpu::DesiredGpu> goal = serve::desired_gpus(lattice, phase.gpus, indices);
    std::erase_if(goal, [&](const gpu::DesiredGpu& gpu) {
      // What no tenant has or gets is left as it is.
      return gpu.partition.instances.empty() && find_gpu(out.after, gpu.index)->instances.empty();
    });
    SEPTULE_TRY(gpu::Transition transition, gpu::plan_transition(out.after, goal, latencies));
    out.undone = undone_summary(transition);
    out.after = inventory_after(out.after, goal);
    if (transition.step_count() > 0 || !phase.created.empty() || !phase.released.empty()) {
      out.phases.push_back({phase, std::move(transition)});
    }
  }
  return out;
}

/// Where a holding is, and how it is run.
struct PlacedUse {
  int gpu = 0;
  std::string instance;
  const serve::AdmittedTenant* tenant = nullptr;
  serve::OperatingPoint point;
};

PlacedUse use_of(const FleetAnswer& answer,
                 const gpu::Inventory& node,
                 const serve::MovedInstance& moved) {
  const serve::LayoutLattice& lattice = *answer.input->lattice;
  const auto& placement = lattice.placements()[static_cast<std::size_t>(moved.holding.placement)];
  const serve::AdmittedTenant& tenant =
      answer.input->tenants[static_cast<std::size_t>(moved.holding.tenant)];
  return {.gpu = node.gpus[static_cast<std::size_t>(moved.gpu)].index.value(),
          .instance = gpu::placed_text(lattice.geometry(), placement.placed),
          .tenant = &tenant,
          .point = tenant.serving[static_cast<std::size_t>(placement.size)].value_or(
              serve::OperatingPoint())};
}

std::string use_text(const PlacedUse& use) {
  return fmt::format("GPU {} {}: {}, batch {}, {} process{}",
                     use.gpu,
                     use.instance,
                     quoted_for_message(use.tenant->tenant.name),
                     use.point.batch,
                     use.point.processes,
                     use.point.processes == 1 ? "" : "es");
}

Json use_document(const PlacedUse& use) {
  return {{"gpu", use.gpu},
          {"instance", use.instance},
          {"tenant", use.tenant->tenant.name},
          {"batch", use.point.batch},
          {"processes", use.point.processes}};
}

/// What is done by hand around the driver's steps of a phase, as comments.
std::string comments(const FleetAnswer& answer,
                     const gpu::Inventory& node,
                     const std::vector<serve::MovedInstance>& moved,
                     const char* what) {
  std::string text;
  for (const serve::MovedInstance& one : moved) {
    text += fmt::format("# {} {}\n", what, use_text(use_of(answer, node, one)));
  }
  return text;
}

constexpr const char* kNextPhase = R"(
# next_phase N: waits until whoever runs this has stopped and started what the comments say.
next_phase() {
  echo "before phase $1: what was started must serve, and what is to go must be stopped (see the"
  echo "comments of this script); then press Enter"
  read -r _ || fail "nobody said that phase $1 may begin"
}
)";

std::string script_of(const FleetAnswer& answer,
                      const gpu::Inventory& node,
                      const NodeMoves& moves) {
  std::string script(interop::kScriptHead);
  std::size_t total = 0;
  for (const PlannedPhase& phase : moves.phases) {
    total += interop::smi_commands(phase.transition).size();
  }
  script += kNextPhase;
  script += fmt::format("\nsteps={}\n", total);
  for (std::size_t i = 0; i < moves.phases.size(); ++i) {
    const PlannedPhase& phase = moves.phases[i];
    script += fmt::format("\n# Phase {} of {}\n", i + 1, moves.phases.size());
    script += comments(answer, node, phase.phase.released, "before it, stop");
    if (i > 0 || !phase.phase.released.empty()) {
      script += fmt::format("next_phase {}\n", i + 1);
    }
    for (const gpu::GpuTransition& gpu : phase.transition.gpus) {
      for (const std::string& call : interop::smi_script_calls(gpu)) {
        script += call + "\n";
      }
    }
    script += comments(answer, node, phase.phase.created, "after it, start");
  }
  return script + "\necho \"done: $step of $steps steps\"\n";
}

std::string mapping_text(const NodeMoves& moves) {
  const serve::FleetMapping& mapping = moves.mapping;
  return fmt::format(
      "{} instance{} kept, {} started, {} stopped ({}); {} of {} created in free places\n",
      mapping.kept,
      mapping.kept == 1 ? "" : "s",
      mapping.started,
      mapping.stopped,
      mapping.is_optimal() ? std::string("proven fewest")
                           : fmt::format("at least {} must be touched", mapping.touched_bound),
      moves.moves.created_in_free_place,
      moves.moves.created);
}

std::string moves_text(const FleetAnswer& answer,
                       const gpu::Inventory& node,
                       const NodeMoves& moves) {
  std::string text = "\n" + mapping_text(moves);
  for (std::size_t i = 0; i < moves.phases.size(); ++i) {
    const PlannedPhase& phase = moves.phases[i];
    text += fmt::format("phase {}: {} driver step{}\n",
                        i + 1,
                        phase.transition.step_count(),
                        phase.transition.step_count() == 1 ? "" : "s");
    for (const serve::MovedInstance& one : phase.phase.released) {
      text += fmt::format("  stop  {}\n", use_text(use_of(answer, node, one)));
    }
    for (const serve::MovedInstance& one : phase.phase.created) {
      text += fmt::format("  start {}\n", use_text(use_of(answer, node, one)));
    }
  }
  for (const serve::CapacityDip& dip : moves.moves.dips) {
    text += fmt::format(
        "on the way (phase {}) {} falls short by {:.1f} requests per second\n",
        dip.phase + 1,
        quoted_for_message(answer.input->tenants[static_cast<std::size_t>(dip.tenant)].tenant.name),
        dip.short_rps);
  }
  return text;
}

Json moves_document(const FleetAnswer& answer, const gpu::Inventory& node, const NodeMoves& moves) {
  Json phases = Json::array();
  for (const PlannedPhase& phase : moves.phases) {
    Json created = Json::array();
    for (const serve::MovedInstance& one : phase.phase.created) {
      created.push_back(use_document(use_of(answer, node, one)));
    }
    Json stopped = Json::array();
    for (const serve::MovedInstance& one : phase.phase.released) {
      stopped.push_back(use_document(use_of(answer, node, one)));
    }
    phases.push_back({{"start", std::move(created)},
                      {"stop", std::move(stopped)},
                      {"transition", transition_document(phase.transition)}});
  }
  Json dips = Json::array();
  for (const serve::CapacityDip& dip : moves.moves.dips) {
    dips.push_back(
        {{"phase", dip.phase + 1},
         {"tenant", answer.input->tenants[static_cast<std::size_t>(dip.tenant)].tenant.name},
         {"short_rps", dip.short_rps}});
  }
  Json deployment = Json::array();
  for (std::size_t g = 0; g < moves.mapping.gpus.size(); ++g) {
    for (const serve::Holding& holding : moves.mapping.gpus[g]) {
      deployment.push_back(
          use_document(use_of(answer, node, {.gpu = static_cast<int>(g), .holding = holding})));
    }
  }
  return {{"kept", moves.mapping.kept},
          {"started", moves.mapping.started},
          {"stopped", moves.mapping.stopped},
          {"touched_bound", moves.mapping.touched_bound},
          {"optimal", moves.mapping.is_optimal()},
          {"created_in_free_place", moves.moves.created_in_free_place},
          {"deployment", std::move(deployment)},
          {"phases", std::move(phases)},
          {"dips", std::move(dips)},
          {"after", inventory_document(moves.after)}};
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

std::vector<OptionRecord> serve_moves_options() {
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
  std::erase_if(node->gpus,
                [&](const gpu::ObservedGpu& gpu) { return gpu.geometry != input.geometry; });
  if (node->gpus.empty()) {
    return Error{
        ErrorCode::kNotFound,
        fmt::format("--state: the node has no {}; --gpu names another", input.geometry->key())};
  }
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

Result<int> print_fleet(const FleetAnswer& answer,
                        const std::optional<gpu::Inventory>& node,
                        const Invocation& invocation,
                        Context& context,
                        FleetView view) {
  if (!node && !invocation.is_given("emit")) {
    SEPTULE_TRY_STATUS(context.output.emit(view.document, [&] { return view.text; }));
    return 0;
  }
  gpu::Inventory fresh;
  if (!node) {
    if (answer.plan.gpus > interop::kGpusMax) {
      return Error{ErrorCode::kUsage,
                   fmt::format("--emit: a script is for one node of at most {} GPUs, and {} are "
                               "planned",
                               interop::kGpusMax,
                               answer.plan.gpus)};
    }
    std::vector<interop::NodeGpu> gpus;
    for (int i = 0; i < answer.plan.gpus; ++i) {
      gpus.push_back({GpuIndex(i), answer.input->geometry});
    }
    fresh = empty_inventory(gpus);
  }
  const gpu::Inventory& from = node ? *node : fresh;
  SEPTULE_TRY(const NodeMoves moves, moves_of(answer, from, context.latencies));
  if (invocation.is_given("emit")) {
    SEPTULE_TRY_STATUS(context.output.print(script_of(answer, from, moves)));
  } else {
    view.document["moves"] = moves_document(answer, from, moves);
    view.text += moves_text(answer, from, moves);
    SEPTULE_TRY_STATUS(context.output.emit(view.document, [&] { return view.text; }));
  }
  if (!moves.undone.empty()) {
    return Error{ErrorCode::kBlocked, moves.undone};
  }
  return 0;
}

}  // namespace septule::app
