#include "interop/mps_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "interop/csv_reader.hpp"
#include "interop/input_text.hpp"
#include "interop/mps_fields.hpp"

namespace septule::interop {

namespace {

/// What one column of the table means.
struct Column {
  enum class Kind { kRun, kJob, kLevel, kStep, kField };
  Kind kind = Kind::kField;
  std::string heading;
  MpsField field = MpsField::kSmallest;  // of kField
};

constexpr std::string_view kHeadingText = "job,atp,step_s";

/// A time and the line it stands on.
struct Cell {
  int line = 0;
  double seconds = 0;
};

struct JobDraft {
  MpsJobDraft draft;
  int line = 0;               // of its first row
  std::map<int, Cell> times;  // by percentage
};

struct RunDraft {
  std::string name;
  std::vector<int> levels;  // in the order of the rows
  std::vector<JobDraft> jobs;
};

/// Texts of the cells of one row that say where it belongs.
struct RowKey {
  std::string run;
  std::string job;
  int level = 0;
  double seconds = 0;
};

class TableReader {
 public:
  explicit TableReader(const InputText& input) : input_(input) {}

  Result<std::vector<MpsRun>> read() {
    SEPTULE_TRY(const std::vector<CsvRow> rows, read_csv(input_, kMpsRowsMax));
    if (rows.empty()) {
      return error(0, "", fmt::format("no heading; expected {}", kHeadingText));
    }
    SEPTULE_TRY_STATUS(read_heading(rows.front()));
    if (rows.size() == 1) {
      return error(rows.front().line,
                   "",
                   "no measurements below the heading; expected a row for each job and level");
    }
    for (std::size_t i = 1; i < rows.size(); ++i) {
      SEPTULE_TRY_STATUS(read_row(rows[i]));
    }
    std::vector<MpsRun> runs;
    for (const RunDraft& run : runs_) {
      SEPTULE_TRY(MpsRun finished, finish(run));
      runs.push_back(std::move(finished));
    }
    return runs;
  }

 private:
  Error error(int line, std::string_view field, std::string_view what) const {
    return input_error(input_.source_name, line, field, what);
  }
  Error cell_error(int line, const Column& column, std::string_view what) const {
    return error(line, fmt::format("column {}", column.heading), what);
  }

  Status read_heading(const CsvRow& row) {
    for (const std::string& cell : row.cells) {
      SEPTULE_TRY(Column column, read_column(row.line, cell));
      if (std::ranges::find(columns_, column.heading, &Column::heading) != columns_.end()) {
        return cell_error(row.line, column, "appears twice; expected once");
      }
      columns_.push_back(std::move(column));
    }
    for (const std::string_view name : {"job", "atp", "step_s"}) {
      if (std::ranges::find(columns_, name, &Column::heading) == columns_.end()) {
        return error(row.line,
                     "",
                     fmt::format("the heading has no column \"{}\"; expected {}, separated by "
                                 "commas",
                                 name,
                                 kHeadingText));
      }
    }
    const auto has = [&](MpsField field) {
      return std::ranges::find(columns_, mps_field_name(field), &Column::heading) != columns_.end();
    };
    if (has(MpsField::kMemoryGib) && has(MpsField::kMemoryMib)) {
      return error(row.line, "", "memory_gib and memory_mib are both given; expected one of them");
    }
    return {};
  }

  Result<Column> read_column(int line, std::string_view cell) const {
    const std::string heading = lower_case(trimmed(cell));
    Column column{.heading = one_line(heading, 60)};
    if (heading == "run") {
      column.kind = Column::Kind::kRun;
    } else if (heading == "job") {
      column.kind = Column::Kind::kJob;
    } else if (heading == "atp") {
      column.kind = Column::Kind::kLevel;
    } else if (heading == "step_s") {
      column.kind = Column::Kind::kStep;
    } else if (const std::optional<MpsField> field = mps_field(heading)) {
      column.field = *field;
    } else {
      return unknown_column(line, heading);
    }
    return column;
  }

  Error unknown_column(int line, std::string_view heading) const {
    if (heading.empty()) {
      return error(line, "", "a column without a heading; expected a name for each column");
    }
    if (const std::string fault = step_name_fault("column", heading); !fault.empty()) {
      return error(line, "", fault);
    }
    std::vector<std::string> known = {"run", "job", "atp", "step_s"};
    for (const MpsField field : {MpsField::kMemoryGib,
                                 MpsField::kMemoryMib,
                                 MpsField::kSmallest,
                                 MpsField::kSmPercent,
                                 MpsField::kMemoryPercent,
                                 MpsField::kPower,
                                 MpsField::kFootprint}) {
      known.emplace_back(mps_field_name(field));
    }
    std::string text = unknown_name_text("column", heading, known);
    if (heading.find(';') != std::string_view::npos ||
        heading.find('\t') != std::string_view::npos) {
      text += "; columns are separated by commas";
    }
    return error(line, "", text);
  }

  Status read_row(const CsvRow& row) {
    if (row.cells.size() != columns_.size()) {
      return error(
          row.line,
          "",
          fmt::format("{} cells; the heading has {} columns", row.cells.size(), columns_.size()));
    }
    RowKey key;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      SEPTULE_TRY_STATUS(read_key(row.line, columns_[i], trimmed(row.cells[i]), key));
    }
    SEPTULE_TRY(RunDraft * run, run_of(row.line, key.run));
    SEPTULE_TRY(JobDraft * job, job_of(row.line, *run, key.job));
    const auto [earlier, is_new] =
        job->times.emplace(key.level, Cell{.line = row.line, .seconds = key.seconds});
    if (!is_new) {
      return error(row.line,
                   "column atp",
                   fmt::format("job {} already has a time at {} % in line {}; expected one",
                               quoted_for_message(key.job),
                               key.level,
                               earlier->second.line));
    }
    if (std::ranges::find(run->levels, key.level) == run->levels.end()) {
      if (run->levels.size() == predict::kMatrixLevelsMax) {
        return error(row.line,
                     "column atp",
                     fmt::format("more than {} levels in one run; that is the limit",
                                 predict::kMatrixLevelsMax));
      }
      run->levels.push_back(key.level);
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].kind == Column::Kind::kField) {
        SEPTULE_TRY_STATUS(read_field(row.line, columns_[i], trimmed(row.cells[i]), job->draft));
      }
    }
    return {};
  }

  Status read_key(int line, const Column& column, std::string_view cell, RowKey& key) const {
    const std::optional<double> number = parse_number(cell);
    switch (column.kind) {
      case Column::Kind::kRun:
      case Column::Kind::kJob:
        if (const std::string fault = name_fault(cell); !fault.empty()) {
          return cell_error(line, column, fault);
        }
        (column.kind == Column::Kind::kRun ? key.run : key.job) = cell;
        return {};
      case Column::Kind::kLevel: {
        const bool is_level =
            number && *number >= 1 && *number <= 100 && *number == std::floor(*number);
        if (!is_level) {
          return cell_error(line,
                            column,
                            fmt::format("{} is not valid; expected a whole percentage from 1 to "
                                        "100 (the active thread percentage){}",
                                        quoted_for_message(cell),
                                        percentage_hint(cell)));
        }
        key.level = static_cast<int>(*number);
        return {};
      }
      case Column::Kind::kStep:
        if (!number || !is_valid_mps_time(*number)) {
          return cell_error(line,
                            column,
                            fmt::format("{} is {}; expected {} in seconds",
                                        quoted_for_message(cell),
                                        number ? "out of range" : "not a number",
                                        mps_time_text()));
        }
        key.seconds = *number;
        return {};
      case Column::Kind::kField:
        break;
    }
    return {};
  }

  Status read_field(int line,
                    const Column& column,
                    std::string_view cell,
                    MpsJobDraft& draft) const {
    if (cell.empty()) {
      return {};
    }
    bool is_same = true;
    if (column.field == MpsField::kSmallest) {
      const std::optional<predict::Slice> slice = parse_slice(cell);
      if (!slice) {
        return cell_error(line,
                          column,
                          fmt::format("{} is not a slice; expected {}, or nothing{}",
                                      quoted_for_message(cell),
                                      slice_names_text(),
                                      slice_name_hint(cell)));
      }
      is_same = draft.job.smallest.value_or(*slice) == *slice;
      draft.job.smallest = slice;
    } else {
      const std::optional<double> number = parse_number(cell);
      const std::string fault = mps_number_fault(column.field, number.value_or(-1));
      if (!fault.empty()) {
        return cell_error(
            line,
            column,
            fmt::format("{} {}, or nothing",
                        quoted_for_message(cell),
                        number ? fault : "is not a number" + fault.substr(fault.find(';'))));
      }
      is_same = set_mps_number(draft, column.field, *number);
    }
    if (!is_same) {
      return cell_error(line,
                        column,
                        fmt::format("{} is not what an earlier row of job {} says; expected the "
                                    "same, or nothing",
                                    quoted_for_message(cell),
                                    quoted_for_message(draft.job.name)));
    }
    return {};
  }

  Result<RunDraft*> run_of(int line, const std::string& name) {
    const auto [at, is_new] = run_index_.emplace(name, runs_.size());
    if (is_new) {
      if (runs_.size() == kMpsRunsMax) {
        return error(
            line, "column run", fmt::format("more than {} runs; that is the limit", kMpsRunsMax));
      }
      runs_.push_back({.name = name, .levels = {}, .jobs = {}});
    }
    return &runs_[at->second];
  }

  Result<JobDraft*> job_of(int line, RunDraft& run, const std::string& name) const {
    const auto found = std::ranges::find_if(
        run.jobs, [&](const JobDraft& job) { return job.draft.job.name == name; });
    if (found != run.jobs.end()) {
      return &*found;
    }
    if (run.jobs.size() == predict::kCoRunnersMax) {
      return error(
          line,
          "column job",
          fmt::format("{} is the eighth job{}; a co-run has at most seven",
                      quoted_for_message(name),
                      run.name.empty() ? std::string(" (no column \"run\" tells co-runs apart)")
                                       : fmt::format(" of run {}", quoted_for_message(run.name))));
    }
    run.jobs.push_back({.draft = {}, .line = line, .times = {}});
    run.jobs.back().draft.job.name = name;
    return &run.jobs.back();
  }

  /// Every job has a time at every level of its run, or the run is refused.
  Result<MpsRun> finish(const RunDraft& draft) const {
    MpsRun run{.name = draft.name, .jobs = {}, .matrix = {}};
    for (const int level : draft.levels) {
      run.matrix.levels.push_back({.atp = ActiveThreadPercentage(level), .step = {}});
    }
    for (std::size_t column = 0; column < draft.jobs.size(); ++column) {
      const JobDraft& job = draft.jobs[column];
      for (std::size_t i = 0; i < draft.levels.size(); ++i) {
        const auto at = job.times.find(draft.levels[i]);
        if (at == job.times.end()) {
          return missing_level(draft, job, draft.levels[i]);
        }
        run.matrix.levels[i].step[column] = at->second.seconds;
      }
      run.matrix.counters[column] = job.draft.counters;
      run.jobs.push_back(job.draft.job);
    }
    return run;
  }

  Error missing_level(const RunDraft& run, const JobDraft& job, int level) const {
    const auto other = std::ranges::find_if(
        run.jobs, [&](const JobDraft& one) { return one.times.contains(level); });
    SEPTULE_CHECK(other != run.jobs.end(), "a level comes from a job");
    return error(
        job.line,
        "column atp",
        fmt::format("job {}{} has no time at {} %, but job {} has (line {}); expected every job "
                    "of a co-run at the same percentages",
                    quoted_for_message(job.draft.job.name),
                    run.name.empty() ? "" : " of run " + quoted_for_message(run.name),
                    level,
                    quoted_for_message(other->draft.job.name),
                    other->times.at(level).line));
  }

  const InputText& input_;
  std::vector<Column> columns_;
  std::vector<RunDraft> runs_;
  std::map<std::string, std::size_t> run_index_;
};

}  // namespace

Result<std::vector<MpsRun>> parse_mps_table(const InputText& input) {
  return TableReader(input).read();
}

}  // namespace septule::interop
