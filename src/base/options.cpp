#include "base/options.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"

namespace septule {

std::string CommandRecord::name() const {
  return fmt::format("{}", fmt::join(path, " "));
}

std::string_view exit_code_text(int exit_code) {
  switch (exit_code) {
    case 0:
      return "done";
    case 1:
      return "general error; also \"different\" for diff --check";
    case 2:
      return "the command line is wrong";
    case 3:
      return "invalid input or layout";
    case 4:
      return "GPU, file or named configuration not found";
    case 5:
      return "cannot be placed, busy or blocked";
    case 6:
      return "refused by policy";
    case 7:
      return "timed out";
    case 8:
      return "partly done";
    case 130:
      return "interrupted (SIGINT); what is finished can be resumed";
    case 143:
      return "ended by SIGTERM; what is finished can be resumed";
    default:
      check_failed("exit_code", "an exit code is one of the documented ones", __FILE__, __LINE__);
  }
}

std::string range_text(const OptionRecord& record) {
  const std::string unit = record.unit.empty() ? "" : " " + record.unit;
  if (record.min && record.max) {
    return fmt::format("from {} to {}{}", *record.min, *record.max, unit);
  }
  if (record.min) {
    return fmt::format("from {}{} up", *record.min, unit);
  }
  return record.max ? fmt::format("up to {}{}", *record.max, unit) : "";
}

namespace {

std::optional<double> record_number(const OptionRecord& record, std::string_view value) {
  if (!record.is_integer) {
    return parse_number(value);
  }
  const std::optional<std::int64_t> number = parse_integer(value);
  return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

}  // namespace

Status check_option(const OptionRecord& record, std::string_view value) {
  if (!record.choices.empty() && std::ranges::find(record.choices, value) == record.choices.end()) {
    return Error{ErrorCode::kUsage,
                 fmt::format("--{}: {} is not one of {}",
                             record.name,
                             quoted_for_message(value),
                             fmt::join(record.choices, ", "))};
  }
  if (record.min || record.max) {
    const std::optional<double> number = record_number(record, value);
    const bool is_in_range = number && (!record.min || *number >= *record.min) &&
                             (!record.max || *number <= *record.max);
    if (!is_in_range) {
      return Error{ErrorCode::kUsage,
                   fmt::format("--{}: {} is not a {}number {}",
                               record.name,
                               quoted_for_message(value),
                               record.is_integer ? "whole " : "",
                               range_text(record))};
    }
  }
  if (value.empty() && !record.value.empty()) {
    return Error{ErrorCode::kUsage,
                 fmt::format("--{}: the value is empty; give {}", record.name, record.value)};
  }
  return Status();
}

}  // namespace septule
