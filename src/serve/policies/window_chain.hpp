#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.hpp"
#include "serve/goodput_problem.hpp"
#include "serve/layout_lattice.hpp"

namespace septule::serve {

/// Values for chain_layouts(). Labels are 0 .. label_count - 1.
struct ChainProblem {
  const LayoutLattice* lattice = nullptr;
  int label_count = 1;
  int windows = 1;
  /// Of a layout in a window, from its instances of each size by label: everything but creation.
  std::function<double(int window, const std::vector<SizeTable<int>>& counts)> reward;
  /// Of creating one instance at the begin of a window, >= 0.
  std::function<double(int window, int label, int size)> creation_cost;
};
/// The best chain. A plain value.
struct LayoutChain {
  std::vector<LabelledLayout> layouts;  ///< by window
  double value = 0;
  double free_value = 0;  ///< sum of the best rewards, as if creating cost nothing: a bound
};

/// The chain of labelled layouts, one per window, of greatest sum of rewards less costs of what is
/// created (everything in the first window): the dynamic program of serving.md 2.4 with a step of a
/// window, by closures over instances instead of pairs of layouts. Exact. Ties: towards keeping,
/// then the lower placement and label. kInvalidInput above kChainStatesMax states x windows: 12
/// windows of 5 labels on seven slices are 4.9 million.
Result<LayoutChain> chain_layouts(const ChainProblem& problem);
inline constexpr std::int64_t kChainStatesMax = 40'000'000;

}  // namespace septule::serve
