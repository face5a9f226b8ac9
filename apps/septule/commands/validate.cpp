// septule validate: is a layout, or each configuration of a mig-parted file, legal?
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "gpu/layout_request.hpp"
#include "interop/inventory_json.hpp"
#include "interop/mig_parted.hpp"
#include "report/layout_drawing.hpp"
#include "septule/app.hpp"
#include "septule/files.hpp"
#include "septule/gpu_document.hpp"
#include "septule/inputs.hpp"
#include "septule/packing_view.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

Json request_violation(const std::string& rule, const std::string& message) {
  return {{"rule", rule}, {"instances", Json::array()}, {"message", message}};
}

/// The verdict on one layout text.
struct Verdict {
  Json document;
  std::string text;
  std::string first_reason;  ///< empty = legal
  std::vector<std::string> notes;
};

/// Everything that is wrong with a request that cannot be placed.
Json violations_of(const gpu::Geometry& geometry,
                   const gpu::LayoutRequest& request,
                   const Error& placing) {
  Json list = Json::array();
  const bool has_all_starts = std::ranges::all_of(
      request.instances,
      [](const gpu::InstanceRequest& instance) { return instance.start.has_value(); });
  const auto written = gpu::partition_as_written(geometry, request);
  if (has_all_starts && written) {
    for (const gpu::Violation& violation : gpu::check_partition(geometry, *written)) {
      list.push_back(violation_document(geometry, *written, violation));
    }
  }
  if (list.empty()) {
    list.push_back(request_violation("does-not-fit", placing.message));
  }
  return list;
}

Verdict illegal(Json document, Json violations) {
  Verdict verdict;
  document["legal"] = false;
  document["violations"] = violations;
  verdict.first_reason = violations.front()["message"].get<std::string>();
  verdict.text = "not legal\n";
  for (const Json& violation : violations) {
    verdict.text += fmt::format("  {}: {}\n",
                                violation["rule"].get<std::string>(),
                                violation["message"].get<std::string>());
  }
  verdict.document = std::move(document);
  return verdict;
}

Verdict judge_layout(const gpu::Geometry& geometry, const std::string& text) {
  Json document{{"schema", "septule-validate/1"}, {"gpu", geometry.key()}, {"layout", text}};
  const auto request = gpu::parse_layout_request(geometry, text);
  if (!request) {
    return illegal(std::move(document),
                   Json::array({request_violation("request", request.error().message)}));
  }
  const auto partition = gpu::place_layout_request(geometry, *request);
  if (!partition) {
    Verdict verdict =
        illegal(std::move(document), violations_of(geometry, *request, partition.error()));
    verdict.notes = request->notes;
    return verdict;
  }
  const auto violations = gpu::check_partition(geometry, *partition);
  SEPTULE_CHECK(violations.empty(), "a layout placed by the search passes the independent checker");
  Verdict verdict;
  verdict.notes = request->notes;
  document["legal"] = true;
  document["violations"] = Json::array();
  document["placed"] = gpu::partition_text(geometry, *partition);
  document["instances"] = partition_document(geometry, *partition);
  document["notes"] = request->notes;
  verdict.text = fmt::format("legal on {}: {}\n{}\n{}\n",
                             geometry.key(),
                             gpu::partition_text(geometry, *partition),
                             report::slice_ruler(geometry),
                             report::draw_layout(geometry, gpu::layout_of(*partition)));
  verdict.document = std::move(document);
  return verdict;
}

Result<int> validate_layout(const std::string& text,
                            const Invocation& invocation,
                            Context& context) {
  SEPTULE_TRY(const gpu::Geometry* model, model_option(invocation, context));
  if (!model->has_profile_table()) {
    return Error{
        ErrorCode::kNotFound,
        fmt::format("no profile table of {} has been published: legality is N/A", model->key())};
  }
  const Verdict verdict = judge_layout(*model, text);
  for (const std::string& note : verdict.notes) {
    say_note(note);
  }
  SEPTULE_TRY_STATUS(context.output.emit(verdict.document, [&] { return verdict.text; }));
  if (!verdict.first_reason.empty()) {
    return Error{ErrorCode::kInvalidInput, verdict.first_reason};
  }
  return 0;
}

Json config_document(const interop::ResolvedMigParted& config) {
  Json gpus = Json::array();
  for (const interop::MigPartedGpu& gpu : config.gpus) {
    gpus.push_back({{"index", gpu.desired.index.value()},
                    {"model", gpu.geometry->key()},
                    {"mig_enabled", gpu.desired.is_mig_enabled},
                    {"layout", gpu::partition_text(*gpu.geometry, gpu.desired.partition)}});
  }
  Json problems = Json::array();
  for (const interop::MigPartedProblem& problem : config.problems) {
    problems.push_back(
        {{"line", problem.line}, {"field", problem.field}, {"message", problem.reason}});
  }
  return {{"name", config.name},
          {"line", config.line},
          {"legal", config.is_valid()},
          {"gpus", std::move(gpus)},
          {"problems", std::move(problems)},
          {"notes", config.notes}};
}

std::string config_text(const interop::ResolvedMigParted& config, const std::string& source) {
  std::string text =
      fmt::format("{}: {}\n", config.name, config.is_valid() ? "legal" : "not legal");
  for (const interop::MigPartedGpu& gpu : config.gpus) {
    text += fmt::format("  GPU {} ({}): {}\n",
                        gpu.desired.index.value(),
                        gpu.geometry->key(),
                        gpu.desired.is_mig_enabled
                            ? gpu::partition_text(*gpu.geometry, gpu.desired.partition)
                            : "MIG off");
  }
  for (const interop::MigPartedProblem& problem : config.problems) {
    text += fmt::format("  {}\n", interop::problem_text(source, problem));
  }
  return text;
}

/// The node a file is checked against. A single model without a count is taken as a node just large
/// enough for the devices the file names.
Result<std::vector<interop::NodeGpu>> node_for(const interop::MigPartedFile& file,
                                               const Invocation& invocation,
                                               const Context& context) {
  if (invocation.is_given("state")) {
    SEPTULE_TRY(const gpu::Inventory inventory,
                load_inventory(invocation.text("state"), invocation, context));
    return node_of(inventory);
  }
  if (!invocation.is_given("gpu")) {
    return Error{ErrorCode::kUsage,
                 "which GPUs? Give --gpu MODEL, --gpu \"8 x MODEL\" or --state FILE"};
  }
  const std::string text = invocation.text("gpu");
  SEPTULE_TRY(std::vector<interop::NodeGpu> node, parse_node(context.catalogue, text));
  if (!is_single_model(text)) {
    return node;
  }
  int highest = 0;
  for (const interop::MigPartedConfig& config : file.configs) {
    for (const interop::MigPartedEntry& entry : config.entries) {
      for (const GpuIndex index : entry.devices.value_or(std::vector<GpuIndex>{})) {
        highest = std::max(highest, index.value());
      }
    }
  }
  const gpu::Geometry* model = node.front().geometry;
  for (int i = 1; i <= highest; ++i) {
    node.push_back({GpuIndex(i), model});
  }
  return node;
}

Result<int> validate_config_file(const std::string& text,
                                 const std::string& name,
                                 const Invocation& invocation,
                                 Context& context) {
  SEPTULE_TRY(const interop::MigPartedFile file, interop::parse_mig_parted({text, name}));
  SEPTULE_TRY(const auto node, node_for(file, invocation, context));
  std::vector<const interop::MigPartedConfig*> chosen;
  if (invocation.is_given("config")) {
    SEPTULE_TRY(const interop::MigPartedConfig* config,
                interop::find_config(file, invocation.text("config")));
    chosen.push_back(config);
  } else {
    for (const interop::MigPartedConfig& config : file.configs) {
      chosen.push_back(&config);
    }
  }
  Json document{{"schema", "septule-validate/1"}, {"source", name}, {"legal", true}};
  document["configs"] = Json::array();
  std::string people;
  std::string first_problem;
  for (const interop::MigPartedConfig* config : chosen) {
    const interop::ResolvedMigParted resolved = interop::resolve_mig_parted(*config, node);
    for (const std::string& note : resolved.notes) {
      say_note(note);
    }
    document["configs"].push_back(config_document(resolved));
    people += config_text(resolved, name);
    if (!resolved.is_valid() && first_problem.empty()) {
      first_problem = interop::problem_text(name, resolved.problems.front());
    }
  }
  document["legal"] = first_problem.empty();
  SEPTULE_TRY_STATUS(context.output.emit(document, [&] { return people; }));
  if (!first_problem.empty()) {
    return Error{ErrorCode::kInvalidInput, first_problem};
  }
  return 0;
}

Result<int> validate_inventory(const std::string& text,
                               const std::string& path,
                               const Invocation& invocation,
                               Context& context) {
  // Reading an inventory judges every GPU; an illegal one is the reader's error.
  SEPTULE_TRY(const gpu::Inventory inventory, inventory_of_text(text, path, invocation, context));
  Json document{
      {"schema", "septule-validate/1"}, {"source", source_name_of(path)}, {"legal", true}};
  document["gpus"] = Json::array();
  std::string people;
  for (const gpu::ObservedGpu& gpu : inventory.gpus) {
    const std::string layout = gpu::partition_text(*gpu.geometry, gpu.partition());
    document["gpus"].push_back({{"index", gpu.index.value()},
                                {"model", gpu.geometry->key()},
                                {"mig_enabled", gpu.is_mig_enabled},
                                {"layout", layout}});
    people += fmt::format("GPU {} ({}): legal: {}\n",
                          gpu.index.value(),
                          gpu.geometry->key(),
                          gpu.is_mig_enabled ? layout : "MIG off");
  }
  document["after"] = inventory_document(inventory);
  SEPTULE_TRY_STATUS(context.output.emit(document, [&] { return people; }));
  return 0;
}

Result<int> run_validate(const Invocation& invocation, Context& context) {
  const std::string value = invocation.text("LAYOUT");
  if (!is_meant_as_file(value)) {
    return validate_layout(value, invocation, context);
  }
  SEPTULE_TRY(const std::string text, read_input(value));
  if (kind_of_file(text) == FileKind::kMigParted) {
    return validate_config_file(text, source_name_of(value), invocation, context);
  }
  return validate_inventory(text, value, invocation, context);
}

}  // namespace

Command validate_command() {
  return {
      .record =
          {.path = {"validate"},
           .summary = "say whether a layout or a mig-parted file is legal, and why not",
           .description =
               {"A layout is written as profiles separated by commas, with or without the first "
                "memory slice: 4g.20gb@0,3g.20gb@4 or 4g.20gb,3g.20gb. Shapes are understood "
                "too: 3g, \"7 x smallest\". Compute instances: 1c.3g.20gb, or 3g.20gb[1c,2c].",
                "A file may be a mig-parted configuration (v1 YAML; every configuration in it or "
                "the one of --config), a JSON inventory or pasted nvidia-smi output. Reasons name "
                "line and field. The verdict comes from a checker that shares no code with the "
                "planner."},
           .arguments = {{.name = "LAYOUT",
                          .text = "A layout, or a file (- for standard input).",
                          .is_required = true,
                          .completion = CompletionKind::kFile}},
           .options = {gpu_option("GPU model: key, board name or PCI id; for files also a node "
                                  "such as \"8 x A100-40GB\"."),
                       config_option(),
                       state_option(),
                       output_option(),
                       verbose_option()},
           .examples = {{"septule validate --gpu A100-40GB 4g.20gb,3g.20gb",
                         "profiles without placements: is there a way?"},
                        {"septule validate --gpu \"8 x A100-40GB\" config.yaml",
                         "every configuration of a mig-parted file"}},
           .exit_codes = {0, 1, 2, 3, 4}},
      .run = run_validate};
}

}  // namespace septule::app
