// septule serve plan: which instance serves or retrains whom in every step of a window.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/serving_timeline.hpp"
#include "septule/app.hpp"
#include "septule/files.hpp"
#include "septule/inputs.hpp"
#include "septule/serve_inputs.hpp"
#include "septule/serve_node.hpp"
#include "septule/serve_plan_script.hpp"
#include "septule/serve_planner.hpp"
#include "septule/serve_report.hpp"
#include "septule/serve_window.hpp"
#include "septule/written_files.hpp"

namespace septule::app {

namespace {

std::string plan_picture(const ServePlan& plan) {
  return report::svg_serving_timeline(
             record_of(plan),
             {.title = "Layouts over time",
              .id = "p",
              .memory_slices =
                  plan.input->geometry->facts().memory_slices.value_or(MemorySlices(8)).value()},
             report::Embedding::kStandalone)
      .svg;
}

/// A plan over time begins with what one GPU holds.
Status keep_one_gpu(std::optional<gpu::Inventory>& node, const Invocation& invocation) {
  if (!node) {
    return invocation.is_given("index")
               ? Status(Error{ErrorCode::kUsage,
                              "--index: chooses a GPU of --state, which is not "
                              "given"})
               : Status();
  }
  SEPTULE_TRY(const std::vector<GpuIndex> indices, selected_gpus(invocation, *node));
  if (indices.size() != 1) {
    return Error{ErrorCode::kUsage,
                 fmt::format("a plan over time is for one GPU of a node, and {} are free: choose "
                             "one with --index",
                             indices.size())};
  }
  std::erase_if(node->gpus,
                [&](const gpu::ObservedGpu& gpu) { return gpu.index != indices.front(); });
  return {};
}

Result<int> emit_plan(const ServePlan& plan,
                      const std::optional<gpu::Inventory>& node,
                      Context& context) {
  gpu::Inventory from;
  if (node) {
    from = *node;
  } else {
    SEPTULE_TRY(from, fresh_node(*plan.input, plan.gpu_count));
  }
  SEPTULE_TRY(const std::string script, serve_plan_script(plan, from, context.latencies));
  SEPTULE_TRY_STATUS(context.output.print(script));
  return 0;
}

Result<int> run_serve_plan(const Invocation& invocation, Context& context) {
  if (invocation.is_given("metrics") && !context.output.is_for_people()) {
    return Error{ErrorCode::kUsage, "--metrics prints Prometheus' text; it does not go with -o"};
  }
  SEPTULE_TRY_STATUS(check_emit(invocation, context));
  SEPTULE_TRY_STATUS(check_written_files(
      invocation, {.written = {"svg", "report"}, .read = {"tenants", "profiles", "state"}}));
  SEPTULE_TRY(auto node, load_serve_node(invocation, context));
  SEPTULE_TRY(ServeInput input, load_serve_input(invocation, context, node ? &*node : nullptr));
  SEPTULE_TRY_STATUS(keep_free_gpus(node, input));
  SEPTULE_TRY_STATUS(keep_one_gpu(node, invocation));
  SEPTULE_TRY(const PlanSettings settings, plan_settings(invocation, context, input, node));
  if (settings.mode == PlanSettings::Mode::kMigrator) {
    SEPTULE_TRY_STATUS(admit_without_mps(input));
  }
  SEPTULE_TRY(const ServePlan plan, plan_serving(settings, input));
  if (invocation.is_given("svg")) {
    SEPTULE_TRY_STATUS(write_file(invocation.text("svg"), plan_picture(plan)));
  }
  if (invocation.is_given("report")) {
    SEPTULE_TRY_STATUS(write_plan_report(invocation, plan, invocation.text("report")));
  }
  if (invocation.is_given("emit")) {
    return emit_plan(plan, node, context);
  }
  if (invocation.is_given("metrics")) {
    SEPTULE_TRY_STATUS(context.output.print(serve_plan_metrics(plan)));
    return 0;
  }
  SEPTULE_TRY_STATUS(
      context.output.emit(serve_plan_document(plan), [&] { return serve_plan_text(plan); }));
  return 0;
}

std::vector<OptionRecord> plan_options() {
  std::vector<OptionRecord> options = serve_input_options();
  for (OptionRecord& record : plan_settings_options()) {
    options.push_back(std::move(record));
  }
  for (OptionRecord& record : serve_node_options()) {
    options.push_back(std::move(record));
  }
  options.push_back(index_option());
  options.push_back({.name = "svg",
                     .value = "FILE",
                     .text = "Also draw the layouts over time, as an SVG picture.",
                     .completion = CompletionKind::kFile});
  options.push_back({.name = "report",
                     .value = "FILE",
                     .text = "Also write a page: layouts over time, rates against capacity, "
                             "retraining windows, figures.",
                     .completion = CompletionKind::kFile});
  options.push_back({.name = "metrics",
                     .text = "Print the plan's figures in the text form of Prometheus, not the "
                             "table."});
  options.push_back(output_option());
  options.push_back(verbose_option());
  return options;
}

}  // namespace

Command serve_plan_command() {
  return {
      .record =
          {.path = {"serve", "plan"},
           .summary = "who is served or retrained where, over time",
           .description =
               {"For tenants whose request rates are known over a window (a trace or a forecast): "
                "how each GPU is cut in every step, and which tenant each instance serves or "
                "retrains, so that goodput is greatest (requests within their SLO x accuracy of "
                "the model that answers x weight). New instances warm up before they serve. The "
                "answer says whether it is proven best, and how much better it could be at most.",
                "With several GPUs tenants are first dealt out by the fleet plan for their largest "
                "rates; bound and proof are for tenants on these GPUs. With --state the window "
                "begins "
                "with what the tenants have on one GPU of that node; --emit prints a script with a "
                "phase for each change."},
           .arguments = {},
           .options = plan_options(),
           .examples =
               {{"septule serve plan --tenants tenants.yaml", "200 seconds of one A100-80GB"},
                {"septule serve plan --tenants tenants.yaml --steps 120 --svg plan.svg -o json",
                 "ten minutes, as data and as a picture"}},
           .exit_codes = {0, 1, 2, 3, 4, 5, 7}},
      .run = run_serve_plan};
}

}  // namespace septule::app
