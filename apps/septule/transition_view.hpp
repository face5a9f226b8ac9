#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "gpu/transition.hpp"

namespace septule::app {

/// {"complete", "different", "seconds", "gpus": [...]} as described in docs/formats.md.
nlohmann::ordered_json transition_document(const gpu::Transition& transition);
/// The same for people: per GPU what stays, the numbered steps, and what stays undone with who
/// holds it.
std::string transition_text(const gpu::Transition& transition);
/// "destroy GPU instance 1g.5gb@5 (id 12)"
std::string step_text(const gpu::Step& step);
/// Whether the state differs from the goal anywhere, also in ways that nothing can be done about.
bool is_different(const gpu::Transition& transition);
/// One line on what cannot be done now, or on what stays in use although the goal lacks it; empty
/// if the goal will be reached in full.
std::string undone_summary(const gpu::Transition& transition);

}  // namespace septule::app
