#include "serve/mig_serving.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "serve/fleet_plan.hpp"

namespace septule::serve {

namespace {

constexpr std::size_t kTenantsOfGpuMax = 3;

/// A layout with a tenant for each of its instances that is of use to somebody.
struct Configuration {
  std::size_t multiset = 0;
  double score = 0;
  std::vector<std::pair<std::size_t, std::size_t>> given;  // size, tenant
};

/// Fills a layout greedily. `served`: part of its rate each tenant has by now.
Configuration fill(const FleetProblem& problem,
                   std::size_t multiset,
                   const std::vector<double>& served) {
  Configuration filled{.multiset = multiset};
  std::map<std::size_t, double> added;  // by tenant, part of its rate
  for (std::size_t s = problem.lattice->sizes().size(); s-- > 0;) {
    for (int i = 0; i < problem.lattice->multisets()[multiset].counts[s]; ++i) {
      std::size_t chosen = 0;
      double most = 0;
      for (std::size_t t = 0; t < problem.tenants.size(); ++t) {
        const auto own = added.find(t);
        if (own == added.end() && added.size() == kTenantsOfGpuMax) {
          continue;
        }
        const double open = 1 - served[t] - (own == added.end() ? 0 : own->second);
        const double part = problem.tenants[t].throughput[s] / problem.tenants[t].rate_rps;
        const double score = (1 - served[t]) * std::min(part, std::max(0.0, open));
        if (score > most) {
          most = score;
          chosen = t;
        }
      }
      if (most > 0) {
        filled.score += most;
        filled.given.emplace_back(s, chosen);
        added[chosen] += problem.tenants[chosen].throughput[s] / problem.tenants[chosen].rate_rps;
      }
    }
  }
  return filled;
}

Configuration best_configuration(const FleetProblem& problem,
                                 const std::vector<double>& installed) {
  std::vector<double> served;
  for (std::size_t t = 0; t < installed.size(); ++t) {
    served.push_back(std::min(1.0, installed[t] / problem.tenants[t].rate_rps));
  }
  Configuration best;
  for (std::size_t m = 0; m < problem.lattice->multisets().size(); ++m) {
    if (problem.lattice->multisets()[m].is_undominated) {
      Configuration filled = fill(problem, m, served);
      if (filled.score > best.score) {
        best = std::move(filled);
      }
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
    const Configuration best = best_configuration(problem, installed);
    ++layouts[static_cast<int>(best.multiset)];
    for (const auto& [size, tenant] : best.given) {
      ++plan.instances[tenant][size];
      installed[tenant] += problem.tenants[tenant].throughput[size];
      plan.gpcs += lattice.sizes()[size].slices.value();
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
