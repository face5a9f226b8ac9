#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "serve/gpu_holding.hpp"
#include "serve/serving_policy.hpp"

namespace septule::serve::test {

/// What a policy did in FluidServing::run.
struct FluidResult {
  double goodput = 0;
  double arrived = 0;
  double in_slo = 0;
  std::vector<std::vector<double>> served;  ///< by second, tenant
  std::vector<SimTime> created;             ///< one entry per occupant created
  std::vector<std::string> faults;          ///< illegal deployments, instances left too early
  std::vector<int> retrainings_done;        ///< by tenant
};

/// A serving test double: one second at a time, a tenant answers min(arrived, capacity of its ready
/// instances). Warm-ups are p90, in whole seconds. A retraining job is released at each period's
/// begin plus release. The simulator of `sim` is the real thing; this one is here because tests of
/// `serve` cannot use it, and it shares no code with it.
class FluidServing {
 public:
  struct World {
    HoldingContext context;
    int gpu_count = 1;
    std::vector<std::vector<double>> arrivals;  ///< by tenant, second
    Duration dwell_min;  ///< instances of serving tenants that leave earlier are a fault
  };
  explicit FluidServing(const World& world) : world_(world) {}

  FluidResult run(ServingPolicy& policy, int seconds) {
    const std::size_t count = world_.context.tenants.size();
    FluidResult result;
    result.retrainings_done.assign(count, 0);
    states_.assign(count, {});
    left_.assign(count, 0.0);
    for (int second = 0; second < seconds; ++second) {
      const SimTime now = at(second);
      begin_periods(now);
      const ServingView view = look(now, second);
      if (std::optional<Deployment> wanted = policy.decide(view)) {
        change(*wanted, now, result);
      }
      serve_second(second, result);
    }
    return result;
  }
  const Deployment& current() const { return current_; }

 private:
  struct Live {
    int gpu = 0;
    Holding holding;
    SimTime ready;
  };
  static SimTime at(int second) {
    return SimTime() + Duration::milliseconds(std::int64_t{1000} * second);
  }

  void begin_periods(SimTime now) {
    for (std::size_t m = 0; m < left_.size(); ++m) {
      const auto& job = world_.context.tenants[m].tenant.retraining;
      const std::int64_t period = job && job->period ? job->period->to_nanoseconds() : INT64_MAX;
      if (job && now.to_nanoseconds() % period == 0) {
        left_[m] = job->work_s;
        states_[m].is_retrained = false;
        states_[m].retraining_release = now + job->release;
        states_[m].retraining_deadline =
            now +
            job->deadline.value_or(Duration::nanoseconds(std::min(period, std::int64_t{1} << 60U)));
      }
    }
  }

  ServingView look(SimTime now, int second) {
    instances_.clear();
    for (const Live& live : live_) {
      const auto& place =
          world_.context.lattice->placements()[static_cast<std::size_t>(live.holding.placement)];
      instances_.push_back(
          {.gpu = live.gpu,
           .instance = {.placed = place.placed,
                        .occupants = {{.tenant = live.holding.tenant, .role = live.holding.role}}},
           .ready = {live.ready}});
    }
    for (std::size_t m = 0; m < states_.size(); ++m) {
      states_[m].arrived = std::span(world_.arrivals[m]).first(static_cast<std::size_t>(second));
      states_[m].retraining_left_s = left_[m];
    }
    return {.now = now,
            .gpu_count = world_.gpu_count,
            .tenants = states_,
            .current = second == 0 ? nullptr : &current_,
            .instances = instances_};
  }

  void change(const Deployment& wanted, SimTime now, FluidResult& result) {
    const std::vector<GpuHoldings> none(static_cast<std::size_t>(world_.gpu_count));
    const auto gpus = adopted(world_.context, wanted, none, now);
    std::vector<Live> next;
    for (std::size_t g = 0; g < gpus.size(); ++g) {
      if (!world_.context.lattice->is_legal(placement_bits(gpus[g])) ||
          gpus[g].size() != wanted.gpus[g].instances.size()) {
        result.faults.push_back(fmt::format("{} s: GPU {} is not legal", now.to_seconds(), g));
        return;
      }
      for (const Holding& holding : gpus[g]) {
        const auto same = std::ranges::find_if(live_, [&](const Live& live) {
          return live.gpu == static_cast<int>(g) && live.holding.is_same_use(holding);
        });
        if (same != live_.end()) {
          next.push_back(*same);
          continue;
        }
        result.created.push_back(now);
        const std::int64_t warm =
            world_.context.warm_up(holding.tenant, WarmUpQuantile::kP90).to_nanoseconds();
        const int seconds = static_cast<int>((warm + 999999999) / 1000000000);
        next.push_back({.gpu = static_cast<int>(g),
                        .holding = holding,
                        .ready = now + Duration::milliseconds(std::int64_t{1000} * seconds)});
      }
    }
    note_early_leavers(next, now, result);
    live_ = std::move(next);
    current_ = wanted;
  }

  void note_early_leavers(const std::vector<Live>& next, SimTime now, FluidResult& result) const {
    for (const Live& live : live_) {
      const bool stays = std::ranges::any_of(next, [&](const Live& other) {
        return other.gpu == live.gpu && other.holding.is_same_use(live.holding);
      });
      if (!stays && live.holding.role == Role::kServe &&
          live.holding.since + world_.dwell_min > now) {
        result.faults.push_back(fmt::format("{} s: tenant {} leaves placement {} after {} s",
                                            now.to_seconds(),
                                            live.holding.tenant,
                                            live.holding.placement,
                                            (now - live.holding.since).to_seconds()));
      }
    }
  }

  void serve_second(int second, FluidResult& result) {
    std::vector<double> capacity(states_.size(), 0.0);
    std::vector<double> speed(states_.size(), 0.0);
    for (const Live& live : live_) {
      const auto m = static_cast<std::size_t>(live.holding.tenant);
      if (live.ready > at(second)) {
        continue;
      }
      capacity[m] += world_.context.throughput_rps(live.holding);
      if (live.holding.role == Role::kRetrain) {
        const auto size = static_cast<std::size_t>(world_.context.size_of(live.holding));
        speed[m] = world_.context.tenants[m].retraining_speed[size];
      }
    }
    std::vector<double>& served = result.served.emplace_back();
    for (std::size_t m = 0; m < states_.size(); ++m) {
      const Tenant& tenant = world_.context.tenants[m].tenant;
      const double arrived = world_.arrivals[m][static_cast<std::size_t>(second)];
      served.push_back(std::min(arrived, capacity[m]));
      const double accuracy =
          states_[m].is_retrained ? tenant.retraining->accuracy_after : tenant.accuracy;
      result.goodput += tenant.weight * accuracy * served.back();
      result.arrived += arrived;
      result.in_slo += served.back();
      states_[m].answered_in_slo = static_cast<std::int64_t>(served.back());
      states_[m].missed = static_cast<std::int64_t>(arrived - served.back());
      if (left_[m] > 0 && speed[m] > 0) {
        left_[m] = std::max(0.0, left_[m] - speed[m]);
        if (left_[m] <= 0) {
          states_[m].is_retrained = true;
          ++result.retrainings_done[m];
        }
      }
    }
  }

  World world_;
  Deployment current_;
  std::vector<Live> live_;
  std::vector<TenantState> states_;
  std::vector<InstanceState> instances_;
  std::vector<double> left_;
};

}  // namespace septule::serve::test
