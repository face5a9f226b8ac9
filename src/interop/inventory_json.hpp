#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "gpu/geometry.hpp"
#include "gpu/inventory.hpp"
#include "interop/limits.hpp"

namespace septule::interop {

/// The `schema` of the JSON inventory (docs/formats.md, "Inventory").
inline constexpr std::string_view kInventorySchema = "septule-inventory/1";

/// Parses an inventory. Models are looked up in `catalogue`, which must outlive the result. Every
/// GPU's instances are judged by gpu/partition_checker.hpp. Fails with kInvalidInput, naming
/// source, line and the path of the field.
Result<gpu::Inventory> parse_inventory_json(const InputText& input,
                                            const gpu::Catalogue& catalogue);

/// The inventory as JSON text that parse_inventory_json reads back to the same values.
std::string write_inventory_json(const gpu::Inventory& inventory);

}  // namespace septule::interop
