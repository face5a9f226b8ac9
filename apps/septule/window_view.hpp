#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "septule/window_run.hpp"

namespace septule::app {

/// The answer to a window as `septule window` shows it: the document (docs/output.md,
/// "septule-window/1") ...
nlohmann::ordered_json window_document(const WindowQuestion& question,
                                       const WindowFinding& finding);
/// ... and the text for people: groups (or the timeline) with each job's seat, speed and time, a
/// drawing of them over time, and how good the answer is.
std::string window_text(const WindowQuestion& question, const WindowFinding& finding);

}  // namespace septule::app
