#include "serve/fleet_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "serve/fleet_milp.hpp"
#include "serve/fleet_search.hpp"

namespace septule::serve {

namespace {

/// A gap that is met may look larger by rounding.
constexpr double kGapRounding = 1.001;
constexpr double kNoGap = 1e-6;
/// A goodput this share below its bound is the greatest: more is beyond what doubles can tell apart
/// in the linear programs.
constexpr double kOptimalShare = 1e-6;
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

/// Takes away GPUs that the instances do not need.
void drop_unused(const FleetProblem& problem,
                 const FleetMaster& master,
                 FleetAssignment& assignment) {
  for (int& count : assignment.layouts) {
    while (count > 0) {
      --count;
      if (!is_possible(problem, master, assignment)) {
        ++count;
        break;
      }
    }
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

struct StageAnswer {
  FleetSearchResult result;
  std::string_view method = "branch-and-price";
};

/// Our own search, then the solver where that leaves a gap.
Result<StageAnswer> solve_stage(const FleetProblem& problem,
                                FleetMaster& master,
                                const FleetSearchOptions& search,
                                const FleetOptions& options,
                                WorkBudget& budget) {
  offer_all(master, search.seed);
  StageAnswer answer;
  SEPTULE_TRY(answer.result, FleetSearch(problem, master, search).run(budget));
  const double gap = search.gap_of(answer.result.best.cost);
  const double left = answer.result.best.cost - answer.result.bound;
  if (options.solver == nullptr || left <= kGapRounding * gap + kNoGap) {
    return answer;
  }
  const port::MilpLimits limits{.elapsed = options.solver_elapsed, .gap_absolute = gap};
  // A solver that breaks down takes nothing away from what is known.
  if (auto better = improve_by_milp(problem, master, answer.result, *options.solver, limits)) {
    answer = {std::move(better).value(), "branch-and-price+milp"};
  }
  return answer;
}

/// The fewest GPUs, then the fewest compute slices with so few, of as many GPUs as it takes.
Result<FleetPlan> plan_unlimited(const FleetProblem& problem, const FleetOptions& options) {
  WorkBudget budget(options.units_max / 2);
  FleetStage stage{.gpu_cost = 1};
  FleetAssignment seed = greedy_seed(problem, FleetMaster(problem, stage), budget);
  stage.gpus_max = gpus_of(seed);
  seed.cost = stage.gpus_max;
  FleetMaster master(problem, stage);
  SEPTULE_TRY(const StageAnswer fewest,
              solve_stage(problem, master, {.seed = seed}, options, budget));

  FleetStage slices{.gpus_max = gpus_of(fewest.result.best)};
  for (std::size_t s = 0; s < problem.lattice->sizes().size(); ++s) {
    slices.instance_cost[s] = problem.lattice->sizes()[s].slices.value();
  }
  WorkBudget rest(options.units_max - budget.units_spent());
  FleetMaster second(problem, slices);
  FleetAssignment start = fewest.result.best;
  start.cost = cost_of(problem, slices, start);
  SEPTULE_TRY(StageAnswer least, solve_stage(problem, second, {.seed = start}, options, rest));
  drop_unused(problem, second, least.result.best);

  FleetPlan plan = to_plan(problem, second, least.result.best);
  plan.gpus_bound = std::min(plan.gpus, static_cast<int>(fewest.result.bound));
  plan.gpcs_bound = static_cast<int>(least.result.bound);
  for (const FleetTenant& tenant : problem.tenants) {
    plan.goodput_bound += tenant.weight * tenant.accuracy * tenant.rate_rps;
  }
  plan.is_optimal = plan.gpus == plan.gpus_bound && plan.gpcs == plan.gpcs_bound;
  plan.method = std::max(fewest.method, least.method);
  plan.units_spent = budget.units_spent() + rest.units_spent();
  return plan;
}

/// The problem with no tenant asking for more than all GPUs could do for it alone: the same plans
/// with the same goodput, and figures that are not swamped by requests nobody can serve.
FleetProblem without_hopeless_requests(const FleetProblem& problem, int gpus) {
  FleetProblem out = problem;
  for (FleetTenant& tenant : out.tenants) {
    double most = 0;
    for (const LayoutLattice::Multiset& multiset : problem.lattice->multisets()) {
      double sum = 0;
      for (std::size_t s = 0; s < kSizesMax; ++s) {
        sum += multiset.counts[s] * tenant.throughput[s];
      }
      most = std::max(most, sum);
    }
    tenant.rate_rps = std::min(tenant.rate_rps, gpus * most);
  }
  return out;
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
  SEPTULE_TRY(FleetPlan plan, plan_unlimited(problem, options));
  if (!problem.gpu_count.has_value() || plan.gpus <= *problem.gpu_count) {
    return plan;
  }
  const int given = *problem.gpu_count;
  if (plan.gpus_bound == plan.gpus) {
    return Error{ErrorCode::kBlocked,
                 fmt::format("the fleet is too small: the tenants need {} GPUs (proved), {} more "
                             "than the {} there are",
                             plan.gpus,
                             plan.gpus - given,
                             given)};
  }
  return Error{ErrorCode::kBlocked,
               fmt::format("no plan for the {} GPUs there are was found: the tenants need at least "
                           "{} GPUs, and {} are enough",
                           given,
                           plan.gpus_bound,
                           plan.gpus)};
}

Result<FleetPlan> plan_max_goodput(const FleetProblem& problem, const FleetOptions& options) {
  SEPTULE_TRY_STATUS(validate(problem));
  if (!problem.gpu_count.has_value()) {
    return Error{ErrorCode::kInvalidInput,
                 "the greatest goodput is that of a number of GPUs, which was not given"};
  }
  // Where all can be served, with as few GPUs as that takes.
  SEPTULE_TRY(FleetPlan whole, plan_unlimited(problem, options));
  if (whole.gpus <= *problem.gpu_count) {
    whole.is_optimal = true;
    return whole;
  }
  const FleetProblem hopeful = without_hopeless_requests(problem, *problem.gpu_count);
  WorkBudget budget(options.units_max);
  FleetMaster master(hopeful,
                     {.gpus_max = *problem.gpu_count,
                      .unserved = FleetStage::Unserved::kPaid,
                      .values = FleetStage::Values::kAny});
  double all = 0;
  FleetAssignment seed;
  seed.layouts.assign(master.layouts().size(), 0);
  seed.instances.resize(problem.tenants.size());
  for (const FleetTenant& tenant : hopeful.tenants) {
    all += tenant.weight * tenant.accuracy * tenant.rate_rps;
  }
  seed.cost = all;
  const FleetSearchOptions search{
      .seed = seed, .gap_share = options.goodput_gap, .reward_all = all};
  SEPTULE_TRY(StageAnswer found, solve_stage(hopeful, master, search, options, budget));
  drop_unused(hopeful, master, found.result.best);
  FleetPlan plan = to_plan(hopeful, master, found.result.best);
  plan.goodput_bound = std::max(plan.goodput_rps, all - found.result.bound);
  plan.is_optimal =
      plan.goodput_bound - plan.goodput_rps <= kGapRounding * kOptimalShare * plan.goodput_rps;
  plan.method = found.method;
  plan.units_spent = budget.units_spent() + whole.units_spent;
  return plan;
}

}  // namespace septule::serve
