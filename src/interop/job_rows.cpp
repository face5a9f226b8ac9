#include "interop/job_rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "interop/csv_reader.hpp"
#include "interop/input_text.hpp"

namespace septule::interop {

namespace {

/// What one column of the table means.
struct Column {
  enum class Kind { kName, kMemory, kWeight, kSpeed, kExtra, kIgnored };
  Kind kind = Kind::kIgnored;
  std::string heading;
  std::optional<ProfileIndex> profile;
  std::size_t extra = 0;  ///< index into JobRowsFormat::extra, of kExtra
};

constexpr int kShapeColumns[] = {7, 4, 3, 2, 1};

std::optional<ComputeSlices> shape_column(std::string_view heading) {
  for (const int slices : kShapeColumns) {
    if (heading == fmt::format("s{}", slices)) {
      return ComputeSlices(slices);
    }
  }
  return std::nullopt;
}

/// Reads one job table for one geometry.
class TableReader {
 public:
  TableReader(const InputText& input, const gpu::Geometry& geometry, const JobRowsFormat& format)
      : input_(input), geometry_(geometry), format_(format) {}

  Result<JobRows> read() {
    SEPTULE_TRY(const std::vector<CsvRow> rows, read_csv(input_, kJobsMax));
    if (!geometry_.has_profile_table()) {
      return input_error(input_.source_name,
                         0,
                         "",
                         fmt::format("no profile table is published for {}, so its jobs cannot "
                                     "have speeds",
                                     geometry_.key()));
    }
    if (rows.empty()) {
      return input_error(
          input_.source_name, 0, "", fmt::format("no heading; expected {}", format_.example));
    }
    SEPTULE_TRY_STATUS(read_heading(rows.front()));
    if (rows.size() == 1) {
      return input_error(input_.source_name,
                         rows.front().line,
                         "",
                         "no jobs below the heading; expected a row each");
    }
    for (std::size_t i = 1; i < rows.size(); ++i) {
      SEPTULE_TRY_STATUS(read_row(rows[i]));
    }
    return std::move(table_);
  }

 private:
  Error error(int line, std::string_view what) const {
    return input_error(input_.source_name, line, "", what);
  }
  Error cell_error(int line, const Column& column, std::string_view what) const {
    return input_error(input_.source_name, line, fmt::format("column {}", column.heading), what);
  }

  Status read_heading(const CsvRow& row) {
    std::map<std::string, std::string> seen;  // what a column means -> its heading
    bool has_speed = false;
    for (const std::string& cell : row.cells) {
      SEPTULE_TRY(Column column, read_column(row.line, cell));
      has_speed = has_speed || column.kind == Column::Kind::kSpeed;
      const std::string meaning = column.profile
                                      ? fmt::format("profile {}", column.profile->value())
                                      : lower_case(column.heading);
      const auto [earlier, is_new] = seen.emplace(meaning, column.heading);
      if (!is_new) {
        return cell_error(
            row.line,
            column,
            column.profile
                ? fmt::format("is the same profile as column {} ({}); expected one column",
                              earlier->second,
                              geometry_.profile(*column.profile).name)
                : "appears twice; expected once");
      }
      columns_.push_back(std::move(column));
    }
    if (!seen.contains("name")) {
      return error(row.line,
                   fmt::format("the heading has no column \"name\"; expected {} or profile names, "
                               "separated by commas",
                               format_.example));
    }
    if (!has_speed && format_.speeds == JobRowsFormat::Speeds::kNeeded) {
      return error(row.line,
                   fmt::format("no column gives a speed on {}; expected s7,s4,s3,s2,s1 or names of "
                               "its profiles",
                               geometry_.key()));
    }
    return {};
  }

  Result<Column> read_column(int line, std::string_view cell) {
    const std::string heading = lower_case(trimmed(cell));
    Column column;
    column.heading = one_line(heading, 60);
    if (heading == "name") {
      column.kind = Column::Kind::kName;
    } else if (heading == "memory_gib") {
      column.kind = Column::Kind::kMemory;
    } else if (heading == "weight") {
      column.kind = Column::Kind::kWeight;
    } else if (const std::optional<std::size_t> extra = extra_column(heading)) {
      column.kind = Column::Kind::kExtra;
      column.extra = *extra;
    } else if (const std::optional<ComputeSlices> slices = shape_column(heading)) {
      column.profile = geometry_.plain_profile(*slices);
      if (!column.profile) {
        table_.notes.push_back(
            fmt::format("column {} is not used: {} has no plain profile of {} "
                        "compute slices",
                        heading,
                        geometry_.key(),
                        slices->value()));
      }
    } else {
      column.profile = geometry_.find_profile(heading);
      if (!column.profile) {
        return unknown_column(line, heading);
      }
      const std::string& name = geometry_.profile(*column.profile).name;
      if (lower_case(name) != heading) {
        table_.notes.push_back(fmt::format("column {} is {} here", column.heading, name));
      }
    }
    if (column.profile) {
      column.kind = Column::Kind::kSpeed;
    }
    return column;
  }

  std::optional<std::size_t> extra_column(std::string_view heading) const {
    const auto found = std::find(format_.extra.begin(), format_.extra.end(), heading);
    if (found == format_.extra.end()) {
      return std::nullopt;
    }
    return static_cast<std::size_t>(found - format_.extra.begin());
  }

  Error unknown_column(int line, std::string_view heading) const {
    if (heading.empty()) {
      return error(line, "a column without a heading; expected a name for each column");
    }
    std::vector<std::string> known = {"name", "memory_gib", "weight"};
    known.insert(known.end(), format_.extra.begin(), format_.extra.end());
    for (const int slices : kShapeColumns) {
      known.push_back(fmt::format("s{}", slices));
    }
    for (std::string& name : geometry_.profile_names()) {
      known.push_back(std::move(name));
    }
    std::string text = unknown_name_text("column", heading, known);
    if (heading.find(';') != std::string_view::npos ||
        heading.find('\t') != std::string_view::npos) {
      text += "; columns are separated by commas";
    }
    return error(line, text + fmt::format(" (GPU {})", geometry_.key()));
  }

  Status read_row(const CsvRow& row) {
    if (row.cells.size() != columns_.size()) {
      return error(
          row.line,
          fmt::format("{} cells; the heading has {} columns", row.cells.size(), columns_.size()));
    }
    JobRow read{.line = row.line, .job = {}, .extra = {}};
    read.extra.resize(format_.extra.size());
    plan::JobSpeeds& job = read.job;
    job.speed.assign(geometry_.profiles().size(), 0.0);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string_view cell = trimmed(row.cells[i]);
      if (columns_[i].kind == Column::Kind::kExtra) {
        read.extra[columns_[i].extra] = cell;
      } else {
        SEPTULE_TRY_STATUS(read_cell(row.line, columns_[i], cell, job));
      }
    }
    const auto [earlier, is_new] = line_of_job_.emplace(job.name, row.line);
    if (!is_new) {
      return input_error(input_.source_name,
                         row.line,
                         "column name",
                         fmt::format("the job {} was already given in line {}; expected another "
                                     "name",
                                     quoted_for_message(job.name),
                                     earlier->second));
    }
    table_.rows.push_back(std::move(read));
    return {};
  }

  Status read_cell(int line, const Column& column, std::string_view cell, plan::JobSpeeds& job) {
    if (column.kind == Column::Kind::kName) {
      if (const std::string fault = name_fault(cell); !fault.empty()) {
        return cell_error(line, column, fault);
      }
      job.name = cell;
      return {};
    }
    if (cell.empty()) {
      return {};
    }
    const std::optional<double> number = parse_number(cell);
    const auto refuse = [&](std::string_view expected) {
      return cell_error(line,
                        column,
                        fmt::format("{} is {}; expected {}",
                                    quoted_for_message(cell),
                                    number ? "out of range" : "not a number",
                                    expected));
    };
    switch (column.kind) {
      case Column::Kind::kMemory:
        if (!number || *number <= 0 || *number > kMemoryGibibytesMax) {
          return refuse(fmt::format("GiB above 0, at most {}, or nothing", kMemoryGibibytesMax));
        }
        job.memory = Bytes(static_cast<std::uint64_t>(std::ceil(*number * 1073741824.0)));
        break;
      case Column::Kind::kWeight:
        if (!number || *number < kWeightMin || *number > kWeightMax) {
          return refuse("a weight between 0.000001 and 1000000, or nothing for 1");
        }
        job.weight = *number;
        break;
      case Column::Kind::kSpeed:
      case Column::Kind::kIgnored:
        if (!number || (*number != 0 && (*number < kSpeedMin || *number > kSpeedMax))) {
          return refuse("0 (does not fit) or a speed between 0.000001 and 1000");
        }
        if (column.profile) {
          job.speed[static_cast<std::size_t>(column.profile->value())] = *number + 0.0;
        }
        break;
      case Column::Kind::kName:
      case Column::Kind::kExtra:
        break;
    }
    return {};
  }

  const InputText& input_;
  const gpu::Geometry& geometry_;
  const JobRowsFormat& format_;
  std::vector<Column> columns_;
  std::map<std::string, int> line_of_job_;
  JobRows table_;
};

}  // namespace

Result<JobRows> read_job_rows(const InputText& input,
                              const gpu::Geometry& geometry,
                              const JobRowsFormat& format) {
  return TableReader(input, geometry, format).read();
}

}  // namespace septule::interop
