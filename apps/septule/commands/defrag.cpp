// septule defrag: the least moves that make a request (or the largest profile) fit.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "gpu/partition_checker.hpp"
#include "optimize/defragmentation.hpp"
#include "septule/app.hpp"
#include "septule/defrag_view.hpp"
#include "septule/inputs.hpp"
#include "septule/packing_view.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

std::string place_text(const gpu::Inventory& inventory,
                       GpuIndex index,
                       const gpu::PlacedProfile& placed) {
  return gpu::placed_text(*find_gpu(inventory, index)->geometry, placed);
}

/// The state once the moves are done and the request stands: holders move along.
gpu::Inventory after_moves(const gpu::Inventory& before, const optimize::Defragmentation& answer) {
  gpu::Inventory after = inventory_after(before, answer.desired);
  for (const optimize::InstanceMove& move : answer.moves) {
    const gpu::ObservedGpu* source = find_gpu(before, move.from_gpu);
    for (const gpu::ObservedInstance& old : source->instances) {
      if (old.placed != move.from) {
        continue;
      }
      for (gpu::ObservedGpu& gpu : after.gpus) {
        for (gpu::ObservedInstance& instance : gpu.instances) {
          if (gpu.index == move.to_gpu && instance.placed == move.to) {
            instance.hold = old.hold;
            instance.holder = old.holder;
            instance.is_movable = old.is_movable;
            instance.id.reset();
            instance.compute_instances = old.compute_instances;
            if (instance.compute_instances) {
              for (auto& compute : *instance.compute_instances) {
                compute.id.reset();
              }
            }
          }
        }
      }
    }
  }
  return after;
}

Json defrag_document(const gpu::Inventory& inventory,
                     const optimize::Defragmentation& answer,
                     const std::vector<std::string>& refused) {
  Json document{{"schema", "septule-defrag/1"}, {"feasible", true}};
  document["request"] = Json::array();
  for (const optimize::RequestedInstances& item : answer.request.items) {
    document["request"].push_back({{"name", item.name()}, {"count", item.count}});
  }
  document["targets"] = packed_document(inventory, answer.request, answer.targets);
  document.update(moves_document(answer));
  document["destroyed"] = destroyed_document(answer.destroyed);
  document["certificate"] = certificate_document(answer.certificate);
  document["larger_refused"] = refused;
  document["after"] = inventory_document(after_moves(inventory, answer));
  return document;
}

std::string defrag_text(const gpu::Inventory& inventory,
                        const optimize::Defragmentation& answer,
                        const std::vector<std::string>& refused) {
  std::vector<GpuIndex> touched;
  for (const gpu::DesiredGpu& desired : answer.desired) {
    touched.push_back(desired.index);
  }
  std::string text;
  for (const std::string& reason : refused) {
    text += fmt::format("not possible: {}\n", reason);
  }
  std::vector<std::string> targets;
  for (const optimize::PackedInstance& one : answer.targets) {
    targets.push_back(fmt::format(
        "{} on GPU {}", place_text(inventory, one.gpu, one.instance.placed), one.gpu.value()));
  }
  const std::size_t count = answer.moves.size();
  text += fmt::format("{} for {} ({})\n",
                      count == 0   ? "no move is needed"
                      : count == 1 ? "one move makes room"
                                   : fmt::format("{} moves make room", count),
                      joined_with_and(targets),
                      answer.certificate.is_optimal ? "proven least" : "not proven least");
  for (const optimize::DestroyedInstance& one : answer.destroyed) {
    text += fmt::format("  destroy idle {} on GPU {}\n", one.text, one.gpu.value());
  }
  for (const optimize::InstanceMove& move : answer.moves) {
    text +=
        fmt::format("  {}{}\n",
                    move.text,
                    move.needs_stop_first ? " (stop it first: its new place is not free yet)" : "");
  }
  text += "before\n" + drawing_text(inventory, touched);
  return text + "after\n" + drawing_text(after_moves(inventory, answer), touched);
}

/// "Not possible" is an answer too: programs get a document, then the error follows.
Error say_infeasible(const Error& error, Context& context) {
  if (error.code != ErrorCode::kBlocked) {
    return error;
  }
  const Json document{
      {"schema", "septule-defrag/1"}, {"feasible", false}, {"reason", error.message}};
  const Status printed = context.output.emit(document, [] { return std::string(); });
  return printed ? error : printed.error();
}

Result<int> run_defrag(const Invocation& invocation, Context& context) {
  SEPTULE_TRY(const gpu::Inventory inventory,
              load_inventory(invocation.text("state"), invocation, context));
  WorkBudget budget(optimize::kDefragmentationUnitsMax);
  optimize::LargestDefragmentation found;
  if (invocation.is_given("REQUEST")) {
    const auto geometries = optimize::geometries_of(inventory);
    if (geometries.empty()) {
      return Error{ErrorCode::kNotFound,
                   "no profile table has been published for any of these GPUs"};
    }
    SEPTULE_TRY(const optimize::RequestList request,
                optimize::read_request(geometries, invocation.text("REQUEST")));
    for (const std::string& note : request.notes) {
      say_note(note);
    }
    if (request.items.empty()) {
      return Error{ErrorCode::kUsage,
                   "REQUEST names no instance: there is nothing to make room for"};
    }
    auto answer = optimize::defragment(inventory, request, budget);
    if (!answer) {
      return say_infeasible(answer.error(), context);
    }
    found.answer = *std::move(answer);
  } else {
    auto largest = optimize::defragment_for_largest(inventory, budget);
    if (!largest) {
      return say_infeasible(largest.error(), context);
    }
    found = *std::move(largest);
  }
  for (const gpu::DesiredGpu& desired : found.answer.desired) {
    const gpu::ObservedGpu* gpu = find_gpu(inventory, desired.index);
    SEPTULE_CHECK(gpu != nullptr, "a touched GPU is on the node");
    SEPTULE_CHECK(gpu::check_partition(*gpu->geometry, desired.partition).empty(),
                  "a defragmented GPU passes the independent partition checker");
  }
  SEPTULE_TRY_STATUS(
      context.output.emit(defrag_document(inventory, found.answer, found.refused),
                          [&] { return defrag_text(inventory, found.answer, found.refused); }));
  return 0;
}

}  // namespace

Json moves_document(const optimize::Defragmentation& answer) {
  Json moves = Json::array();
  for (const optimize::InstanceMove& move : answer.moves) {
    moves.push_back({{"text", move.text},
                     {"from_gpu", move.from_gpu.value()},
                     {"from_start", move.from.start.value()},
                     {"to_gpu", move.to_gpu.value()},
                     {"to_start", move.to.start.value()},
                     {"holders", move.holders},
                     {"reuses_idle", move.reuses_idle},
                     {"needs_stop_first", move.needs_stop_first}});
  }
  return {{"move_count", answer.moves.size()},
          {"optimal", answer.certificate.is_optimal},
          {"moves", std::move(moves)}};
}

Command defrag_command() {
  OptionRecord state = state_option();
  state.is_required = true;
  return {
      .record =
          {.path = {"defrag"},
           .summary = "find the least moves that make a request fit",
           .description =
               {"Only instances marked movable are moved; their jobs stop and start again at the "
                "new place, on the same GPU or another of the same model. Idle instances may be "
                "destroyed; foreign ones stay. The number of moves is proven least (if not, the "
                "answer says so).",
                "Without REQUEST: for the largest profile that fits nowhere yet but can be made "
                "to; if "
                "there is none, the largest that fits."},
           .arguments = {{.name = "REQUEST", .text = "Profiles separated by commas, as in plan."}},
           .options = {state,
                       gpu_option("GPU model for pasted nvidia-smi output."),
                       output_option(),
                       verbose_option()},
           .examples = {{"septule defrag 3g.20gb --state node.json", "room for one 3g"},
                        {"septule defrag --state node.json -o json",
                         "room for the largest profile possible"}},
           .exit_codes = {0, 1, 2, 3, 4, 5, 7}},
      .run = run_defrag};
}

}  // namespace septule::app
