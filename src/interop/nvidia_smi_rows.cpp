#include "interop/nvidia_smi_rows.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "interop/input_text.hpp"

namespace septule::interop {

namespace {

constexpr int kPlaceMax = 64;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (true) {
    at = text.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) {
      return words;
    }
    const std::size_t end = text.find_first_of(" \t", at);
    words.push_back(text.substr(at, end == std::string_view::npos ? end : end - at));
    if (end == std::string_view::npos) {
      return words;
    }
    at = end;
  }
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::optional<int> number_in(std::string_view word, int max) {
  const std::optional<std::int64_t> value = parse_integer(word);
  if (!value || *value < 0 || *value > max) {
    return std::nullopt;
  }
  return static_cast<int>(*value);
}

bool read_place(std::string_view word, SmiRow& row) {
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos) {
    return false;
  }
  const std::optional<int> start = number_in(word.substr(0, colon), kPlaceMax);
  const std::optional<int> size = number_in(word.substr(colon + 1), kPlaceMax);
  if (!start || !size || *size < 1) {
    return false;
  }
  row.start = *start;
  row.size = *size;
  return true;
}

/// A row of `-lgi` ("0 MIG 1g.5gb 19 7 4:1") or, with the GPU instance second, of `-lci`.
std::optional<SmiRow> read_row(std::string_view inside, bool is_compute) {
  const std::vector<std::string_view> words = words_of(inside);
  const std::size_t at = is_compute ? 2 : 1;
  const bool lacks_place = is_compute && words.size() == at + 4;
  if ((words.size() != at + 5 && !lacks_place) || words[at] != "MIG") {
    return std::nullopt;
  }
  SmiRow row;
  const std::optional<int> gpu = number_in(words[0], kGpusMax - 1);
  const std::optional<int> around = number_in(words[at - 1], kInstanceIdMax);
  const std::optional<int> profile = number_in(words[at + 2], kInstanceIdMax);
  const std::optional<int> instance = number_in(words[at + 3], kInstanceIdMax);
  if (!gpu || !around || !profile || !instance) {
    return std::nullopt;
  }
  row.gpu = *gpu;
  row.gpu_instance_id = is_compute ? *around : *instance;
  row.name = words[at + 1];
  row.profile_id = *profile;
  row.instance_id = *instance;
  row.has_placement = !lacks_place;
  if (!lacks_place && !read_place(words[at + 4], row)) {
    return std::nullopt;
  }
  return row;
}

/// Walks through the lines of a paste.
class RowReader {
 public:
  explicit RowReader(const InputText& input) : source_name_(input.source_name) {}

  Result<SmiRows> read(std::string_view text) {
    for (const std::string_view whole : split_lines(text)) {
      ++line_;
      SEPTULE_TRY_STATUS(read_line(trimmed(whole)));
    }
    SEPTULE_TRY_STATUS(end_table());
    if (!has_listing_) {
      return input_error(source_name_,
                         0,
                         "",
                         "no listing found; expected the output of nvidia-smi mig -lgi or -lci (a "
                         "table headed \"GPU instances:\" or \"Compute instances:\")");
    }
    return std::move(rows_);
  }

 private:
  enum class Table { kNone, kGpuInstances, kComputeInstances, kOther };
  enum class Part { kHeading, kRows, kClosed };

  Error error(std::string_view what) const { return input_error(source_name_, line_, "", what); }
  bool is_listing() const {
    return table_ == Table::kGpuInstances || table_ == Table::kComputeInstances;
  }

  Status read_line(std::string_view line) {
    if (line.empty()) {
      return end_table();
    }
    if (line.front() == '+' && line.find_first_not_of("+-=") == std::string_view::npos) {
      return read_border(line);
    }
    if (line.front() == '|') {
      return read_table_line(line);
    }
    read_answer(line);
    const std::string lower = lower_case(line);
    // Newer drivers put warnings between the lines of a table.
    if (lower.starts_with("warning")) {
      return {};
    }
    return end_table();
  }

  /// The line +---+ after each row. What is not listed would pass for free, so a line that breaks
  /// off, or two in a row with nothing between them, mean that rows may be missing.
  Status read_border(std::string_view line) {
    if (is_listing() && part_ != Part::kHeading) {
      if (line.size() < 2 || line.back() != '+') {
        return error("the line +---+ breaks off; is the paste cut off?");
      }
      if (part_ == Part::kRows && !has_row_) {
        return error("a line +---+ closes the heading without a row; paste the whole table");
      }
      // Unless the second one begins the next table, which its title tells.
      border_twice_line_ = part_ == Part::kClosed ? line_ : 0;
    }
    if (part_ == Part::kRows) {
      part_ = Part::kClosed;
    }
    return {};
  }

  Status check_borders() const {
    if (border_twice_line_ == 0) {
      return {};
    }
    return input_error(source_name_,
                       border_twice_line_,
                       "",
                       "two lines +---+ follow each other; a row between them is missing");
  }

  void read_answer(std::string_view line) {
    if (contains(line, "No GPU instances found")) {
      has_listing_ = true;
    } else if (contains(line, "No compute instances found")) {
      has_listing_ = true;
      rows_.has_compute_table = true;
    } else if (contains(line, "No MIG-enabled devices found")) {
      has_listing_ = true;
      rows_.is_mig_disabled = true;
    }
  }

  Status read_table_line(std::string_view line) {
    if (line.starts_with("|=") && line.find_first_not_of("|=+") == std::string_view::npos) {
      if (part_ == Part::kHeading) {
        part_ = Part::kRows;
      }
      return {};
    }
    const bool is_closed_line = line.size() > 1 && line.back() == '|';
    const std::string_view inside = line.substr(1, line.size() - (is_closed_line ? 2 : 1));
    const std::string_view title = trimmed(inside);
    if (title == "GPU instances:" || title == "Compute instances:") {
      border_twice_line_ = 0;
      SEPTULE_TRY_STATUS(end_table());
      table_ = title.front() == 'G' ? Table::kGpuInstances : Table::kComputeInstances;
      ++table_count_;
      part_ = Part::kHeading;
      has_row_ = false;
      has_listing_ = true;
      rows_.has_compute_table = rows_.has_compute_table || table_ == Table::kComputeInstances;
      return {};
    }
    if (is_listing() && part_ == Part::kHeading) {
      // A row before the ruled line means that the heading's end was lost.
      if (read_row(inside, table_ == Table::kComputeInstances)) {
        return error("a row before the line |====| that ends the heading; paste the whole table");
      }
      return {};
    }
    if (!is_listing()) {
      if (table_ == Table::kNone && (read_row(inside, false) || read_row(inside, true))) {
        return error(
            "a row without its heading (\"GPU instances:\" or \"Compute instances:\"); paste "
            "the whole table");
      }
      table_ = Table::kOther;
      return {};
    }
    const bool is_compute = table_ == Table::kComputeInstances;
    std::optional<SmiRow> row = is_closed_line ? read_row(inside, is_compute) : std::nullopt;
    if (!row) {
      return error(fmt::format("{} is not a whole row; expected {}",
                               quoted_for_message(line, 90),
                               is_compute ? "\"| 0 1 MIG 1c.3g.20gb 0 0 0:1 |\" (GPU, GPU instance "
                                            "id, name, profile id, instance id, placement)"
                                          : "\"| 0 MIG 3g.20gb 9 2 4:4 |\" (GPU, name, profile id, "
                                            "instance id, placement)"));
    }
    SEPTULE_TRY_STATUS(check_borders());
    row->line = line_;
    part_ = Part::kRows;
    has_row_ = true;
    row->table = table_count_;
    (is_compute ? rows_.compute_instances : rows_.gpu_instances).push_back(std::move(*row));
    return {};
  }

  /// A table that breaks off may lack rows, and what is not listed would pass for free.
  Status end_table() {
    SEPTULE_TRY_STATUS(check_borders());
    if (is_listing() && part_ != Part::kClosed) {
      return error("the table is not closed by a line +---+; is the paste cut off?");
    }
    table_ = Table::kNone;
    part_ = Part::kClosed;
    return {};
  }

  std::string_view source_name_;
  int line_ = 0;
  Table table_ = Table::kNone;
  int table_count_ = 0;
  Part part_ = Part::kClosed;
  bool has_listing_ = false;
  int border_twice_line_ = 0;  ///< where a second +---+ followed the first; 0 = nowhere
  bool has_row_ = false;       ///< in the table being read
  SmiRows rows_;
};

}  // namespace

Result<SmiRows> read_smi_rows(const InputText& input) {
  SEPTULE_TRY(const std::string_view text, checked_text(input));
  return RowReader(input).read(text);
}

}  // namespace septule::interop
