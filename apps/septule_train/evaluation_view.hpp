#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "septule_train/evaluation.hpp"

namespace septule::train_app {

/// The figures as tables for people; what was not measured is N/A.
std::string evaluation_text(const Evaluation& evaluation);
/// The same as a document (schema septule-evaluation/1, docs/formats.md).
nlohmann::ordered_json evaluation_document(const Evaluation& evaluation);

}  // namespace septule::train_app
