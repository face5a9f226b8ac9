#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "gpu/inventory.hpp"
#include "optimize/instance_packing.hpp"

namespace septule::app {

/// {"gpu", "request", "instance", "action"} per requested instance.
nlohmann::ordered_json packed_document(const gpu::Inventory& inventory,
                                       const optimize::RequestList& request,
                                       std::span<const optimize::PackedInstance> packed);
nlohmann::ordered_json certificate_document(const optimize::PackingCertificate& certificate);
nlohmann::ordered_json destroyed_document(std::span<const optimize::DestroyedInstance> destroyed);
std::string certificate_text(const optimize::PackingCertificate& certificate);

/// "create", "reuse", "re-cut"
std::string_view action_name(const optimize::PackedInstance& packed);

/// Drawings of the given GPUs of an inventory: ruler and boxes per GPU.
std::string drawing_text(const gpu::Inventory& inventory, std::span<const GpuIndex> indices);

/// The inventory as a JSON value, as in `"after"` of plans.
nlohmann::ordered_json inventory_document(const gpu::Inventory& inventory);

}  // namespace septule::app
