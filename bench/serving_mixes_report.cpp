// Compares serving policies on the mixes of bench/serve/mixes.yaml (docs/benchmarks.md, "Serving
// mixes"); not a test. Usage:
//   serving_mixes_report MIXES [mode=fluid|request] [mix=NAME ...] [policy=NAME ...] [timeline=on]
//                        [hindsight=on] [septule:OPTION=VALUE ...]
// policy=NAME takes the name of a policy or the label of a line; timeline=on prints who had what;
// hindsight=on what whole MIG instances could have given, had the rates been known;
// septule:OPTION=VALUE sets an option of septule and septule-oracle.
// Files that MIXES names lie beside it or are reference material (traces, profiles): SEPTULE_SHARED
// names its root. Without it nothing is compared, and the program says so.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "job/metrics.hpp"
#include "job/serving_record.hpp"
#include "serve/policy_registry.hpp"
#include "serving_hindsight.hpp"
#include "serving_mixes.hpp"
#include "sim/serving_sim.hpp"
#include "support/read_file.hpp"

namespace septule {
namespace {

constexpr int kExitUnreadable = 3;

/// A policy of the comparison, with what it is called and whom Septule is compared with.
struct Contender {
  std::string label;
  std::string policy;
  std::vector<std::pair<std::string, std::string>> options;
};

std::vector<Contender> contenders() {
  return {{"septule", "septule", {}},
          {"ekya-like", "ekya-like", {}},
          {"astraea-like", "astraea-like", {}},
          {"paris-like", "paris-like", {}},
          {"ekya-like, last window", "ekya-like", {{"load", "last-window"}}},
          {"ekya-like, phi 0.68", "ekya-like", {{"phi", "0.68"}}},
          {"ekya-like, quantum 0.1", "ekya-like", {{"quanta", "10"}}},
          {"astraea-like, grid 1/7", "astraea-like", {{"grid", "7"}}},
          {"paris-like, last window", "paris-like", {{"load", "last-window"}}},
          {"paris-like, slice back", "paris-like", {{"return-slice", "yes"}}},
          {"parvagpu", "parvagpu", {}},
          {"parvagpu, per window", "parvagpu", {{"redeploy", "yes"}}},
          {"migrator", "migrator", {}},
          {"reactive-greedy", "reactive-greedy", {}},
          {"static-best", "static-best", {}},
          {"oracle-static", "oracle-static", {}},
          {"septule, hand-over", "septule", {{"hand-over", "planned"}}},
          {"septule-oracle", "septule-oracle", {}}};
}

template <class T>
T must(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "serving_mixes_report: {}\n", result.error().message);
    std::exit(kExitUnreadable);  // NOLINT(concurrency-mt-unsafe): one thread
  }
  return std::move(result).value();
}

/// What one run gave, over the scored windows only.
struct Outcome {
  std::vector<double> goodput;  // by window
  double arrived = 0;
  double in_slo = 0;
  double answered_well = 0;  // requests x accuracy
  int retrainings = 0;
  int missed = 0;
  std::int64_t moves = 0;
  std::int64_t free_moves = 0;
  std::optional<double> hidden;
  std::size_t violations = 0;

  double total() const {
    double sum = 0;
    for (const double value : goodput) {
      sum += value;
    }
    return sum;
  }
};

Outcome outcome_of(const job::ServingRecord& record, const bench::ServingMixes& mixes) {
  Outcome outcome;
  outcome.goodput.assign(static_cast<std::size_t>(mixes.windows), 0);
  for (const job::ServingTenantRecord& tenant : record.tenants) {
    for (const job::ServingPoint& point : tenant.series) {
      const auto second = static_cast<int>(point.begin.to_nanoseconds() / 1'000'000'000);
      const int window = second / mixes.window_s - mixes.lead_windows;
      if (window >= 0 && window < mixes.windows) {
        outcome.goodput[static_cast<std::size_t>(window)] += tenant.weight * point.goodput;
        outcome.arrived += point.arrived;
        outcome.in_slo += point.in_slo;
        outcome.answered_well += point.goodput;
      }
    }
    outcome.retrainings += tenant.retrainings_done;
    outcome.missed += tenant.retrainings_missed;
  }
  outcome.moves = record.moves;
  outcome.free_moves = record.moves_with_free_slot;
  outcome.hidden = job::overhead_hidden(record);
  outcome.violations = record.violations.size();
  for (const std::string& violation : record.violations) {
    fmt::print("  VIOLATION {}: {}\n", record.policy, violation);
  }
  return outcome;
}

/// Everything that stays the same for all runs of one mix.
struct MixRun {
  const bench::ServingMixes& mixes;
  const serve::LayoutLattice& lattice;
  const gpu::LatencyTable& latencies;
  sim::ServingMode mode;
  sim::ServingTimeline timeline;
  bool has_hindsight = false;
  std::vector<serve::AdmittedTenant> tenants;
  std::vector<serve::RateSeries> rates;
  std::vector<std::pair<std::string, std::string>> septule_options;
};

Outcome run(const MixRun& mix, const Contender& contender) {
  const Duration length = Duration::milliseconds(std::int64_t{1000} * mix.mixes.length_s());
  serve::ServingSetup setup{.lattice = &mix.lattice,
                            .tenants = mix.tenants,
                            .gpu_count = mix.mixes.gpus,
                            .forecaster = mix.mixes.forecaster,
                            .true_rates = mix.rates,
                            .span = length,
                            .seed = mix.mixes.seed};
  for (const auto& [name, value] : contender.options) {
    setup.options.set(name, value);
  }
  if (contender.policy.starts_with("septule")) {
    for (const auto& [name, value] : mix.septule_options) {
      setup.options.set(name, value);
    }
  }
  const auto policy = must(serve::make_serving_policy(contender.policy, setup));
  const job::ServingRecord record =
      must(sim::simulate_serving({.lattice = &mix.lattice,
                                  .tenants = mix.tenants,
                                  .rates = mix.rates,
                                  .gpu_count = mix.mixes.gpus,
                                  .latencies = &mix.latencies,
                                  .options = {.mode = mix.mode,
                                              .start = sim::ServingStart::kReady,
                                              .timeline = mix.timeline,
                                              .seed = mix.mixes.seed,
                                              .length = length}},
                                 *policy));
  for (const job::ServingSpan& span : record.timeline) {
    fmt::print("  {:>6.0f} to {:>6.0f} s, GPU {}:",
               span.begin.to_seconds(),
               span.end.to_seconds(),
               span.gpu);
    for (const job::ServingSpan::Use& use : span.uses) {
      fmt::print(
          " {}+{} {}{};", use.start, use.size, use.label, use.is_warming_up ? " (warms)" : "");
    }
    fmt::print("\n");
  }
  return outcome_of(record, mix.mixes);
}

std::string interval_text(std::span<const double> values) {
  if (values.empty()) {
    return "N/A";
  }
  const job::Interval interval = job::confidence_interval(values);
  if (!interval.low.has_value() || !interval.high.has_value()) {
    return fmt::format("{:.3f}", interval.mean);
  }
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", interval.mean, *interval.low, *interval.high);
}

std::string share_text(double part, double whole) {
  return whole > 0 ? fmt::format("{:.3f}", part / whole) : "N/A";
}

/// septule / contender by window; windows in which the other has nothing are left out.
std::vector<double> ratios(const Outcome& septule, const Outcome& other) {
  std::vector<double> values;
  for (std::size_t window = 0; window < septule.goodput.size(); ++window) {
    if (other.goodput[window] > 0) {
      values.push_back(septule.goodput[window] / other.goodput[window]);
    }
  }
  return values;
}

void print_line(const Contender& contender, const Outcome& outcome, const Outcome* septule) {
  fmt::print(
      "| {:<24} | {:>11.0f} | {:>23} | {:>10} | {:>8} | {:>4} | {:>6} | {:>5} | {:>5} | "
      "{:>6} |\n",
      contender.label,
      outcome.total(),
      septule == nullptr ? "" : interval_text(ratios(*septule, outcome)),
      share_text(outcome.in_slo, outcome.arrived),
      share_text(outcome.answered_well, outcome.in_slo),
      outcome.retrainings,
      outcome.missed,
      outcome.moves,
      outcome.free_moves,
      outcome.hidden.has_value() ? fmt::format("{:.3f}", *outcome.hidden) : "N/A");
  std::fflush(stdout);
}

using Outcomes = std::map<std::string, Outcome>;  // by label

/// What could have been had, and the ratio to each line above that this would have been.
void print_hindsight(const bench::Hindsight& hindsight, const Outcomes& outcomes) {
  fmt::print(
      "\nplan that knows the rates: {:.0f} (attainment {}, accuracy {}, {} retrained); no plan "
      "exceeds {:.0f}\n",
      hindsight.goodput,
      share_text(hindsight.in_slo, hindsight.arrived),
      share_text(hindsight.goodput, hindsight.in_slo),
      hindsight.retrained,
      hindsight.bound);
  for (const auto& [label, outcome] : outcomes) {
    fmt::print("  against {}: {:.3f}, at most {:.3f}\n",
               label,
               hindsight.goodput / outcome.total(),
               hindsight.bound / outcome.total());
  }
}

Outcomes run_mix(const bench::ServingMix& mix,
                 const MixRun& common,
                 const std::set<std::string>& policies) {
  MixRun made = common;
  double factor = 0;
  made.tenants = must(bench::scaled_tenants(common.lattice, mix, factor));
  for (const serve::AdmittedTenant& tenant : made.tenants) {
    made.rates.push_back(tenant.tenant.rate);
  }
  fmt::print("\n### {} (load {}, {}; {})\n\n",
             mix.name,
             mix.load,
             mix.is_in_regime ? "regime" : "not the regime",
             mix.why);
  for (const serve::AdmittedTenant& tenant : made.tenants) {
    fmt::print("{}: mean {:.1f}/s, peak {:.1f}/s\n",
               tenant.tenant.name,
               bench::mean_rate(tenant.tenant.rate),
               tenant.tenant.rate.peak());
  }
  fmt::print(
      "\n| policy | goodput | septule / policy by window | attainment | accuracy | done | "
      "missed | moves | free | hidden |\n|---|---|---|---|---|---|---|---|---|---|\n");
  Outcomes outcomes;
  for (const Contender& contender : contenders()) {
    if (!policies.empty() && !policies.contains(contender.policy) &&
        !policies.contains(contender.label)) {
      continue;
    }
    const Outcome outcome = run(made, contender);
    const auto septule = outcomes.find("septule");
    print_line(contender, outcome, septule == outcomes.end() ? nullptr : &septule->second);
    outcomes[contender.label] = outcome;
  }
  if (common.has_hindsight) {
    print_hindsight(must(bench::hindsight_of(made.mixes, made.lattice, made.tenants)), outcomes);
  }
  return outcomes;
}

/// Of all mixes of the regime together: ratios by window, and of totals by mix.
void print_pooled(const std::vector<std::pair<const bench::ServingMix*, Outcomes>>& all) {
  fmt::print(
      "\n## The regime, pooled\n\n| septule against | ratio over windows | ratio of totals "
      "over mixes | windows |\n|---|---|---|---|\n");
  for (const Contender& contender : contenders()) {
    std::vector<double> by_window;
    std::vector<double> by_mix;
    for (const auto& [mix, outcomes] : all) {
      const auto septule = outcomes.find("septule");
      const auto other = outcomes.find(contender.label);
      if (!mix->is_in_regime || septule == outcomes.end() || other == outcomes.end()) {
        continue;
      }
      const std::vector<double> values = ratios(septule->second, other->second);
      by_window.insert(by_window.end(), values.begin(), values.end());
      if (other->second.total() > 0) {
        by_mix.push_back(septule->second.total() / other->second.total());
      }
    }
    if (!by_window.empty() && !by_mix.empty() && contender.label != "septule") {
      fmt::print("| {} | {} | {} | {} |\n",
                 contender.label,
                 interval_text(by_window),
                 interval_text(by_mix),
                 by_window.size());
    }
  }
  double hidden_max = 0;
  std::vector<double> hidden;
  std::int64_t moves = 0;
  std::int64_t free_moves = 0;
  for (const auto& [mix, outcomes] : all) {
    const auto septule = outcomes.find("septule");
    if (septule != outcomes.end()) {
      moves += septule->second.moves;
      free_moves += septule->second.free_moves;
      if (septule->second.hidden.has_value()) {
        hidden.push_back(*septule->second.hidden);
        hidden_max = std::max(hidden_max, *septule->second.hidden);
      }
    }
  }
  if (!hidden.empty()) {
    fmt::print(
        "\nOverhead hidden by septule, all mixes: mean {}, max {:.3f}; moves with a free "
        "slot {} of {}\n",
        interval_text(hidden),
        hidden_max,
        free_moves,
        moves);
  }
}

int report(int argc, char** argv) {
  const char* const root = std::getenv("SEPTULE_SHARED");  // NOLINT(concurrency-mt-unsafe)
  if (argc < 2 || root == nullptr || *root == '\0') {
    fmt::print(
        stderr,
        "serving_mixes_report: SKIPPED, nothing was compared: it needs the mixes file as its "
        "argument and the reference material's root in SEPTULE_SHARED\n");
    return 0;
  }
  sim::ServingMode mode = sim::ServingMode::kFluid;
  sim::ServingTimeline timeline = sim::ServingTimeline::kOff;
  bool has_hindsight = false;
  std::set<std::string> names;
  std::set<std::string> policies;
  std::vector<std::pair<std::string, std::string>> septule_options;
  for (int i = 2; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::size_t equals = argument.find('=');
    const std::string_view key = argument.substr(0, equals);
    const std::string value(equals == std::string_view::npos ? "" : argument.substr(equals + 1));
    if (key.starts_with("septule:")) {
      septule_options.emplace_back(key.substr(8), value);
    } else if (key == "mode") {
      mode = value == "request" ? sim::ServingMode::kRequest : sim::ServingMode::kFluid;
    } else if (key == "timeline") {
      timeline = value == "on" ? sim::ServingTimeline::kOn : sim::ServingTimeline::kOff;
    } else if (key == "mix") {
      names.insert(value);
    } else if (key == "policy") {
      policies.insert(value);
    } else if (key == "hindsight") {
      has_hindsight = value == "on";
    }
  }
  const std::filesystem::path data = std::filesystem::path(root) / "data/serving";
  const std::filesystem::path beside = std::filesystem::path(argv[1]).parent_path();
  const interop::TextLoader load = [&](const std::string& name) -> Result<std::string> {
    return test::read_file(std::filesystem::exists(beside / name) ? beside / name : data / name);
  };
  const std::string text = test::read_file(argv[1]);
  const bench::ServingMixes mixes = must(bench::read_serving_mixes({text, argv[1]}, load));
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const serve::LayoutLattice lattice =
      must(serve::LayoutLattice::make(*must(catalogue.find(mixes.gpu)), gpu::ProfileSet::kPlain));
  const gpu::LatencyTable latencies = gpu::load_builtin_latencies();
  const MixRun common{
      mixes, lattice, latencies, mode, timeline, has_hindsight, {}, {}, septule_options};
  fmt::print("# Serving mixes: {} mode, forecaster {}, {} windows of {} s after {} to learn from\n",
             mode == sim::ServingMode::kFluid ? "fluid" : "request",
             mixes.forecaster,
             mixes.windows,
             mixes.window_s,
             mixes.lead_windows);
  std::vector<std::pair<const bench::ServingMix*, Outcomes>> all;
  for (const bench::ServingMix& mix : mixes.mixes) {
    if (names.empty() || names.contains(mix.name)) {
      all.emplace_back(&mix, run_mix(mix, common, policies));
    }
  }
  print_pooled(all);
  return 0;
}

}  // namespace
}  // namespace septule

int main(int argc, char** argv) {
  return septule::report(argc, argv);
}
