#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "serve/labelled_states.hpp"

namespace septule::serve {

/// What a creation costs, by size and letter.
using LetterCosts = SizeTable<std::vector<double>>;

/// An instance with its letter, and a state as such; by placement.
struct SpelledInstance {
  int placement = 0;
  int size = 0;
  int letter = 0;
  friend bool operator==(const SpelledInstance&, const SpelledInstance&) = default;
};
using Spelling = std::vector<SpelledInstance>;
Spelling spell(const LabelledStates& states, std::size_t index);

/// What may happen around one step.
struct StepRules {
  const LetterCosts* costs = nullptr;
  const LabelledStates::OpenSets* open = nullptr;
  std::uint32_t reserved = 0;
  int created_max = 0;   ///< at the begin of this step, serving later
  bool may_drop = true;  ///< at the begin of the next
};

/// The way back over one step: which state of a layer leads to `kept` being there at the begin of
/// the next step, for the greatest value.
struct Predecessor {
  Spelling state;  ///< before time passes
  double value = 0;
  int created = 0;
  int dropped = 0;
  bool is_found = false;
};
/// Instances of `kept` that the state lacks, or has with a letter that is handed over, are created
/// late in the layer's step; others are dropped at the begin of the next. Ties: fewest creations,
/// fewest drops, lowest state.
Predecessor find_predecessor(const LayoutLattice& lattice,
                             const LabelledStates& states,
                             std::span<const double> layer,
                             const Spelling& kept,
                             const StepRules& rules);

}  // namespace septule::serve
