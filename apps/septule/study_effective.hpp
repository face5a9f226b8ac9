#pragma once

#include <string>
#include <utility>
#include <vector>

#include "septule/study_options.hpp"
#include "sim/study.hpp"

namespace septule::app {

/// Names and texts of all settings as they took effect, in the order of the records: where a
/// setting was not given and its default depends on others, what it came to. Empty = not given, and
/// nothing is done. Pure.
std::vector<std::pair<std::string, std::string>> effective_settings(const StudySettings& settings,
                                                                    const sim::StudySpec& spec);

}  // namespace septule::app
