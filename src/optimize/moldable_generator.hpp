#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/rng.hpp"
#include "base/units.hpp"
#include "optimize/moldable.hpp"

namespace septule::optimize {

/// Mixes of FAR's task generator (performance-model.md 8.3): how far tasks scale, and how many are
/// bound by memory.
enum class MoldableMix {
  kGood,     ///< half scale to 4 slices, half to 7; 75 % bound by memory
  kBad,      ///< half to 1, half to 2; 25 %
  kUniform,  ///< a fifth each to 1, 2, 3, 4, 7; 50 %
  kExtreme,  ///< 45 % to 1, 5 % to 2, 5 % to 4, 45 % to 7; 50 %
};
inline constexpr int kMoldableMixCount = 4;
std::string_view moldable_mix_name(MoldableMix mix);

/// Which tasks to draw.
struct MoldableDraw {
  std::size_t tasks = 0;
  MoldableMix mix = MoldableMix::kUniform;
  Duration shortest;  ///< of the time on one compute slice, which is drawn evenly
  Duration longest;
};

/// FAR's generator: from size s-1 to s a time becomes t (s-1+x)/s, where x is drawn from a normal
/// distribution and cut to a range: while the task scales, about 0.05; beyond its limit (and from
/// 3 to 4 slices if bound by memory, because these have equally much), about 0.75; while bound by
/// memory, about -0.25 (more than proportional), which ends with probability 0.1 after each step.
/// Tasks of the GPU's sizes up to 7 slices; nothing is drawn for others. Every task fits all sizes.
MoldableProblem draw_moldable_tasks(const MoldableGpu& gpu, const MoldableDraw& draw, Rng& rng);

}  // namespace septule::optimize
