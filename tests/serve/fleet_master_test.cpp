#include "serve/fleet_master.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "serve/fleet_search.hpp"
#include "serve/fleet_support.hpp"
#include "serve/lattice_support.hpp"

namespace septule::serve {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// The least cost of any plan in a node, by trying all.
class NodeByBruteForce {
 public:
  NodeByBruteForce(const FleetProblem& problem, const FleetMaster& master, const FleetNode& node)
      : problem_(problem), master_(master), node_(node), limits_(problem.tenants.size()) {
    for (const FleetNode::TenantLimits& own : node.tenants) {
      limits_[own.tenant] = own.limits;
    }
    assignment_.layouts.resize(master.layouts().size());
    assignment_.instances.resize(problem.tenants.size());
  }

  double least() {
    each_layout(0);
    return best_;
  }

 private:
  void each_layout(std::size_t layout) {
    if (layout == assignment_.layouts.size()) {
      SizeTable<int> held{};
      for (std::size_t l = 0; l < layout; ++l) {
        for (std::size_t s = 0; s < kSizesMax; ++s) {
          held[s] += assignment_.layouts[l] * master_.held_by(l)[s];
        }
      }
      each_count(0, 0, held);
      return;
    }
    for (int count = node_.layout_least[layout];
         count <= std::min(node_.layout_most[layout], master_.stage().gpus_max);
         ++count) {
      assignment_.layouts[layout] = count;
      each_layout(layout + 1);
    }
  }

  void each_count(std::size_t tenant, std::size_t size, SizeTable<int> left) {
    if (tenant == problem_.tenants.size()) {
      if (is_possible(problem_, master_, assignment_)) {
        best_ = std::min(best_, cost_of(problem_, master_.stage(), assignment_));
      }
      return;
    }
    if (size == problem_.lattice->sizes().size()) {
      each_count(tenant + 1, 0, left);
      return;
    }
    const CountLimits& limits = limits_[tenant];
    for (int count = limits.least[size]; count <= std::min(limits.most[size], left[size]);
         ++count) {
      assignment_.instances[tenant][size] = count;
      SizeTable<int> rest = left;
      rest[size] -= count;
      each_count(tenant, size + 1, rest);
    }
  }

  const FleetProblem& problem_;
  const FleetMaster& master_;
  const FleetNode& node_;
  std::vector<CountLimits> limits_;
  FleetAssignment assignment_;
  double best_ = kInfinite;
};

FleetNode random_node(const FleetProblem& problem, const FleetMaster& master, Rng& rng) {
  FleetNode node = master.root();
  for (std::size_t l = 0; l < node.layout_least.size(); ++l) {
    if (rng.chance(1, 3)) {
      node.layout_least[l] = static_cast<int>(rng.below(2));
      node.layout_most[l] = node.layout_least[l] + static_cast<int>(rng.below(2));
    }
  }
  for (std::size_t t = 0; t < problem.tenants.size(); ++t) {
    if (rng.chance(1, 2)) {
      FleetNode::TenantLimits& own = node.tenants.emplace_back();
      own.tenant = t;
      const std::size_t size = rng.below(problem.lattice->sizes().size());
      own.limits.least[size] =
          problem.tenants[t].throughput[size] > 0 ? static_cast<int>(rng.below(2)) : 0;
      own.limits.most[size] = own.limits.least[size] + static_cast<int>(rng.below(2));
    }
  }
  return node;
}

TEST(FleetMaster, RandomNodes_BoundNotAboveEverythingTried) {
  // Whatever a node allows, for each question asked, its bound is true, and often close.
  const std::vector<FleetStage> stages = {
      {.gpu_cost = 1, .gpus_max = 3},
      {.instance_cost = {1, 2, 4}, .gpus_max = 2},
      {.gpus_max = 2, .unserved = FleetStage::Unserved::kPaid, .values = FleetStage::Values::kAny}};
  int possible = 0;
  int close = 0;
  int impossible_seen = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const FleetProblem problem = test::odd_fleet(test::a30(), 2, 6, seed);
    FleetMaster master(problem, stages[seed % stages.size()]);
    const FleetNode node = random_node(problem, master, rng);
    const double least = NodeByBruteForce(problem, master, node).least();
    WorkBudget budget(1000000);
    const auto solved = master.solve(node, kInfinite, budget);
    ASSERT_TRUE(solved.has_value());
    EXPECT_LE(solved->bound, least + 1e-9);
    if (least < kInfinite) {
      ++possible;
      close += solved->bound >= 0.8 * least - 1e-9 ? 1 : 0;
    } else {
      // The bound of a node that holds nothing is beyond any plan, so that it is closed.
      impossible_seen += solved->bound > 100 ? 1 : 0;
    }
  }
  EXPECT_GT(possible, 40);
  EXPECT_GT(close, possible / 2);
  EXPECT_GT(impossible_seen, 2);
}

}  // namespace
}  // namespace septule::serve
