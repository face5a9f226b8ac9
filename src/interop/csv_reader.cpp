#include "interop/csv_reader.hpp"

#include <string_view>
#include <utility>

#include <csv.h>
#include <fmt/format.h>

#include "base/text.hpp"
#include "interop/input_text.hpp"

namespace septule::interop {

namespace {

/// What libcsv's callbacks fill.
struct Rows {
  std::vector<CsvRow> rows;
  std::vector<std::string> cells;
  int line = 0;  // where the row in progress began
  bool has_ended_row = false;
};

void end_cell(void* text, std::size_t length, void* data) {
  auto& rows = *static_cast<Rows*>(data);
  // One cell more than the limit is kept, so that the excess is seen without keeping it all.
  if (rows.cells.size() <= kColumnsMax) {
    rows.cells.emplace_back(static_cast<const char*>(text), length);
  }
}

void end_row(int /*terminator*/, void* data) {
  auto& rows = *static_cast<Rows*>(data);
  rows.rows.push_back({rows.line, std::exchange(rows.cells, {})});
  rows.has_ended_row = true;
}

/// libcsv's parser, freed at the end.
class Parser {
 public:
  Parser() { is_ready_ = csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) == 0; }
  ~Parser() {
    if (is_ready_) {
      csv_free(&parser_);
    }
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  bool is_ready() const { return is_ready_; }
  bool feed(std::string_view text, Rows& rows) {
    return csv_parse(&parser_, text.data(), text.size(), end_cell, end_row, &rows) == text.size();
  }
  bool finish(Rows& rows) { return csv_fini(&parser_, end_cell, end_row, &rows) == 0; }

 private:
  csv_parser parser_{};
  bool is_ready_ = false;
};

}  // namespace

Status visit_csv(const InputText& input,
                 const CsvLimits& limits,
                 const std::function<Status(CsvRow)>& visit) {
  SEPTULE_TRY(std::string_view text, checked_text(input, limits.bytes_max));
  Parser parser;
  if (!parser.is_ready()) {
    return Error{ErrorCode::kFailed, "the CSV parser could not be set up (out of memory)"};
  }
  Rows rows;
  std::size_t visited = 0;
  int line = 0;
  bool is_inside_row = false;  // a quoted cell spans lines
  const auto hand_over = [&]() -> Status {
    for (CsvRow& row : rows.rows) {
      if (++visited > limits.rows_max) {
        return input_error(input.source_name,
                           line,
                           "",
                           fmt::format("more than {} rows; that is the limit", limits.rows_max));
      }
      if (row.cells.size() > kColumnsMax) {
        return input_error(input.source_name,
                           row.line,
                           "",
                           fmt::format("more than {} columns; that is the limit", kColumnsMax));
      }
      SEPTULE_TRY_STATUS(visit(std::move(row)));
    }
    rows.rows.clear();
    return {};
  };
  while (!text.empty()) {
    ++line;
    const std::size_t end = text.find('\n');
    const std::string_view piece = text.substr(0, end == std::string_view::npos ? end : end + 1);
    text.remove_prefix(piece.size());
    if (!is_inside_row) {
      rows.line = line;
    }
    rows.has_ended_row = false;
    if (!parser.feed(piece, rows)) {
      return input_error(input.source_name,
                         line,
                         "",
                         "a misplaced quotation mark; quote a whole cell and write \"\" for a "
                         "quotation mark inside it");
    }
    is_inside_row = !rows.has_ended_row && (is_inside_row || !trimmed(piece).empty());
    SEPTULE_TRY_STATUS(hand_over());
  }
  if (!parser.finish(rows)) {
    return input_error(input.source_name,
                       rows.line,
                       "",
                       "a quoted cell begins here and never ends; is the file cut off?");
  }
  return hand_over();
}

Result<std::vector<CsvRow>> read_csv(const InputText& input, std::size_t rows_max) {
  std::vector<CsvRow> rows;
  const auto keep = [&](CsvRow row) -> Status {
    if (rows.size() == rows_max + 1) {
      return input_error(input.source_name,
                         row.line,
                         "",
                         fmt::format("more than {} rows; that is the limit", rows_max));
    }
    rows.push_back(std::move(row));
    return {};
  };
  // The heading, and one row more that `keep` refuses.
  SEPTULE_TRY_STATUS(
      visit_csv(input, {.bytes_max = kInputBytesMax, .rows_max = rows_max + 2}, keep));
  return rows;
}

}  // namespace septule::interop
