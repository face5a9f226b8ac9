#include "septule/serve_study.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "serve/forecasters.hpp"
#include "serve/policy_registry.hpp"
#include "serve/window_problem.hpp"

namespace septule::app {

namespace {

constexpr double kLengthMax = 7 * 86400;

std::vector<std::string> forecaster_names() {
  std::vector<std::string> names;
  for (const serve::ForecasterVariant& variant : serve::forecaster_variants()) {
    names.emplace_back(variant.name);
  }
  return names;
}

std::optional<serve::WarmUpQuantile> warm_up_option(const Invocation& invocation) {
  const std::string text = invocation.text("warm-up");
  if (text == "p50") {
    return serve::WarmUpQuantile::kP50;
  }
  if (text == "p90") {
    return serve::WarmUpQuantile::kP90;
  }
  if (text == "p99") {
    return serve::WarmUpQuantile::kP99;
  }
  return std::nullopt;  // drawn anew for each start
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
  options.warm_up = warm_up_option(invocation);
  return options;
}

/// The stretch of a series from `begin` on, second by second; a constant rate stays one value.
serve::RateSeries rate_window(const serve::RateSeries& rate, Duration begin, Duration length) {
  if (rate.values.size() == 1) {
    return rate;
  }
  const Duration second = Duration::milliseconds(1000);
  serve::RateSeries window{.step = second, .values = {}};
  for (Duration at; at < length; at += second) {
    window.values.push_back(serve::mean_rate(rate, begin + at, second));
  }
  return window;
}

}  // namespace

std::vector<OptionRecord> serve_study_options() {
  return {{.name = "gpus",
           .short_name = 'n',
           .value = "N",
           .text = "GPUs that serve.",
           .default_text = "1",
           .min = 1,
           .max = 1000,
           .is_integer = true},
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
           .is_integer = true}};
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

Result<ServeStudy> load_serve_study(const Invocation& invocation,
                                    const Context& context,
                                    const ServeInput& input) {
  ServeStudy study{.input = &input,
                   .latencies = &context.latencies,
                   .gpus = static_cast<int>(invocation.number("gpus")),
                   .forecaster = invocation.text("forecaster"),
                   .options = sim_options(invocation),
                   .begin = seconds_to_duration(std::floor(invocation.number("begin")))};
  study.options.length = seconds_to_duration(invocation.number("length"));
  const std::optional<Duration> trace = trace_length(input);
  if (trace && study.begin >= *trace) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("--begin: second {} is past the end of the rates, which end at {} s",
                             study.begin.to_seconds(),
                             trace->to_seconds())};
  }
  if (trace && study.begin + study.options.length > *trace) {
    say_warning(fmt::format("the rates end at {} s; from there on the last one holds",
                            trace->to_seconds()));
  }
  return study;
}

Result<std::vector<Duration>> window_begins(const ServeStudy& study, int count) {
  SEPTULE_CHECK(count >= 1, "there is at least one window");
  std::vector<Duration> begins;
  const std::optional<Duration> trace = trace_length(*study.input);
  const Duration room = trace ? *trace - study.begin - study.options.length : Duration();
  if (count > 1 && room < Duration::milliseconds(1000 * (static_cast<std::int64_t>(count) - 1))) {
    return Error{ErrorCode::kUsage,
                 fmt::format("--windows: {} windows of {} s need rates that change over more than "
                             "that; expected 1 window, or a longer trace",
                             count,
                             study.options.length.to_seconds())};
  }
  for (int i = 0; i < count; ++i) {
    const std::int64_t second =
        count == 1 ? 0 : static_cast<std::int64_t>(room.to_seconds()) * i / (count - 1);
    begins.push_back(study.begin + Duration::milliseconds(1000 * second));
  }
  return begins;
}

Result<PolicyChoice> parse_policy_choice(std::string_view text) {
  const std::string_view trimmed_text = trimmed(text);
  const std::size_t colon = trimmed_text.find(':');
  PolicyChoice choice{.label = std::string(trimmed_text),
                      .name = std::string(trimmed_text.substr(0, colon)),
                      .options = {}};
  SEPTULE_TRY_STATUS(serve::find_serving_policy(choice.name));
  if (colon == std::string_view::npos) {
    return choice;
  }
  for (const std::string_view item : split_outside_brackets(trimmed_text.substr(colon + 1), '+')) {
    const std::size_t sign = item.find('=');
    if (sign == std::string_view::npos || sign == 0) {
      return Error{ErrorCode::kUsage,
                   fmt::format("policy {}: {} is no option; expected NAME=VALUE, several joined "
                               "with +",
                               choice.name,
                               quoted_for_message(item))};
    }
    choice.options.set(trimmed(item.substr(0, sign)), trimmed(item.substr(sign + 1)));
  }
  return choice;
}

Result<job::ServingRecord> run_serving(const ServeStudy& study,
                                       const PolicyChoice& policy,
                                       Duration begin,
                                       std::uint64_t seed) {
  std::vector<serve::RateSeries> rates;
  std::vector<serve::AdmittedTenant> told = study.input->tenants;
  for (serve::AdmittedTenant& tenant : told) {
    rates.push_back(rate_window(tenant.tenant.rate, begin, study.options.length));
    tenant.tenant.rate = {.step = Duration::milliseconds(1000),
                          .values = {rates.back().values.front()}};
  }
  SEPTULE_TRY(const serve::ServingPolicyVariant* variant, serve::find_serving_policy(policy.name));
  const bool is_oracle =
      variant->foresight == serve::Foresight::kTrueRates || study.forecaster == "oracle";
  const serve::ServingSetup setup{.lattice = study.input->lattice.get(),
                                  .tenants = told,
                                  .gpu_count = study.gpus,
                                  .rule = study.input->rule,
                                  .forecaster = study.forecaster,
                                  .true_rates = is_oracle
                                                    ? std::span<const serve::RateSeries>(rates)
                                                    : std::span<const serve::RateSeries>(),
                                  .span = study.options.length,
                                  .seed = seed,
                                  .options = policy.options};
  SEPTULE_TRY(const std::unique_ptr<serve::ServingPolicy> made,
              serve::make_serving_policy(policy.name, setup));
  sim::ServingSimOptions options = study.options;
  options.seed = seed;
  SEPTULE_TRY(job::ServingRecord record,
              sim::simulate_serving({.lattice = study.input->lattice.get(),
                                     .tenants = told,
                                     .rates = rates,
                                     .gpu_count = study.gpus,
                                     .latencies = study.latencies,
                                     .options = options},
                                    *made));
  record.policy = policy.label;
  record.forecaster = study.forecaster;
  return record;
}

}  // namespace septule::app
