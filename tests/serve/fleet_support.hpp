#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/rng.hpp"
#include "serve/fleet_problem.hpp"

namespace septule::serve::test {

/// Tenants without rhyme or reason: a larger size may serve less, some sizes nothing.
inline FleetProblem odd_fleet(const LayoutLattice& lattice,
                              int tenant_count,
                              double rate_max,
                              std::uint64_t seed) {
  Rng rng(seed);
  FleetProblem problem{.lattice = &lattice};
  for (int t = 0; t < tenant_count; ++t) {
    FleetTenant& tenant = problem.tenants.emplace_back();
    tenant.name = fmt::format("t{}", t);
    for (std::size_t s = 0; s < lattice.sizes().size(); ++s) {
      const double slices = lattice.sizes()[s].slices.value();
      const auto noise = static_cast<double>(5 + rng.below(15));
      tenant.throughput[s] = rng.chance(1, 4) ? 0 : slices * noise / 10;
    }
    tenant.throughput[rng.below(lattice.sizes().size())] = 7.25;
    tenant.rate_rps = 0.5 + rng.uniform() * rate_max;
    tenant.weight = 1 + static_cast<double>(rng.below(3));
    tenant.accuracy = 0.5 + 0.5 * rng.uniform();
  }
  return problem;
}

/// Everything tried: which instances so many GPUs can hold, and every way to deal them out.
class BruteForce {
 public:
  explicit BruteForce(const FleetProblem& problem) : problem_(problem) {}

  struct Fewest {
    int gpus = 0;
    int gpcs = 0;
    friend bool operator==(const Fewest&, const Fewest&) = default;
  };
  /// Nothing: more than `gpus_max` GPUs.
  std::optional<Fewest> fewest(int gpus_max) {
    for (int gpus = 1; gpus <= gpus_max; ++gpus) {
      gpcs_ = kNone;
      for (const SizeTable<int>& held : held_by(gpus)) {
        serve_all(0, held, 0);
      }
      if (gpcs_ != kNone) {
        return Fewest{gpus, gpcs_};
      }
    }
    return std::nullopt;
  }

  double most_goodput(int gpus) {
    goodput_ = 0;
    for (const SizeTable<int>& held : held_by(gpus)) {
      serve_some(0, held, 0);
    }
    return goodput_;
  }

 private:
  static constexpr int kNone = 1000000;

  std::set<SizeTable<int>> held_by(int gpus) const {
    std::set<SizeTable<int>> all = {SizeTable<int>{}};
    for (int g = 0; g < gpus; ++g) {
      std::set<SizeTable<int>> next;
      for (const SizeTable<int>& held : all) {
        for (const LayoutLattice::Multiset& own : problem_.lattice->multisets()) {
          SizeTable<int> sum = held;
          for (std::size_t s = 0; s < kSizesMax; ++s) {
            sum[s] += own.counts[s];
          }
          next.insert(sum);
        }
      }
      all = std::move(next);
    }
    return all;
  }

  /// Calls `visit(left, capacity, slices)` for every choice of instances for a tenant.
  template <class Visit>
  void each_choice(std::size_t tenant,
                   std::size_t size,
                   SizeTable<int> left,
                   std::pair<double, int> sum,
                   const Visit& visit) const {
    if (size == problem_.lattice->sizes().size()) {
      visit(left, sum.first, sum.second);
      return;
    }
    const double throughput = problem_.tenants[tenant].throughput[size];
    const int slices = problem_.lattice->sizes()[size].slices.value();
    const int most = throughput > 0 ? left[size] : 0;
    for (int count = 0; count <= most; ++count) {
      each_choice(tenant,
                  size + 1,
                  left,
                  {sum.first + count * throughput, sum.second + count * slices},
                  visit);
      --left[size];
    }
  }

  void serve_all(std::size_t tenant, const SizeTable<int>& left, int gpcs) {
    if (gpcs >= gpcs_) {
      return;
    }
    if (tenant == problem_.tenants.size()) {
      gpcs_ = gpcs;
      return;
    }
    each_choice(tenant, 0, left, {0, 0}, [&](const SizeTable<int>& rest, double sum, int slices) {
      if (sum >= problem_.tenants[tenant].rate_rps * (1 - 1e-9)) {
        serve_all(tenant + 1, rest, gpcs + slices);
      }
    });
  }

  void serve_some(std::size_t tenant, const SizeTable<int>& left, double goodput) {
    if (tenant == problem_.tenants.size()) {
      goodput_ = std::max(goodput_, goodput);
      return;
    }
    const FleetTenant& own = problem_.tenants[tenant];
    each_choice(tenant, 0, left, {0, 0}, [&](const SizeTable<int>& rest, double sum, int) {
      serve_some(
          tenant + 1, rest, goodput + own.weight * own.accuracy * std::min(sum, own.rate_rps));
    });
  }

  const FleetProblem& problem_;
  int gpcs_ = kNone;
  double goodput_ = 0;
};

}  // namespace septule::serve::test
