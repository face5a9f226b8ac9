#include "septule/serve_study.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "base/work_budget.hpp"
#include "septule/study_runner.hpp"
#include "serve/forecasters.hpp"
#include "serve/policy_registry.hpp"
#include "sim/serving_bound.hpp"

namespace septule::app {

namespace {

constexpr double kLengthMax = 7 * 86400;
constexpr int kThreadsMax = 256;

std::vector<std::string> forecaster_names() {
  std::vector<std::string> names;
  for (const serve::ForecasterVariant& variant : serve::forecaster_variants()) {
    names.emplace_back(variant.name);
  }
  return names;
}

sim::ServingSimOptions sim_options(const Invocation& invocation) {
  sim::ServingSimOptions options;
  options.mode =
      invocation.text("mode") == "fluid" ? sim::ServingMode::kFluid : sim::ServingMode::kRequest;
  options.arrivals = invocation.text("arrivals") == "exact" ? sim::ArrivalDraw::kExact
                                                            : sim::ArrivalDraw::kPoisson;
  options.late = invocation.text("late") == "answered" ? sim::LateAnswers::kAnswered
                                                       : sim::LateAnswers::kDropped;
  options.start = invocation.text("begin-state") == "ready" ? sim::ServingStart::kReady
                                                            : sim::ServingStart::kCold;
  options.warm_up = warm_up_quantile(invocation.text("warm-up"));  // else drawn for each start
  return options;
}

}  // namespace

std::vector<OptionRecord> serve_study_options() {
  return {serving_gpus_option(1000),
          {.name = "forecaster",
           .value = "NAME",
           .text = "What policies foretell rates with; oracle: they know what will come.",
           .default_text = "ewma-trend",
           .choices = forecaster_names()},
          {.name = "mode",
           .value = "MODE",
           .text = "request: every request by itself, with queues and batches; fluid: as many as "
                   "capacity allows in each second.",
           .default_text = "fluid",
           .choices = {"fluid", "request"}},
          {.name = "arrivals",
           .value = "DRAW",
           .text = "How many requests come: poisson draws around the rate, exact is the rate.",
           .default_text = "poisson",
           .choices = {"poisson", "exact"}},
          {.name = "late",
           .value = "RULE",
           .text = "What happens to a request that can no longer meet its SLO.",
           .default_text = "dropped",
           .choices = {"dropped", "answered"}},
          {.name = "warm-up",
           .value = "QUANTILE",
           .text = "How long starts take: this quantile of each tenant's, or drawn for each.",
           .default_text = "p90",
           .choices = {"p50", "p90", "p99", "drawn"}},
          {.name = "begin-state",
           .value = "STATE",
           .text = "Whether what the policy wants first is ready at once, or warms up.",
           .default_text = "cold",
           .choices = {"cold", "ready"}},
          {.name = "begin",
           .value = "SECONDS",
           .text = "Where in the trace the (first) run begins.",
           .unit = "seconds",
           .default_text = "0",
           .min = 0,
           .max = 1e8},
          {.name = "length",
           .value = "SECONDS",
           .text = "How long a run is.",
           .unit = "seconds",
           .default_text = "200",
           .min = 1,
           .max = kLengthMax,
           .is_integer = true},
          {.name = "jobs",
           .short_name = 'j',
           .value = "N",
           .text = "Runs at a time; results do not depend on it. Without it: one per processor.",
           .min = 1,
           .max = kThreadsMax,
           .is_integer = true}};
}

Result<ServeStudy> load_serve_study(const Invocation& invocation,
                                    const Context& context,
                                    const ServeInput& input) {
  ServeStudy study{.input = &input, .rates = {}, .spec = {}};
  for (const serve::AdmittedTenant& tenant : input.tenants) {
    study.rates.push_back(tenant.tenant.rate);
  }
  study.spec.lattice = input.lattice.get();
  study.spec.tenants = input.tenants;
  study.spec.rates = study.rates;
  study.spec.rule = input.rule;
  study.spec.gpu_count = static_cast<int>(invocation.number("gpus"));
  study.spec.latencies = &context.latencies;
  study.spec.options = sim_options(invocation);
  study.spec.forecaster = invocation.text("forecaster");
  const sim::ServingWindow window{
      .begin = seconds_to_duration(std::floor(invocation.number("begin"))),
      .length = seconds_to_duration(invocation.number("length"))};
  SEPTULE_TRY_STATUS(check_rates_reach(input, window.begin, window.length));
  study.spec.windows = {window};
  return study;
}

Status spread_windows(ServeStudy& study, int count) {
  SEPTULE_CHECK(count >= 1, "there is at least one window");
  const sim::ServingWindow first = study.spec.windows.front();
  const std::optional<Duration> trace = trace_length(*study.input);
  const Duration room = trace ? *trace - first.begin - first.length : Duration();
  if (count > 1 && room < Duration::milliseconds(1000 * (static_cast<std::int64_t>(count) - 1))) {
    return Error{ErrorCode::kUsage,
                 fmt::format("--windows: {} windows of {} s need rates that change over more than "
                             "that; expected 1 window, or a longer trace",
                             count,
                             first.length.to_seconds())};
  }
  study.spec.windows.clear();
  for (int i = 0; i < count; ++i) {
    const std::int64_t second =
        count == 1 ? 0 : static_cast<std::int64_t>(room.to_seconds()) * i / (count - 1);
    study.spec.windows.push_back(
        {.begin = first.begin + Duration::milliseconds(1000 * second), .length = first.length});
  }
  return {};
}

Result<sim::StudyServingPolicy> parse_serving_policy(std::string_view text) {
  const std::string_view whole = trimmed(text);
  const std::size_t colon = whole.find(':');
  sim::StudyServingPolicy policy{
      .name = std::string(whole.substr(0, colon)), .options = {}, .label = std::string(whole)};
  SEPTULE_TRY([[maybe_unused]] const auto* variant, serve::find_serving_policy(policy.name));
  if (colon == std::string_view::npos) {
    return policy;
  }
  for (const std::string_view item : split_outside_brackets(whole.substr(colon + 1), '+')) {
    const std::size_t sign = item.find('=');
    if (sign == std::string_view::npos || sign == 0) {
      return Error{ErrorCode::kUsage,
                   fmt::format("policy {}: {} is no option; expected NAME=VALUE, several joined "
                               "with +",
                               policy.name,
                               quoted_for_message(item))};
    }
    policy.options.set(trimmed(item.substr(0, sign)), trimmed(item.substr(sign + 1)));
  }
  return policy;
}

namespace {

/// Work for the bounds of one window and seed: a day of four tenants.
constexpr std::int64_t kBoundUnits = 400000000;

/// What is kept of a run: of later ones of a policy only figures.
void trim(job::ServingRecord& run) {
  run.timeline.clear();
  for (job::ServingTenantRecord& tenant : run.tenants) {
    tenant.series.clear();
  }
}

/// Runs of one window and seed, by policy, share their bounds; the first one's series makes them.
struct BoundedRun {
  job::ServingRecord run;
  std::optional<sim::ServingBounds> bounds;  ///< only of the first policy
};

Result<BoundedRun> bounded_run(const sim::ServingStudy& study, const sim::ServingTrial& trial) {
  BoundedRun out;
  SEPTULE_TRY(out.run, study.run_trial(trial));
  if (trial.policy == 0) {
    WorkBudget budget(kBoundUnits);
    out.bounds = sim::serving_bounds(
        out.run, {.lattice = study.spec().lattice, .tenants = study.spec().tenants}, budget);
  }
  if (trial.window != 0 || trial.seed != study.spec().seeds.front()) {
    trim(out.run);
  }
  return out;
}

/// By the bounds of its window and seed.
std::optional<double> bound_of(const BoundedRun& first, const job::ServingRecord& run) {
  return first.bounds ? std::optional(first.bounds->of(run)) : std::nullopt;
}

int thread_count(const Invocation& invocation) {
  return invocation.is_given("jobs")
             ? static_cast<int>(invocation.number("jobs"))
             : std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kThreadsMax);
}

}  // namespace

Result<std::vector<report::ServingPolicyRuns>> run_serve_study(const ServeStudy& study,
                                                               const Invocation& invocation,
                                                               UnfitPolicies unfit) {
  SEPTULE_TRY(const sim::ServingStudy made, sim::ServingStudy::make(study.spec));
  const auto trials = made.trials();
  std::vector<Result<BoundedRun>> records(trials.size(),
                                          Error{ErrorCode::kFailed, "it was not run"});
  Progress progress("runs", records.size());
  SEPTULE_TRY_STATUS(run_parallel(records.size(), thread_count(invocation), [&](std::size_t i) {
    records[i] = bounded_run(made, trials[i]);
    progress.advance();
    return records[i] || unfit == UnfitPolicies::kLeaveOut ? Status() : Status(records[i].error());
  }));
  const std::size_t per_policy = study.spec.windows.size() * study.spec.seeds.size();
  std::vector<report::ServingPolicyRuns> policies;
  std::optional<Error> last;
  for (std::size_t policy = 0; policy < study.spec.policies.size(); ++policy) {
    report::ServingPolicyRuns result{.name = study.spec.policies[policy].label, .runs = {}};
    std::optional<Error> error;
    for (std::size_t i = 0; i < per_policy; ++i) {
      Result<BoundedRun>& one = records[policy * per_policy + i];
      if (!one) {
        error = error.value_or(one.error());
        continue;
      }
      result.runs.push_back(std::move(one.value().run));
      if (records[i]) {  // the first policy's, of the same window and seed
        result.runs.back().bound = bound_of(records[i].value(), result.runs.back());
      }
    }
    if (!error) {
      policies.push_back(std::move(result));
      continue;
    }
    say_warning(fmt::format("left out: {}", error->message));
    last = error;
  }
  return policies.empty() && last ? Result<std::vector<report::ServingPolicyRuns>>(*last)
                                  : std::move(policies);
}

}  // namespace septule::app
