#include "serve/mig_serving.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "serve/fleet_plan.hpp"

namespace septule::serve {

namespace {

/// The tenant that an instance of each size is worth most to, and its worth.
struct Choice {
  SizeTable<std::size_t> tenant{};
  SizeTable<double> worth{};
};

Choice choose(const FleetProblem& problem, const std::vector<double>& installed) {
  Choice choice;
  for (std::size_t t = 0; t < problem.tenants.size(); ++t) {
    const FleetTenant& tenant = problem.tenants[t];
    const double open = std::max(0.0, 1 - installed[t] / tenant.rate_rps);
    for (std::size_t s = 0; s < problem.lattice->sizes().size(); ++s) {
      const double worth = open * tenant.throughput[s] / tenant.rate_rps;
      if (worth > choice.worth[s]) {
        choice.worth[s] = worth;
        choice.tenant[s] = t;
      }
    }
  }
  return choice;
}

/// The layout of the best score.
std::size_t best_layout(const LayoutLattice& lattice, const Choice& choice) {
  std::size_t best = 0;
  double most = 0;
  for (std::size_t m = 0; m < lattice.multisets().size(); ++m) {
    double score = 0;
    for (std::size_t s = 0; s < kSizesMax; ++s) {
      score += choice.worth[s] * lattice.multisets()[m].counts[s];
    }
    if (lattice.multisets()[m].is_undominated && score > most) {
      most = score;
      best = m;
    }
  }
  return best;
}

bool is_served(const FleetTenant& tenant, double installed) {
  return installed >= tenant.rate_rps * (1 - 1e-9);
}

}  // namespace

Result<FleetPlan> plan_mig_serving(const FleetProblem& problem) {
  SEPTULE_TRY_STATUS(validate(problem));
  const LayoutLattice& lattice = *problem.lattice;
  FleetPlan plan{.method = "mig-serving"};
  plan.instances.resize(problem.tenants.size());
  std::vector<double> installed(problem.tenants.size(), 0);
  std::map<int, int> layouts;
  const auto is_short = [&] {
    for (std::size_t t = 0; t < installed.size(); ++t) {
      if (!is_served(problem.tenants[t], installed[t])) {
        return true;
      }
    }
    return false;
  };
  for (; is_short(); ++plan.gpus) {
    if (problem.gpu_count.has_value() && plan.gpus == *problem.gpu_count) {
      return Error{
          ErrorCode::kBlocked,
          fmt::format("the greedy plan needs more than the {} GPUs there are", *problem.gpu_count)};
    }
    const Choice choice = choose(problem, installed);
    const std::size_t layout = best_layout(lattice, choice);
    ++layouts[static_cast<int>(layout)];
    for (std::size_t s = 0; s < lattice.sizes().size(); ++s) {
      const int count = lattice.multisets()[layout].counts[s];
      if (count > 0 && choice.worth[s] > 0) {
        plan.instances[choice.tenant[s]][s] += count;
        installed[choice.tenant[s]] += count * problem.tenants[choice.tenant[s]].throughput[s];
        plan.gpcs += count * lattice.sizes()[s].slices.value();
      }
    }
  }
  for (const auto& [multiset, count] : layouts) {
    plan.layouts.push_back({multiset, count});
  }
  for (std::size_t t = 0; t < problem.tenants.size(); ++t) {
    const FleetTenant& tenant = problem.tenants[t];
    plan.served_rps.push_back(std::min(installed[t], tenant.rate_rps));
    plan.goodput_rps += tenant.weight * tenant.accuracy * plan.served_rps.back();
    plan.goodput_bound += tenant.weight * tenant.accuracy * tenant.rate_rps;
  }
  return plan;
}

}  // namespace septule::serve
