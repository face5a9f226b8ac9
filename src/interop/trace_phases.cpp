#include "interop/trace_phases.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "interop/input_text.hpp"
#include "interop/limits.hpp"
#include "interop/trace_workload.hpp"

namespace septule::interop {

namespace {

constexpr std::size_t kShownBytesMax = 40;

Error invalid(std::string message) {
  return {.code = ErrorCode::kInvalidInput, .message = std::move(message)};
}

Error too_many(std::size_t count) {
  return invalid(fmt::format("{} phases; expected at most {}", count, kTracePhasesMax));
}

/// The phase that stands at `index` (from 0), behind one that begins at `before`.
Status check_phase(const TracePhase& phase,
                   std::size_t index,
                   double before,
                   std::span<const std::string> known) {
  if (!(phase.begins_at > before && phase.begins_at < 1)) {
    return invalid(fmt::format("phase {} begins at {}; expected a fraction above {} and below 1",
                               index + 1,
                               phase.begins_at,
                               before));
  }
  if (!std::ranges::binary_search(known, phase.signature)) {
    const std::string name(phase.signature, 0, std::min(phase.signature.size(), kShownBytesMax));
    return invalid(
        fmt::format("phase {}: {}", index + 1, unknown_name_text("signature", name, known)));
  }
  return {};
}

}  // namespace

std::optional<int> parse_priority(std::string_view text) {
  const std::optional<double> number = parse_number(text);
  if (!number || std::abs(*number) > kTracePriorityMax || *number != std::trunc(*number)) {
    return std::nullopt;
  }
  return static_cast<int>(*number);
}

std::vector<std::string> phase_signature_names(std::span<const std::string> more) {
  std::vector<std::string> names;
  for (const job::PerfSignature& signature : job::builtin_signatures()) {
    names.push_back(normalised_app(signature.name));
  }
  for (const std::string& name : more) {
    names.push_back(normalised_app(name));
  }
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return names;
}

Result<std::vector<TracePhase>> parse_phases(std::string_view text,
                                             std::span<const std::string> known) {
  const auto count = static_cast<std::size_t>(std::ranges::count(text, ';')) + 1;
  if (count > kTracePhasesMax) {
    return too_many(count);
  }
  std::vector<TracePhase> phases;
  std::string_view rest = text;
  for (std::size_t index = 0; index < count; ++index) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::string_view part = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::optional<double> begins_at = parse_number(trimmed(part.substr(0, equals)));
    if (!begins_at || equals == part.size()) {
      return invalid(fmt::format("phase {} is {}; expected FRACTION=SIGNATURE, as in 0.5=resnet:64",
                                 index + 1,
                                 quoted_for_message(part, kShownBytesMax)));
    }
    TracePhase phase{.begins_at = *begins_at, .signature = normalised_app(part.substr(equals + 1))};
    const double before = phases.empty() ? 0 : phases.back().begins_at;
    SEPTULE_TRY_STATUS(check_phase(phase, index, before, known));
    phases.push_back(std::move(phase));
  }
  return phases;
}

Status check_phases(std::span<const TracePhase> phases, std::span<const std::string> known) {
  if (phases.size() > kTracePhasesMax) {
    return too_many(phases.size());
  }
  double before = 0;
  for (std::size_t index = 0; index < phases.size(); ++index) {
    SEPTULE_TRY_STATUS(check_phase(phases[index], index, before, known));
    before = phases[index].begins_at;
  }
  return {};
}

std::string phases_text(std::span<const TracePhase> phases) {
  std::string text;
  for (const TracePhase& phase : phases) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", phase.begins_at, phase.signature);
  }
  return text;
}

}  // namespace septule::interop
