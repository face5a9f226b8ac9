// septule plan: pack instances onto GPUs, or (--jobs) the best layout for jobs with speeds.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gpu/partition_checker.hpp"
#include "optimize/instance_packing.hpp"
#include "report/table.hpp"
#include "septule/app.hpp"
#include "septule/inputs.hpp"
#include "septule/packing_view.hpp"
#include "septule/plan_jobs.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

/// The node to pack onto: --state, or --gpu with as many fresh GPUs as it says (or --gpus).
Result<gpu::Inventory> load_node(const Invocation& invocation, const Context& context) {
  if (invocation.is_given("state")) {
    if (invocation.is_given("gpus")) {
      return Error{ErrorCode::kUsage, "--gpus is for fresh GPUs; --state already says how many"};
    }
    return load_inventory(invocation.text("state"), invocation, context);
  }
  if (!invocation.is_given("gpu")) {
    return Error{ErrorCode::kUsage, "which GPUs? Give --gpu MODEL (fresh ones) or --state FILE"};
  }
  const std::string text = invocation.text("gpu");
  SEPTULE_TRY(const auto node, parse_node(context.catalogue, text));
  if (!is_single_model(text)) {
    if (invocation.is_given("gpus")) {
      return Error{ErrorCode::kUsage,
                   "--gpu already says how many GPUs there are; leave --gpus out"};
    }
    return empty_inventory(node);
  }
  std::vector<interop::NodeGpu> fresh;
  const int count = static_cast<int>(invocation.number("gpus"));
  for (int i = 0; i < count; ++i) {
    fresh.push_back({GpuIndex(i), node.front().geometry});
  }
  return empty_inventory(fresh);
}

/// An answer that the independent checker refuses is a bug, not a result.
void check_packing(const gpu::Inventory& inventory, const optimize::InstancePacking& packing) {
  for (const gpu::DesiredGpu& desired : packing.desired) {
    const gpu::ObservedGpu* gpu = find_gpu(inventory, desired.index);
    SEPTULE_CHECK(gpu != nullptr, "a packed GPU is on the node");
    SEPTULE_CHECK(gpu::check_partition(*gpu->geometry, desired.partition).empty(),
                  "a packing passes the independent partition checker");
  }
}

Json packing_document(const gpu::Inventory& inventory,
                      const optimize::PackingProblem& problem,
                      const optimize::InstancePacking& packing) {
  Json document{{"schema", "septule-plan/1"},
                {"kind", "instances"},
                {"policy", optimize::packing_policy_name(problem.policy)},
                {"feasible", true},
                {"gpus_used", packing.gpus_used},
                {"gpus_opened", packing.gpus_opened},
                {"created", packing.created},
                {"load_max", packing.load_max}};
  document["certificate"] = certificate_document(packing.certificate);
  document["instances"] = packed_document(inventory, problem.request, packing.packed);
  document["destroyed"] = destroyed_document(packing.destroyed);
  document["notes"] = problem.request.notes;
  document["after"] = inventory_document(inventory_after(inventory, packing.desired));
  return document;
}

std::string packing_text(const gpu::Inventory& inventory,
                         const optimize::PackingProblem& problem,
                         const optimize::InstancePacking& packing) {
  report::Table table({{"REQUEST"}, {"GPU", report::Align::kRight}, {"INSTANCE"}, {"ACTION"}});
  for (const optimize::PackedInstance& one : packing.packed) {
    const gpu::ObservedGpu* gpu = find_gpu(inventory, one.gpu);
    table.add_row({problem.request.items[one.item].name(),
                   std::to_string(one.gpu.value()),
                   gpu::instance_text(*gpu->geometry, one.instance),
                   std::string(action_name(one))});
  }
  std::string text = table.text();
  for (const optimize::DestroyedInstance& one : packing.destroyed) {
    text += fmt::format("destroy idle {} on GPU {}\n", one.text, one.gpu.value());
  }
  std::vector<GpuIndex> touched;
  for (const gpu::DesiredGpu& desired : packing.desired) {
    touched.push_back(desired.index);
  }
  text += "\n" + drawing_text(inventory_after(inventory, packing.desired), touched);
  text += fmt::format("{} GPU{} used; ", packing.gpus_used, packing.gpus_used == 1 ? "" : "s");
  return text + certificate_text(packing.certificate);
}

Result<int> run_plan_instances(const Invocation& invocation, Context& context) {
  if (!invocation.is_given("INSTANCES")) {
    return Error{ErrorCode::kUsage,
                 "what is to be placed? Give INSTANCES (3g.20gb,1g.5gb) or --jobs FILE"};
  }
  for (const char* name :
       {"objective", "profiles", "without-4g-3g", "index", "change-cost", "move-cost"}) {
    if (invocation.is_given(name)) {
      return Error{ErrorCode::kUsage, fmt::format("--{} goes only with --jobs", name)};
    }
  }
  SEPTULE_TRY(const gpu::Inventory inventory, load_node(invocation, context));
  const auto geometries = optimize::geometries_of(inventory);
  if (geometries.empty()) {
    return Error{ErrorCode::kNotFound, "no profile table has been published for any of these GPUs"};
  }
  optimize::PackingProblem problem;
  SEPTULE_TRY(problem.request, optimize::read_request(geometries, invocation.text("INSTANCES")));
  problem.policy = checked_value(optimize::parse_packing_policy(invocation.text("policy")),
                                 "the choices are the policies");
  problem.idle_rule = invocation.is_given("keep-idle") ? optimize::IdleRule::kKeep
                                                       : optimize::IdleRule::kMayDestroy;
  for (const std::string& note : problem.request.notes) {
    say_note(note);
  }
  WorkBudget budget(optimize::kPackingUnitsMax);
  const auto packing = optimize::pack_instances(inventory, problem, budget);
  if (!packing) {
    if (packing.error().code == ErrorCode::kBlocked) {
      Json document{{"schema", "septule-plan/1"}, {"kind", "instances"}};
      document["policy"] = optimize::packing_policy_name(problem.policy);
      document["feasible"] = false;
      document["reason"] = packing.error().message;
      SEPTULE_TRY_STATUS(context.output.emit(document, [] { return std::string(); }));
    }
    return packing.error();
  }
  check_packing(inventory, *packing);
  SEPTULE_TRY_STATUS(context.output.emit(packing_document(inventory, problem, *packing), [&] {
    return packing_text(inventory, problem, *packing);
  }));
  return 0;
}

Result<int> run_plan(const Invocation& invocation, Context& context) {
  return invocation.is_given("jobs") ? run_plan_jobs(invocation, context)
                                     : run_plan_instances(invocation, context);
}

std::vector<OptionRecord> plan_options() {
  return {
      gpu_option("Fresh GPUs: a model, or a node such as \"8 x A100-40GB\"."),
      {.name = "gpus",
       .short_name = 'n',
       .value = "N",
       .text = "How many fresh GPUs there are at most, if --gpu names one model.",
       .default_text = "64",
       .min = 1,
       .max = 64,
       .is_integer = true},
      state_option(),
      {.name = "policy",
       .short_name = 'p',
       .value = "POLICY",
       .text = "How instances are spread over GPUs: pack (fewest GPUs), spread (even load), "
               "same-gpu, distinct-gpu.",
       .default_text = "pack",
       .choices = {"pack", "spread", "same-gpu", "distinct-gpu"}},
      {.name = "keep-idle", .text = "Do not destroy idle instances to make room."},
      {.name = "jobs",
       .short_name = 'j',
       .value = "FILE",
       .text = "Plan one GPU for the jobs of this CSV table (name, optional memory_gib and weight, "
               "speeds s7,s4,s3,s2,s1 or by profile; 0 = does not fit); - for standard input.",
       .completion = CompletionKind::kFile},
      {.name = "objective",
       .value = "GOAL",
       .text = "With --jobs: what is best.",
       .default_text = "sum",
       .choices = {"sum", "mean-slowdown", "weighted", "max-min"}},
      {.name = "profiles",
       .value = "SET",
       .text = "With --jobs: which profiles may be cut: plain (one per size), double (and "
               "double-memory), all (and +me, +gfx ...).",
       .default_text = "plain",
       .choices = {"plain", "double", "all"}},
      {.name = "without-4g-3g",
       .text = "With --jobs: never a 4g beside a 3g, which drivers before R510 refuse."},
      {.name = "index",
       .short_name = 'i',
       .value = "N",
       .text = "With --jobs: plan the GPU of this index.",
       .min = 0,
       .max = 63,
       .is_integer = true},
      {.name = "change-cost",
       .value = "COST",
       .text = "With --jobs and --state: what one instance created or destroyed costs.",
       .unit = "units of the objective",
       .default_text = "0",
       .min = 0,
       .max = 1000},
      {.name = "move-cost",
       .value = "COST",
       .text = "With --jobs and --state: what moving a running job costs.",
       .unit = "units of the objective",
       .default_text = "0",
       .min = 0,
       .max = 1000},
      output_option(),
      verbose_option()};
}

}  // namespace

Command plan_command() {
  return {
      .record =
          {.path = {"plan"},
           .summary = "find the best layout for instances or for jobs",
           .description =
               {"INSTANCES are packed onto the fewest fresh GPUs (--gpu), or onto the current "
                "state "
                "of a node (--state) touching as little as possible: fewest idle instances "
                "destroyed, then fewest GPUs opened, then fewest instances created. Busy and "
                "foreign instances are never touched. The answer says whether it is proven "
                "optimal.",
                "With --jobs the layout and assignment of one GPU that are best for the jobs' "
                "measured speeds are found exactly; every job gets an instance or the answer is "
                "\"not feasible\" (exit 5). With --state, busy instances stay (an instance whose "
                "holder is one of the jobs stays with its job, unless marked movable).",
                "The JSON form holds the resulting state under \"after\", which diff and apply "
                "take as their goal."},
           .arguments = {{.name = "INSTANCES",
                          .text = "Profiles separated by commas: 3g.20gb,2 x 1g.5gb."}},
           .options = plan_options(),
           .examples = {{"septule plan --gpu A100-40GB 3g.20gb,3g.20gb,2g.10gb",
                         "how few GPUs hold these instances?"},
                        {"septule plan --gpu A100-40GB --jobs jobs.csv -o json",
                         "the best layout for seven jobs or fewer"}},
           .exit_codes = {0, 1, 2, 3, 4, 5, 7}},
      .run = run_plan};
}

}  // namespace septule::app
