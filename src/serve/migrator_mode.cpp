#include "serve/migrator_mode.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/work_budget.hpp"
#include "serve/horizon_planner.hpp"
#include "serve/horizon_window.hpp"
#include "serve/rolling_horizon.hpp"

namespace septule::serve {

namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

}  // namespace

MigratorMode::MigratorMode(const LayoutLattice& lattice,
                           std::vector<AdmittedTenant> tenants,
                           int gpu_count,
                           const MigratorOptions& options,
                           std::vector<std::unique_ptr<Forecaster>> forecasters)
    : tenants_(std::move(tenants)),
      context_{.lattice = &lattice, .tenants = tenants_},
      options_(options),
      forecasters_(std::move(forecasters)),
      shares_(context_, gpu_count, 0.25),
      gpus_(static_cast<std::size_t>(gpu_count)),
      expected_(tenants_.size(), 0.0) {}

std::optional<Deployment> MigratorMode::decide(const ServingView& view) {
  for (std::size_t m = 0; m < forecasters_.size(); ++m) {
    const std::span<const double> arrived = view.tenants[m].arrived;
    for (std::size_t s = seconds_seen_; s < arrived.size(); ++s) {
      forecasters_[m]->observe(arrived[s]);
    }
  }
  seconds_seen_ = view.tenants.empty() ? 0 : view.tenants.front().arrived.size();
  const std::int64_t second = view.now.to_nanoseconds() / kSecondNs;
  if (means_.empty() || second % options_.window_s == 0) {
    begin_window(view);
  }
  const std::int64_t since = (view.now - window_begin_).to_nanoseconds();
  for (std::size_t m = 0; m < expected_.size(); ++m) {
    expected_[m] =
        means_[m][std::min(static_cast<std::size_t>(since / kSecondNs), means_[m].size() - 1)];
  }
  std::vector<GpuHoldings> wanted;
  for (Gpu& gpu : gpus_) {
    if (!gpu.plan.empty() && since % gpu.step.to_nanoseconds() == 0) {
      const auto index = static_cast<std::size_t>(since / gpu.step.to_nanoseconds());
      gpu.holdings = gpu.plan[std::min(index, gpu.plan.size() - 1)];
    }
    wanted.push_back(gpu.holdings);
  }
  Deployment deployment = to_deployment(context_, wanted);
  if (view.current != nullptr && deployment == *view.current) {
    return std::nullopt;
  }
  return deployment;
}

void MigratorMode::begin_window(const ServingView& view) {
  window_begin_ = view.now;
  means_.clear();
  std::vector<double> rates;
  for (const std::unique_ptr<Forecaster>& forecaster : forecasters_) {
    means_.push_back(forecaster->forecast(options_.window_s).mean_rps);
    rates.push_back(std::accumulate(means_.back().begin(), means_.back().end(), 0.0) /
                    options_.window_s);
  }
  shares_.deal(rates);
  for (std::size_t g = 0; g < gpus_.size(); ++g) {
    plan(g, view);
  }
}

void MigratorMode::plan(std::size_t index, const ServingView& view) {
  Gpu& gpu = gpus_[index];
  gpu.plan.clear();
  const std::vector<int> tenants = shares_.tenants_of(index);
  std::vector<TenantState> states(view.tenants.begin(), view.tenants.end());
  const SimTime end = view.now + Duration::milliseconds(std::int64_t{1000} * options_.window_s);
  bool has_job = false;
  for (const int tenant : tenants) {
    // A tenant of several GPUs retrains on the first of them.
    std::size_t home = 0;
    while (shares_.share(tenant, home) <= 0) {
      ++home;
    }
    TenantState& state = states[static_cast<std::size_t>(tenant)];
    state.retraining_left_s = home == index ? state.retraining_left_s : 0;
    has_job = has_job || is_retraining_due(state, end);
  }
  const int step_s = has_job ? options_.retraining_step_s : options_.step_s;
  const WindowShape shape{.step = Duration::milliseconds(std::int64_t{1000} * step_s),
                          .step_count = std::max(1, options_.window_s / step_s),
                          .terminal_steps = 0,
                          .dwell_factor = 0,
                          .churn = 0};
  std::vector<std::vector<double>> rates;
  for (const int tenant : tenants) {
    const std::vector<double>& means = means_[static_cast<std::size_t>(tenant)];
    std::vector<double>& row = rates.emplace_back();
    for (int step = 0; step < shape.step_count; ++step) {
      const auto first = means.begin() + std::ptrdiff_t{step} * step_s;
      row.push_back(std::accumulate(first, first + step_s, 0.0) / step_s *
                    shares_.share(tenant, index));
    }
  }
  HorizonWindow window = make_window(context_,
                                     shape,
                                     {.now = view.now,
                                      .holdings = &gpu.holdings,
                                      .tenants = tenants,
                                      .rates_rps = rates,
                                      .states = states},
                                     RetrainingRule::kPlanned);
  for (Label& label : window.problem.labels) {
    label.warm_up_steps = std::max(1, (options_.warm_up_s + step_s - 1) / step_s);
    label.creation_cost = 0;
  }
  WorkBudget budget(options_.units_max);
  const std::optional<GoodputPlan> planned = plan_horizon(window.problem, budget);
  if (!planned) {
    return;
  }
  gpu.step = shape.step;
  for (const LabelledLayout& layout : planned->layouts) {
    gpu.plan.push_back(window.holdings_of(layout, gpu.holdings, view.now));
  }
}

std::vector<OptionRecord> migrator_options() {
  const MigratorOptions defaults;
  return {
      {.name = "window",
       .value = "S",
       .text = "Length of a window, planned once.",
       .unit = "s",
       .default_text = std::to_string(defaults.window_s),
       .min = 10,
       .max = 3600,
       .is_integer = true},
      {.name = "warm-up",
       .value = "S",
       .text = "Warm-up of every tenant, as the plan believes.",
       .unit = "s",
       .default_text = std::to_string(defaults.warm_up_s),
       .min = 0,
       .max = 600,
       .is_integer = true},
      {.name = "units",
       .value = "N",
       .text = "Work per plan.",
       .default_text = std::to_string(defaults.units_max),
       .min = 1,
       .max = 1e12,
       .is_integer = true},
  };
}

Result<std::unique_ptr<ServingPolicy>> make_migrator(const ServingSetup& setup) {
  MigratorOptions options;
  options.window_s = static_cast<int>(setup.options.number("window", options.window_s));
  options.warm_up_s = static_cast<int>(setup.options.number("warm-up", options.warm_up_s));
  options.units_max = static_cast<std::int64_t>(
      setup.options.number("units", static_cast<double>(options.units_max)));
  SEPTULE_TRY(auto forecasters, make_forecasters(setup, setup.forecaster));
  std::vector<AdmittedTenant> tenants(setup.tenants.begin(), setup.tenants.end());
  AdmissionRule rule = setup.rule;
  rule.processes_max = 1;
  for (AdmittedTenant& admitted : tenants) {
    // A tenant that only MPS admits keeps its points: the paper would not serve it at all.
    AdmissionOutcome alone = admit(std::span(&admitted.tenant, 1), *setup.lattice, rule);
    if (alone.admitted.size() == 1) {
      admitted = std::move(alone.admitted.front());
    }
  }
  return std::unique_ptr<ServingPolicy>(std::make_unique<MigratorMode>(
      *setup.lattice, std::move(tenants), setup.gpu_count, options, std::move(forecasters)));
}

}  // namespace septule::serve
