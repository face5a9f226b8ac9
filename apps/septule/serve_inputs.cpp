#include "septule/serve_inputs.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "interop/serving_profile.hpp"
#include "interop/tenant_file.hpp"
#include "septule/files.hpp"
#include "septule/inputs.hpp"
#include "septule/output.hpp"
#include "serve/window_problem.hpp"

namespace septule::app {

namespace {

constexpr const char* kDefaultGpu = "A100-80GB";

/// Files that a tenants file names are looked for beside it.
interop::TextLoader loader_beside(const std::string& path) {
  const std::filesystem::path folder =
      path == "-" ? std::filesystem::path() : std::filesystem::path(path).parent_path();
  return [folder](const std::string& name) {
    return read_input((folder / name).string(), interop::kRateTraceBytesMax);
  };
}

Result<serve::AdmissionRule> admission_rule(const Invocation& invocation) {
  serve::AdmissionRule rule;
  if (invocation.is_given("margin")) {
    rule = serve::parvagpu_rule(invocation.number("margin"));
  }
  if (invocation.is_given("keep-suspect")) {
    rule.suspect = serve::SuspectRows::kKept;
  }
  if (invocation.is_given("no-mps") && invocation.is_given("processes-max")) {
    return Error{ErrorCode::kUsage, "--no-mps means one process; leave --processes-max out"};
  }
  rule.processes_max =
      invocation.is_given("no-mps") ? 1 : static_cast<int>(invocation.number("processes-max"));
  return rule;
}

Result<const gpu::Geometry*> serving_gpu(const Invocation& invocation,
                                         const Context& context,
                                         const std::vector<serve::Tenant>& tenants,
                                         const gpu::Inventory* node) {
  if (invocation.is_given("gpu")) {
    return model_option(invocation, context);
  }
  std::vector<std::string> models;
  for (const serve::Tenant& tenant : tenants) {
    const std::string& model = tenant.profile.gpu;
    if (!model.empty() && std::ranges::find(models, model) == models.end()) {
      models.push_back(model);
    }
  }
  if (models.size() > 1) {
    return Error{ErrorCode::kUsage,
                 fmt::format("the tenants' profiles are of {}; say which model serves them with "
                             "--gpu",
                             joined_with_and(models))};
  }
  SEPTULE_TRY(const gpu::Geometry* model,
              context.catalogue.find(models.empty() ? kDefaultGpu : models.front()));
  if (node == nullptr || node->gpus.empty() ||
      std::ranges::find(node->gpus, model, &gpu::ObservedGpu::geometry) != node->gpus.end()) {
    return model;
  }
  const gpu::Geometry* there = node->gpus.front().geometry;
  say_warning(fmt::format(
      "profiles measured on {} are taken for {} as they are", model->key(), there->key()));
  return there;
}

Result<std::vector<serve::Tenant>> load_tenants(const Invocation& invocation) {
  std::optional<interop::ServingProfiles> profiles;
  if (invocation.is_given("profiles")) {
    const std::string path = invocation.text("profiles");
    SEPTULE_TRY(const std::string text, read_input(path));
    SEPTULE_TRY(interop::ServingProfiles read,
                interop::parse_serving_profiles({text, source_name_of(path)}));
    profiles = std::move(read);
  }
  const std::string path = invocation.text("tenants");
  SEPTULE_TRY(const std::string text, read_input(path));
  interop::TenantFileOptions options{.load = loader_beside(path),
                                     .profiles = profiles ? &*profiles : nullptr,
                                     .set = {},
                                     .gpu = invocation.text("gpu")};
  if (invocation.is_given("set")) {
    options.set = invocation.text("set");
  }
  SEPTULE_TRY(interop::TenantFile file,
              interop::parse_tenant_file({text, source_name_of(path)}, options));
  for (const std::string& note : file.notes) {
    say_note(note);
  }
  return std::move(file.tenants);
}

}  // namespace

std::vector<OptionRecord> serve_input_options() {
  return {{.name = "tenants",
           .short_name = 't',
           .value = "FILE",
           .text = "Who is served: YAML, JSON or CSV (docs/formats.md); - for standard input. "
                   "Files that it names are looked for beside it.",
           .is_required = true,
           .completion = CompletionKind::kFile},
          {.name = "profiles",
           .value = "FILE",
           .text = "Measured throughput and latency of tenants that name no profile: a CSV table, "
                   "ours or one of the published ones.",
           .completion = CompletionKind::kFile},
          {.name = "set", .value = "NAME", .text = "Which set of a table of SLO sets is meant."},
          gpu_option("The GPUs' model. Without it: that of the profiles, else A100-80GB."),
          {.name = "margin",
           .value = "SHARE",
           .text = "By ParvaGPU's rule: a batch takes less than this share of the SLO, and whether "
                   "it fills in time is not asked. Without it: at most 0.45, and it is asked.",
           .min = 0.01,
           .max = 1},
          {.name = "processes-max",
           .value = "N",
           .text = "Equal processes of one tenant in an instance (MPS) at most.",
           .default_text = "5",
           .min = 1,
           .max = 100,
           .is_integer = true},
          {.name = "no-mps", .text = "One process for each instance."},
          {.name = "keep-suspect",
           .text = "Use rows too whose publisher seems to have copied a neighbour's value."}};
}

Result<ServeInput> load_serve_input(const Invocation& invocation,
                                    const Context& context,
                                    const gpu::Inventory* node) {
  ServeInput input;
  SEPTULE_TRY(input.rule, admission_rule(invocation));
  SEPTULE_TRY(const std::vector<serve::Tenant> tenants, load_tenants(invocation));
  SEPTULE_TRY(input.geometry, serving_gpu(invocation, context, tenants, node));
  SEPTULE_TRY(serve::LayoutLattice lattice,
              serve::LayoutLattice::make(*input.geometry, gpu::ProfileSet::kPlain));
  input.lattice = std::make_unique<serve::LayoutLattice>(std::move(lattice));
  SEPTULE_TRY(input.tenants, serve::admit_all(tenants, *input.lattice, input.rule));
  return input;
}

Status admit_without_mps(ServeInput& input) {
  std::vector<serve::Tenant> tenants;
  for (serve::AdmittedTenant& admitted : input.tenants) {
    tenants.push_back(std::move(admitted.tenant));
  }
  input.rule.processes_max = 1;
  SEPTULE_TRY(input.tenants, serve::admit_all(tenants, *input.lattice, input.rule));
  return {};
}

OptionRecord serving_gpus_option(double gpus_max) {
  return {.name = "gpus",
          .short_name = 'n',
          .value = "N",
          .text = "GPUs that serve.",
          .default_text = "1",
          .min = 1,
          .max = gpus_max,
          .is_integer = true};
}

std::optional<serve::WarmUpQuantile> warm_up_quantile(std::string_view text) {
  if (text == "p50") {
    return serve::WarmUpQuantile::kP50;
  }
  if (text == "p90") {
    return serve::WarmUpQuantile::kP90;
  }
  if (text == "p99") {
    return serve::WarmUpQuantile::kP99;
  }
  return std::nullopt;
}

OptionRecord demand_option() {
  return {.name = "demand",
          .value = "RATE",
          .text =
              "Which rate of a trace is to be served: the largest, the mean, or the one at the "
              "begin.",
          .default_text = "peak",
          .choices = {"peak", "mean", "begin"}};
}

Result<serve::FleetProblem> fleet_problem_of(const ServeInput& input,
                                             const std::string& demand,
                                             std::optional<int> gpu_count) {
  serve::FleetProblem problem{
      .lattice = input.lattice.get(), .tenants = {}, .gpu_count = gpu_count};
  for (const serve::AdmittedTenant& admitted : input.tenants) {
    const serve::RateSeries& rate = admitted.tenant.rate;
    serve::FleetTenant tenant{.name = admitted.tenant.name,
                              .rate_rps = rate.at(SimTime()),
                              .weight = admitted.tenant.weight,
                              .accuracy = admitted.tenant.accuracy,
                              .throughput = {}};
    if (demand == "peak") {
      tenant.rate_rps = rate.peak();
    } else if (demand == "mean") {
      tenant.rate_rps =
          serve::mean_rate(rate,
                           Duration(),
                           Duration::nanoseconds(rate.step.to_nanoseconds() *
                                                 static_cast<std::int64_t>(rate.values.size())));
    }
    if (tenant.rate_rps <= 0) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("tenant {}: its {} rate is 0 requests per second; expected more "
                               "than 0, or leave the tenant out",
                               quoted_for_message(tenant.name),
                               demand == "begin" ? "first" : demand)};
    }
    for (std::size_t size = 0; size < input.lattice->sizes().size(); ++size) {
      tenant.throughput[size] = admitted.throughput_rps(static_cast<int>(size));
    }
    problem.tenants.push_back(std::move(tenant));
  }
  return problem;
}

std::optional<Duration> trace_length(const ServeInput& input) {
  std::optional<Duration> longest;
  for (const serve::AdmittedTenant& tenant : input.tenants) {
    const serve::RateSeries& rate = tenant.tenant.rate;
    if (rate.values.size() > 1) {
      const Duration length = Duration::nanoseconds(rate.step.to_nanoseconds() *
                                                    static_cast<std::int64_t>(rate.values.size()));
      longest = std::max(longest.value_or(Duration()), length);
    }
  }
  return longest;
}

Status check_rates_reach(const ServeInput& input, Duration begin, Duration length) {
  const std::optional<Duration> trace = trace_length(input);
  if (trace && begin >= *trace) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("--begin: second {} is past the end of the rates, which end at {} s",
                             begin.to_seconds(),
                             trace->to_seconds())};
  }
  if (trace && begin + length > *trace) {
    say_warning(fmt::format("the rates end at {} s; from there on the last one holds",
                            trace->to_seconds()));
  }
  return {};
}

}  // namespace septule::app
