#include "job/plain_table.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace septule::job {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::vector<std::string_view> split_cells(std::string_view line) {
  std::vector<std::string_view> cells;
  std::size_t begin = 0;
  while (true) {
    const std::size_t comma = line.find(',', begin);
    cells.push_back(trimmed(line.substr(begin, comma - begin)));
    if (comma == std::string_view::npos) {
      return cells;
    }
    begin = comma + 1;
  }
}

}  // namespace

Result<PlainTable> PlainTable::parse(std::string_view text, const Options& options) {
  PlainTable table;
  table.source_name_ = options.source_name;
  if (text.size() > kTextBytesMax) {
    return table.error(
        {}, fmt::format("{} bytes are too many; at most {}", text.size(), kTextBytesMax));
  }
  if (text.find('\0') != std::string_view::npos || !is_valid_utf8(text)) {
    return table.error({}, "not UTF-8 text; expected a table of jobs in UTF-8");
  }
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  if (trimmed(text).empty()) {
    return table.error({}, fmt::format("empty; expected \"# {}\" and a table", options.format));
  }
  int number = 0;
  for (const std::string_view whole : split_lines(text)) {
    const std::string_view line = trimmed(whole);
    ++number;
    if (number == 1) {
      const std::string_view format = options.format;
      const bool is_ours = line.starts_with("# ") && line.substr(2).starts_with(format) &&
                           (line.size() == format.size() + 2 || line[format.size() + 2] == ' ');
      if (!is_ours) {
        return table.error(
            {.line = 1, .column = {}},
            fmt::format("begins with {}; expected \"# {}\"", quoted_for_message(line), format));
      }
    } else if (line.starts_with('#')) {
      SEPTULE_TRY_STATUS(table.read_comment(line));
    } else if (!line.empty() && table.headings_.empty()) {
      SEPTULE_TRY_STATUS(table.read_heading(line, number));
    } else if (!line.empty()) {
      if (table.rows_.size() == options.rows_max) {
        return table.error({.line = number, .column = {}},
                           fmt::format("more than {} rows", options.rows_max));
      }
      SEPTULE_TRY_STATUS(table.read_row(line, number));
    }
  }
  if (table.headings_.empty()) {
    return table.error({}, "no heading; expected the names of the columns");
  }
  return table;
}

Status PlainTable::read_comment(std::string_view line) {
  constexpr std::size_t kFactsMax = 16;
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos || facts_.size() == kFactsMax) {
    return {};
  }
  facts_.emplace_back(trimmed(line.substr(1, colon - 1)), trimmed(line.substr(colon + 2)));
  return {};
}

Status PlainTable::read_heading(std::string_view line, int number) {
  heading_line_ = number;
  std::vector<std::string_view> headings = split_cells(line);
  if (headings.size() > kColumnsMax) {
    return error({.line = number, .column = {}},
                 fmt::format("{} columns; at most {}", headings.size(), kColumnsMax));
  }
  for (std::size_t i = 0; i < headings.size(); ++i) {
    if (headings[i].empty()) {
      return error({.line = number, .column = {}},
                   fmt::format("column {} has no name; expected one", i + 1));
    }
    if (std::find(headings.begin(),
                  headings.begin() + static_cast<std::ptrdiff_t>(i),
                  headings[i]) != headings.begin() + static_cast<std::ptrdiff_t>(i)) {
      return error({.line = number, .column = headings[i]}, "given twice; expected each once");
    }
  }
  headings_ = std::move(headings);
  return {};
}

Status PlainTable::read_row(std::string_view line, int number) {
  if (line.find('"') != std::string_view::npos) {
    return error({.line = number, .column = {}}, "a quotation mark; cells are not quoted here");
  }
  PlainRow row{.line = number, .cells = split_cells(line)};
  if (row.cells.size() != headings_.size()) {
    return error({.line = number, .column = {}},
                 fmt::format("{} cells; expected {}, as the heading on line {} has",
                             row.cells.size(),
                             headings_.size(),
                             heading_line_));
  }
  rows_.push_back(std::move(row));
  return {};
}

std::optional<std::size_t> PlainTable::column(std::string_view heading) const {
  const auto found = std::find(headings_.begin(), headings_.end(), heading);
  if (found == headings_.end()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - headings_.begin());
}

std::string_view PlainTable::fact(std::string_view name) const {
  for (const auto& [known, value] : facts_) {
    if (known == name) {
      return value;
    }
  }
  return {};
}

Error PlainTable::error(const CellPlace& place, std::string_view what) const {
  std::string message = source_name_;
  if (place.line > 0) {
    message += fmt::format(":{}", place.line);
  }
  if (!place.column.empty()) {
    const std::string quoted = quoted_for_message(place.column);
    const std::string_view plain = std::string_view(quoted).substr(1, quoted.size() - 2);
    message += fmt::format(": column {}", plain == place.column ? plain : quoted);
  }
  return {.code = ErrorCode::kInvalidInput, .message = fmt::format("{}: {}", message, what)};
}

Result<std::optional<double>> PlainTable::number(const PlainRow& row,
                                                 std::size_t column,
                                                 const Range& range) const {
  const std::string_view cell = row.cells[column];
  if (cell.empty()) {
    return std::optional<double>();
  }
  const std::optional<double> value = parse_number(cell);
  if (!value.has_value() || *value < range.min || *value > range.max) {
    return error(
        {.line = row.line, .column = headings_[column]},
        fmt::format(
            "{} is not a number from {} to {}", quoted_for_message(cell), range.min, range.max));
  }
  return value;
}

Result<double> PlainTable::required_number(const PlainRow& row,
                                           std::size_t column,
                                           const Range& range) const {
  SEPTULE_TRY(const std::optional<double> value, number(row, column, range));
  if (!value.has_value()) {
    return error({.line = row.line, .column = headings_[column]},
                 fmt::format("empty; expected a number from {} to {}", range.min, range.max));
  }
  return *value;
}

Result<int> PlainTable::required_integer(const PlainRow& row,
                                         std::size_t column,
                                         const Range& range) const {
  SEPTULE_TRY(const double value, required_number(row, column, range));
  if (value != std::floor(value)) {
    return error({.line = row.line, .column = headings_[column]},
                 fmt::format("{} is not a whole number", quoted_for_message(row.cells[column])));
  }
  return static_cast<int>(value);
}

}  // namespace septule::job
