#include "serve/fleet_checker.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace septule::serve {

namespace {

constexpr double kRelative = 1e-9;

Error fault(std::string message) {
  return {ErrorCode::kFailed, std::move(message)};
}

bool are_close(double a, double b) {
  return std::abs(a - b) <= kRelative * std::max({1.0, std::abs(a), std::abs(b)});
}

Status check_layouts(const FleetProblem& problem, const FleetPlan& plan) {
  const LayoutLattice& lattice = *problem.lattice;
  int gpus = 0;
  int previous = -1;
  for (const LayoutCount& own : plan.layouts) {
    if (own.multiset <= previous || own.multiset >= std::ssize(lattice.multisets())) {
      return fault(fmt::format("layout {} is unknown or out of order", own.multiset));
    }
    previous = own.multiset;
    const auto sets = lattice.sets_of(own.multiset);
    if (sets.empty() || !lattice.is_legal(sets.front())) {
      return fault(fmt::format("layout {} has no legal placement", own.multiset));
    }
    if (own.gpus <= 0) {
      return fault(fmt::format("layout {} is listed for {} GPUs", own.multiset, own.gpus));
    }
    gpus += own.gpus;
  }
  if (gpus != plan.gpus) {
    return fault(fmt::format("the layouts are of {} GPUs, but the plan says {}", gpus, plan.gpus));
  }
  if (problem.gpu_count.has_value() && gpus > *problem.gpu_count) {
    return fault(fmt::format("{} GPUs are used, but there are {}", gpus, *problem.gpu_count));
  }
  return {};
}

Status check_capacity(const FleetProblem& problem, const FleetPlan& plan) {
  const LayoutLattice& lattice = *problem.lattice;
  std::int64_t gpcs = 0;
  for (std::size_t s = 0; s < kSizesMax; ++s) {
    std::int64_t held = 0;
    for (const LayoutCount& own : plan.layouts) {
      const auto& multiset = lattice.multisets()[static_cast<std::size_t>(own.multiset)];
      held += std::int64_t{multiset.counts[s]} * own.gpus;
    }
    std::int64_t given = 0;
    for (std::size_t t = 0; t < plan.instances.size(); ++t) {
      const int count = plan.instances[t][s];
      if (count < 0 || (count > 0 && problem.tenants[t].throughput[s] <= 0)) {
        return fault(fmt::format("tenant '{}' has {} instances of size {}, which does not serve it",
                                 problem.tenants[t].name,
                                 count,
                                 s));
      }
      given += count;
    }
    if (given > held) {
      return fault(fmt::format(
          "{} instances of size {} are given to tenants, but the layouts hold {}", given, s, held));
    }
    if (given > 0) {
      gpcs += given * lattice.sizes()[s].slices.value();
    }
  }
  if (gpcs != plan.gpcs) {
    return fault(
        fmt::format("the instances have {} compute slices, but the plan says {}", gpcs, plan.gpcs));
  }
  return {};
}

Status check_rates(const FleetProblem& problem, const FleetPlan& plan, FleetGoal goal) {
  double goodput = 0;
  for (std::size_t t = 0; t < problem.tenants.size(); ++t) {
    const FleetTenant& tenant = problem.tenants[t];
    double capacity = 0;
    for (std::size_t s = 0; s < kSizesMax; ++s) {
      capacity += plan.instances[t][s] * tenant.throughput[s];
    }
    const double served = std::min(capacity, tenant.rate_rps);
    if (!are_close(served, plan.served_rps[t])) {
      return fault(fmt::format("tenant '{}' is served {} requests/s, but the plan says {}",
                               tenant.name,
                               served,
                               plan.served_rps[t]));
    }
    // Twice the planner's tolerance: the sum may be in another order.
    if (goal == FleetGoal::kAllServed && served < tenant.rate_rps * (1 - 2 * kRelative)) {
      return fault(fmt::format(
          "tenant '{}' is served {} of its {} requests/s", tenant.name, served, tenant.rate_rps));
    }
    goodput += tenant.weight * tenant.accuracy * served;
  }
  if (!are_close(goodput, plan.goodput_rps)) {
    return fault(fmt::format("the goodput is {}, but the plan says {}", goodput, plan.goodput_rps));
  }
  return {};
}

Status check_bounds(const FleetPlan& plan, FleetGoal goal) {
  if (goal == FleetGoal::kAllServed &&
      (plan.gpus_bound > plan.gpus || plan.gpcs_bound > plan.gpcs)) {
    return fault(fmt::format("{} GPUs and {} compute slices are below their bounds {} and {}",
                             plan.gpus,
                             plan.gpcs,
                             plan.gpus_bound,
                             plan.gpcs_bound));
  }
  const bool is_reached = plan.gpus_bound == plan.gpus && plan.gpcs_bound == plan.gpcs;
  if (goal == FleetGoal::kAllServed && plan.is_optimal != is_reached) {
    return fault("the plan is called optimal without reaching its bounds, or the other way round");
  }
  if (plan.goodput_rps > plan.goodput_bound * (1 + kRelative)) {
    return fault(
        fmt::format("a goodput of {} is above its bound {}", plan.goodput_rps, plan.goodput_bound));
  }
  return {};
}

}  // namespace

Status check_fleet(const FleetProblem& problem, const FleetPlan& plan, FleetGoal goal) {
  if (plan.instances.size() != problem.tenants.size() ||
      plan.served_rps.size() != problem.tenants.size()) {
    return fault(fmt::format("the plan is for {} tenants, but there are {}",
                             plan.instances.size(),
                             problem.tenants.size()));
  }
  SEPTULE_TRY_STATUS(check_layouts(problem, plan));
  SEPTULE_TRY_STATUS(check_capacity(problem, plan));
  SEPTULE_TRY_STATUS(check_rates(problem, plan, goal));
  return check_bounds(plan, goal);
}

}  // namespace septule::serve
