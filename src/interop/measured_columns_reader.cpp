#include "interop/measured_columns_reader.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "interop/csv_reader.hpp"
#include "interop/input_text.hpp"
#include "interop/npy_reader.hpp"

namespace septule::interop {

namespace {

constexpr std::size_t kRowsMax = 100000;
constexpr std::size_t kClassesMax = 1000;
constexpr std::array<int, 3> kPercentages = {100, 50, 14};
constexpr int kFolds = 5;
constexpr std::size_t kFamiliesSaid = 12;
constexpr std::string_view kFiller = "dummy";
constexpr std::size_t kJobs = predict::kCoRunnersMax;

struct JobClass {
  std::string family;
  std::string name;
};

struct Row {
  int co_runners = 0;
  int fold = 0;
  std::array<std::size_t, kJobs> classes{};
};

/// A CSV table by names of columns.
class NamedTable {
 public:
  static Result<NamedTable> read(const InputText& input, std::size_t rows_max) {
    NamedTable table;
    table.source_ = input.source_name;
    SEPTULE_TRY(table.rows_, read_csv(input, rows_max));
    if (table.rows_.empty()) {
      return input_error(input.source_name, 0, "", "holds no heading");
    }
    return table;
  }
  std::size_t size() const { return rows_.size() - 1; }

  Result<std::string> text(std::size_t row, std::string_view column) const {
    const auto& heading = rows_.front().cells;
    const auto found = std::ranges::find(heading, column);
    if (found == heading.end()) {
      return input_error(
          source_, rows_.front().line, "", fmt::format("has no column \"{}\"", column));
    }
    const auto index = static_cast<std::size_t>(found - heading.begin());
    const CsvRow& its = rows_[row + 1];
    if (index >= its.cells.size()) {
      return input_error(source_, its.line, column, "is missing in this row");
    }
    return its.cells[index];
  }
  Result<int> integer(std::size_t row, std::string_view column, int min, int max) const {
    SEPTULE_TRY(const std::string cell, text(row, column));
    const auto value = parse_integer(cell);
    if (!value || *value < min || *value > max) {
      return input_error(source_,
                         rows_[row + 1].line,
                         column,
                         fmt::format("{} is not valid; expected a whole number from {} to {}",
                                     quoted_for_message(cell),
                                     min,
                                     max));
    }
    return static_cast<int>(*value);
  }

 private:
  std::string source_;
  std::vector<CsvRow> rows_;
};

Result<std::vector<JobClass>> read_classes(const InputText& input) {
  SEPTULE_TRY(const NamedTable table, NamedTable::read(input, kClassesMax));
  std::vector<JobClass> classes;
  for (std::size_t row = 0; row < table.size(); ++row) {
    SEPTULE_TRY_STATUS(
        table.integer(row, "class_id", static_cast<int>(row), static_cast<int>(row)));
    SEPTULE_TRY(const std::string family, table.text(row, "model"));
    SEPTULE_TRY(const std::string batch, table.text(row, "batch"));
    JobClass job{family, fmt::format("{}:{}", family, batch)};
    if (const std::string fault = name_fault(job.name); !fault.empty()) {
      return input_error(input.source_name, 0, fmt::format("class {}", row), fault);
    }
    classes.push_back(std::move(job));
  }
  return classes;
}

Result<std::vector<Row>> read_rows(const InputText& input, std::size_t class_count) {
  SEPTULE_TRY(const NamedTable table, NamedTable::read(input, kRowsMax));
  const int class_last = static_cast<int>(class_count) - 1;
  std::vector<Row> rows(table.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SEPTULE_TRY(rows[i].co_runners, table.integer(i, "n_active", 1, static_cast<int>(kJobs)));
    SEPTULE_TRY(rows[i].fold, table.integer(i, "val5", 0, kFolds - 1));
    for (std::size_t column = 0; column < kJobs; ++column) {
      SEPTULE_TRY(const int job, table.integer(i, fmt::format("c{}", column), 0, class_last));
      rows[i].classes[column] = static_cast<std::size_t>(job);
    }
  }
  return rows;
}

std::vector<std::string> families_of(const std::vector<JobClass>& classes) {
  std::set<std::string> families;
  for (const JobClass& job : classes) {
    if (job.family != kFiller) {
      families.insert(job.family);
    }
  }
  return {families.begin(), families.end()};
}

/// What a part's rows are: of a fold, or with a family.
struct Part {
  std::optional<int> fold;
  std::string family;

  bool holds(const Row& row, const std::vector<JobClass>& classes) const {
    if (fold.has_value()) {
      return row.fold == *fold;
    }
    return std::ranges::any_of(row.classes,
                               [&](std::size_t job) { return classes[job].family == family; });
  }
};

Result<Part> part_of(std::string_view text, const std::vector<JobClass>& classes) {
  const auto number = parse_integer(text);
  if (number && *number >= 0 && *number < kFolds) {
    return Part{static_cast<int>(*number), {}};
  }
  std::vector<std::string> families = families_of(classes);
  if (std::ranges::find(families, text) != families.end()) {
    return Part{std::nullopt, std::string(text)};
  }
  families.resize(std::min(families.size(), kFamiliesSaid));
  return Error{ErrorCode::kNotFound,
               fmt::format("{} is neither a fold nor a family of the data; expected 0 to {}, {}",
                           quoted_for_message(text),
                           kFolds - 1,
                           joined_with_and(families))};
}

}  // namespace

Result<predict::MeasuredColumns> read_measured_columns(const MeasuredColumnsInput& input,
                                                       std::string_view part_text) {
  SEPTULE_TRY(const std::vector<JobClass> classes, read_classes(input.classes));
  SEPTULE_TRY(const Part part, part_of(part_text, classes));
  SEPTULE_TRY(const std::vector<Row> rows, read_rows(input.rows, classes.size()));
  SEPTULE_TRY(const NpyArray steps, read_npy(input.steps));
  const std::vector<std::size_t> shape = {rows.size(), kPercentages.size(), kJobs};
  if (steps.shape != shape) {
    return input_error(input.steps.source_name,
                       0,
                       "",
                       fmt::format("has not the shape {} x {} x {} that {} asks for",
                                   shape[0],
                                   shape[1],
                                   shape[2],
                                   input.rows.source_name));
  }
  predict::MeasuredColumns columns;
  for (const int percentage : kPercentages) {
    columns.levels.push_back(ActiveThreadPercentage(percentage));
  }
  std::size_t used = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!part.holds(rows[row], classes)) {
      continue;
    }
    ++used;
    for (std::size_t column = 0; column < kJobs; ++column) {
      const JobClass& job = classes[rows[row].classes[column]];
      if (job.family == kFiller) {
        continue;
      }
      predict::MeasuredColumn made{job.name, rows[row].co_runners, {}};
      for (std::size_t level = 0; level < kPercentages.size(); ++level) {
        const float step = steps.values[(row * kPercentages.size() + level) * kJobs + column];
        if (!(step > 0 && step <= 1)) {
          return input_error(
              input.steps.source_name,
              0,
              fmt::format("row {}, level {}, column {}", row, level, column),
              fmt::format("{} is no normalised step time; expected above 0, at most 1", step));
        }
        made.step[level] = static_cast<double>(step);
      }
      columns.columns.push_back(std::move(made));
    }
  }
  std::ranges::stable_sort(columns.columns, {}, [](const predict::MeasuredColumn& column) {
    return std::tuple<std::string_view, int>(column.job, column.co_runners);
  });
  columns.text = fmt::format("{} {} ({} of {} rows)",
                             part.fold.has_value() ? "fold" : "mixes with",
                             part_text,
                             used,
                             rows.size());
  return columns;
}

}  // namespace septule::interop
