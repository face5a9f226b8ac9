#include "serve/goodput_problem.hpp"

#include <cmath>
#include <cstddef>

#include <fmt/format.h>

namespace septule::serve {

namespace {

constexpr double kNumberMax = 1e12;
constexpr int kWarmUpStepsMax = kGoodputStepsMax;

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalidInput, std::move(message)};
}

bool is_within(double value, double low, double high) {
  return std::isfinite(value) && value >= low && value <= high;
}

bool is_index(int value, std::size_t size) {
  return value >= 0 && static_cast<std::size_t>(value) < size;
}

Status check_number(double value, double high, const std::string& where, std::string_view what) {
  if (is_within(value, 0, high)) {
    return {};
  }
  return invalid(fmt::format("{}: {} is {}, must be 0 to {}", where, what, value, high));
}

Status check_count(int value, int low, int high, const std::string& where, std::string_view what) {
  if (value >= low && value <= high) {
    return {};
  }
  return invalid(fmt::format("{}: {} is {}, must be {} to {}", where, what, value, low, high));
}

Status check_window(const GoodputProblem& problem) {
  const std::string where = "window";
  if (problem.lattice == nullptr) {
    return invalid("window: no layouts were given");
  }
  if (problem.step <= Duration()) {
    return invalid(
        fmt::format("window: the step is {} s, must be above 0", problem.step.to_seconds()));
  }
  SEPTULE_TRY_STATUS(check_count(problem.step_count, 1, kGoodputStepsMax, where, "steps"));
  SEPTULE_TRY_STATUS(check_count(static_cast<int>(problem.tenants.size()),
                                 1,
                                 kGoodputTenantsMax,
                                 where,
                                 "the number of tenants"));
  SEPTULE_TRY_STATUS(check_count(static_cast<int>(problem.labels.size()),
                                 1,
                                 kGoodputLabelsMax,
                                 where,
                                 "the number of labels"));
  SEPTULE_TRY_STATUS(
      check_count(problem.terminal_steps, 0, kGoodputStepsMax, where, "terminal_steps"));
  SEPTULE_TRY_STATUS(check_count(problem.dwell_steps, 0, kGoodputStepsMax, where, "dwell_steps"));
  return check_count(
      problem.changes_per_step_max.value_or(0), 0, kGoodputStepsMax, where, "changes_per_step_max");
}

Status check_tenant(const GoodputTenant& tenant, int step_count) {
  const std::string where = fmt::format("tenant '{}'", tenant.name);
  SEPTULE_TRY_STATUS(check_number(tenant.weight, kNumberMax, where, "weight"));
  SEPTULE_TRY_STATUS(check_number(tenant.accuracy, 1, where, "accuracy"));
  SEPTULE_TRY_STATUS(check_number(tenant.accuracy_after, 1, where, "accuracy_after"));
  SEPTULE_TRY_STATUS(check_number(tenant.floor_share, 1, where, "floor_share"));
  if (tenant.rate_rps.size() != static_cast<std::size_t>(step_count)) {
    return invalid(fmt::format("{}: {} rates for {} steps, must be one for each step",
                               where,
                               tenant.rate_rps.size(),
                               step_count));
  }
  for (std::size_t t = 0; t < tenant.rate_rps.size(); ++t) {
    SEPTULE_TRY_STATUS(check_number(tenant.rate_rps[t],
                                    kNumberMax,
                                    where,
                                    fmt::format("the rate of step {} (requests per second)", t)));
  }
  if (!tenant.retraining.has_value()) {
    return {};
  }
  const RetrainingNeed& need = *tenant.retraining;
  if (!is_within(need.work_s, 0, kNumberMax) || need.work_s <= 0) {
    return invalid(fmt::format("{}: retraining work is {} s, must be above 0 and at most {}",
                               where,
                               need.work_s,
                               kNumberMax));
  }
  SEPTULE_TRY_STATUS(
      check_count(need.release_step, 0, kGoodputStepsMax, where, "retraining release_step"));
  return check_count(need.deadline_step, 0, kGoodputStepsMax, where, "retraining deadline_step");
}

Status check_label(const GoodputProblem& problem, const Label& label) {
  const std::string where = fmt::format("label '{}'", label.name);
  const std::size_t sizes = problem.lattice->sizes().size();
  std::uint64_t seen = 0;
  for (const Label::Output& output : label.serves) {
    if (!is_index(output.tenant, problem.tenants.size())) {
      return invalid(fmt::format("{}: serves tenant {}, must be 0 to {}",
                                 where,
                                 output.tenant,
                                 problem.tenants.size() - 1));
    }
    const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(output.tenant);
    if ((seen & bit) != 0) {
      return invalid(fmt::format("{}: serves tenant {} twice, must be once", where, output.tenant));
    }
    seen |= bit;
    for (std::size_t s = 0; s < sizes; ++s) {
      SEPTULE_TRY_STATUS(check_number(output.rate_rps[s], kNumberMax, where, "a rate"));
    }
  }
  if (label.retrains.has_value()) {
    if (!is_index(*label.retrains, problem.tenants.size())) {
      return invalid(fmt::format("{}: retrains tenant {}, must be 0 to {}",
                                 where,
                                 *label.retrains,
                                 problem.tenants.size() - 1));
    }
    if (!label.serves.empty()) {
      return invalid(fmt::format("{}: serves and retrains, must do one of both", where));
    }
  }
  for (std::size_t s = 0; s < sizes; ++s) {
    SEPTULE_TRY_STATUS(check_number(label.speed[s], kNumberMax, where, "a speed of retraining"));
    SEPTULE_TRY_STATUS(check_number(label.memory[s], kNumberMax, where, "a share of memory"));
  }
  SEPTULE_TRY_STATUS(check_count(label.warm_up_steps, 0, kWarmUpStepsMax, where, "warm_up_steps"));
  return check_number(label.creation_cost, kNumberMax, where, "creation_cost");
}

Status check_initial(const GoodputProblem& problem) {
  std::uint32_t placements = 0;
  std::uint64_t retrained = 0;
  int last = -1;
  for (const LabelledInstance& instance : problem.initial) {
    if (!is_index(instance.placement, problem.lattice->placements().size()) ||
        instance.placement <= last) {
      return invalid(fmt::format("layout in force: placement {}, must be 0 to {} and ascending",
                                 instance.placement,
                                 problem.lattice->placements().size() - 1));
    }
    if (!is_index(instance.label, problem.labels.size())) {
      return invalid(fmt::format("layout in force: label {} at placement {}, must be 0 to {}",
                                 instance.label,
                                 instance.placement,
                                 problem.labels.size() - 1));
    }
    last = instance.placement;
    placements |= std::uint32_t{1} << static_cast<unsigned>(instance.placement);
    const auto& retrains = problem.labels[static_cast<std::size_t>(instance.label)].retrains;
    if (retrains.has_value()) {
      const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(*retrains);
      if ((retrained & bit) != 0) {
        return invalid(
            fmt::format("layout in force: two instances retrain tenant '{}', must be "
                        "one at most",
                        problem.tenants[static_cast<std::size_t>(*retrains)].name));
      }
      retrained |= bit;
    }
  }
  if (!problem.lattice->is_legal(placements)) {
    return invalid("layout in force: its instances do not fit beside each other");
  }
  if ((problem.frozen & ~placements) != 0) {
    return invalid(
        fmt::format("frozen: placements {:#x} are not all in the layout in force ({:#x})",
                    problem.frozen,
                    placements));
  }
  return {};
}

}  // namespace

Status validate(const GoodputProblem& problem) {
  SEPTULE_TRY_STATUS(check_window(problem));
  for (const GoodputTenant& tenant : problem.tenants) {
    SEPTULE_TRY_STATUS(check_tenant(tenant, problem.step_count));
  }
  for (const Label& label : problem.labels) {
    SEPTULE_TRY_STATUS(check_label(problem, label));
  }
  return check_initial(problem);
}

}  // namespace septule::serve
