#pragma once

#include <string_view>
#include <utility>

#include "base/check.hpp"
#include "gpu/catalogue_support.hpp"
#include "serve/layout_lattice.hpp"

namespace septule::serve::test {

/// The layouts of a known GPU; the geometry lives as long as the program.
inline LayoutLattice lattice_of(std::string_view key,
                                gpu::ProfileSet set = gpu::ProfileSet::kPlain) {
  auto made = LayoutLattice::make(gpu::test::model(key), set);
  SEPTULE_CHECK(made.has_value(), "tests name GPUs with a profile table");
  return std::move(made).value();
}

inline const LayoutLattice& a100() {
  static const LayoutLattice lattice = lattice_of("A100-80GB");
  return lattice;
}

inline const LayoutLattice& a30() {
  static const LayoutLattice lattice = lattice_of("A30-24GB");
  return lattice;
}

}  // namespace septule::serve::test
