#include "sim/serving_study.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"

namespace septule::sim {
namespace {

constexpr std::size_t kTrialsMax = 1000000;
constexpr std::int64_t kSecondNs = 1000000000;

/// Sums over the runs of one policy.
struct Sums {
  std::vector<double> attainment;
  std::vector<double> accuracy;
  std::vector<double> p99_ms;
  double moves = 0;
  double moves_with_free_slot = 0;
  double lost = 0;
  double lost_in_place = 0;
  double needed = 0;
  double needed_in_place = 0;
  double gpus = 0;

  void add(const job::ServingRecord& run) {
    if (const auto part = job::attainment(run)) {
      attainment.push_back(*part);
    }
    if (const auto mean = job::mean_accuracy(run)) {
      accuracy.push_back(*mean);
    }
    std::optional<double> worst;
    for (const job::ServingTenantRecord& tenant : run.tenants) {
      if (tenant.p99_ms) {
        worst = std::max(worst.value_or(0), *tenant.p99_ms);
      }
    }
    if (worst) {
      p99_ms.push_back(*worst);
    }
    moves += static_cast<double>(run.moves);
    moves_with_free_slot += static_cast<double>(run.moves_with_free_slot);
    lost += run.capacity_lost;
    lost_in_place += run.capacity_lost_in_place;
    needed += run.needed_lost;
    needed_in_place += run.needed_lost_in_place;
    gpus += run.gpu_seconds_used / run.span.to_seconds();
  }
};

std::optional<job::Interval> interval_of(std::span<const double> values) {
  return values.empty() ? std::nullopt : std::optional(job::confidence_interval(values));
}

}  // namespace

serve::RateSeries cut_rate(const serve::RateSeries& rate, const ServingWindow& window) {
  serve::RateSeries cut{.step = rate.step, .values = {}};
  // Steps that begin within the window's grid; a finer grid where the window begins within a step.
  if (window.begin.to_nanoseconds() % rate.step.to_nanoseconds() != 0) {
    cut.step = Duration::nanoseconds(kSecondNs);
  }
  for (Duration at; at < window.length; at += cut.step) {
    cut.values.push_back(rate.at(SimTime() + window.begin + at));
  }
  return cut;
}

Result<ServingStudy> ServingStudy::make(ServingStudySpec spec) {
  const auto invalid = [](std::string message) {
    return Error{ErrorCode::kInvalidInput, std::move(message)};
  };
  if (spec.policies.empty() || spec.windows.empty() || spec.seeds.empty()) {
    return invalid("a study of serving needs a policy, a window and a seed");
  }
  if (spec.rates.size() != spec.tenants.size()) {
    return invalid(fmt::format(
        "there are {} tenants but request rates of {}", spec.tenants.size(), spec.rates.size()));
  }
  const auto has_rate = [](const serve::RateSeries& rate) {
    return !rate.values.empty() && rate.step > Duration();
  };
  for (std::size_t i = 0; i < spec.rates.size(); ++i) {
    if (!has_rate(spec.rates[i]) || !has_rate(spec.tenants[i].tenant.rate)) {
      return invalid(fmt::format("a study of serving needs true and expected request rates of {}",
                                 spec.tenants[i].tenant.name));
    }
  }
  for (const ServingWindow& window : spec.windows) {
    if (window.begin < Duration() || window.length <= Duration() ||
        window.length.to_nanoseconds() % kSecondNs != 0) {
      return invalid(
          fmt::format("a window begins at 0 s or later and lasts whole seconds, not {} s "
                      "from {} s on",
                      window.length.to_seconds(),
                      window.begin.to_seconds()));
    }
  }
  const std::size_t runs = spec.policies.size() * spec.windows.size() * spec.seeds.size();
  if (runs > kTrialsMax) {
    return invalid(fmt::format("a study of {} runs; at most {} are possible", runs, kTrialsMax));
  }
  for (const StudyServingPolicy& policy : spec.policies) {
    SEPTULE_TRY([[maybe_unused]] const auto* variant, serve::find_serving_policy(policy.name));
  }
  ServingStudy study(std::move(spec));
  for (std::size_t policy = 0; policy < study.spec_.policies.size(); ++policy) {
    for (std::size_t window = 0; window < study.spec_.windows.size(); ++window) {
      for (const std::uint64_t seed : study.spec_.seeds) {
        study.trials_.push_back({.policy = policy, .window = window, .seed = seed});
      }
    }
  }
  return study;
}

std::string ServingStudy::label_of(std::size_t policy) const {
  const StudyServingPolicy& chosen = spec_.policies[policy];
  return chosen.label.empty() ? chosen.name : chosen.label;
}

Result<job::ServingRecord> ServingStudy::run_trial(const ServingTrial& trial) const {
  const ServingWindow& window = spec_.windows[trial.window];
  std::vector<serve::RateSeries> rates;
  for (const serve::RateSeries& rate : spec_.rates) {
    rates.push_back(cut_rate(rate, window));
  }
  std::vector<serve::AdmittedTenant> tenants(spec_.tenants.begin(), spec_.tenants.end());
  for (serve::AdmittedTenant& tenant : tenants) {
    tenant.tenant.rate = cut_rate(tenant.tenant.rate, window);
  }
  serve::ServingSetup setup{.lattice = spec_.lattice,
                            .tenants = tenants,
                            .gpu_count = spec_.gpu_count,
                            .rule = spec_.rule,
                            .forecaster = spec_.forecaster,
                            .true_rates = rates,
                            .span = window.length,
                            .seed = trial.seed,
                            .options = spec_.policies[trial.policy].options};
  SEPTULE_TRY(const auto policy,
              serve::make_serving_policy(spec_.policies[trial.policy].name, setup));
  ServingSimSetup simulated{.lattice = spec_.lattice,
                            .tenants = tenants,
                            .rates = rates,
                            .gpu_count = spec_.gpu_count,
                            .latencies = spec_.latencies,
                            .options = spec_.options};
  simulated.options.seed = trial.seed;
  simulated.options.length = window.length;
  SEPTULE_TRY(job::ServingRecord record, simulate_serving(simulated, *policy));
  record.policy = label_of(trial.policy);
  record.forecaster = spec_.forecaster;
  if (!record.violations.empty()) {
    return Error{ErrorCode::kFailed,
                 fmt::format("policy {} cannot serve these tenants (run from {} s, seed {}): {}",
                             record.policy,
                             window.begin.to_seconds(),
                             trial.seed,
                             record.violations.front())};
  }
  return record;
}

std::vector<ServingSummary> ServingStudy::summarise(
    std::span<const job::ServingRecord> records) const {
  SEPTULE_CHECK(records.size() == trials_.size(), "there is a record for each run of the study");
  const std::size_t runs = spec_.windows.size() * spec_.seeds.size();
  std::vector<ServingSummary> summaries;
  for (std::size_t policy = 0; policy < spec_.policies.size(); ++policy) {
    ServingSummary summary;
    summary.label = label_of(policy);
    summary.runs = static_cast<int>(runs);
    Sums sums;
    for (const job::ServingRecord& run : records.subspan(policy * runs, runs)) {
      sums.add(run);
      summary.goodput_by_run.push_back(run.weighted_goodput / run.span.to_seconds());
      if (const auto hidden = job::overhead_hidden(run)) {
        summary.overhead_hidden_max = std::max(summary.overhead_hidden_max.value_or(0), *hidden);
      }
    }
    summary.goodput = job::confidence_interval(summary.goodput_by_run);
    summary.attainment = interval_of(sums.attainment);
    summary.accuracy = interval_of(sums.accuracy);
    summary.p99_ms = interval_of(sums.p99_ms);
    const auto count = static_cast<double>(runs);
    summary.moves = sums.moves / count;
    summary.gpus = sums.gpus / count;
    if (sums.moves > 0) {
      summary.free_slot_share = sums.moves_with_free_slot / sums.moves;
    }
    if (sums.lost_in_place > 0) {
      summary.overhead_hidden = 1 - sums.lost / sums.lost_in_place;
    }
    if (sums.needed_in_place > 0) {
      summary.needed_hidden = 1 - sums.needed / sums.needed_in_place;
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::optional<job::Interval> ServingSummary::relative_to(const ServingSummary& other) const {
  SEPTULE_CHECK(goodput_by_run.size() == other.goodput_by_run.size(),
                "policies of one study have equally many runs");
  std::vector<double> ratios;
  for (std::size_t i = 0; i < goodput_by_run.size(); ++i) {
    if (other.goodput_by_run[i] <= 0) {
      return std::nullopt;
    }
    ratios.push_back(goodput_by_run[i] / other.goodput_by_run[i]);
  }
  return job::confidence_interval(ratios);
}

}  // namespace septule::sim
