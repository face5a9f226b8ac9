#include "serve/job_placement.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/check.hpp"

namespace septule::serve {

namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();

std::uint32_t bit_of(int placement) {
  return std::uint32_t{1} << static_cast<unsigned>(placement);
}

/// Places the jobs of one GPU, one after the other.
class JobPlacer {
 public:
  JobPlacer(const HoldingContext& context, const JobPlacementInput& input, CapacityBook& book)
      : context_(context),
        input_(input),
        book_(book),
        steps_(input.rates_rps.empty() ? 0 : static_cast<int>(input.rates_rps.front().size())),
        taken_(static_cast<std::size_t>(steps_)) {}

  std::vector<JobRun> place() {
    take_running();
    std::vector<JobRun> placed;
    while (const std::optional<JobRun> run = best_run(placed)) {
      placed.push_back(*run);
      take(run->size, run->begin, run->end);
    }
    return placed;
  }

 private:
  const AdmittedTenant& admitted(int tenant) const {
    return context_.tenants[static_cast<std::size_t>(tenant)];
  }
  const TenantState& state(int tenant) const {
    return input_.states[static_cast<std::size_t>(tenant)];
  }
  bool is_running(int tenant) const {
    return std::ranges::any_of(*input_.holdings, [&](const Holding& holding) {
      return holding.role == Role::kRetrain && holding.tenant == tenant;
    });
  }
  /// Steps in which `length_s` seconds end.
  int steps_of(double length_s) const {
    return static_cast<int>(std::min(1e6, std::ceil(length_s / input_.step.to_seconds() - 1e-9)));
  }
  int warm_steps(int tenant) const {
    return steps_of(context_.warm_up(tenant, input_.warm_up).to_seconds());
  }
  void take(int size, int begin, int end) {
    for (int t = begin; t < std::min(end, steps_); ++t) {
      taken_[static_cast<std::size_t>(t)].push_back(size);
    }
  }
  void take_running() {
    for (const Holding& holding : *input_.holdings) {
      if (holding.role == Role::kRetrain) {
        const int size = context_.size_of(holding);
        const double speed =
            admitted(holding.tenant).retraining_speed[static_cast<std::size_t>(size)];
        take(size, 0, speed > 0 ? steps_of(state(holding.tenant).retraining_left_s / speed) : 0);
      }
    }
  }

  /// What the GPU's tenants earn in each step at best, one more instance of `size` being taken
  /// (-1 = none).
  std::vector<double> earned(int size) {
    std::vector<double> values;
    for (const int tenant : input_.tenants) {
      values.push_back(admitted(tenant).tenant.weight * accuracy(tenant));
    }
    std::vector<double> earned;
    std::vector<double> rates(input_.tenants.size());
    for (int t = 0; t < steps_; ++t) {
      for (std::size_t i = 0; i < rates.size(); ++i) {
        rates[i] = input_.rates_rps[i][static_cast<std::size_t>(t)];
      }
      std::vector<int> taken = taken_[static_cast<std::size_t>(t)];
      if (size >= 0) {
        taken.push_back(size);
      }
      const CapacityChoices* choices = book_.choices(std::move(taken));
      earned.push_back(choices == nullptr || !choices->is_possible()
                           ? -kImpossible
                           : choices->best_rate(rates, values));
    }
    return earned;
  }
  double accuracy(int tenant) const {
    const Tenant& own = admitted(tenant).tenant;
    return state(tenant).is_retrained && own.retraining ? own.retraining->accuracy_after
                                                        : own.accuracy;
  }

  /// What the retrained model adds from each step on to the end of its period.
  std::vector<double> gains(std::size_t entry, std::span<const double> base) const {
    const int tenant = input_.tenants[entry];
    const Tenant& own = admitted(tenant).tenant;
    const RetrainingJob job = checked_value(own.retraining, "a tenant with work left has a job");
    const double more = own.weight * (job.accuracy_after - own.accuracy);
    std::vector<double> gains(static_cast<std::size_t>(steps_) + 1, 0.0);
    const double step_s = input_.step.to_seconds();
    int ends = std::numeric_limits<int>::max();
    if (job.period) {
      const std::int64_t period = job.period->to_nanoseconds();
      const std::int64_t left = period - input_.now.to_nanoseconds() % period;
      ends = steps_of(Duration::nanoseconds(left).to_seconds());
    }
    const std::vector<double>& rates = input_.rates_rps[entry];
    // Beyond the window: as in its last step, for at most as long again.
    const int beyond = std::clamp(ends - steps_, 0, steps_);
    double sum = beyond * more * rates.back() * step_s * served_share(steps_ - 1, base);
    gains.back() = sum;
    for (int t = steps_ - 1; t >= 0; --t) {
      if (t < ends) {
        sum += more * rates[static_cast<std::size_t>(t)] * step_s * served_share(t, base);
      }
      gains[static_cast<std::size_t>(t)] = sum;
    }
    return gains;
  }
  /// Of all that arrives, by value.
  double served_share(int t, std::span<const double> base) const {
    double all = 0;
    for (std::size_t i = 0; i < input_.tenants.size(); ++i) {
      all += admitted(input_.tenants[i]).tenant.weight * accuracy(input_.tenants[i]) *
             input_.rates_rps[i][static_cast<std::size_t>(t)];
    }
    return all > 0 ? std::clamp(base[static_cast<std::size_t>(t)] / all, 0.0, 1.0) : 0;
  }

  std::optional<JobRun> best_run(std::span<const JobRun> placed) {
    std::vector<std::size_t> waiting;
    for (std::size_t i = 0; i < input_.tenants.size(); ++i) {
      const int tenant = input_.tenants[i];
      const bool is_placed =
          std::ranges::any_of(placed, [&](const JobRun& run) { return run.tenant == tenant; });
      if (state(tenant).retraining_left_s > 0 && !is_running(tenant) && !is_placed) {
        waiting.push_back(i);
      }
    }
    if (waiting.empty() || steps_ == 0) {
      return std::nullopt;
    }
    const std::vector<double> base = earned(-1);
    std::optional<JobRun> best;
    for (std::size_t size = 0; size < context_.lattice->sizes().size(); ++size) {
      std::vector<double> lost{0};  // before each step
      const std::vector<double> with = earned(static_cast<int>(size));
      for (std::size_t t = 0; t < base.size(); ++t) {
        const double loss = std::isfinite(with[t]) ? std::max(0.0, base[t] - with[t]) : kImpossible;
        lost.push_back(lost.back() + loss * input_.step.to_seconds());
      }
      for (const std::size_t entry : waiting) {
        const std::optional<JobRun> run =
            best_begin(entry, static_cast<int>(size), lost, gains(entry, base));
        if (run && (!best || run->net > best->net)) {
          best = run;
        }
      }
    }
    return best;
  }

  std::optional<JobRun> best_begin(std::size_t entry,
                                   int size,
                                   std::span<const double> lost,
                                   std::span<const double> gains) const {
    const int tenant = input_.tenants[entry];
    const double speed = admitted(tenant).retraining_speed[static_cast<std::size_t>(size)];
    if (speed <= 0) {
      return std::nullopt;
    }
    const TenantState& own = state(tenant);
    const int warm = warm_steps(tenant);
    const int length = warm + steps_of(own.retraining_left_s / speed);
    int first = 0;
    if (own.retraining_release && *own.retraining_release > input_.now) {
      // Warming up may begin before the data are there.
      first = std::max(0, steps_of((*own.retraining_release - input_.now).to_seconds()) - warm);
    }
    int last = steps_;
    if (own.retraining_deadline) {
      const double left_s = (*own.retraining_deadline - input_.now).to_seconds();
      last = std::min(last, static_cast<int>(left_s / input_.step.to_seconds() + 1e-9));
    }
    std::optional<JobRun> best;
    for (int begin = first; begin + length <= last; ++begin) {
      // What takes the place back warms up too.
      const int back = std::min(steps_, begin + length + warm);
      const double loss =
          lost[static_cast<std::size_t>(back)] - lost[static_cast<std::size_t>(begin)];
      const double net = gains[static_cast<std::size_t>(begin) + static_cast<std::size_t>(length)] -
                         input_.caution * loss;
      if (std::isfinite(net) && net > 0 && (!best || net > best->net)) {
        best = JobRun{
            .tenant = tenant, .size = size, .begin = begin, .end = begin + length, .net = net};
      }
    }
    return best;
  }

  const HoldingContext& context_;
  const JobPlacementInput& input_;
  CapacityBook& book_;
  int steps_;
  std::vector<std::vector<int>> taken_;  // by step: sizes of retraining instances
};

}  // namespace

std::vector<JobRun> place_jobs(const HoldingContext& context,
                               const JobPlacementInput& input,
                               CapacityBook& book) {
  return JobPlacer(context, input, book).place();
}

std::optional<GpuHoldings> with_job(const HoldingContext& context,
                                    const GpuHoldings& holdings,
                                    const JobRun& run,
                                    std::uint32_t fixed,
                                    SimTime now) {
  const std::span<const SizePlacement> placements = context.lattice->placements();
  std::optional<GpuHoldings> best;
  double best_cost = 0;
  for (std::size_t p = 0; p < placements.size(); ++p) {
    if (placements[p].size != run.size) {
      continue;
    }
    const int placement = static_cast<int>(p);
    // Instances that cannot stand beside it go, one by one.
    GpuHoldings left;
    double cost = 0;
    std::uint32_t bits = bit_of(placement);
    for (const Holding& holding : holdings) {
      if ((fixed & bit_of(holding.placement)) != 0) {
        bits |= bit_of(holding.placement);
      }
    }
    if (!context.lattice->is_legal(bits) || (fixed & bit_of(placement)) != 0) {
      continue;
    }
    for (const Holding& holding : holdings) {
      const bool is_fixed = (fixed & bit_of(holding.placement)) != 0;
      const std::uint32_t with = bits | bit_of(holding.placement);
      if (is_fixed || (holding.placement != placement && context.lattice->is_legal(with))) {
        bits = with;
        left.push_back(holding);
      } else {
        const Tenant& tenant = context.tenants[static_cast<std::size_t>(holding.tenant)].tenant;
        cost += tenant.weight * tenant.accuracy * context.throughput_rps(holding);
      }
    }
    if (!best || cost < best_cost) {
      insert_holding(
          left,
          {.placement = placement, .tenant = run.tenant, .role = Role::kRetrain, .since = now});
      best = std::move(left);
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace septule::serve
