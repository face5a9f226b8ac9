#include "septule/serve_moves.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "gpu/layout_request.hpp"
#include "gpu/partition_checker.hpp"
#include "gpu/transition.hpp"
#include "interop/nvidia_smi_commands.hpp"
#include "interop/nvidia_smi_script.hpp"
#include "septule/inputs.hpp"
#include "septule/packing_view.hpp"
#include "septule/serve_split.hpp"
#include "septule/transition_view.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

/// A part of the moves that may begin once the part before is done and its processes are warm.
struct MovePhase {
  const char* name;
  gpu::Transition transition;
};

struct FleetMoves {
  std::vector<gpu::DesiredGpu> goal;  ///< by GPU
  std::vector<MovePhase> phases;      ///< those without steps are left out
  std::string undone;                 ///< what cannot be done now; empty = nothing
};

/// Instances of one GPU of the plan, by size; how many GPUs have just these.
struct UsedLayout {
  serve::SizeTable<int> counts{};
  int gpus = 0;
};

/// What tenants get, GPU by GPU: an instance that nobody gets need not be made.
std::vector<UsedLayout> used_layouts(const FleetAnswer& answer) {
  std::vector<UsedLayout> layouts;
  const serve::LayoutLattice& lattice = *answer.input->lattice;
  for (const GpuShare& share : split_fleet(*answer.input, answer.plan, answer.plan.gpus)) {
    UsedLayout one{.counts = {}, .gpus = 1};
    for (const serve::LabelledInstance& instance : share.layout) {
      const auto& placement = lattice.placements()[static_cast<std::size_t>(instance.placement)];
      ++one.counts[static_cast<std::size_t>(placement.size)];
    }
    const auto same = std::ranges::find(layouts, one.counts, &UsedLayout::counts);
    if (same != layouts.end()) {
      ++same->gpus;
    } else if (!share.layout.empty()) {
      layouts.push_back(one);
    }
  }
  return layouts;
}

gpu::LayoutRequest request_of(const serve::LayoutLattice& lattice, const UsedLayout& layout) {
  gpu::LayoutRequest request;
  for (std::size_t size = lattice.sizes().size(); size-- > 0;) {
    const ProfileIndex profile = lattice.sizes()[size].profile;
    for (int i = 0; i < layout.counts[size]; ++i) {
      request.instances.push_back({.profile = profile,
                                   .start = {},
                                   .compute_instances = {},
                                   .text = lattice.geometry().profile(profile).name});
    }
  }
  return request;
}

/// One way to give a GPU a layout, and what that touches.
struct Candidate {
  std::size_t gpu = 0;
  std::size_t layout = 0;
  gpu::Partition partition;
  std::size_t undone = 0;
  std::size_t steps = 0;
};

Result<Candidate> candidate_of(const gpu::ObservedGpu& gpu,
                               const gpu::LayoutRequest& request,
                               const gpu::LatencyTable& latencies) {
  Candidate candidate;
  SEPTULE_TRY(candidate.partition, gpu::place_near(gpu, request));
  const std::vector<gpu::DesiredGpu> goal = {
      {.index = gpu.index, .partition = candidate.partition}};
  SEPTULE_TRY(const gpu::Transition transition,
              gpu::plan_transition({.node = {}, .gpus = {gpu}}, goal, latencies));
  candidate.undone = transition.gpus.front().undone.size();
  candidate.steps = transition.step_count();
  return candidate;
}

/// Gives every layout of the plan to a GPU: the pair that leaves least undone and has the fewest
/// steps first, again and again; ties by GPU, then layout.
Result<std::vector<gpu::DesiredGpu>> goal_of(const FleetAnswer& answer,
                                             const gpu::Inventory& node,
                                             const gpu::LatencyTable& latencies) {
  std::vector<UsedLayout> left = used_layouts(answer);
  std::vector<Candidate> candidates;
  for (std::size_t g = 0; g < node.gpus.size(); ++g) {
    for (std::size_t l = 0; l < left.size(); ++l) {
      SEPTULE_TRY(
          Candidate candidate,
          candidate_of(node.gpus[g], request_of(*answer.input->lattice, left[l]), latencies));
      candidate.gpu = g;
      candidate.layout = l;
      candidates.push_back(std::move(candidate));
    }
  }
  std::ranges::stable_sort(candidates, {}, [](const Candidate& one) {
    return std::tuple(one.undone, one.steps, one.gpu, one.layout);
  });
  std::vector<bool> is_taken(node.gpus.size());
  std::vector<gpu::DesiredGpu> goal;
  for (const Candidate& candidate : candidates) {
    if (!is_taken[candidate.gpu] && left[candidate.layout].gpus > 0) {
      is_taken[candidate.gpu] = true;
      --left[candidate.layout].gpus;
      goal.push_back({.index = node.gpus[candidate.gpu].index, .partition = candidate.partition});
    }
  }
  std::ranges::sort(goal, {}, &gpu::DesiredGpu::index);
  return goal;
}

/// What exists with as much of the goal as fits beside it: nothing is destroyed to get there.
gpu::DesiredGpu beside(const gpu::ObservedGpu& gpu, const gpu::DesiredGpu& goal) {
  gpu::DesiredGpu both{.index = gpu.index, .partition = gpu.partition()};
  for (const gpu::GpuInstance& wanted : goal.partition.instances) {
    const bool is_there = std::ranges::any_of(
        both.partition.instances,
        [&](const gpu::GpuInstance& one) { return one.placed == wanted.placed; });
    if (is_there) {
      continue;
    }
    gpu::DesiredGpu more = both;
    more.partition.instances.push_back(wanted);
    gpu::canonicalise(more.partition);
    if (gpu::check_partition(*gpu.geometry, more.partition).empty()) {
      both = std::move(more);
    }
  }
  return both;
}

/// First what fits beside what exists, so that it can warm up while the old goes on; then the rest.
Result<FleetMoves> moves_of(const FleetAnswer& answer,
                            const gpu::Inventory& node,
                            const gpu::LatencyTable& latencies) {
  FleetMoves moves;
  SEPTULE_TRY(moves.goal, goal_of(answer, node, latencies));
  std::vector<gpu::DesiredGpu> first;
  for (const gpu::DesiredGpu& goal : moves.goal) {
    const gpu::ObservedGpu* gpu = find_gpu(node, goal.index);
    SEPTULE_CHECK(gpu != nullptr, "a goal is for a GPU of the node");
    first.push_back(beside(*gpu, goal));
  }
  SEPTULE_TRY(gpu::Transition create, gpu::plan_transition(node, first, latencies));
  const gpu::Inventory between = inventory_after(node, first);
  SEPTULE_TRY(gpu::Transition rest, gpu::plan_transition(between, moves.goal, latencies));
  moves.undone = undone_summary(rest);
  if (create.step_count() > 0) {
    moves.phases.push_back({"create beside what exists", std::move(create)});
  }
  if (rest.step_count() > 0) {
    moves.phases.push_back({"destroy what is not needed, create the rest", std::move(rest)});
  }
  return moves;
}

std::string script_of(const FleetMoves& moves) {
  std::string script(interop::kScriptHead);
  std::size_t total = 0;
  for (const MovePhase& phase : moves.phases) {
    total += interop::smi_commands(phase.transition).size();
  }
  script += fmt::format("\nsteps={}\n", total);
  for (std::size_t i = 0; i < moves.phases.size(); ++i) {
    script += fmt::format(
        "\n# Phase {} of {}: {}. Begin the next one when what was created here "
        "serves.\n",
        i + 1,
        moves.phases.size(),
        moves.phases[i].name);
    for (const gpu::GpuTransition& gpu : moves.phases[i].transition.gpus) {
      const std::vector<std::string> calls = interop::smi_script_calls(gpu);
      if (!calls.empty()) {
        script += fmt::format("# GPU {} ({})\n", gpu.gpu.value(), gpu.geometry->key());
      }
      for (const std::string& call : calls) {
        script += call + "\n";
      }
    }
  }
  return script + "\necho \"done: $step of $steps steps\"\n";
}

void add_moves(const FleetMoves& moves, const gpu::Inventory& node, FleetView& view) {
  Json phases = Json::array();
  view.text += "\n";
  std::size_t number = 0;
  for (const MovePhase& phase : moves.phases) {
    Json one{{"name", phase.name}};
    one.update(transition_document(phase.transition));
    phases.push_back(std::move(one));
    view.text += fmt::format("phase {}: {}\n", phases.size(), phase.name);
    for (const gpu::GpuTransition& gpu : phase.transition.gpus) {
      for (const gpu::Step& step : gpu.steps) {
        view.text +=
            fmt::format("  {:>2}. GPU {}: {}\n", ++number, gpu.gpu.value(), step_text(step));
      }
    }
  }
  if (moves.phases.empty()) {
    view.text += "nothing has to be created or destroyed\n";
  }
  view.document["phases"] = std::move(phases);
  view.document["after"] = inventory_document(inventory_after(node, moves.goal));
}

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
  SEPTULE_TRY(gpu::Inventory node, load_inventory(invocation.text("state"), invocation, context));
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
  SEPTULE_TRY(const FleetMoves moves, moves_of(answer, from, context.latencies));
  if (invocation.is_given("emit")) {
    SEPTULE_TRY_STATUS(context.output.print(script_of(moves)));
  } else {
    add_moves(moves, from, view);
    SEPTULE_TRY_STATUS(context.output.emit(view.document, [&] { return view.text; }));
  }
  if (!moves.undone.empty()) {
    return Error{ErrorCode::kBlocked, moves.undone};
  }
  return 0;
}

}  // namespace septule::app
