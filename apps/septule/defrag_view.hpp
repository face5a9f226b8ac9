#pragma once

#include <nlohmann/json.hpp>

#include "optimize/defragmentation.hpp"

namespace septule::app {

/// {"count", "optimal", "moves": [{"from_gpu", "from", "to_gpu", "to", "holders", ...}]}
nlohmann::ordered_json moves_document(const optimize::Defragmentation& defragmentation);

}  // namespace septule::app
