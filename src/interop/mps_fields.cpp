#include "interop/mps_fields.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"

namespace septule::interop {

namespace {

struct Rule {
  MpsField field;
  std::string_view name;
  double min;
  double max;
  bool is_of_line;
  std::string_view expected;
};

constexpr std::array<Rule, 7> kRules = {{
    {MpsField::kMemoryGib,
     "memory_gib",
     1.0 / 1048576.0,
     kMemoryGibibytesMax,
     false,
     "GiB above 0, at most 4096 (MiB go into memory_mib)"},
    {MpsField::kMemoryMib,
     "memory_mib",
     1.0 / 1024.0,
     kMemoryGibibytesMax * 1024.0,
     false,
     "MiB above 0, at most 4194304"},
    {MpsField::kSmallest, "smallest", 0, 0, true, ""},
    {MpsField::kSmPercent, "sm_percent", 0, 100, true, "a percentage from 0 to 100"},
    {MpsField::kMemoryPercent, "memory_percent", 0, 100, true, "a percentage from 0 to 100"},
    {MpsField::kPower, "power_w", 0.001, 100000, true, "watts above 0, at most 100000"},
    {MpsField::kFootprint,
     "footprint_mib",
     1.0 / 1024.0,
     kMemoryGibibytesMax * 1024.0,
     true,
     "MiB above 0, at most 4194304"},
}};

const Rule& rule_of(MpsField field) {
  const auto* const found = std::ranges::find(kRules, field, &Rule::field);
  SEPTULE_CHECK(found != kRules.end(), "every field has a rule");
  return *found;
}

/// Sets an empty target; false if it holds another value.
template <class T>
bool set_once(std::optional<T>& target, const T& value) {
  if (target.has_value()) {
    return *target == value;
  }
  target = value;
  return true;
}

}  // namespace

std::optional<MpsField> mps_field(std::string_view name) {
  const auto* const found = std::ranges::find(kRules, name, &Rule::name);
  return found == kRules.end() ? std::nullopt : std::optional(found->field);
}

std::string_view mps_field_name(MpsField field) {
  return rule_of(field).name;
}

std::vector<std::string_view> mps_line_fields() {
  std::vector<std::string_view> names;
  for (const Rule& rule : kRules) {
    if (rule.is_of_line) {
      names.push_back(rule.name);
    }
  }
  return names;
}

std::string mps_number_fault(MpsField field, double value) {
  const Rule& rule = rule_of(field);
  // False for NaN as well: every comparison with it is.
  if (value >= rule.min && value <= rule.max) {
    return {};
  }
  return fmt::format("is out of range; expected {}", rule.expected);
}

bool set_mps_number(MpsJobDraft& draft, MpsField field, double value) {
  const auto bytes = [&](double unit) {
    return Bytes(static_cast<std::uint64_t>(std::ceil(value * unit)));
  };
  switch (field) {
    case MpsField::kMemoryGib:
      return set_once(draft.job.memory, bytes(1073741824.0));
    case MpsField::kMemoryMib:
      return set_once(draft.job.memory, bytes(1048576.0));
    case MpsField::kSmPercent:
      return set_once(draft.counters.sm_percent, value);
    case MpsField::kMemoryPercent:
      return set_once(draft.counters.memory_percent, value);
    case MpsField::kPower:
      return set_once(draft.counters.power_watts, value);
    case MpsField::kFootprint:
      return set_once(draft.counters.footprint_mib, value);
    case MpsField::kSmallest:
      break;
  }
  check_failed("field", "the field holds a number", __FILE__, __LINE__);
}

std::optional<predict::Slice> parse_slice(std::string_view name) {
  const std::string wanted = lower_case(name);
  for (std::size_t i = 0; i < predict::kSlices; ++i) {
    if (predict::kSliceNames[i] == wanted) {
      return static_cast<predict::Slice>(i);
    }
  }
  return std::nullopt;
}

std::string_view slice_names_text() {
  return "1g, 2g, 3g, 4g or 7g";
}

std::string slice_name_hint(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos || !parse_slice(text.substr(0, dot))) {
    return {};
  }
  return fmt::format(
      " (write {} without the memory of the profile; what the job needs goes into memory_gib)",
      lower_case(text.substr(0, dot)));
}

std::string percentage_hint(std::string_view text) {
  std::string_view number = trimmed(text);
  if (number.ends_with('%')) {
    number = trimmed(number.substr(0, number.size() - 1));
  }
  const std::optional<std::int64_t> level = parse_integer(number);
  const bool is_level = level && *level >= 1 && *level <= 100;
  return is_level ? fmt::format("; write {}", *level) : "";
}

std::string step_name_fault(std::string_view kind, std::string_view name) {
  constexpr std::array<std::string_view, 11> kOthers = {"step",
                                                        "steps",
                                                        "step_ms",
                                                        "step_us",
                                                        "step_ns",
                                                        "step_sec",
                                                        "step_seconds",
                                                        "step_time",
                                                        "step_time_s",
                                                        "step_time_ms",
                                                        "time_ms"};
  if (std::ranges::find(kOthers, name) == kOthers.end()) {
    return {};
  }
  return fmt::format(
      "unknown {} \"{}\"; did you mean step_s? Any unit does: only ratios within a job count",
      kind,
      name);
}

bool is_valid_mps_time(double value) {
  return value >= kMpsTimeMin && value <= kMpsTimeMax;
}

std::string_view mps_time_text() {
  return "a step time above 0 (1e-12 to 1e12)";
}

}  // namespace septule::interop
