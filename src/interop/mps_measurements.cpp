#include "interop/mps_measurements.hpp"

#include <array>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "interop/data_builder.hpp"
#include "interop/input_text.hpp"
#include "interop/mps_fields.hpp"
#include "interop/mps_table.hpp"

namespace septule::interop {

namespace {

using Kind = DataNode::Kind;

bool is_number(const DataNode& node) {
  return node.kind == Kind::kInteger || node.kind == Kind::kNumber;
}

ComputeSlices slices_of(predict::Slice slice) {
  return ComputeSlices(predict::kSliceComputeSlices[static_cast<std::size_t>(slice)]);
}

std::optional<predict::Slice> slice_of(std::optional<ComputeSlices> slices) {
  for (std::size_t i = 0; i < predict::kSlices; ++i) {
    if (slices == ComputeSlices(predict::kSliceComputeSlices[i])) {
      return static_cast<predict::Slice>(i);
    }
  }
  return std::nullopt;
}

/// Reads the JSON forms.
class MpsReader {
 public:
  explicit MpsReader(std::string_view source_name) : reader_(source_name) {}

  Result<std::vector<MpsRun>> read_document(const DataNode& root) const {
    if (root.find("step_time") != nullptr) {
      SEPTULE_TRY(const predict::MpsMatrix matrix, read_line(root));
      return std::vector<MpsRun>{without_gaps(matrix)};
    }
    if (root.kind == Kind::kList) {
      return reader_.error(root,
                           "",
                           fmt::format("is a list; expected a map of fields: several co-runs are "
                                       "{{\"schema\": \"{}\", \"runs\": [...]}}",
                                       kMpsSchema));
    }
    SEPTULE_TRY_STATUS(
        reader_.expect_map(root, "", {"schema", "runs", "name", "mps_levels", "jobs"}));
    const DataNode* schema = root.find("schema");
    if (schema == nullptr) {
      return reader_.error(
          root,
          "",
          fmt::format("the field \"schema\" is missing; expected \"schema\": \"{}\"", kMpsSchema));
    }
    if (schema->kind != Kind::kString || schema->text != kMpsSchema) {
      return reader_.error(*schema,
                           "/schema",
                           fmt::format("is {}; expected \"{}\"", described(*schema), kMpsSchema));
    }
    const DataNode* runs = root.find("runs");
    if (runs == nullptr) {
      SEPTULE_TRY(MpsRun run, read_run(root, ""));
      return std::vector<MpsRun>{std::move(run)};
    }
    return read_runs(root, *runs);
  }

  Result<predict::MpsMatrix> read_line(const DataNode& root) const {
    SEPTULE_TRY_STATUS(reader_.expect_map(root,
                                          "",
                                          {"mps_levels",
                                           "step_time",
                                           "sm_percent",
                                           "memory_percent",
                                           "power_w",
                                           "footprint_mib",
                                           "smallest"}));
    SEPTULE_TRY(predict::MpsMatrix matrix, read_levels(root, ""));
    SEPTULE_TRY(const DataNode* times, reader_.required(root, "", "step_time"));
    SEPTULE_TRY_STATUS(expect_count(
        *times, "/step_time", matrix.levels.size(), "a row for each of the mps_levels"));
    for (std::size_t i = 0; i < times->items.size(); ++i) {
      const std::string path = fmt::format("/step_time/{}", i);
      const DataNode& row = times->items[i];
      SEPTULE_TRY_STATUS(
          expect_count(row, path, predict::kCoRunnersMax, "seven columns, null for an absent job"));
      for (std::size_t column = 0; column < row.items.size(); ++column) {
        const DataNode& item = row.items[column];
        if (item.kind == Kind::kNull) {
          continue;
        }
        SEPTULE_TRY(const double time,
                    read_time(item, path, column, ", or null for an absent job"));
        matrix.levels[i].step[column] = time;
      }
    }
    SEPTULE_TRY_STATUS(expect_whole_columns(*times, matrix));
    SEPTULE_TRY_STATUS(read_column_fields(root, matrix));
    return matrix;
  }

 private:
  Result<std::vector<MpsRun>> read_runs(const DataNode& root, const DataNode& list) const {
    SEPTULE_TRY_STATUS(reader_.expect_map(root, "", {"schema", "runs"}));
    SEPTULE_TRY_STATUS(reader_.expect_list(list, "/runs", kMpsRunsMax));
    if (list.items.empty()) {
      return reader_.error(list, "/runs", "is empty; expected at least one run");
    }
    std::vector<MpsRun> runs;
    std::set<std::string> names;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const std::string path = fmt::format("/runs/{}", i);
      SEPTULE_TRY_STATUS(reader_.expect_map(list.items[i], path, {"name", "mps_levels", "jobs"}));
      SEPTULE_TRY(const DataNode* name, reader_.required(list.items[i], path, "name"));
      SEPTULE_TRY(MpsRun run, read_run(list.items[i], path));
      if (!names.insert(run.name).second) {
        return reader_.error(*name,
                             path + "/name",
                             fmt::format("the run {} is given twice; expected another name",
                                         quoted_for_message(run.name)));
      }
      runs.push_back(std::move(run));
    }
    return runs;
  }

  Result<MpsRun> read_run(const DataNode& node, const std::string& path) const {
    MpsRun run;
    if (const DataNode* name = node.find("name"); name != nullptr) {
      SEPTULE_TRY(run.name, reader_.name(*name, path + "/name"));
    }
    SEPTULE_TRY(run.matrix, read_levels(node, path));
    SEPTULE_TRY(const DataNode* jobs, reader_.required(node, path, "jobs"));
    const std::string jobs_path = path + "/jobs";
    SEPTULE_TRY_STATUS(reader_.expect_list(*jobs, jobs_path, predict::kCoRunnersMax));
    if (jobs->items.empty()) {
      return reader_.error(*jobs, jobs_path, "is empty; expected 1 to 7 jobs");
    }
    std::set<std::string> names;
    for (std::size_t column = 0; column < jobs->items.size(); ++column) {
      const std::string job_path = fmt::format("{}/{}", jobs_path, column);
      const DataNode& job = jobs->items[column];
      SEPTULE_TRY_STATUS(read_job(job, job_path, column, run));
      if (!names.insert(run.jobs.back().name).second) {
        return reader_.error(job,
                             job_path + "/name",
                             fmt::format("the job {} is given twice; expected another name",
                                         quoted_for_message(run.jobs.back().name)));
      }
    }
    return run;
  }

  Status read_job(const DataNode& node,
                  const std::string& path,
                  std::size_t column,
                  MpsRun& run) const {
    for (const DataMember& member : node.members) {
      if (const std::string fault = step_name_fault("field", member.name); !fault.empty()) {
        return reader_.error(member.value, path, fault);
      }
    }
    SEPTULE_TRY_STATUS(reader_.expect_map(node,
                                          path,
                                          {"name",
                                           "step_s",
                                           "memory_gib",
                                           "memory_mib",
                                           "smallest",
                                           "sm_percent",
                                           "memory_percent",
                                           "power_w",
                                           "footprint_mib"}));
    MpsJobDraft draft;
    SEPTULE_TRY(const DataNode* name, reader_.required(node, path, "name"));
    SEPTULE_TRY(draft.job.name, reader_.name(*name, path + "/name"));
    SEPTULE_TRY(const DataNode* times, reader_.required(node, path, "step_s"));
    const std::string times_path = path + "/step_s";
    SEPTULE_TRY_STATUS(expect_count(
        *times, times_path, run.matrix.levels.size(), "a time for each of the mps_levels"));
    for (std::size_t i = 0; i < times->items.size(); ++i) {
      SEPTULE_TRY(const double time, read_time(times->items[i], times_path, i, " in seconds"));
      run.matrix.levels[i].step[column] = time;
    }
    if (node.find("memory_gib") != nullptr && node.find("memory_mib") != nullptr) {
      return reader_.error(node, path, "has memory_gib and memory_mib; expected one of them");
    }
    for (const DataMember& member : node.members) {
      const std::optional<MpsField> field = mps_field(member.name);
      if (field && member.value.kind != Kind::kNull) {
        SEPTULE_TRY_STATUS(
            read_field(member.value, fmt::format("{}/{}", path, member.name), *field, draft));
      }
    }
    run.jobs.push_back(std::move(draft.job));
    run.matrix.counters[column] = draft.counters;
    return {};
  }

  Status read_field(const DataNode& node,
                    const std::string& path,
                    MpsField field,
                    MpsJobDraft& draft) const {
    if (field == MpsField::kSmallest) {
      draft.job.smallest = parse_slice(node.text);
      if (node.kind != Kind::kString || !draft.job.smallest) {
        return reader_.error(node,
                             path,
                             fmt::format("is {}; expected {}{}",
                                         described(node),
                                         slice_names_text(),
                                         slice_name_hint(node.text)));
      }
      return {};
    }
    const std::string fault = mps_number_fault(field, is_number(node) ? node.number : -1);
    if (!fault.empty()) {
      return reader_.error(
          node, path, fmt::format("is {}{}", described(node), fault.substr(fault.find(';'))));
    }
    set_mps_number(draft, field, node.number);
    return {};
  }

  Result<predict::MpsMatrix> read_levels(const DataNode& node, const std::string& path) const {
    SEPTULE_TRY(const DataNode* list, reader_.required(node, path, "mps_levels"));
    const std::string list_path = path + "/mps_levels";
    SEPTULE_TRY_STATUS(reader_.expect_list(*list, list_path, predict::kMatrixLevelsMax));
    if (list->items.empty()) {
      return reader_.error(
          *list, list_path, "is empty; expected the percentages measured, such as [100,50,14]");
    }
    predict::MpsMatrix matrix;
    std::set<int> seen;
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      const DataNode& item = list->items[i];
      const std::string item_path = fmt::format("{}/{}", list_path, i);
      const bool is_whole = is_number(item) && item.number == std::floor(item.number);
      if (!is_whole || item.number < 1 || item.number > 100) {
        return reader_.error(item,
                             item_path,
                             fmt::format("is {}; expected a whole percentage from 1 to 100 (the "
                                         "active thread percentage){}",
                                         described(item),
                                         percentage_hint(item.text)));
      }
      const int level = static_cast<int>(item.number);
      if (!seen.insert(level).second) {
        return reader_.error(
            item, item_path, fmt::format("{} % is given twice; expected once", level));
      }
      matrix.levels.push_back({.atp = ActiveThreadPercentage(level), .step = {}});
    }
    return matrix;
  }

  Status expect_count(const DataNode& node,
                      const std::string& path,
                      std::size_t count,
                      std::string_view expected) const {
    if (node.kind != Kind::kList || node.items.size() != count) {
      return reader_.error(
          node,
          path,
          fmt::format("is {}; expected a list of {}: {}", described(node), count, expected));
    }
    return {};
  }

  Result<double> read_time(const DataNode& node,
                           const std::string& path,
                           std::size_t index,
                           std::string_view more) const {
    if (!is_number(node) || !is_valid_mps_time(node.number)) {
      return reader_.error(
          node,
          fmt::format("{}/{}", path, index),
          fmt::format("is {}; expected {}{}", described(node), mps_time_text(), more));
    }
    return node.number;
  }

  /// A job has a time at every level or at none, and one job is there.
  Status expect_whole_columns(const DataNode& times, const predict::MpsMatrix& matrix) const {
    std::size_t present = 0;
    for (std::size_t column = 0; column < predict::kCoRunnersMax; ++column) {
      std::size_t count = 0;
      std::size_t missing = 0;
      for (std::size_t i = 0; i < matrix.levels.size(); ++i) {
        if (matrix.levels[i].step[column].has_value()) {
          ++count;
        } else {
          missing = i;
        }
      }
      if (count != 0 && count != matrix.levels.size()) {
        return reader_.error(
            times.items[missing].items[column],
            fmt::format("/step_time/{}/{}", missing, column),
            fmt::format("is null at {} %, but column {} has a time at another level; expected a "
                        "time at each level, or null at all for an absent job",
                        matrix.levels[missing].atp.value(),
                        column + 1));
      }
      present += count != 0 ? 1 : 0;
    }
    if (present == 0) {
      return reader_.error(
          times, "/step_time", "every column is null; expected the times of 1 to 7 jobs");
    }
    return {};
  }

  Status read_column_fields(const DataNode& root, predict::MpsMatrix& matrix) const {
    for (const std::string_view name : mps_line_fields()) {
      const DataNode* list = root.find(name);
      if (list == nullptr) {
        continue;
      }
      const std::string path = fmt::format("/{}", name);
      SEPTULE_TRY_STATUS(
          expect_count(*list, path, predict::kCoRunnersMax, "seven columns, null where not known"));
      for (std::size_t column = 0; column < list->items.size(); ++column) {
        const DataNode& item = list->items[column];
        if (item.kind == Kind::kNull) {
          continue;
        }
        const std::string item_path = fmt::format("{}/{}", path, column);
        if (!matrix.levels.front().step[column].has_value()) {
          return reader_.error(
              item,
              item_path,
              fmt::format("is {}, but step_time is null there; expected null for an absent job",
                          described(item)));
        }
        MpsJobDraft draft{.job = {}, .counters = matrix.counters[column]};
        SEPTULE_TRY_STATUS(
            read_field(item,
                       item_path,
                       checked_value(mps_field(name), "a field of the line form is one of a job"),
                       draft));
        matrix.counters[column] = draft.counters;
        if (draft.job.smallest) {
          matrix.smallest[column] = slices_of(*draft.job.smallest);
        }
      }
    }
    return {};
  }

  /// The one-line form as a run: absent columns left out, jobs named by their columns from 1.
  static MpsRun without_gaps(const predict::MpsMatrix& matrix) {
    MpsRun run;
    for (const predict::MpsMatrix::Level& level : matrix.levels) {
      run.matrix.levels.push_back({.atp = level.atp, .step = {}});
    }
    for (std::size_t column = 0; column < predict::kCoRunnersMax; ++column) {
      if (!matrix.levels.front().step[column].has_value()) {
        continue;
      }
      const std::size_t to = run.jobs.size();
      for (std::size_t i = 0; i < matrix.levels.size(); ++i) {
        run.matrix.levels[i].step[to] = matrix.levels[i].step[column];
      }
      run.matrix.counters[to] = matrix.counters[column];
      run.jobs.push_back({.name = fmt::format("job-{}", column + 1),
                          .memory = {},
                          .smallest = slice_of(matrix.smallest[column])});
    }
    return run;
  }

  DataReader reader_;
};

}  // namespace

Result<std::vector<MpsRun>> parse_mps_measurements(const InputText& input) {
  SEPTULE_TRY(const std::string_view text, checked_text(input));
  const std::string_view content = trimmed(text);
  if (!content.starts_with('{') && !content.starts_with('[')) {
    return parse_mps_table(input);
  }
  SEPTULE_TRY(const DataNode root, read_json(input));
  return MpsReader(input.source_name).read_document(root);
}

Result<predict::MpsMatrix> parse_mps_line(const InputText& input) {
  SEPTULE_TRY(const DataNode root, read_json(input));
  SEPTULE_TRY(predict::MpsMatrix matrix, MpsReader(input.source_name).read_line(root));
  if (matrix.present_count() == predict::kCoRunnersMax) {
    matrix.fillers = predict::MpsMatrix::Fillers::kPossible;
  }
  return matrix;
}

}  // namespace septule::interop
