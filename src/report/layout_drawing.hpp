#pragma once

#include <span>
#include <string>

#include "gpu/geometry.hpp"
#include "gpu/inventory.hpp"
#include "gpu/layout.hpp"

namespace septule::report {

/// A ruler over the memory slices of a GPU: "0    1    2 ...", aligned with draw_layout.
std::string slice_ruler(const gpu::Geometry& geometry);

/// One line of boxes, five characters per memory slice: "[4g.20gb           ][3g.20gb           ]".
/// Free slices are drawn as dots. A name too long for its box is cut to its shape ("1g").
std::string draw_layout(const gpu::Geometry& geometry, const gpu::Layout& layout);

/// Like draw_layout, for a GPU as seen: busy instances are marked "*", foreign ones "!".
std::string draw_observed(const gpu::ObservedGpu& gpu);

}  // namespace septule::report
