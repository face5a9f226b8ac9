#include "serve/rolling_horizon.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "base/work_budget.hpp"
#include "serve/horizon_planner.hpp"
#include "serve/horizon_seconds.hpp"

namespace septule::serve {

namespace {

int seconds_between(SimTime from, SimTime to) {
  return static_cast<int>((to - from).to_nanoseconds() / 1'000'000'000);
}

/// A plan that changed nothing is believed for so long at most.
constexpr int kSameSecondsMax = 60;
constexpr int kMoveWindowSeconds = 60;

/// Margins off the mean of the scenario that a step stands for: three equally likely points with
/// the variance of one margin. Objectives are sums over tenants, so it does not matter which
/// scenarios of different tenants meet; over the steps that a layout stands all of them are met.
double scenario(int index) {
  constexpr double kPoints[] = {0, 1.2247448713915890, -1.2247448713915890};
  return kPoints[index % 3];
}

}  // namespace

RollingHorizon::RollingHorizon(std::string_view name,
                               const HoldingContext& context,
                               int gpu_count,
                               const HorizonOptions& options,
                               std::vector<std::unique_ptr<Forecaster>> forecasters)
    : name_(name),
      context_(context),
      options_(options),
      forecasters_(std::move(forecasters)),
      greedy_(context, gpu_count, {}),
      triggers_(context.tenants.size(), options.triggers),
      shares_(context, gpu_count, 0.25),
      gpus_(static_cast<std::size_t>(gpu_count)),
      expected_(context.tenants.size(), 0.0),
      promised_(context.tenants.size(), 0.0) {
  SEPTULE_CHECK(forecasters_.size() == context.tenants.size(), "each tenant has a forecaster");
}

bool RollingHorizon::Gpu::is_retraining(int tenant) const {
  return std::ranges::any_of(holdings, [&](const Holding& holding) {
    return holding.role == Role::kRetrain && holding.tenant == tenant;
  });
}

void RollingHorizon::observe(const ServingView& view) {
  for (std::size_t m = 0; m < forecasters_.size(); ++m) {
    const std::span<const double> arrived = view.tenants[m].arrived;
    for (std::size_t s = seconds_seen_; s < arrived.size(); ++s) {
      forecasters_[m]->observe(arrived[s]);
    }
  }
  seconds_seen_ = view.tenants.empty() ? 0 : view.tenants.front().arrived.size();
  greedy_.observe(view);
}

std::optional<Trigger> RollingHorizon::look(const ServingView& view) {
  std::vector<HorizonTriggers::Expectation> expected;
  for (std::size_t m = 0; m < forecasters_.size(); ++m) {
    HorizonTriggers::Expectation& said = expected.emplace_back();
    said = {.mean_rps = expected_[m], .promised_rps = promised_[m]};
    if (!forecast_at_.is_never()) {
      const std::vector<double>& margins = forecasts_[m].margin_rps;
      const auto lead =
          static_cast<std::size_t>(std::max(0, seconds_between(forecast_at_, view.now) - 1));
      said.margin_rps = margins[std::min(lead, margins.size() - 1)];
    }
  }
  HorizonTriggers::Instances instances = HorizonTriggers::Instances::kAsOrdered;
  if (view.current != nullptr) {
    std::vector<GpuHoldings> ordered;
    for (const Gpu& gpu : gpus_) {
      ordered.push_back(gpu.holdings);
    }
    std::vector<GpuHoldings> found = adopted(context_, *view.current, ordered, view.now);
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      if (!is_same_use(found[g], gpus_[g].holdings)) {
        instances = HorizonTriggers::Instances::kOther;
      }
      gpus_[g].holdings = std::move(found[g]);
    }
  }
  return triggers_.look(view, expected, instances);
}

void RollingHorizon::deal(const ServingView& view) {
  if (view.now < fleet_due_) {
    return;
  }
  fleet_due_ = view.now + whole_seconds(options_.fleet_s);
  std::vector<double> rates;
  for (std::size_t m = 0; m < forecasters_.size(); ++m) {
    const RateForecast forecast = forecasters_[m]->forecast(options_.fleet_s);
    double sum = 0;
    for (std::size_t i = 0; i < forecast.mean_rps.size(); ++i) {
      sum += forecast.mean_rps[i] + options_.z * forecast.margin_rps[i];
    }
    rates.push_back(sum / options_.fleet_s);
  }
  if (!shares_.is_due(rates)) {
    return;
  }
  std::optional<ShareTable> planned;
  if (gpus_.size() > 1 && options_.dealing == Dealing::kFleetPlan) {
    std::vector<GpuHoldings> current;
    for (const Gpu& gpu : gpus_) {
      current.push_back(gpu.holdings);
    }
    planned = fleet_shares(context_, rates, current);
  }
  if (planned) {
    shares_.take(std::move(*planned), rates);
  } else {
    shares_.deal(rates);
  }
  for (std::size_t g = 0; g < gpus_.size(); ++g) {
    Gpu& gpu = gpus_[g];
    std::vector<int> tenants = shares_.tenants_of(g);
    for (const Holding& holding : gpu.holdings) {
      // A running job keeps its place although its tenant is served elsewhere from now on.
      if (holding.role == Role::kRetrain && !std::ranges::binary_search(tenants, holding.tenant)) {
        tenants.insert(std::ranges::lower_bound(tenants, holding.tenant), holding.tenant);
      }
    }
    if (tenants != gpu.tenants) {
      gpu.tenants = std::move(tenants);
      gpu.book = CapacityBook(context_, gpu.tenants);
    }
    gpu.due = view.now;
    gpu.changes_nothing = false;
  }
}

void RollingHorizon::forecast(SimTime now) {
  if (forecast_at_ == now) {
    return;
  }
  const int seconds = std::max({options_.retraining_s,
                                options_.commit_s,
                                seconds_of(options_.shape.step) * options_.shape.step_count}) +
                      seconds_of(options_.shape.step);
  forecasts_.clear();
  for (const std::unique_ptr<Forecaster>& forecaster : forecasters_) {
    forecasts_.push_back(forecaster->forecast(seconds));
  }
  forecast_at_ = now;
}

std::vector<std::vector<double>> RollingHorizon::window_rates(std::size_t gpu,
                                                              int step_s,
                                                              int steps,
                                                              Scenarios scenarios) const {
  const double spread = scenarios == Scenarios::kAll ? options_.spread : 0;
  std::vector<std::vector<double>> rates;
  for (const int tenant : gpus_[gpu].tenants) {
    const RateForecast& forecast = forecasts_[static_cast<std::size_t>(tenant)];
    std::vector<double>& row = rates.emplace_back();
    for (int step = 0; step < steps; ++step) {
      const double margins = options_.z + spread * scenario(step == steps - 1 ? 0 : step + tenant);
      double sum = 0;
      for (int s = 0; s < step_s; ++s) {
        const auto lead = static_cast<std::size_t>(step) * static_cast<std::size_t>(step_s) +
                          static_cast<std::size_t>(s);
        sum += std::max(0.0, forecast.mean_rps[lead] + margins * forecast.margin_rps[lead]);
      }
      row.push_back(sum / step_s * shares_.share(tenant, gpu));
    }
  }
  return rates;
}

void RollingHorizon::plan(std::size_t index, const ServingView& view) {
  Gpu& gpu = gpus_[index];
  gpu.due = view.now + whole_seconds(options_.commit_s);
  const std::vector<TenantState> states = states_for(index, view);
  drop_jobs(states, view.now, gpu);
  const int moves = moves_left(gpu, view.now);
  if (moves <= 0) {
    ++log_.caps_held;
    gpu.plan.clear();
    return;
  }
  GpuHoldings stands = gpu.holdings;
  const bool starts_jobs = start_jobs(index, states, view.now, stands);
  const WindowShape& shape = options_.shape;
  const std::vector<std::vector<double>> rates =
      window_rates(index, seconds_of(shape.step), shape.step_count, Scenarios::kAll);
  const WindowInput input{.now = view.now,
                          .holdings = &stands,
                          .tenants = gpu.tenants,
                          .rates_rps = rates,
                          .states = states};
  HorizonWindow window = make_window(context_, shape, input, RetrainingRule::kFrozen);
  if (moves < static_cast<int>(kInstancesMax)) {
    window.problem.changes_per_step_max = moves;
  }
  if (window.problem.labels.empty()) {
    gpu.plan.clear();
    gpu.holdings.clear();
    return;
  }
  if (!starts_jobs && may_skip(gpu, window, view.now)) {
    return;
  }
  if (plan_window(gpu, window, view.now) == Outcome::kSpent) {
    fall_back(index, view);
  }
}

bool RollingHorizon::may_skip(Gpu& gpu, const HorizonWindow& window, SimTime now) {
  const GoodputProblem& problem = window.problem;
  std::vector<double> means;
  std::vector<double> values;
  for (const GoodputTenant& tenant : problem.tenants) {
    means.push_back(std::accumulate(tenant.rate_rps.begin(), tenant.rate_rps.end(), 0.0) /
                    problem.step_count);
    values.push_back(tenant.weight * tenant.accuracy);
  }
  if (is_good_enough(gpu, problem, values)) {
    gpu.plan.clear();
    gpu.changes_nothing = false;
    ++log_.skipped_good;
    return true;
  }
  bool is_same = gpu.changes_nothing && means.size() == gpu.rates.size() &&
                 seconds_between(gpu.planned_at, now) < kSameSecondsMax;
  for (std::size_t m = 0; is_same && m < means.size(); ++m) {
    is_same = std::abs(means[m] - gpu.rates[m]) <= options_.drift * gpu.rates[m];
  }
  log_.skipped_same += is_same ? 1 : 0;
  gpu.rates = is_same ? gpu.rates : means;
  return is_same;
}

bool RollingHorizon::is_good_enough(Gpu& gpu,
                                    const GoodputProblem& problem,
                                    std::span<const double> values) const {
  std::vector<int> taken;
  for (const Holding& holding : gpu.holdings) {
    if (holding.role == Role::kRetrain) {
      taken.push_back(context_.size_of(holding));
    }
  }
  const CapacityChoices* choices = gpu.book.choices(std::move(taken));
  if (choices == nullptr || problem.initial.size() != gpu.holdings.size()) {
    return false;
  }
  std::vector<double> capacity(problem.tenants.size(), 0.0);
  for (const LabelledInstance& instance : problem.initial) {
    const auto& place = problem.lattice->placements()[static_cast<std::size_t>(instance.placement)];
    for (const Label::Output& out :
         problem.labels[static_cast<std::size_t>(instance.label)].serves) {
      capacity[static_cast<std::size_t>(out.tenant)] +=
          out.rate_rps[static_cast<std::size_t>(place.size)];
    }
  }
  const int stride = 1 + static_cast<int>(choices->way_count() / 500);
  double stands = 0;
  double bound = 0;
  std::vector<double> rates(capacity.size());
  for (int t = 0; t < problem.step_count; t += stride) {
    for (std::size_t m = 0; m < rates.size(); ++m) {
      rates[m] = problem.tenants[m].rate_rps[static_cast<std::size_t>(t)];
      stands += values[m] * std::min(rates[m], capacity[m]);
    }
    bound += choices->best_rate(rates, values);
  }
  return stands >= (1 - options_.gap) * bound;
}

RollingHorizon::Outcome RollingHorizon::plan_window(Gpu& gpu,
                                                    const HorizonWindow& window,
                                                    SimTime now) {
  WorkBudget budget(options_.units_max);
  const std::optional<GoodputPlan> plan = plan_horizon(window.problem, budget);
  log_.units_spent += budget.units_spent();
  if (!plan) {
    return Outcome::kSpent;
  }
  ++log_.plans;
  const double gap =
      plan->bound > 0 ? std::max(0.0, (plan->bound - plan->objective) / plan->bound) : 0;
  log_.gap_sum += gap;
  log_.gap_max = std::max(log_.gap_max, gap);
  gpu.planned_at = now;
  gpu.step = window.problem.step;
  gpu.plan.clear();
  gpu.changes_nothing = true;
  for (const LabelledLayout& layout : plan->layouts) {
    gpu.plan.push_back(window.holdings_of(layout, gpu.holdings, now));
    gpu.changes_nothing = gpu.changes_nothing && is_same_use(gpu.plan.back(), gpu.holdings);
  }
  return Outcome::kPlanned;
}

void RollingHorizon::fall_back(std::size_t index, const ServingView& view) {
  Gpu& gpu = gpus_[index];
  gpu.changes_nothing = false;
  const auto reach = static_cast<int>(gpu.plan.size());
  if (reach > 0 && view.now < gpu.planned_at + scaled(gpu.step, reach)) {
    ++log_.fallbacks_last;
    return;
  }
  ++log_.fallbacks_greedy;
  std::vector<GpuHoldings> all;
  for (const Gpu& other : gpus_) {
    all.push_back(other.holdings);
  }
  gpu.plan = {greedy_.improved(view, std::move(all))[index]};
  gpu.planned_at = view.now;
  gpu.step = options_.shape.step;
}

void RollingHorizon::follow(Gpu& gpu, SimTime now) {
  if (gpu.plan.empty()) {
    return;
  }
  const std::int64_t since = (now - gpu.planned_at).to_nanoseconds();
  const std::int64_t step = gpu.step.to_nanoseconds();
  const auto index = static_cast<std::size_t>(since / step);
  if (since % step != 0 || index >= gpu.plan.size()) {
    return;
  }
  const GpuHoldings next = continued(gpu.holdings, gpu.plan[index], now);
  if (!is_same_use(next, gpu.holdings) && may_change(gpu, next, now)) {
    gpu.holdings = next;
  }
}

int RollingHorizon::moves_left(Gpu& gpu, SimTime now) const {
  if (gpu.holdings.empty()) {
    return static_cast<int>(kInstancesMax);  // an empty GPU may be filled at any time
  }
  std::erase_if(gpu.creations,
                [&](SimTime time) { return time + whole_seconds(kMoveWindowSeconds) <= now; });
  return options_.moves_max - static_cast<int>(gpu.creations.size());
}

bool RollingHorizon::may_change(Gpu& gpu, const GpuHoldings& next, SimTime now) {
  for (const Holding& holding : gpu.holdings) {
    const bool stays =
        std::ranges::any_of(next, [&](const Holding& other) { return other.is_same_use(holding); });
    if (!stays && holding.role == Role::kServe &&
        is_dwelling(context_, options_.shape, holding, now)) {
      return false;
    }
  }
  const auto created = std::ranges::count_if(next, [&](const Holding& holding) {
    return std::ranges::none_of(gpu.holdings,
                                [&](const Holding& other) { return other.is_same_use(holding); });
  });
  if (created > moves_left(gpu, now)) {
    ++log_.caps_held;
    return false;
  }
  gpu.creations.insert(gpu.creations.end(), static_cast<std::size_t>(created), now);
  return true;
}

void RollingHorizon::promise(const ServingView& view) {
  promised_.assign(promised_.size(), 0.0);
  for (const InstanceState& state : view.instances) {
    for (std::size_t i = 0; i < state.instance.occupants.size(); ++i) {
      const Occupant& occupant = state.instance.occupants[i];
      const std::optional<int> placement =
          state.instance.placed ? context_.lattice->find_placement(*state.instance.placed)
                                : std::nullopt;
      const Holding held{
          .placement = placement.value_or(-1), .tenant = occupant.tenant, .role = occupant.role};
      const GpuHoldings& holdings = gpus_[static_cast<std::size_t>(state.gpu)].holdings;
      if (placement && state.ready[i] <= view.now &&
          std::ranges::any_of(holdings,
                              [&](const Holding& other) { return other.is_same_use(held); })) {
        promised_[static_cast<std::size_t>(occupant.tenant)] += context_.throughput_rps(held);
      }
    }
  }
  const auto lead = static_cast<std::size_t>(seconds_between(forecast_at_, view.now));
  for (std::size_t m = 0; m < expected_.size(); ++m) {
    const std::vector<double>& means = forecasts_[m].mean_rps;
    const Tenant& tenant = context_.tenants[m].tenant;
    expected_[m] = means[std::min(lead, means.size() - 1)];
    const double accuracy = view.tenants[m].is_retrained && tenant.retraining
                                ? tenant.retraining->accuracy_after
                                : tenant.accuracy;
    planned_goodput_ += tenant.weight * accuracy * std::min(expected_[m], promised_[m]);
  }
}

std::optional<Deployment> RollingHorizon::decide(const ServingView& view) {
  observe(view);
  const std::optional<Trigger> trigger = look(view);
  if (trigger) {
    ++log_.triggered[static_cast<std::size_t>(*trigger)];
  }
  deal(view);
  for (std::size_t g = 0; g < gpus_.size(); ++g) {
    if (trigger || gpus_[g].due <= view.now) {
      forecast(view.now);
      plan(g, view);
    }
    follow(gpus_[g], view.now);
  }
  promise(view);
  std::vector<GpuHoldings> holdings;
  for (const Gpu& gpu : gpus_) {
    holdings.push_back(gpu.holdings);
  }
  Deployment wanted = to_deployment(context_, holdings);
  if (view.current != nullptr && wanted == *view.current) {
    return std::nullopt;
  }
  return wanted;
}

}  // namespace septule::serve
