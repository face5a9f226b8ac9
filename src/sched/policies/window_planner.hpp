#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/window_optimizer.hpp"
#include "sched/policies/company.hpp"
#include "sched/policy_registry.hpp"

namespace septule::sched {

/// Plans windows of due jobs with any WindowOptimizer, and hands out the groups of a plan as
/// companies.
///
/// Assumptions: how long jobs run is not known: all are taken to run kSolo alone, and the time of a
/// group is that of steady state. Only templates that a GpuGoal can express are offered.
/// Work is limited to kUnitsMax; a plan that fails (a job that fits nowhere alone by the rules, the
/// budget) is no plan. One thread.
class WindowPlanner {
 public:
  static constexpr Duration kSolo = Duration::milliseconds(600000);
  static constexpr std::int64_t kUnitsMax = 20000000;
  static constexpr std::size_t kWindowMax = 16;

  /// All outlive it; `value` says what companies are worth.
  WindowPlanner(const gpu::Geometry& geometry,
                const CompanyValue& value,
                const WindowSettings& settings,
                const optimize::WindowOptimizer& optimizer);

  /// Forgets the plan: another decision begins.
  void clear() { groups_.clear(); }
  /// The first group of the plan whose jobs are all in `due`; plans `due` (the first window of it)
  /// anew where there is none. The company's seats index `pool`. Nothing if there is no plan.
  std::optional<Company> next(std::span<const CompanyJob> pool, std::span<const std::size_t> due);

 private:
  struct Seat {
    job::JobId job;
    gpu::PlacedProfile placed;
    std::optional<ActiveThreadPercentage> atp;
  };
  using Group = std::vector<Seat>;
  std::optional<Company> seated(const Group& group,
                                std::span<const CompanyJob> pool,
                                std::span<const std::size_t> due) const;
  void plan(std::span<const CompanyJob> pool, std::span<const std::size_t> due);
  void take_groups(const plan::Schedule& schedule, std::span<const job::JobId> ids);
  predict::JobTraits traits_of(const CompanyJob& job) const;

  const gpu::Geometry* geometry_;
  const CompanyValue* value_;
  const optimize::WindowOptimizer* optimizer_;
  const optimize::SwitchCosts* costs_;
  std::size_t window_;
  std::optional<gpu::SharingCatalogue> catalogue_;
  std::vector<Group> groups_;  // not handed out yet
};

}  // namespace septule::sched
