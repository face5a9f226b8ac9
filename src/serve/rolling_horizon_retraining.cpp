// The part of the rolling horizon that deals with retraining jobs.
#include <algorithm>

#include "base/check.hpp"
#include "serve/horizon_seconds.hpp"
#include "serve/rolling_horizon.hpp"

namespace septule::serve {

std::vector<TenantState> RollingHorizon::states_for(std::size_t gpu,
                                                    const ServingView& view) const {
  std::vector<TenantState> states(view.tenants.begin(), view.tenants.end());
  for (const int tenant : gpus_[gpu].tenants) {
    // One job runs on one GPU: where it runs, or else where its tenant has most of its load.
    std::size_t home = 0;
    std::optional<std::size_t> running;
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      home = shares_.share(tenant, g) > shares_.share(tenant, home) ? g : home;
      if (gpus_[g].is_retraining(tenant)) {
        running = g;
      }
    }
    if (running.value_or(home) != gpu) {
      states[static_cast<std::size_t>(tenant)].retraining_left_s = 0;
    }
  }
  return states;
}

void RollingHorizon::drop_jobs(std::span<const TenantState> states, SimTime now, Gpu& gpu) const {
  const std::size_t dropped = std::erase_if(gpu.holdings, [&](const Holding& holding) {
    if (holding.role != Role::kRetrain) {
      return false;
    }
    const TenantState& state = states[static_cast<std::size_t>(holding.tenant)];
    const double left_s = state.retraining_left_s;
    if (left_s <= 0 || !state.retraining_deadline) {
      return left_s <= 0;
    }
    const auto size = static_cast<std::size_t>(context_.size_of(holding));
    const double speed =
        context_.tenants[static_cast<std::size_t>(holding.tenant)].retraining_speed[size];
    return left_s > speed * ((*state.retraining_deadline - now).to_seconds() + 1);
  });
  if (dropped > 0) {
    gpu.plan.clear();  // it has the job in it still
    gpu.changes_nothing = false;
  }
}

bool RollingHorizon::start_jobs(std::size_t index,
                                std::span<const TenantState> states,
                                SimTime now,
                                GpuHoldings& stands) {
  Gpu& gpu = gpus_[index];
  const SimTime reach = now + whole_seconds(options_.retraining_s);
  const bool is_any_due = std::ranges::any_of(gpu.tenants, [&](int tenant) {
    return is_retraining_due(states[static_cast<std::size_t>(tenant)], reach) &&
           !gpu.is_retraining(tenant);
  });
  if (!is_any_due) {
    return false;
  }
  const int step_s = std::max(kRetrainingStepSeconds, seconds_of(options_.shape.step));
  const std::vector<std::vector<double>> rates =
      window_rates(index, step_s, options_.retraining_s / step_s, Scenarios::kMeanOnly);
  const JobPlacementInput input{.now = now,
                                .step = whole_seconds(step_s),
                                .tenants = gpu.tenants,
                                .rates_rps = rates,
                                .states = states,
                                .holdings = &gpu.holdings,
                                .warm_up = options_.shape.warm_up,
                                .caution = options_.caution};
  bool has_started = false;
  for (const JobRun& run : place_jobs(context_, input, gpu.book)) {
    if (run.begin > 0) {
      gpu.due = std::min(gpu.due, now + whole_seconds(std::int64_t{run.begin} * step_s));
      continue;
    }
    std::uint32_t fixed = 0;
    for (const Holding& holding : stands) {
      const bool stays =
          holding.role == Role::kRetrain || is_dwelling(context_, options_.shape, holding, now);
      fixed |= stays ? std::uint32_t{1} << static_cast<unsigned>(holding.placement) : 0;
    }
    if (std::optional<GpuHoldings> with = with_job(context_, stands, run, fixed, now)) {
      stands = std::move(*with);
      has_started = true;
    }
  }
  return has_started;
}

}  // namespace septule::serve
