// septule explain fit REQUEST --state FILE: does it fit, why not, what would help?
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "optimize/fit_explanation.hpp"
#include "report/table.hpp"
#include "septule/app.hpp"
#include "septule/defrag_view.hpp"
#include "septule/inputs.hpp"
#include "septule/packing_view.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::int64_t kExplainUnitsMax = 6000000;

Json gpu_fit_document(const gpu::Inventory& inventory,
                      const optimize::RequestList& request,
                      const optimize::GpuFit& fit) {
  const gpu::ObservedGpu* gpu = find_gpu(inventory, fit.gpu);
  Json places = Json::array();
  for (const optimize::FitPlace& place : fit.places) {
    places.push_back({{"instance", gpu::placed_text(*gpu->geometry, place.placed)},
                      {"reuses_idle", place.is_reused}});
  }
  Json blocked = Json::array();
  for (const optimize::BlockedPlacement& one : fit.blocked) {
    Json blockers = Json::array();
    for (const std::size_t i : one.instances) {
      blockers.push_back(gpu::observed_text(*gpu, gpu->instances[i]));
    }
    blocked.push_back({{"placement", gpu::placed_text(*gpu->geometry, one.placed)},
                       {"blockers", std::move(blockers)}});
  }
  return {{"gpu", fit.gpu.value()},
          {"model", gpu->geometry->key()},
          {"request", request.items[fit.item].name()},
          {"fits", fit.limit == optimize::FitLimit::kNone},
          {"limit", optimize::fit_limit_name(fit.limit)},
          {"reason", fit.reason.empty() ? Json(nullptr) : Json(fit.reason)},
          {"places", std::move(places)},
          {"blocked", std::move(blocked)}};
}

Json freeing_document(const optimize::FreeingSet& set) {
  return {
      {"gpu", set.gpu.value()}, {"end", set.names}, {"destroy_idle", destroyed_document(set.idle)}};
}

Json fit_document(const gpu::Inventory& inventory,
                  const optimize::RequestList& request,
                  const optimize::FitExplanation& fit) {
  Json document{{"schema", "septule-explain-fit/1"}, {"fits", fit.is_fitting}};
  document["reason"] = fit.reason.empty() ? Json(nullptr) : Json(fit.reason);
  document["recommended"] = packed_document(inventory, request, fit.recommended);
  document["gpus"] = Json::array();
  for (const optimize::GpuFit& gpu : fit.gpus) {
    document["gpus"].push_back(gpu_fit_document(inventory, request, gpu));
  }
  if (fit.is_fitting) {
    return document;
  }
  Json help;
  help["destroy_idle"] = fit.idle_enough ? destroyed_document(*fit.idle_enough) : Json(nullptr);
  help["moves"] = fit.moves ? moves_document(*fit.moves) : Json(nullptr);
  help["moves_refused"] = fit.moves ? Json(nullptr) : Json(fit.moves_refused);
  help["freeing"] = Json::array();
  for (const optimize::FreeingSet& set : fit.freeing) {
    help["freeing"].push_back(freeing_document(set));
  }
  help["freeing_complete"] = fit.is_freeing_complete;
  document["help"] = std::move(help);
  return document;
}

std::string help_text(const optimize::FitExplanation& fit) {
  std::string text = "\nwhat would help\n";
  if (fit.idle_enough) {
    std::vector<std::string> names;
    for (const optimize::DestroyedInstance& one : *fit.idle_enough) {
      names.push_back(fmt::format("{} on GPU {}", one.text, one.gpu.value()));
    }
    text += fmt::format("  destroy idle {} (nobody holds them, as far as the state says)\n",
                        joined_with_and(names));
  }
  if (fit.moves && !fit.moves->moves.empty()) {
    text +=
        fmt::format("  {} ({})\n",
                    fit.moves->moves.size() == 1 ? "one move"
                                                 : fmt::format("{} moves", fit.moves->moves.size()),
                    fit.moves->certificate.is_optimal ? "the least possible" : "not proven least");
    for (const optimize::InstanceMove& move : fit.moves->moves) {
      text += fmt::format("    {}\n", move.text);
    }
  } else if (!fit.moves && !fit.moves_refused.empty()) {
    text += fmt::format("  moving does not help: {}\n", fit.moves_refused);
  }
  for (const optimize::FreeingSet& set : fit.freeing) {
    text += fmt::format("  the end of {} on GPU {}\n", joined_with_and(set.names), set.gpu.value());
  }
  if (fit.freeing.empty() && fit.is_freeing_complete && !fit.idle_enough) {
    text += "  no job's end on a single GPU frees it\n";
  }
  return text;
}

std::string fit_text(const gpu::Inventory& inventory,
                     const optimize::RequestList& request,
                     const optimize::FitExplanation& fit) {
  std::vector<GpuIndex> all;
  for (const gpu::ObservedGpu& gpu : inventory.gpus) {
    if (gpu.geometry->has_profile_table()) {
      all.push_back(gpu.index);
    }
  }
  std::string text = drawing_text(inventory, all) + "        (* busy, ! foreign)\n\n";
  if (fit.is_fitting) {
    text += "fits\n";
    for (const optimize::PackedInstance& one : fit.recommended) {
      text += fmt::format("  {}: GPU {}, {} ({})\n",
                          request.items[one.item].name(),
                          one.gpu.value(),
                          gpu::instance_text(*find_gpu(inventory, one.gpu)->geometry, one.instance),
                          action_name(one));
    }
    return text;
  }
  text += fmt::format("does not fit: {}\n", fit.reason);
  std::set<std::pair<int, std::string>> told;  // the same profile asked for twice is told once
  for (const optimize::GpuFit& gpu : fit.gpus) {
    if (!told.emplace(gpu.gpu.value(), request.items[gpu.item].name()).second) {
      continue;
    }
    if (gpu.limit == optimize::FitLimit::kNone) {
      text += fmt::format(
          "  GPU {}, {}: {}\n",
          gpu.gpu.value(),
          request.items[gpu.item].name(),
          request.items[gpu.item].count > 1 ? "one of them fits here" : "fits here on its own");
      continue;
    }
    text += fmt::format("  GPU {}, {}: {}: {}\n",
                        gpu.gpu.value(),
                        request.items[gpu.item].name(),
                        optimize::fit_limit_name(gpu.limit),
                        gpu.reason);
    for (const optimize::BlockedPlacement& one : gpu.blocked) {
      text += fmt::format("    {}\n", one.text);
    }
  }
  return text + help_text(fit);
}

Result<int> run_explain_fit(const Invocation& invocation, Context& context) {
  SEPTULE_TRY(const gpu::Inventory inventory,
              load_inventory(invocation.text("state"), invocation, context));
  const auto geometries = optimize::geometries_of(inventory);
  if (geometries.empty()) {
    return Error{ErrorCode::kNotFound, "no profile table has been published for any of these GPUs"};
  }
  SEPTULE_TRY(const optimize::RequestList request,
              optimize::read_request(geometries, invocation.text("REQUEST")));
  for (const std::string& note : request.notes) {
    say_note(note);
  }
  WorkBudget budget(kExplainUnitsMax);
  SEPTULE_TRY(const optimize::FitExplanation fit,
              optimize::explain_fit(inventory, request, budget));
  SEPTULE_TRY_STATUS(context.output.emit(fit_document(inventory, request, fit),
                                         [&] { return fit_text(inventory, request, fit); }));
  return fit.is_fitting ? 0 : 5;
}

}  // namespace

Command explain_fit_command() {
  OptionRecord state = state_option();
  state.is_required = true;
  return {
      .record =
          {.path = {"explain", "fit"},
           .summary = "say whether a request fits a node, why not, and what would help",
           .description =
               {"Gives for each GPU the places where the request fits, or the limit that stops it: "
                "capacity (not enough free slices), fragmentation (enough, but every placement is "
                "partly taken, with the blockers named) or budget (engines, maxima).",
                "If it does not fit: idle instances whose destruction is enough, the least number "
                "of moves, and the jobs whose end frees it. Exit 5 then."},
           .arguments = {{.name = "REQUEST",
                          .text = "Profiles separated by commas, as in plan.",
                          .is_required = true}},
           .options = {state,
                       gpu_option("GPU model for pasted nvidia-smi output."),
                       output_option(),
                       verbose_option()},
           .examples = {{"septule explain fit 3g.20gb --state node.json", "why not?"},
                        {"nvidia-smi mig -lgi | septule explain fit 2g --state - --gpu A100-40GB",
                         "from the driver's listing"}},
           .exit_codes = {0, 1, 2, 3, 4, 5, 7}},
      .run = run_explain_fit};
}

}  // namespace septule::app
