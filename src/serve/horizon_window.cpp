#include "serve/horizon_window.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "base/check.hpp"

namespace septule::serve {

namespace {

constexpr int kTerminalStepsMax = 1000;
constexpr std::int64_t kStepsMax = 100000;

int whole_steps(Duration length, Duration step) {
  const std::int64_t ns = length.to_nanoseconds();
  const std::int64_t step_ns = step.to_nanoseconds();
  return static_cast<int>((ns + step_ns - 1) / step_ns);
}

/// Steps from `now` to `time`, rounded down, not below 0.
int steps_until(SimTime time, SimTime now, Duration step) {
  if (time <= now) {
    return 0;
  }
  const std::int64_t steps = (time - now).to_nanoseconds() / step.to_nanoseconds();
  return static_cast<int>(std::min(steps, kStepsMax));
}

/// The end of the period that `now` is in; nothing where the job is not periodic.
std::optional<SimTime> period_end(const RetrainingJob& job, SimTime now) {
  if (!job.period) {
    return std::nullopt;
  }
  const std::int64_t period = job.period->to_nanoseconds();
  return SimTime::nanoseconds((now.to_nanoseconds() / period + 1) * period);
}

/// Builds a HorizonWindow step by step.
class WindowMaker {
 public:
  WindowMaker(const HoldingContext& context,
              const WindowShape& shape,
              const WindowInput& input,
              RetrainingRule rule)
      : context_(context), shape_(shape), input_(input), rule_(rule) {}

  HorizonWindow make() {
    GoodputProblem& problem = window_.problem;
    problem.lattice = context_.lattice;
    problem.step = shape_.step;
    problem.step_count = shape_.step_count;
    problem.terminal_steps = shape_.terminal_steps;
    problem.hand_over = shape_.hand_over;
    for (std::size_t i = 0; i < input_.tenants.size(); ++i) {
      add_tenant(i);
    }
    for (std::size_t i = 0; i < input_.tenants.size(); ++i) {
      add_serving_label(i);
    }
    for (std::size_t i = 0; i < input_.tenants.size(); ++i) {
      add_retraining_label(i);
    }
    add_initial();
    return std::move(window_);
  }

 private:
  const AdmittedTenant& admitted(std::size_t i) const {
    return context_.tenants[static_cast<std::size_t>(input_.tenants[i])];
  }
  const TenantState& state(std::size_t i) const {
    return input_.states[static_cast<std::size_t>(input_.tenants[i])];
  }
  SimTime end() const { return input_.now + scaled(shape_.step, shape_.step_count); }
  bool is_running(int tenant) const {
    return std::ranges::any_of(*input_.holdings, [&](const Holding& holding) {
      return holding.tenant == tenant && holding.role == Role::kRetrain;
    });
  }

  void add_tenant(std::size_t i) {
    const Tenant& tenant = admitted(i).tenant;
    GoodputTenant out{.name = tenant.name,
                      .weight = tenant.weight,
                      .accuracy = tenant.accuracy,
                      .accuracy_after = tenant.accuracy,
                      .rate_rps = input_.rates_rps[i],
                      .floor_share = tenant.floor_share};
    if (tenant.retraining) {
      out.accuracy_after = tenant.retraining->accuracy_after;
      out.accuracy = state(i).is_retrained ? out.accuracy_after : out.accuracy;
    }
    if (rule_ == RetrainingRule::kPlanned && is_retraining_due(state(i), end())) {
      add_need(i, out);
    }
    window_.problem.tenants.push_back(std::move(out));
  }

  void add_need(std::size_t i, GoodputTenant& out) {
    RetrainingNeed need{.work_s = state(i).retraining_left_s,
                        .release_step = 0,
                        .deadline_step = shape_.step_count};
    if (const std::optional<SimTime> release = state(i).retraining_release) {
      need.release_step =
          std::min(shape_.step_count,
                   *release <= input_.now ? 0 : whole_steps(*release - input_.now, shape_.step));
    }
    if (const std::optional<SimTime> deadline = state(i).retraining_deadline) {
      need.deadline_step =
          std::min(shape_.step_count, steps_until(*deadline, input_.now, shape_.step));
    }
    out.retraining = need;
    // Past the window the new model earns until its period ends.
    const RetrainingJob job = checked_value(admitted(i).tenant.retraining, "a due job exists");
    const std::optional<SimTime> last = period_end(job, input_.now);
    const int after =
        last ? steps_until(*last, input_.now, shape_.step) - shape_.step_count : kTerminalStepsMax;
    window_.problem.terminal_steps =
        std::clamp(after, window_.problem.terminal_steps, kTerminalStepsMax);
  }

  void add_label(std::size_t i, Label label, Role role) {
    const Duration warm_up = context_.warm_up(input_.tenants[i], shape_.warm_up);
    label.warm_up_steps = std::min(1, whole_steps(warm_up, shape_.step));
    label.group = trust_group(i);
    for (std::size_t s = 0; s < context_.lattice->sizes().size(); ++s) {
      label.memory[s] = memory_share(i, role, s);
    }
    window_.problem.labels.push_back(std::move(label));
    window_.uses.push_back({.tenant = input_.tenants[i], .role = role});
  }

  /// The first tenant of the GPU that is of the same trust group.
  int trust_group(std::size_t i) const {
    std::size_t first = 0;
    while (admitted(first).tenant.trust_group != admitted(i).tenant.trust_group) {
      ++first;
    }
    return static_cast<int>(first);
  }

  /// Of an instance of the size; 0 = it or the tenant's need is unknown.
  double memory_share(std::size_t i, Role role, std::size_t size) const {
    const std::optional<Bytes> there = context_.lattice->sizes()[size].memory;
    const std::optional<RetrainingJob>& job = admitted(i).tenant.retraining;
    const std::optional<OperatingPoint>& point = admitted(i).serving[size];
    std::optional<Bytes> needed;
    if (role == Role::kRetrain) {
      needed = job ? job->memory : std::nullopt;
    } else {
      needed = point ? point->memory : std::nullopt;
    }
    const bool is_known = there && needed && there->value() > 0;
    return is_known ? static_cast<double>(needed->value()) / static_cast<double>(there->value())
                    : 0.0;
  }

  void add_serving_label(std::size_t i) {
    Label label{.name = admitted(i).tenant.name};
    Label::Output output{.tenant = static_cast<int>(i)};
    double most = 0;
    for (std::size_t s = 0; s < context_.lattice->sizes().size(); ++s) {
      output.rate_rps[s] = admitted(i).throughput_rps(static_cast<int>(s));
      most = std::max(most, output.rate_rps[s]);
    }
    if (most <= 0) {
      return;
    }
    // What one instance of the tenant may be expected to earn in a second.
    const GoodputTenant& tenant = window_.problem.tenants[i];
    const double mean = std::accumulate(tenant.rate_rps.begin(), tenant.rate_rps.end(), 0.0) /
                        static_cast<double>(tenant.rate_rps.size());
    const double middle = output.rate_rps[context_.lattice->sizes().size() / 2];
    const double instance = std::min(mean, middle > 0 ? middle : most);
    const double warm_up_s = context_.warm_up(input_.tenants[i], shape_.warm_up).to_seconds();
    const double beyond_s = std::max(0.0, warm_up_s - shape_.step.to_seconds());
    label.creation_cost =
        tenant.weight * tenant.accuracy * instance * (beyond_s + shape_.churn * warm_up_s);
    label.serves.push_back(output);
    add_label(i, std::move(label), Role::kServe);
  }

  void add_retraining_label(std::size_t i) {
    if (!window_.problem.tenants[i].retraining && !is_running(input_.tenants[i])) {
      return;
    }
    Label label{.name = admitted(i).tenant.name + " retrains"};
    label.retrains = static_cast<int>(i);
    label.speed = admitted(i).retraining_speed;
    add_label(i, std::move(label), Role::kRetrain);
  }

  void add_initial() {
    for (const Holding& holding : *input_.holdings) {
      const auto use = std::ranges::find_if(window_.uses, [&](const HorizonWindow::Use& other) {
        return other.tenant == holding.tenant && other.role == holding.role;
      });
      if (use == window_.uses.end()) {
        continue;
      }
      window_.problem.initial.push_back(
          {.placement = holding.placement, .label = static_cast<int>(use - window_.uses.begin())});
      const bool is_fixed = holding.role == Role::kRetrain
                                ? rule_ == RetrainingRule::kFrozen
                                : is_dwelling(context_, shape_, holding, input_.now);
      if (is_fixed) {
        window_.problem.frozen |= std::uint32_t{1} << static_cast<unsigned>(holding.placement);
      }
    }
  }

  const HoldingContext& context_;
  const WindowShape& shape_;
  const WindowInput& input_;
  RetrainingRule rule_;
  HorizonWindow window_;
};

}  // namespace

GpuHoldings HorizonWindow::holdings_of(const LabelledLayout& layout,
                                       const GpuHoldings& before,
                                       SimTime now) const {
  GpuHoldings holdings;
  for (const LabelledInstance& instance : layout) {
    const Use& use = uses[static_cast<std::size_t>(instance.label)];
    insert_holding(
        holdings,
        {.placement = instance.placement, .tenant = use.tenant, .role = use.role, .since = now});
  }
  return continued(before, std::move(holdings), now);
}

HorizonWindow make_window(const HoldingContext& context,
                          const WindowShape& shape,
                          const WindowInput& input,
                          RetrainingRule rule) {
  return WindowMaker(context, shape, input, rule).make();
}

bool is_retraining_due(const TenantState& state, SimTime until) {
  return state.retraining_left_s > 0 &&
         (!state.retraining_release || *state.retraining_release < until);
}

bool is_dwelling(const HoldingContext& context,
                 const WindowShape& shape,
                 const Holding& holding,
                 SimTime now) {
  const Duration warm_up = context.warm_up(holding.tenant, shape.warm_up);
  return holding.since + scaled(warm_up, shape.dwell_factor) > now;
}

}  // namespace septule::serve
