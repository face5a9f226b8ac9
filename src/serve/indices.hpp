#pragma once

#include <cstddef>
#include <cstdint>

namespace septule::serve {

// Short words for the sources of this layer; headers do not include this. Indices of tenants,
// placements, steps and states are `int` (-1 or an empty optional elsewhere says "none").

/// A subscript; `index` is not negative.
[[nodiscard]] constexpr std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// The set that holds one placement, of those that LayoutLattice::placements() numbers (below 32).
[[nodiscard]] constexpr std::uint32_t bit(int placement) {
  return std::uint32_t{1} << static_cast<unsigned>(placement);
}

}  // namespace septule::serve
