#include "serve/window_problem.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"

namespace septule::serve {

namespace {

/// How often `step` goes into `time`, rounded up.
std::int64_t steps_up(Duration time, Duration step) {
  return (time.to_nanoseconds() + step.to_nanoseconds() - 1) / step.to_nanoseconds();
}

std::int64_t steps_down(Duration time, Duration step) {
  return time.to_nanoseconds() / step.to_nanoseconds();
}

int clamped_steps(std::int64_t steps, int step_count) {
  return static_cast<int>(std::clamp<std::int64_t>(steps, 0, step_count));
}

int warm_up_steps_of(const Tenant& tenant, const WindowSetup& setup) {
  if (setup.warm_up_steps) {
    return *setup.warm_up_steps;
  }
  const Duration whole = warm_up_of(tenant.warm_up, setup.warm_up) + setup.driver;
  return static_cast<int>(std::min<std::int64_t>(steps_up(whole, setup.step), setup.step_count));
}

/// The job of the period that begins with the window.
RetrainingNeed need_of(const RetrainingJob& job, const WindowSetup& setup) {
  const Duration window = Duration::nanoseconds(setup.step.to_nanoseconds() * setup.step_count);
  const Duration end = job.deadline.value_or(job.period.value_or(window));
  return {.work_s = job.work_s,
          .release_step = clamped_steps(steps_up(job.release, setup.step), setup.step_count),
          .deadline_step = clamped_steps(steps_down(end, setup.step), setup.step_count)};
}

GoodputTenant tenant_of(const AdmittedTenant& admitted, const WindowSetup& setup) {
  const Tenant& tenant = admitted.tenant;
  GoodputTenant out{.name = tenant.name,
                    .weight = tenant.weight,
                    .accuracy = tenant.accuracy,
                    .accuracy_after = tenant.accuracy,
                    .rate_rps = {},
                    .floor_share = tenant.floor_share,
                    .retraining = {}};
  for (int step = 0; step < setup.step_count; ++step) {
    const Duration begin = setup.begin + Duration::nanoseconds(setup.step.to_nanoseconds() * step);
    out.rate_rps.push_back(mean_rate(tenant.rate, begin, setup.step));
  }
  if (tenant.retraining) {
    out.accuracy_after = tenant.retraining->accuracy_after;
    out.retraining = need_of(*tenant.retraining, setup);
  }
  return out;
}

/// Serving labels, then retraining labels.
std::vector<Label> labels_of(std::span<const AdmittedTenant> tenants, const WindowSetup& setup) {
  std::vector<Label> labels;
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    Label label{.name = tenants[i].tenant.name,
                .serves = {{.tenant = static_cast<int>(i), .rate_rps = {}}},
                .retrains = {},
                .speed = {},
                .warm_up_steps = warm_up_steps_of(tenants[i].tenant, setup),
                .creation_cost = 0};
    bool is_served = false;
    for (std::size_t size = 0; size < kSizesMax; ++size) {
      label.serves.front().rate_rps[size] = tenants[i].throughput_rps(static_cast<int>(size));
      is_served |= label.serves.front().rate_rps[size] > 0;
    }
    if (is_served) {
      labels.push_back(std::move(label));
    }
  }
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    if (tenants[i].tenant.retraining) {
      labels.push_back({.name = tenants[i].tenant.name + " retrains",
                        .serves = {},
                        .retrains = static_cast<int>(i),
                        .speed = tenants[i].retraining_speed,
                        .warm_up_steps = warm_up_steps_of(tenants[i].tenant, setup),
                        .creation_cost = 0});
    }
  }
  return labels;
}

}  // namespace

double mean_rate(const RateSeries& rate, Duration begin, Duration length) {
  SEPTULE_CHECK(length > Duration(), "a mean is over some time");
  SEPTULE_CHECK(!rate.values.empty(), "a rate series has a value");
  const std::int64_t step = rate.step.to_nanoseconds();
  const std::int64_t from = begin.to_nanoseconds();
  const std::int64_t to = (begin + length).to_nanoseconds();
  const auto last = static_cast<std::int64_t>(rate.values.size()) - 1;
  double sum = 0;
  for (std::int64_t at = from; at < to;) {
    const std::int64_t index = std::clamp<std::int64_t>(at / step, 0, last);
    const std::int64_t until = index == last ? to : std::min((index + 1) * step, to);
    sum += rate.values[static_cast<std::size_t>(index)] *
           (static_cast<double>(until - at) / static_cast<double>(to - from));
    at = until;
  }
  return sum;
}

Result<GoodputProblem> make_window_problem(const LayoutLattice& lattice,
                                           std::span<const AdmittedTenant> tenants,
                                           const WindowSetup& setup) {
  if (setup.step_count <= 0 || setup.step_count > kGoodputStepsMax || setup.step <= Duration() ||
      setup.begin < Duration() || setup.driver < Duration() ||
      setup.warm_up_steps.value_or(0) < 0) {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("a window of {} steps of {} s; expected 1 to {} steps of more than 0 s",
                    setup.step_count,
                    setup.step.to_seconds(),
                    kGoodputStepsMax)};
  }
  GoodputProblem problem;
  problem.lattice = &lattice;
  problem.step = setup.step;
  problem.step_count = setup.step_count;
  for (const AdmittedTenant& tenant : tenants) {
    problem.tenants.push_back(tenant_of(tenant, setup));
  }
  problem.labels = labels_of(tenants, setup);
  SEPTULE_TRY_STATUS(validate(problem));
  return problem;
}

}  // namespace septule::serve
