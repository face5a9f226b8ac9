#include "septule/serve_moves.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "gpu/transition.hpp"
#include "septule/inputs.hpp"
#include "septule/packing_view.hpp"
#include "septule/serve_node.hpp"
#include "septule/serve_script.hpp"
#include "septule/transition_view.hpp"
#include "serve/fleet_mapping.hpp"
#include "serve/fleet_moves.hpp"
#include "serve/fleet_moves_checker.hpp"
#include "serve/gpu_holding.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

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
  const serve::FleetMovesProblem problem{.lattice = answer.input->lattice.get(),
                                         .throughput = throughput,
                                         .need_rps = need,
                                         .from = from,
                                         .to = to};
  SEPTULE_TRY(serve::FleetMoves moves, serve::order_moves(problem));
  if (const std::vector<std::string> faults = serve::check_moves(problem, moves); !faults.empty()) {
    return Error{ErrorCode::kFailed,
                 fmt::format("the independent checker refuses the moves: {}", faults.front())};
  }
  return moves;
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

InstanceUse use_of(const FleetAnswer& answer,
                   const gpu::Inventory& node,
                   const serve::MovedInstance& moved) {
  InstanceUse use =
      instance_use(*answer.input->lattice,
                   moved.holding.placement,
                   answer.input->tenants[static_cast<std::size_t>(moved.holding.tenant)],
                   moved.holding.role);
  use.gpu = node.gpus[static_cast<std::size_t>(moved.gpu)].index.value();
  return use;
}

std::vector<InstanceUse> uses_of(const FleetAnswer& answer,
                                 const gpu::Inventory& node,
                                 std::span<const serve::MovedInstance> moved) {
  std::vector<InstanceUse> uses;
  for (const serve::MovedInstance& one : moved) {
    uses.push_back(use_of(answer, node, one));
  }
  return uses;
}

std::string script_of(const FleetAnswer& answer,
                      const gpu::Inventory& node,
                      const NodeMoves& moves) {
  std::vector<ScriptPhase> phases;
  for (const PlannedPhase& phase : moves.phases) {
    phases.push_back({.title = {},
                      .stop = uses_of(answer, node, phase.phase.released),
                      .start = uses_of(answer, node, phase.phase.created),
                      .transition = &phase.transition});
  }
  return phases_script(phases);
}

Json use_document(const InstanceUse& use) {
  return {{"gpu", use.gpu},
          {"instance", use.instance},
          {"tenant", use.tenant},
          {"batch", use.point.batch},
          {"processes", use.point.processes}};
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

}  // namespace

Result<int> print_fleet(const FleetAnswer& answer,
                        const std::optional<gpu::Inventory>& node,
                        const Invocation& invocation,
                        Context& context,
                        FleetView view) {
  if (!node && !invocation.is_given("emit")) {
    SEPTULE_TRY_STATUS(context.output.emit(view.document, [&] { return view.text; }));
    return 0;
  }
  gpu::Inventory from;
  if (node) {
    from = *node;
  } else {
    SEPTULE_TRY(from, fresh_node(*answer.input, answer.plan.gpus));
  }
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
