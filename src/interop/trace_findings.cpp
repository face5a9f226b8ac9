#include "interop/trace_findings.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "interop/input_text.hpp"

namespace septule::interop {

namespace {

/// The one table of what each kind is and does.
struct Description {
  TraceFindingKind kind;
  TraceEffect effect;
  const char* name;
  const char* text;
};

using Kind = TraceFindingKind;
using Effect = TraceEffect;
constexpr std::array<Description, kTraceFindingKindCount> kDescriptions = {{
    {Kind::kRaggedRow, Effect::kDropped, "ragged-row", "not as many cells as the format has"},
    {Kind::kUnreadableCell, Effect::kDropped, "unreadable-cell", "a needed value is not readable"},
    {Kind::kUnreadableDetail,
     Effect::kRepaired,
     "unreadable-detail",
     "a value is not readable and is taken as unknown"},
    {Kind::kNoSubmission, Effect::kDropped, "no-submission", "no time of submission"},
    {Kind::kDuplicateId, Effect::kDropped, "duplicate-id", "an earlier row has the same id"},
    {Kind::kEndBeforeStart, Effect::kDropped, "end-before-start", "it ends before it starts"},
    {Kind::kNegativeDuration, Effect::kDropped, "negative-duration", "a duration below 0"},
    {Kind::kAbsurdDuration, Effect::kDropped, "absurd-duration", "a duration above ten years"},
    {Kind::kAbsurdSubmission,
     Effect::kDropped,
     "absurd-submission",
     "submitted more than 4000000000 s after the first job"},
    {Kind::kBadGpuCount,
     Effect::kDropped,
     "bad-gpu-count",
     "a number of GPUs below 0 or above 100000"},
    {Kind::kJobStep,
     Effect::kDropped,
     "job-step",
     "a step of a job, which has a row of its own; sacct -X leaves steps out"},
    {Kind::kNeverScheduled, Effect::kUnusable, "never-scheduled", "it never started"},
    {Kind::kNoDuration, Effect::kUnusable, "no-duration", "how long it ran is not said"},
    {Kind::kZeroDuration, Effect::kUnusable, "zero-duration", "a duration of 0"},
    {Kind::kStillRunning,
     Effect::kRepaired,
     "still-running",
     "it was still running; what it had run is taken for its duration"},
    {Kind::kNoGpuCount,
     Effect::kUnusable,
     "no-gpu-count",
     "how many GPUs it asked for is not said"},
    {Kind::kNoId, Effect::kRepaired, "no-id", "no id; named after its line"},
    {Kind::kZeroMemory, Effect::kRepaired, "zero-memory", "memory of 0 or less; taken as unknown"},
    {Kind::kAbsurdMemory,
     Effect::kRepaired,
     "absurd-memory",
     "memory beyond 4096 GiB of a GPU or 1048576 GiB of a host; taken as unknown"},
    {Kind::kPartOfGpus,
     Effect::kRepaired,
     "part-of-gpus",
     "more than one GPU but not a whole number; rounded up"},
    {Kind::kStartBeforeSubmit,
     Effect::kRepaired,
     "start-before-submit",
     "it starts before its submission; its wait is taken as unknown"},
    {Kind::kAbsurdWait,
     Effect::kRepaired,
     "absurd-wait",
     "a wait above 4000000000 s; taken as unknown"},
    {Kind::kBadAttempt,
     Effect::kRepaired,
     "bad-attempt",
     "an attempt without a start and a later end; not counted in the duration"},
    {Kind::kBadPriority,
     Effect::kRepaired,
     "bad-priority",
     "a priority that is no whole number from -1000 to 1000; taken as not said"},
    {Kind::kBadPhases,
     Effect::kRepaired,
     "bad-phases",
     "phases that are not FRACTION=SIGNATURE;... with ascending fractions between 0 and 1 and "
     "known "
     "signatures; the job is taken to have none"},
    {Kind::kMissingColumn,
     Effect::kNoted,
     "missing-column",
     "an optional column is not there; its values count as unknown"},
    {Kind::kCpuOnly, Effect::kNoted, "cpu-only", "it asks for no GPU; simulations leave it out"},
    {Kind::kUnordered,
     Effect::kNoted,
     "unordered",
     "it stands after a later submission; the rows were sorted"},
    {Kind::kUnknownColumn, Effect::kNoted, "unknown-column", "a column that is not used"},
    {Kind::kGangDropped,
     Effect::kNoted,
     "gang-dropped",
     "it asks for several GPUs; left out as asked"},
}};

const Description& description_of(TraceFindingKind kind) {
  const Description& found = kDescriptions.at(static_cast<std::size_t>(kind));
  SEPTULE_CHECK(found.kind == kind, "the table of findings is in the order of the enumeration");
  return found;
}

/// What was done, for messages.
std::string_view done_text(TraceEffect effect) {
  return effect == TraceEffect::kUnusable ? "kept, but cannot be simulated"
                                          : trace_effect_name(effect);
}

bool is_about_columns(TraceFindingKind kind) {
  return kind == Kind::kMissingColumn || kind == Kind::kUnknownColumn;
}

}  // namespace

std::string_view trace_effect_name(TraceEffect effect) {
  switch (effect) {
    case TraceEffect::kNoted:
      return "noted";
    case TraceEffect::kRepaired:
      return "repaired";
    case TraceEffect::kUnusable:
      return "unusable";
    case TraceEffect::kDropped:
      return "dropped";
  }
  check_failed("effect", "an effect is one of the enumerators", __FILE__, __LINE__);
}

std::string_view trace_finding_name(TraceFindingKind kind) {
  return description_of(kind).name;
}

std::string_view trace_finding_text(TraceFindingKind kind) {
  return description_of(kind).text;
}

TraceEffect trace_finding_effect(TraceFindingKind kind) {
  return description_of(kind).effect;
}

void TraceFindings::add(TraceFindingKind kind, int line, std::string_view text) {
  TraceFinding& finding = by_kind_.at(static_cast<std::size_t>(kind));
  finding.kind = kind;
  finding.effect = trace_finding_effect(kind);
  ++finding.count;
  if (finding.examples.size() < kTraceExamplesMax) {
    finding.examples.push_back({line, std::string(text)});
  }
}

bool TraceFindings::has_room_for_example(TraceFindingKind kind) const {
  return by_kind_.at(static_cast<std::size_t>(kind)).examples.size() < kTraceExamplesMax;
}

std::int64_t TraceFindings::count(TraceFindingKind kind) const {
  return by_kind_.at(static_cast<std::size_t>(kind)).count;
}

std::vector<TraceFinding> TraceFindings::list() const {
  std::vector<TraceFinding> found;
  for (const TraceFinding& finding : by_kind_) {
    if (finding.count > 0) {
      found.push_back(finding);
    }
  }
  return found;
}

std::string trace_finding_message(std::string_view source_name, const TraceFinding& finding) {
  const bool is_one = finding.count == 1;
  std::string_view things = is_one ? "row" : "rows";
  if (is_about_columns(finding.kind)) {
    things = is_one ? "column" : "columns";
  }
  std::string text = fmt::format("{}: {} {} {}: {}: ",
                                 one_line(source_name),
                                 finding.count,
                                 things,
                                 done_text(finding.effect),
                                 trace_finding_text(finding.kind));
  for (std::size_t i = 0; i < finding.examples.size(); ++i) {
    const TraceExample& example = finding.examples[i];
    text += i == 0 ? "" : ", ";
    text +=
        example.line > 0 ? fmt::format("line {} ({})", example.line, example.text) : example.text;
  }
  if (finding.count > static_cast<std::int64_t>(finding.examples.size())) {
    text += ", ...";
  }
  return text;
}

Status check_no_faults(std::string_view source_name, const std::vector<TraceFinding>& findings) {
  std::string what;
  for (const TraceFinding& finding : findings) {
    if (finding.effect == TraceEffect::kNoted) {
      continue;
    }
    what += fmt::format(
        "{}{} x {}", what.empty() ? "" : ", ", finding.count, trace_finding_name(finding.kind));
    if (!finding.examples.empty() && finding.examples.front().line > 0) {
      what += fmt::format(" (first in line {})", finding.examples.front().line);
    }
  }
  if (what.empty()) {
    return {};
  }
  return input_error(source_name,
                     0,
                     "",
                     fmt::format("refused because of --strict: {}; expected no such rows", what));
}

}  // namespace septule::interop
