#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "serve/forecasters.hpp"
#include "serve/rolling_horizon.hpp"

namespace septule::serve {

namespace {

OptionRecord number_record(std::string_view name, std::string_view text, double value) {
  return {.name = std::string(name),
          .value = "NUMBER",
          .text = std::string(text),
          .default_text = fmt::format("{}", value),
          .min = 0};
}

OptionRecord whole_record(std::string_view name, std::string_view text, std::int64_t value) {
  OptionRecord record = number_record(name, text, static_cast<double>(value));
  record.value = "N";
  record.default_text = fmt::format("{}", value);
  record.min = 1;
  record.max = 1e12;
  record.is_integer = true;
  return record;
}

OptionRecord seconds_record(std::string_view name, std::string_view text, std::int64_t value) {
  OptionRecord record = whole_record(name, text, value);
  record.value = "S";
  record.unit = "s";
  record.max = 3600;
  return record;
}

constexpr int kHorizonSecondsMin = 60;
constexpr int kHorizonSecondsMax = 3600;
/// A plan that sees less than this many warm-ups ahead finds that moves do not pay, and starves
/// tenants whose models load slowly (tests/serve/rolling_horizon_test.cpp).
constexpr int kHorizonWarmUps = 6;
constexpr int kTerminalSeconds = 12;
constexpr int kStepSecondsMin = 2;
constexpr int kStepSecondsMax = 10;

/// The least whole number of seconds in which some tenant warms up: with such a step its plans are
/// exact (serving.md 2.4).
int fitting_step_s(std::span<const AdmittedTenant> tenants, WarmUpQuantile quantile) {
  std::int64_t least = INT64_MAX;
  for (const AdmittedTenant& admitted : tenants) {
    const std::int64_t ns = warm_up_of(admitted.tenant.warm_up, quantile).to_nanoseconds();
    least = std::min(least, (ns + 999'999'999) / 1'000'000'000);
  }
  return static_cast<int>(std::clamp<std::int64_t>(least, kStepSecondsMin, kStepSecondsMax));
}

/// A minute, or longer where warm-ups are long.
int fitting_horizon_s(std::span<const AdmittedTenant> tenants, WarmUpQuantile quantile) {
  std::int64_t longest_ns = 0;
  for (const AdmittedTenant& admitted : tenants) {
    longest_ns =
        std::max(longest_ns, warm_up_of(admitted.tenant.warm_up, quantile).to_nanoseconds());
  }
  const std::int64_t longest_s = (longest_ns + 999'999'999) / 1'000'000'000;
  return static_cast<int>(std::clamp<std::int64_t>(
      kHorizonWarmUps * longest_s, kHorizonSecondsMin, kHorizonSecondsMax));
}

WarmUpQuantile quantile_named(std::string_view name) {
  return name == "p50"   ? WarmUpQuantile::kP50
         : name == "p99" ? WarmUpQuantile::kP99
                         : WarmUpQuantile::kP90;
}

HorizonOptions horizon_options(const ServingSetup& setup) {
  const PolicyOptions& given = setup.options;
  HorizonOptions options;
  const auto whole = [&](std::string_view name, std::int64_t fallback) {
    return static_cast<std::int64_t>(given.number(name, static_cast<double>(fallback)));
  };
  options.dealing = given.text("dealing", "plan") == "row" ? Dealing::kInARow : Dealing::kFleetPlan;
  options.z = given.number("z", options.z);
  options.spread = given.number("spread", options.spread);
  options.shape.warm_up = quantile_named(given.text("warm-up", "p90"));
  const int step_s =
      static_cast<int>(whole("step", fitting_step_s(setup.tenants, options.shape.warm_up)));
  const int horizon_s =
      static_cast<int>(whole("horizon", fitting_horizon_s(setup.tenants, options.shape.warm_up)));
  options.shape.step = Duration::milliseconds(std::int64_t{1000} * step_s);
  options.shape.step_count = std::max(1, horizon_s / step_s);
  options.shape.terminal_steps =
      static_cast<int>(given.number("terminal", kTerminalSeconds)) / step_s;
  options.shape.dwell_factor = given.number("dwell", options.shape.dwell_factor);
  options.shape.churn = given.number("churn", options.shape.churn);
  options.shape.hand_over =
      given.text("hand-over", "unplanned") == "planned" ? HandOver::kRelabel : HandOver::kNone;
  options.commit_s = static_cast<int>(whole("commit", options.commit_s));
  options.retraining_s = static_cast<int>(whole("retraining-horizon", options.retraining_s));
  options.caution = given.number("caution", options.caution);
  options.fleet_s = static_cast<int>(whole("fleet", options.fleet_s));
  options.moves_max = static_cast<int>(whole("moves", options.moves_max));
  options.gap = given.number("gap", options.gap);
  options.drift = given.number("drift", options.drift);
  options.units_max = whole("units", options.units_max);
  return options;
}

Result<std::unique_ptr<ServingPolicy>> make_named(std::string_view name,
                                                  std::string_view forecaster,
                                                  const ServingSetup& setup) {
  SEPTULE_TRY(auto forecasters, make_forecasters(setup, forecaster));
  return std::unique_ptr<ServingPolicy>(std::make_unique<RollingHorizon>(
      name,
      HoldingContext{.lattice = setup.lattice, .tenants = setup.tenants},
      setup.gpu_count,
      horizon_options(setup),
      std::move(forecasters)));
}

}  // namespace

std::vector<OptionRecord> septule_serving_options() {
  const HorizonOptions defaults;
  OptionRecord step = seconds_record("step", "Length of a step of a plan.", 1);
  step.default_text = "the shortest warm-up";
  OptionRecord horizon = seconds_record("horizon", "Length of a plan.", kHorizonSecondsMin);
  horizon.default_text = "60, or 6 of the longest warm-up";
  return {
      number_record(
          "z", "Plan for the mean of the forecast and so many of its margins.", defaults.z),
      number_record("spread",
                    "Scenarios of a plan are so many margins wide; 0 is one scenario.",
                    defaults.spread),
      step,
      horizon,
      number_record("terminal",
                    "The last layout of a plan is valued for so many seconds more.",
                    kTerminalSeconds),
      seconds_record("commit", "A plan is followed for so long.", defaults.commit_s),
      seconds_record(
          "retraining-horizon", "Length of a plan with a job to be placed.", defaults.retraining_s),
      number_record(
          "caution", "What a retraining takes from others counts so many times.", defaults.caution),
      seconds_record("fleet", "Tenants are dealt out to GPUs so often.", defaults.fleet_s),
      number_record(
          "dwell", "An instance stays for so many warm-ups.", defaults.shape.dwell_factor),
      number_record("churn",
                    "A creation costs this share of what it earns in a warm-up.",
                    defaults.shape.churn),
      whole_record("moves", "Instances created on a GPU in a minute.", defaults.moves_max),
      number_record(
          "gap", "No plan is sought while what stands is so close to the bound.", defaults.gap),
      number_record(
          "drift", "No plan is sought while the forecast moved no more than this.", defaults.drift),
      whole_record("units", "Work per plan.", defaults.units_max),
      {.name = "dealing",
       .value = "HOW",
       .text = "How tenants are dealt out to several GPUs.",
       .default_text = "plan",
       .choices = {"plan", "row"}},
      {.name = "hand-over",
       .value = "HOW",
       .text = "Whether plans count on an instance that stays being handed over warm.",
       .default_text = "unplanned",
       .choices = {"unplanned", "planned"}},
      {.name = "warm-up",
       .value = "QUANTILE",
       .text = "Quantile of the warm-ups to plan with.",
       .default_text = "p90",
       .choices = {"p50", "p90", "p99"}},
  };
}

Result<std::vector<std::unique_ptr<Forecaster>>> make_forecasters(const ServingSetup& setup,
                                                                  std::string_view name) {
  std::vector<std::unique_ptr<Forecaster>> forecasters;
  for (std::size_t m = 0; m < setup.tenants.size(); ++m) {
    ForecasterSetup one{.prior_rps = setup.tenants[m].tenant.rate.at(SimTime())};
    one.truth = m < setup.true_rates.size() ? &setup.true_rates[m] : nullptr;
    SEPTULE_TRY(auto forecaster, make_forecaster(name, one));
    forecasters.push_back(std::move(forecaster));
  }
  return forecasters;
}

Result<std::unique_ptr<ServingPolicy>> make_septule_serving(const ServingSetup& setup) {
  return make_named("septule", setup.forecaster, setup);
}

Result<std::unique_ptr<ServingPolicy>> make_septule_oracle(const ServingSetup& setup) {
  return make_named("septule-oracle", "oracle", setup);
}

}  // namespace septule::serve
