#include "septule/study_inputs.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "base/text.hpp"
#include "gpu/layout_request.hpp"
#include "interop/trace_formats.hpp"
#include "interop/trace_workload.hpp"
#include "septule/files.hpp"
#include "septule/inputs.hpp"
#include "septule/trace_view.hpp"
#include "sim/study_text.hpp"

namespace septule::app {

namespace {

constexpr double kBytesPerGibibyte = 1073741824.0;
constexpr int kArtifactSeedsLarge = 3;
constexpr std::size_t kAppsMax = 1000;  ///< apps of a trace that are compared with signatures

bool is_builtin(std::string_view trace) {
  return trace == "miso-100" || trace == "miso-1000" || trace == job::kMixedName;
}

/// A name that looks like a built-in trace but is none is not a missing file.
Error unknown_trace(const std::string& name) {
  const std::vector<std::string> known = {"miso-100", "miso-1000", "hpc-dl"};
  const std::vector<std::string> near = nearest_names(name, known, 2);
  return Error{ErrorCode::kNotFound,
               fmt::format("{} is neither a file nor a built-in trace; {}{}",
                           quoted_for_message(name),
                           near.empty() ? "there are " : "near it: ",
                           joined_with_and(near.empty() ? known : near))};
}

Result<std::string> read_trace_text(const std::string& path) {
  auto text = read_input(path, interop::kTraceBytesMax);
  if (!text && text.error().code == ErrorCode::kNotFound && !is_meant_as_file(path)) {
    return unknown_trace(path);
  }
  return text;
}

Result<interop::TraceImport> import_text(const StudySettings& settings,
                                         const interop::InputText& input,
                                         std::span<const job::PerfSignature> signatures) {
  interop::TraceFormat format = interop::TraceFormat::kSeptule;
  if (settings.text("format") == "auto") {
    SEPTULE_TRY(format, interop::detect_trace_format(input));
  } else {
    format = checked_value(interop::parse_trace_format(settings.text("format")),
                           "the choices of --format are the formats");
  }
  const auto processors = static_cast<std::int64_t>(settings.number("processors-per-gpu"));
  return interop::import_trace(input,
                               {.format = format,
                                .processors_per_gpu = processors,
                                .signatures = interop::signature_names(signatures)});
}

interop::TraceWorkloadOptions workload_options(const StudySettings& settings) {
  interop::TraceWorkloadOptions options;
  options.memory_preset = settings.text("memory-preset");
  options.compute_bound_share = settings.number("compute-bound-share");
  options.speed_up = settings.number("speed-up");
  options.gangs = settings.text("gangs") == "drop" ? interop::GangHandling::kDrop
                                                   : interop::GangHandling::kKeep;
  return options;
}

Status set_arrivals(const StudySettings& settings, const StudyJobs& jobs, sim::StudySpec& spec) {
  spec.arrivals.kind =
      jobs.has_submit_times ? job::ArrivalKind::kTrace : job::ArrivalKind::kPoisson;
  if (settings.is_given("arrivals")) {
    spec.arrivals.kind = checked_value(job::parse_arrival_kind(settings.text("arrivals")),
                                       "the choices of --arrivals are kinds of arrivals");
  }
  const bool is_trace = spec.arrivals.kind == job::ArrivalKind::kTrace;
  if (is_trace && !jobs.has_submit_times) {
    return settings.located(
        "arrivals",
        Error{ErrorCode::kInvalidInput,
              fmt::format("{} is a list of jobs without submit times; "
                          "expected poisson, near-periodic, bursty, batch or artifact",
                          jobs.source_name)});
  }
  const bool is_batch = spec.arrivals.kind == job::ArrivalKind::kBatch;
  const bool is_fixed = is_trace || is_batch || spec.arrivals.kind == job::ArrivalKind::kArtifact;
  if (is_fixed && settings.is_given("gap")) {
    return settings.located(
        "gap",
        Error{ErrorCode::kInvalidInput,
              fmt::format("{} arrivals have gaps of their own; expected no gap, or other arrivals",
                          job::arrival_kind_name(spec.arrivals.kind))});
  }
  if (settings.is_given("batch-jobs")) {
    if (!is_batch) {
      return settings.located(
          "batch-jobs",
          Error{ErrorCode::kInvalidInput,
                "only a batch is made of a number of jobs; expected this with batch arrivals"});
    }
    spec.arrivals.batch_jobs = static_cast<int>(settings.number("batch-jobs"));
  }
  spec.arrivals.burstiness = settings.number("burstiness");
  spec.arrivals.is_rate_constant = settings.is_given("constant-rate");
  const std::string fallback = settings.text("trace") == "miso-1000" ? "10" : "60";
  auto gaps = sim::parse_gaps(settings.is_given("gap") ? settings.text("gap") : fallback);
  if (!gaps) {
    return settings.located("gap", gaps.error());
  }
  spec.gaps = *std::move(gaps);
  return {};
}

Status set_lists(const StudySettings& settings, const Context& context, sim::StudySpec& spec) {
  auto clusters = sim::parse_clusters(context.catalogue, settings.text("gpus"));
  if (!clusters) {
    return settings.located("gpus", clusters.error());
  }
  spec.clusters = *std::move(clusters);
  auto policies = sim::parse_policies(settings.text("policies"));
  if (!policies) {
    return settings.located("policies", policies.error());
  }
  spec.policies = *std::move(policies);
  auto seeds = sim::parse_seeds(settings.text("seeds"));
  if (!seeds) {
    return settings.located("seeds", seeds.error());
  }
  spec.seeds = *std::move(seeds);
  const bool is_few =
      spec.arrivals.kind == job::ArrivalKind::kArtifact && spec.workload->jobs.size() > 100;
  const std::string fallback = is_few ? fmt::format("1-{}", kArtifactSeedsLarge) : "1-20";
  auto layout_seeds = sim::parse_seeds(
      settings.is_given("layout-seeds") ? settings.text("layout-seeds") : fallback);
  if (!layout_seeds) {
    return settings.located("layout-seeds", layout_seeds.error());
  }
  spec.layout_seeds = *std::move(layout_seeds);
  return {};
}

Status set_layout(const StudySettings& settings, sim::StudySpec& spec) {
  if (!settings.is_given("layout")) {
    return {};
  }
  const gpu::Geometry& geometry = *spec.clusters.front().geometry;
  for (const sim::StudyCluster& cluster : spec.clusters) {
    if (cluster.geometry != &geometry) {
      return settings.located("layout",
                              Error{ErrorCode::kInvalidInput,
                                    "is for one GPU model; expected clusters of one model, or no "
                                    "layout"});
    }
  }
  const auto request = gpu::parse_layout_request(geometry, settings.text("layout"));
  if (!request) {
    return settings.located("layout", request.error());
  }
  const auto partition = gpu::place_layout_request(geometry, *request);
  if (!partition) {
    return settings.located("layout", Error{ErrorCode::kInvalidInput, partition.error().message});
  }
  gpu::Layout layout;
  for (const gpu::GpuInstance& instance : partition->instances) {
    const gpu::GpuInstanceProfile& profile = geometry.profile(instance.placed.profile);
    const bool is_whole =
        instance.compute_instances.size() == 1 &&
        gpu::is_full(geometry, instance.placed.profile, instance.compute_instances.front());
    if (profile.variant != gpu::ProfileVariant::kPlain || !is_whole) {
      return settings.located(
          "layout",
          Error{ErrorCode::kInvalidInput,
                fmt::format("{} is no plain GPU instance with one compute instance, and nothing is "
                            "known of speeds on others; expected profiles such as {}",
                            gpu::instance_text(geometry, instance),
                            geometry.profiles().front().name)});
    }
    layout.push_back(instance.placed);
  }
  if (layout.empty()) {
    return settings.located("layout", Error{ErrorCode::kInvalidInput, "names no instance"});
  }
  spec.layout = std::move(layout);
  return {};
}

void set_costs(const StudySettings& settings, sim::SimSetup& common) {
  common.costs.kind = checked_value(job::parse_cost_kind(settings.text("costs")),
                                    "the choices of --costs are kinds of costs");
  if (settings.is_given("checkpoint-rate")) {
    common.costs.checkpoint_bytes_per_s = settings.number("checkpoint-rate") * kBytesPerGibibyte;
  }
  if (settings.is_given("restart-rate")) {
    common.costs.restart_bytes_per_s = settings.number("restart-rate") * kBytesPerGibibyte;
  }
  common.costs.checkpoint_factor = settings.number("checkpoint-factor");
  common.costs.start_extra = seconds_to_duration(settings.number("start-extra"));
  if (settings.is_given("reset")) {
    common.device.full_reset = seconds_to_duration(settings.number("reset"));
  }
  common.mps.interference = settings.number("interference");
  common.whole_instance_speed = settings.number("whole-instance-speed");
  common.neighbour_loss = settings.number("neighbour-loss");
  common.error = {.mean = settings.number("error-mean"), .sd = settings.number("error-sd")};
}

void set_windows(const StudySettings& settings, sched::WindowSettings& windows) {
  windows.congested_per_gpu = settings.number("congested");
  windows.window = static_cast<int>(settings.number("window"));
  windows.rules.fairness = settings.number("fairness");
  windows.rules.mps_users = settings.text("mps-users") == "any"
                                ? plan::SharingRules::Users::kAnyUsers
                                : plan::SharingRules::Users::kSameUserOnly;
}

Status set_policy_options(const StudySettings& settings, sim::SimSetup& common) {
  if (settings.is_given("tick")) {
    common.controller.tick = seconds_to_duration(settings.number("tick"));
  }
  if (settings.is_given("serial-controller")) {
    common.controller.pace = control::Controller::Options::Pace::kSerial;
  }
  if (settings.is_given("objective")) {
    common.policy_setup.objective = plan::parse_objective(settings.text("objective"));
  }
  if (settings.is_given("levels")) {
    const auto levels = sim::parse_levels(settings.text("levels"));
    if (!levels) {
      return settings.located("levels", levels.error());
    }
    common.policy_setup.characterisation.levels = *levels;
  }
  if (settings.is_given("level-time")) {
    common.policy_setup.characterisation.per_level =
        seconds_to_duration(settings.number("level-time"));
  }
  common.policy_setup.recharacterise_threshold = settings.number("recharacterise-threshold");
  common.policy_setup.recharacterise_gap =
      seconds_to_duration(settings.number("recharacterise-gap"));
  set_windows(settings, common.policy_setup.windows);
  return {};
}

std::string leading_letters(std::string_view app) {
  const std::size_t end = app.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
  return std::string(app.substr(0, end));
}

/// Whether an app may be meant as this signature: the first word of one holds that of the other
/// ("resnet50:64", "resnet:64"), or has the same letters ("resent:64").
bool looks_like(std::string_view app, std::string_view signature) {
  constexpr std::size_t kLettersMin = 3;
  const std::string one = leading_letters(app);
  const std::string other = leading_letters(signature);
  if (one.size() < kLettersMin || other.size() < kLettersMin) {
    return false;
  }
  return one.find(other) != std::string::npos || other.find(one) != std::string::npos ||
         std::ranges::is_permutation(one, other);
}

/// Apps that are no signature but look like one, with the signatures they look like.
std::vector<std::string> near_apps(const interop::Trace& trace,
                                   std::span<const job::PerfSignature> own) {
  std::vector<std::string> known = interop::signature_names(job::builtin_signatures());
  for (const std::string& name : interop::signature_names(own)) {
    known.push_back(interop::normalised_app(name));
  }
  std::set<std::string> seen(known.begin(), known.end());
  std::vector<std::string> texts;
  for (const interop::TraceJob& job : trace.jobs) {
    const std::string app = interop::normalised_app(job.app);
    if (app.empty() || seen.size() > known.size() + kAppsMax || !seen.insert(app).second) {
      continue;
    }
    std::vector<std::string> alike;
    std::ranges::copy_if(
        known, std::back_inserter(alike), [&](const auto& name) { return looks_like(app, name); });
    const std::vector<std::string> near = nearest_names(app, alike, 2);
    if (!near.empty()) {
      texts.push_back(fmt::format("{} ({})", quoted_for_message(job.app), joined_with_and(near)));
    }
  }
  return texts;
}

/// Says which jobs are not simulated as measured.
void say_drawn(const StudyJobs& jobs,
               const interop::Trace& trace,
               std::span<const job::PerfSignature> own) {
  const auto count = static_cast<std::int64_t>(jobs.workload.jobs.size());
  if (jobs.jobs_measured == count) {
    return;
  }
  say_note(
      fmt::format("{}: {} of {} jobs have measured signatures; the speeds of the rest, and "
                  "their memory where the trace does not state it, are drawn (docs/traces.md)",
                  jobs.source_name,
                  jobs.jobs_measured,
                  count));
  std::vector<std::string> near = near_apps(trace, own);
  if (near.empty()) {
    return;
  }
  const std::size_t found = near.size();
  near.resize(std::min(found, std::size_t{3}));
  say_warning(fmt::format("{}: {} {} no signature, but near to some: {}{}; their jobs are drawn",
                          jobs.source_name,
                          found,
                          found == 1 ? "app is" : "apps are",
                          joined_with_and(near),
                          found > near.size() ? " ..." : ""));
}

}  // namespace

Result<StudyJobs> load_study_jobs(const StudySettings& settings) {
  StudyJobs jobs;
  const std::string trace = settings.text("trace");
  jobs.source_name = source_name_of(trace);
  if (is_builtin(trace)) {
    if (settings.is_given("signatures")) {
      return settings.located("signatures",
                              Error{ErrorCode::kInvalidInput,
                                    fmt::format("the jobs of {} have the built-in signatures; "
                                                "expected a trace file beside own signatures",
                                                trace)});
    }
    if (trace == job::kMixedName) {
      jobs.workload = job::mixed_workload();
    } else {
      SEPTULE_TRY(jobs.workload, job::miso_workload(trace));
    }
    jobs.jobs_in_trace = static_cast<std::int64_t>(jobs.workload.jobs.size());
    jobs.jobs_measured = jobs.jobs_in_trace;
    return jobs;
  }
  SEPTULE_TRY(const std::string text, read_trace_text(trace));
  Digest digest;
  digest.add(text);
  interop::TraceWorkloadOptions options = workload_options(settings);
  SEPTULE_TRY(options.signatures, load_signatures(settings.text("signatures"), digest));
  jobs.digest = digest.value();
  SEPTULE_TRY(interop::TraceImport import,
              import_text(settings, {text, jobs.source_name}, options.signatures));
  jobs.has_submit_times = import.trace.has_submit_times;
  jobs.findings = std::move(import.findings);
  Result<interop::TraceWorkload> loaded = interop::workload_from_trace(import.trace, options);
  if (!loaded) {
    say_findings(jobs.source_name, jobs.findings);  // they say why there is nothing to simulate
    return loaded.error();
  }
  interop::TraceWorkload made = std::move(loaded).value();
  jobs.jobs_in_trace = made.jobs_in_trace;
  for (interop::TraceFinding& finding : made.findings) {
    // What the import has said of the same rows is not said again.
    const bool is_said = std::ranges::any_of(jobs.findings, [&](const auto& said) {
      return said.kind == finding.kind && said.count == finding.count;
    });
    if (!is_said) {
      jobs.findings.push_back(std::move(finding));
    }
  }
  jobs.workload = std::move(made.workload);
  say_findings(jobs.source_name, jobs.findings);
  jobs.jobs_measured = made.jobs_measured;
  jobs.left_out = std::move(made.left_out);
  say_drawn(jobs, import.trace, options.signatures);
  return jobs;
}

Result<sim::StudySpec> study_spec(const StudySettings& settings,
                                  const StudyJobs& jobs,
                                  const Context& context) {
  sim::StudySpec spec;
  spec.workload = &jobs.workload;
  spec.common = sim::common_setup(settings.text("setting") == "artifact" ? sched::Setting::kArtifact
                                                                         : sched::Setting::kPaper);
  spec.common.latencies = &context.latencies;
  spec.common.gpus_per_node = static_cast<int>(settings.number("gpus-per-node"));
  SEPTULE_TRY_STATUS(set_arrivals(settings, jobs, spec));
  SEPTULE_TRY_STATUS(set_lists(settings, context, spec));
  SEPTULE_TRY_STATUS(set_layout(settings, spec));
  set_costs(settings, spec.common);
  SEPTULE_TRY_STATUS(set_policy_options(settings, spec.common));
  spec.checks = settings.is_given("check") ? sim::RunChecks::kOn : sim::RunChecks::kOff;
  return spec;
}

std::string trace_text(const StudyJobs& jobs, const sim::StudySpec& spec) {
  std::string text = fmt::format("{} ({} jobs)", jobs.source_name, jobs.workload.jobs.size());
  if (spec.arrivals.kind == job::ArrivalKind::kTrace) {
    return text + ", submitted as in the trace";
  }
  text += fmt::format(", {} arrivals", job::arrival_kind_name(spec.arrivals.kind));
  if (spec.arrivals.kind == job::ArrivalKind::kArtifact) {
    return text;
  }
  if (spec.arrivals.kind == job::ArrivalKind::kBatch) {
    return spec.arrivals.batch_jobs == 0
               ? text
               : text + fmt::format(" of {} of them", spec.arrivals.batch_jobs);
  }
  std::string gaps;
  for (const Duration gap : spec.gaps) {
    gaps += fmt::format("{}{}", gaps.empty() ? "" : ", ", gap.to_seconds());
  }
  return text + fmt::format(", mean gap {} s", gaps);
}

}  // namespace septule::app
