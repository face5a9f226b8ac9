#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "port/milp_solver.hpp"

namespace septule::serve {

/// What branching on a column did to the objective so far, per unit of movement and by direction,
/// and from it which column to branch on next. A part of the built-in branch and bound. One owner.
/// Source: pseudo-costs, Benichou et al. 1971.
class MilpPseudoCosts {
 public:
  explicit MilpPseudoCosts(const port::MilpProblem& problem)
      : problem_(&problem), costs_(problem.columns.size()) {}

  /// `moved`: by how much, negative downwards; `loss`: of the objective as minimised.
  void learn(int column, double moved, double loss);
  /// The fractional integer column with the greatest product of both estimated losses, the lowest
  /// of equals; nothing if every integer column is whole.
  std::optional<std::size_t> choose(std::span<const double> values) const;

 private:
  struct Cost {
    std::array<double, 2> sum{};  // downwards, upwards
    std::array<int, 2> count{};
  };
  /// Mean over all columns, by direction; 1 without history.
  std::array<double, 2> means() const;

  const port::MilpProblem* problem_;
  std::vector<Cost> costs_;
};

}  // namespace septule::serve
