#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interop/mps_measurements.hpp"

namespace septule::interop {

/// What a column or field of MPS measurements says of a job: the same words in CSV and JSON.
enum class MpsField {
  kMemoryGib,
  kMemoryMib,
  kSmallest,
  kSmPercent,
  kMemoryPercent,
  kPower,
  kFootprint
};
/// "memory_gib" ...: the field of exactly this name, or nothing.
std::optional<MpsField> mps_field(std::string_view name);
std::string_view mps_field_name(MpsField field);
/// Names of the fields that the one-line form may have: counters and the smallest slice.
std::vector<std::string_view> mps_line_fields();

/// A job of a run while it is being read. A plain value.
struct MpsJobDraft {
  MeasuredJob job;
  predict::JobCounters counters;
};

/// Why a number may not stand in this field ("is out of range; expected ..."); empty if it may.
/// Not for kSmallest.
std::string mps_number_fault(MpsField field, double value);
/// Sets a number that has no fault; false if the field already has another value.
bool set_mps_number(MpsJobDraft& draft, MpsField field, double value);
/// The slice of this name ("2g"), whatever the letter case.
std::optional<predict::Slice> parse_slice(std::string_view name);
/// "1g, 2g, 3g, 4g or 7g".
std::string_view slice_names_text();

/// What to write instead, as the end of a message; empty where nothing is known. Of a smallest
/// slice that is a profile ("3g.20gb"): its slice; of a percentage with its sign ("50 %") or in
/// quotation marks: the number.
std::string slice_name_hint(std::string_view text);
std::string percentage_hint(std::string_view text);
/// Of a step time under another name ("step_ms"): that step_s takes any unit; empty for step_s and
/// all other names. `kind`: "column" or "field".
std::string step_name_fault(std::string_view kind, std::string_view name);

/// Whether a step time is one: a finite number within kMpsTimeMin..kMpsTimeMax.
bool is_valid_mps_time(double value);
/// What a step time must be, for messages.
std::string_view mps_time_text();

}  // namespace septule::interop
