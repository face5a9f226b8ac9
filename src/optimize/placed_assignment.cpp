#include "optimize/placed_assignment.hpp"

#include <algorithm>
#include <limits>

namespace septule::optimize {

namespace {

constexpr double kTie = 1e-12;
constexpr double kImpossible = -std::numeric_limits<double>::infinity();
constexpr std::size_t kSetsMax = std::size_t{1} << static_cast<unsigned>(kAssignedJobsMax);

using Instances = InlineVector<gpu::PlacedProfile, kAssignedJobsMax>;

/// What each job is worth in each instance of one layout.
struct Worth {
  std::array<std::array<double, kAssignedJobsMax>, kAssignedJobsMax> of{};  ///< [instance][job]
  double bound = 0;  ///< no assignment is worth more; kImpossible if some job fits nowhere
};

Worth worth_of(const PlacedProblem& problem, const Instances& layout) {
  Worth worth;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const PlacedProblem::Job& job = problem.jobs[j];
    double best = kImpossible;
    for (std::size_t i = 0; i < layout.size(); ++i) {
      const double value = job.value[static_cast<std::size_t>(layout[i].profile.value())];
      double& here = worth.of[i][j];
      if (value <= 0) {
        here = kImpossible;
        continue;
      }
      const bool stays = job.current.has_value() && *job.current == layout[i];
      here = stays ? value : value - job.move_cost;
      best = std::max(best, here);
    }
    worth.bound += best;
  }
  return worth;
}

/// Best value over all assignments, and by [instance][set] which job (or none) the best one gives
/// to the instance.
struct Table {
  std::array<double, kSetsMax> value{};
  std::array<std::array<std::int8_t, kSetsMax>, kAssignedJobsMax> choice{};
};

double best_assignment(const Worth& worth, std::size_t instances, std::size_t jobs, Table& table) {
  const std::size_t sets = std::size_t{1} << jobs;
  std::fill_n(table.value.begin(), sets, kImpossible);
  table.value[0] = 0;
  for (std::size_t i = 0; i < instances; ++i) {
    auto& choice = table.choice[i];
    // Larger sets first: each instance takes one job at most.
    for (std::size_t set = sets; set-- > 0;) {
      double best = table.value[set];
      std::int8_t chosen = -1;
      for (std::size_t j = 0; j < jobs; ++j) {
        const std::size_t bit = std::size_t{1} << j;
        if ((set & bit) == 0 || worth.of[i][j] == kImpossible ||
            table.value[set ^ bit] == kImpossible) {
          continue;
        }
        const double value = table.value[set ^ bit] + worth.of[i][j];
        if (best == kImpossible || value > best + kTie) {
          best = value;
          chosen = static_cast<std::int8_t>(j);
        }
      }
      table.value[set] = best;
      choice[set] = chosen;
    }
  }
  return table.value[sets - 1];
}

}  // namespace

PlacedAssigner::PlacedAssigner(const gpu::Geometry& geometry) {
  for (const gpu::Layout& layout : gpu::maximal_layouts(geometry, gpu::ProfileSet::kPlain)) {
    if (layout.size() > static_cast<std::size_t>(kAssignedJobsMax)) {
      continue;
    }
    Instances instances;
    for (const gpu::PlacedProfile& placed : layout) {
      instances.push_back(placed);
    }
    layouts_.push_back(instances);
  }
}

void PlacedAssigner::solve(const PlacedProblem& problem, PlacedAnswer& out) const {
  out.is_feasible = false;
  out.value = kImpossible;
  out.moved = 0;
  out.places.clear();
  const std::size_t jobs = problem.jobs.size();
  Table table;
  for (const Instances& layout : layouts_) {
    if (layout.size() < jobs) {
      continue;
    }
    const Worth worth = worth_of(problem, layout);
    if (worth.bound == kImpossible || (out.is_feasible && worth.bound <= out.value + kTie)) {
      continue;
    }
    const double value = best_assignment(worth, layout.size(), jobs, table);
    if (value == kImpossible || (out.is_feasible && value <= out.value + kTie)) {
      continue;
    }
    out.is_feasible = true;
    out.value = value;
    std::array<std::size_t, kAssignedJobsMax> instance_of{};
    std::size_t set = (std::size_t{1} << jobs) - 1;
    for (std::size_t i = layout.size(); i-- > 0;) {
      const std::int8_t job = table.choice[i][set];
      if (job >= 0) {
        const auto index = static_cast<unsigned char>(job);
        instance_of[index] = i;
        set ^= std::size_t{1} << index;
      }
    }
    out.places.clear();
    out.moved = 0;
    for (std::size_t j = 0; j < jobs; ++j) {
      out.places.push_back(layout[instance_of[j]]);
      const auto& current = problem.jobs[j].current;
      if (current.has_value() && *current != layout[instance_of[j]]) {
        out.moved |= 1U << static_cast<unsigned>(j);
      }
    }
  }
}

}  // namespace septule::optimize
