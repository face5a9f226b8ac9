#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "gpu/geometry.hpp"
#include "gpu/inventory.hpp"
#include "gpu/partition.hpp"
#include "gpu/partition_checker.hpp"

namespace septule::app {

/// Facts and plain counts of one model, as in `septule gpus -o json`.
nlohmann::ordered_json gpu_summary(const gpu::Geometry& geometry);
/// Everything the catalogue holds about one model, as in `septule gpus show -o json`.
nlohmann::ordered_json gpu_document(const gpu::Geometry& geometry, gpu::ProfileSet set);

/// {"profile", "start", "size", "compute_instances": [{"slices", "start"}]}
nlohmann::ordered_json instance_document(const gpu::Geometry& geometry,
                                         const gpu::GpuInstance& instance);
nlohmann::ordered_json partition_document(const gpu::Geometry& geometry,
                                          const gpu::Partition& partition);
nlohmann::ordered_json placed_document(const gpu::Geometry& geometry,
                                       const gpu::PlacedProfile& placed);
/// {"rule", "instances", "message"}
nlohmann::ordered_json violation_document(const gpu::Geometry& geometry,
                                          const gpu::Partition& partition,
                                          const gpu::Violation& violation);

/// GiB with two decimals ("4.75"), "N/A" if unknown; `mark` is put behind ("~" = inferred).
std::string gibibytes_text(const std::optional<Bytes>& memory, std::string_view mark);

}  // namespace septule::app
