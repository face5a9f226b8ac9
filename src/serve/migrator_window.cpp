#include "serve/migrator_window.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace septule::serve {

namespace {

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalidInput, std::move(message)};
}

/// Steps that begin before `time`, at most one more than the window has.
int steps_until(Duration time, const MigratorWindowOptions& options) {
  const std::int64_t step = options.step.to_nanoseconds();
  const std::int64_t steps = (time.to_nanoseconds() + step - 1) / step;
  return static_cast<int>(std::clamp<std::int64_t>(steps, 0, options.step_count + 1));
}

GoodputTenant planned(const Tenant& tenant,
                      const std::vector<double>& forecast_rps,
                      const MigratorWindowOptions& options) {
  GoodputTenant planned{.name = tenant.name,
                        .weight = tenant.weight,
                        .accuracy = tenant.accuracy,
                        .accuracy_after = tenant.accuracy,
                        .rate_rps = forecast_rps};
  if (tenant.retraining) {
    const RetrainingJob& job = *tenant.retraining;
    planned.accuracy_after = job.accuracy_after;
    RetrainingNeed need{.work_s = job.work_s,
                        .release_step = steps_until(job.release, options),
                        .deadline_step = options.step_count};
    if (job.deadline) {
      // A step counts if it ends by the deadline.
      const std::int64_t whole = job.deadline->to_nanoseconds() / options.step.to_nanoseconds();
      need.deadline_step = static_cast<int>(std::clamp<std::int64_t>(whole, 0, options.step_count));
    }
    planned.retraining = need;
  }
  return planned;
}

}  // namespace

Result<GoodputProblem> migrator_problem(const LayoutLattice& lattice,
                                        std::span<const AdmittedTenant> tenants,
                                        std::span<const std::vector<double>> forecast_rps,
                                        const MigratorWindowOptions& options) {
  if (options.step <= Duration() || options.warm_up < Duration() || options.step_count < 1) {
    return invalid(
        fmt::format("window: {} steps of {} s and a warm-up of {} s, must be at least 1, "
                    "above 0 and at least 0",
                    options.step_count,
                    options.step.to_seconds(),
                    options.warm_up.to_seconds()));
  }
  if (forecast_rps.size() != tenants.size()) {
    return invalid(fmt::format("window: {} forecasts for {} tenants, must be one for each",
                               forecast_rps.size(),
                               tenants.size()));
  }
  for (const int tenant : options.pre_initialised) {
    if (tenant < 0 || std::cmp_greater_equal(tenant, tenants.size())) {
      return invalid(
          fmt::format("window: tenant {} is called pre-initialised, there are {} tenants",
                      tenant,
                      tenants.size()));
    }
  }
  GoodputProblem problem{.lattice = &lattice,
                         .step = options.step,
                         .step_count = options.step_count,
                         .initial = options.initial};
  std::vector<Label> retraining;
  for (std::size_t index = 0; index < tenants.size(); ++index) {
    const AdmittedTenant& admitted = tenants[index];
    const auto tenant = static_cast<int>(index);
    problem.tenants.push_back(planned(admitted.tenant, forecast_rps[index], options));
    const bool is_warm =
        std::ranges::find(options.pre_initialised, tenant) != options.pre_initialised.end();
    Label label{.name = admitted.tenant.name,
                .warm_up_steps = is_warm ? 1 : steps_until(options.warm_up, options)};
    Label::Output output{.tenant = tenant};
    for (std::size_t size = 0; size < lattice.sizes().size(); ++size) {
      const std::optional<OperatingPoint>& point = admitted.serving[size];
      output.rate_rps[size] = point.has_value() ? point->throughput_rps : 0;
    }
    if (admitted.tenant.retraining) {
      retraining.push_back({.name = admitted.tenant.name + " retrains",
                            .retrains = tenant,
                            .speed = admitted.retraining_speed,
                            .warm_up_steps = label.warm_up_steps});
    }
    label.serves.push_back(output);
    problem.labels.push_back(std::move(label));
  }
  problem.labels.insert(problem.labels.end(), retraining.begin(), retraining.end());
  SEPTULE_TRY_STATUS(validate(problem));
  return problem;
}

}  // namespace septule::serve
