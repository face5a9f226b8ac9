#include "serve/fleet_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "serve/fleet_search.hpp"

namespace septule::serve {

namespace {

constexpr int kTenantsMax = 10000;
constexpr int kGpusMax = 100000;
/// Of one tenant on its best size.
constexpr int kInstancesMostUseful = 10000;

/// GPUs that hold so many instances: the layout that holds most compute slices of what is left,
/// again and again.
std::vector<int> pack_greedily(const FleetMaster& master,
                               const LayoutLattice& lattice,
                               SizeTable<int> left) {
  std::vector<int> layouts(master.layouts().size(), 0);
  while (std::ranges::any_of(left, [](int count) { return count > 0; })) {
    std::size_t chosen = 0;
    int most = -1;
    for (std::size_t l = 0; l < layouts.size(); ++l) {
      int slices = 0;
      for (std::size_t s = 0; s < lattice.sizes().size(); ++s) {
        slices += std::min(master.held_by(l)[s], std::max(0, left[s])) *
                  lattice.sizes()[s].slices.value();
      }
      if (slices > most) {
        most = slices;
        chosen = l;
      }
    }
    // As many of it as it is full, at least one.
    int times = kInstancesOfTenantMax;
    for (std::size_t s = 0; s < lattice.sizes().size(); ++s) {
      if (const int held = master.held_by(chosen)[s]; held > 0 && left[s] > 0) {
        times = std::min(times, std::max(1, left[s] / held));
      }
    }
    layouts[chosen] += times;
    for (std::size_t s = 0; s < lattice.sizes().size(); ++s) {
      left[s] -= times * master.held_by(chosen)[s];
    }
  }
  return layouts;
}

/// Each tenant the cheapest cover by compute slices, packed greedily.
FleetAssignment greedy_seed(const FleetProblem& problem,
                            const FleetMaster& master,
                            WorkBudget& budget) {
  CoverPrices prices;
  for (std::size_t s = 0; s < problem.lattice->sizes().size(); ++s) {
    prices.instance[s] = problem.lattice->sizes()[s].slices.value();
  }
  FleetAssignment plan;
  SizeTable<int> sum{};
  for (const FleetTenant& tenant : problem.tenants) {
    const CheapestCover found = cheapest_cover(tenant, prices, {}, budget);
    SEPTULE_CHECK(found.cover.has_value(), "a valid tenant has a size, and limits allow all");
    plan.instances.push_back(found.cover->counts);
    for (std::size_t s = 0; s < kSizesMax; ++s) {
      sum[s] += found.cover->counts[s];
    }
  }
  plan.layouts = pack_greedily(master, *problem.lattice, sum);
  return plan;
}

int gpus_of(const FleetAssignment& assignment) {
  return std::accumulate(assignment.layouts.begin(), assignment.layouts.end(), 0);
}

void offer_all(FleetMaster& master, const FleetAssignment& assignment) {
  for (std::size_t t = 0; t < assignment.instances.size(); ++t) {
    master.offer(t, assignment.instances[t]);
  }
}

/// The plan's lists and sums out of an assignment; bounds are the caller's.
FleetPlan to_plan(const FleetProblem& problem,
                  const FleetMaster& master,
                  const FleetAssignment& assignment) {
  FleetPlan plan;
  for (std::size_t l = 0; l < assignment.layouts.size(); ++l) {
    if (assignment.layouts[l] > 0) {
      plan.layouts.push_back({master.layouts()[l], assignment.layouts[l]});
      plan.gpus += assignment.layouts[l];
    }
  }
  plan.instances = assignment.instances;
  for (std::size_t t = 0; t < problem.tenants.size(); ++t) {
    const FleetTenant& tenant = problem.tenants[t];
    const double served = std::min(tenant.rate_rps, capacity_of(tenant, assignment.instances[t]));
    plan.served_rps.push_back(served);
    plan.goodput_rps += tenant.weight * tenant.accuracy * served;
    for (std::size_t s = 0; s < problem.lattice->sizes().size(); ++s) {
      plan.gpcs += assignment.instances[t][s] * problem.lattice->sizes()[s].slices.value();
    }
  }
  return plan;
}

Status validate_tenant(const FleetProblem& problem, const FleetTenant& tenant) {
  const auto invalid = [&](std::string what) {
    return Error{ErrorCode::kInvalidInput, fmt::format("tenant '{}': {}", tenant.name, what)};
  };
  const auto is_positive = [](double value) { return std::isfinite(value) && value > 0; };
  if (!is_positive(tenant.rate_rps)) {
    return invalid(
        fmt::format("a rate of {} requests/s cannot be planned for; it must be a finite "
                    "number above 0",
                    tenant.rate_rps));
  }
  if (!is_positive(tenant.weight) || !is_positive(tenant.accuracy) || tenant.accuracy > 1) {
    return invalid(
        fmt::format("the weight ({}) must be above 0 and the accuracy ({}) above 0 and "
                    "at most 1",
                    tenant.weight,
                    tenant.accuracy));
  }
  double most = 0;
  for (std::size_t s = 0; s < kSizesMax; ++s) {
    const double throughput = tenant.throughput[s];
    const bool is_size = s < problem.lattice->sizes().size();
    if (!std::isfinite(throughput) || throughput < 0 || (throughput > 0 && !is_size)) {
      return invalid(
          fmt::format("a throughput of {} requests/s on size {} is not valid; it must "
                      "be 0 or more, and only on sizes the GPU has",
                      throughput,
                      s));
    }
    most = std::max(most, throughput);
  }
  if (most <= 0) {
    return invalid("no size of instance serves it within its SLO; at least one must");
  }
  if (tenant.rate_rps / most > kInstancesMostUseful) {
    return invalid(
        fmt::format("a rate of {} requests/s needs more than {} instances, which is "
                    "more than can be planned",
                    tenant.rate_rps,
                    kInstancesMostUseful));
  }
  return {};
}

}  // namespace

Status validate(const FleetProblem& problem) {
  const auto invalid = [](std::string message) {
    return Error{ErrorCode::kInvalidInput, std::move(message)};
  };
  if (problem.lattice == nullptr || problem.lattice->sizes().empty()) {
    return invalid("a fleet needs a GPU model that can be partitioned");
  }
  if (problem.tenants.empty() || std::ssize(problem.tenants) > kTenantsMax) {
    return invalid(fmt::format(
        "a fleet serves 1 to {} tenants, but there are {}", kTenantsMax, problem.tenants.size()));
  }
  if (problem.gpu_count.has_value() && (*problem.gpu_count < 1 || *problem.gpu_count > kGpusMax)) {
    return invalid(
        fmt::format("a fleet has 1 to {} GPUs, but {} were given", kGpusMax, *problem.gpu_count));
  }
  for (const FleetTenant& tenant : problem.tenants) {
    SEPTULE_TRY_STATUS(validate_tenant(problem, tenant));
  }
  return {};
}

Result<FleetPlan> plan_min_gpus(const FleetProblem& problem, const FleetOptions& options) {
  SEPTULE_TRY_STATUS(validate(problem));
  WorkBudget budget(options.units_max);
  FleetStage stage{.gpu_cost = 1};
  FleetMaster packer(problem, stage);
  FleetAssignment seed = greedy_seed(problem, packer, budget);
  stage.gpus_max = gpus_of(seed);
  seed.cost = stage.gpus_max;
  FleetMaster master(problem, stage);
  offer_all(master, seed);
  SEPTULE_TRY(FleetSearchResult fewest, FleetSearch(problem, master, {.seed = seed}).run(budget));
  const FleetAssignment& found = fewest.best;

  FleetStage slices{.gpus_max = gpus_of(found)};
  for (std::size_t s = 0; s < problem.lattice->sizes().size(); ++s) {
    slices.instance_cost[s] = problem.lattice->sizes()[s].slices.value();
  }
  FleetMaster second(problem, slices);
  FleetAssignment start = found;
  start.cost = cost_of(problem, slices, start);
  offer_all(second, start);
  SEPTULE_TRY(FleetSearchResult least, FleetSearch(problem, second, {.seed = start}).run(budget));
  FleetPlan plan = to_plan(problem, second, least.best);
  plan.gpus_bound = static_cast<int>(fewest.bound);
  plan.gpcs_bound = static_cast<int>(least.bound);
  plan.goodput_bound = plan.goodput_rps;
  plan.is_optimal = plan.gpus == plan.gpus_bound && plan.gpcs == plan.gpcs_bound;
  plan.method = "branch-and-price";
  plan.units_spent = budget.units_spent();
  return plan;
}

Result<FleetPlan> plan_max_goodput(const FleetProblem& problem, const FleetOptions& options) {
  SEPTULE_TRY_STATUS(validate(problem));
  WorkBudget budget(options.units_max);
  FleetStage stage{.gpus_max = *problem.gpu_count,
                   .unserved = FleetStage::Unserved::kPaid,
                   .values = FleetStage::Values::kAny};
  FleetMaster master(problem, stage);
  double all = 0;
  FleetAssignment seed;
  seed.layouts.assign(master.layouts().size(), 0);
  seed.instances.resize(problem.tenants.size());
  for (const FleetTenant& tenant : problem.tenants) {
    all += tenant.weight * tenant.accuracy * tenant.rate_rps;
  }
  seed.cost = all;
  SEPTULE_TRY(
      FleetSearchResult found,
      FleetSearch(problem, master, {.seed = seed, .gap_absolute = options.goodput_gap * all})
          .run(budget));
  FleetPlan plan = to_plan(problem, master, found.best);
  plan.goodput_bound = std::max(plan.goodput_rps, all - found.bound);
  plan.is_optimal = plan.goodput_bound - plan.goodput_rps <= options.goodput_gap * all;
  plan.method = "branch-and-price";
  plan.units_spent = budget.units_spent();
  return plan;
}

}  // namespace septule::serve
