#pragma once

#include <vector>

#include "gpu/layout.hpp"
#include "job/workload.hpp"
#include "predict/speed_book.hpp"

namespace septule::sim {

/// The static layouts among which optsta's is chosen: one for each maximal multiset of plain
/// profiles (the first in canonical order) whose instances take every job that fits the GPU model
/// at all and is no gang. Never empty. Pure; any thread.
std::vector<gpu::Layout> static_layouts(const predict::SpeedBook& book,
                                        const job::Workload& workload);

/// The jobs that fit the GPU model but no instance of this static layout, gangs left out, as
/// indices into the workload. Pure; any thread.
std::vector<int> jobs_without_place(const predict::SpeedBook& book,
                                    const job::Workload& workload,
                                    const gpu::Layout& layout);

/// The layout hard-coded in the MISO artifact, 3g + 2g + 2g; empty for a GPU that has no such.
gpu::Layout artifact_layout(const gpu::Geometry& geometry);

}  // namespace septule::sim
