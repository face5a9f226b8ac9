#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "interop/trace.hpp"

namespace septule::interop {

/// Reads the cells of a Septule trace that say how urgent a job is and how it changes
/// (docs/formats.md, "Job trace"). Pure; any thread.

/// A whole number of -kTracePriorityMax to kTracePriorityMax, also written "2.0". Nothing for
/// anything else.
std::optional<int> parse_priority(std::string_view text);

/// Names after which phases may be called: of the built-in signatures and of `more`, as
/// normalised_app() writes them; ascending, each once: the `known` of the functions below.
std::vector<std::string> phase_signature_names(std::span<const std::string> more);

/// "0.5=resnet:256;0.8=gnn:64": names in any form that normalised_app() knows. Fails with
/// kInvalidInput (without a location) saying which phase is wrong, with which value, and what would
/// be valid: a fraction and a name each, ascending fractions between 0 and 1, known names, at most
/// kTracePhasesMax of them.
Result<std::vector<TracePhase>> parse_phases(std::string_view text,
                                             std::span<const std::string> known);
/// What parse_phases() asks of phases, for phases that were not read.
Status check_phases(std::span<const TracePhase> phases, std::span<const std::string> known);
/// The text that parse_phases() reads back as the same phases.
std::string phases_text(std::span<const TracePhase> phases);

}  // namespace septule::interop
