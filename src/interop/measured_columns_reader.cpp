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
#include "interop/input_text.hpp"
#include "interop/measured_rows.hpp"
#include "interop/named_table.hpp"
#include "interop/npy_reader.hpp"

namespace septule::interop {

namespace {

constexpr std::size_t kClassesMax = 1000;
constexpr std::array<int, 3> kPercentages = {100, 50, 14};
constexpr std::size_t kFamiliesSaid = 12;
constexpr std::string_view kFiller = "dummy";
constexpr std::size_t kJobs = predict::kCoRunnersMax;

struct JobClass {
  std::string family;
  std::string name;
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

Result<std::vector<MeasuredRow>> read_rows(const InputText& input,
                                           const std::vector<JobClass>& classes) {
  std::vector<bool> is_filler;
  for (const JobClass& job : classes) {
    is_filler.push_back(job.family == kFiller);
  }
  return read_measured_rows(input, is_filler);
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

  bool holds(const MeasuredRow& row, const std::vector<JobClass>& classes) const {
    if (fold.has_value()) {
      return row.fold == *fold;
    }
    return std::ranges::any_of(row.classes, [&](int job) {
      return classes[static_cast<std::size_t>(job)].family == family;
    });
  }
};

Result<Part> part_of(std::string_view text, const std::vector<JobClass>& classes) {
  const auto number = parse_integer(text);
  if (number && *number >= 0 && *number < kMeasuredFolds && text == fmt::format("{}", *number)) {
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
                           kMeasuredFolds - 1,
                           joined_with_and(families))};
}

}  // namespace

Result<predict::MeasuredColumns> read_measured_columns(const MeasuredColumnsInput& input,
                                                       std::string_view part_text) {
  SEPTULE_TRY(const std::vector<JobClass> classes, read_classes(input.classes));
  SEPTULE_TRY(const Part part, part_of(part_text, classes));
  SEPTULE_TRY(const std::vector<MeasuredRow> rows, read_rows(input.rows, classes));
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
      const JobClass& job = classes[static_cast<std::size_t>(rows[row].classes[column])];
      if (job.family == kFiller) {
        continue;
      }
      predict::MeasuredColumn made{job.name, rows[row].active, {}};
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
