#include "serve/fleet_moves_checker.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "gpu/partition_checker.hpp"

namespace septule::serve {

namespace {

/// GPU, placement, tenant, role: what an instance is.
using Use = std::tuple<int, int, int, int>;
using Uses = std::set<Use>;

Use use_of(int gpu, const Holding& holding) {
  return {gpu, holding.placement, holding.tenant, static_cast<int>(holding.role)};
}

Uses uses_of(std::span<const GpuHoldings> gpus) {
  Uses uses;
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    for (const Holding& holding : gpus[gpu]) {
      uses.insert(use_of(static_cast<int>(gpu), holding));
    }
  }
  return uses;
}

Uses uses_of(std::span<const MovedInstance> moved) {
  Uses uses;
  for (const MovedInstance& instance : moved) {
    uses.insert(use_of(instance.gpu, instance.holding));
  }
  return uses;
}

Uses without(const Uses& all, const Uses& gone) {
  Uses rest;
  std::ranges::set_difference(all, gone, std::inserter(rest, rest.end()));
  return rest;
}

class MovesJudge {
 public:
  MovesJudge(const FleetMovesProblem& problem, const FleetMoves& moves)
      : problem_(problem), moves_(moves) {}

  std::vector<std::string> judge() {
    Uses before = uses_of(problem_.from);
    const Uses goal = uses_of(problem_.to);
    had_ = served(before);
    Uses staying;
    std::ranges::set_intersection(before, goal, std::inserter(staying, staying.end()));
    for (std::size_t number = 0; number < moves_.phases.size(); ++number) {
      const MovePhase& phase = moves_.phases[number];
      const Uses there = uses_of(phase.gpus);
      check_legal(number, phase);
      expect(
          without(there, before) == uses_of(phase.created), number, "created is not what is new");
      expect(
          without(before, there) == uses_of(phase.released), number, "released is not what went");
      expect(
          std::ranges::includes(there, staying), number, "an instance that may stay is not there");
      check_capacity(number, phase, without(there, uses_of(phase.created)));
      before = there;
    }
    if (before != goal) {
      faults_.emplace_back("the last phase is not what was to be");
    }
    return std::move(faults_);
  }

 private:
  void expect(bool holds, std::size_t phase, std::string_view fault) {
    if (!holds) {
      faults_.push_back(fmt::format("phase {}: {}", phase, fault));
    }
  }

  void check_legal(std::size_t number, const MovePhase& phase) {
    const gpu::Geometry& geometry = problem_.lattice->geometry();
    if (phase.gpus.size() != problem_.from.size()) {
      faults_.push_back(fmt::format(
          "phase {}: {} GPUs, there are {}", number, phase.gpus.size(), problem_.from.size()));
    }
    for (std::size_t gpu = 0; gpu < phase.gpus.size(); ++gpu) {
      gpu::Layout layout;
      for (const Holding& holding : phase.gpus[gpu]) {
        layout.push_back(
            problem_.lattice->placements()[static_cast<std::size_t>(holding.placement)].placed);
      }
      gpu::canonicalise(layout);
      const gpu::Partition partition = gpu::partition_with_full_instances(geometry, layout);
      for (const gpu::Violation& violation : gpu::check_partition(geometry, partition)) {
        faults_.push_back(fmt::format("phase {}, GPU {}: {}", number, gpu, violation.message));
      }
    }
  }

  std::vector<double> served(const Uses& ready) const {
    std::vector<double> sum(problem_.need_rps.size(), 0);
    for (const auto& [gpu, placement, tenant, role] : ready) {
      const int size = problem_.lattice->placements()[static_cast<std::size_t>(placement)].size;
      if (role == static_cast<int>(Role::kServe)) {
        sum[static_cast<std::size_t>(tenant)] +=
            problem_.throughput[static_cast<std::size_t>(tenant)][static_cast<std::size_t>(size)];
      }
    }
    return sum;
  }

  void check_capacity(std::size_t number, const MovePhase& phase, const Uses& ready) {
    const std::vector<double> serving = served(ready);
    for (std::size_t tenant = 0; tenant < serving.size(); ++tenant) {
      const double slack = 1e-6 * (1 + serving[tenant]);
      expect(tenant < phase.ready_rps.size() &&
                 std::abs(phase.ready_rps[tenant] - serving[tenant]) <= slack,
             number,
             fmt::format("tenant {} has {} requests per second ready", tenant, serving[tenant]));
      const double missing = std::min(problem_.need_rps[tenant], had_[tenant]) - serving[tenant];
      const auto told = std::ranges::find_if(moves_.dips, [&](const CapacityDip& dip) {
        return std::cmp_equal(dip.phase, number) && std::cmp_equal(dip.tenant, tenant);
      });
      const double said = told == moves_.dips.end() ? 0 : told->short_rps;
      expect(std::abs(std::max(0.0, missing) - said) <= slack,
             number,
             fmt::format("tenant {} is {} requests per second short, said are {}",
                         tenant,
                         std::max(0.0, missing),
                         said));
    }
  }

  const FleetMovesProblem& problem_;
  const FleetMoves& moves_;
  std::vector<double> had_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> check_moves(const FleetMovesProblem& problem, const FleetMoves& moves) {
  return MovesJudge(problem, moves).judge();
}

}  // namespace septule::serve
