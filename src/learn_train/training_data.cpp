#include "learn_train/training_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/digest.hpp"
#include "base/text.hpp"
#include "interop/input_text.hpp"
#include "interop/measured_rows.hpp"
#include "interop/named_table.hpp"
#include "interop/npy_reader.hpp"

namespace septule::learn_train {

namespace {

constexpr std::size_t kClassesMax = 1000;
constexpr std::string_view kDummyModel = "dummy";

using interop::NamedTable;

Result<NamedTable> read_table(const TrainingFile& file, std::size_t rows_max) {
  SEPTULE_TRY(NamedTable table, NamedTable::read({file.text, file.source_name}, rows_max));
  if (table.size() == 0) {
    return interop::input_error(
        file.source_name, 0, "", "no rows; expected a heading and a row each");
  }
  return table;
}

constexpr int kIdMax = 1000000;
constexpr double kTripleTolerance = 1.0001e-4;  // four decimals, rounded twice

double four_decimals(float value) {
  return std::round(static_cast<double>(value) * 1e4) / 1e4;
}

class DataParser {
 public:
  explicit DataParser(const std::array<TrainingFile, kTrainingFiles.size()>& files)
      : files_(files) {}

  Result<TrainingData> parse() {
    SEPTULE_TRY_STATUS(read_classes());
    SEPTULE_TRY_STATUS(read_profiles());
    SEPTULE_TRY_STATUS(read_counters());
    SEPTULE_TRY_STATUS(read_rows());
    SEPTULE_TRY_STATUS(read_array(files_[0], [](TrainingRow& row) -> auto& { return row.input; }));
    SEPTULE_TRY_STATUS(read_array(files_[1], [](TrainingRow& row) -> auto& { return row.target; }));
    SEPTULE_TRY_STATUS(check_targets());
    Digest digest;
    for (const TrainingFile& file : files_) {
      digest.add(file.text);
    }
    data_.digest = digest.text();
    return std::move(data_);
  }

 private:
  Status read_classes() {
    SEPTULE_TRY(const NamedTable table, read_table(files_[3], kClassesMax));
    int dummies = 0;
    for (std::size_t i = 0; i < table.size(); ++i) {
      JobClass job;
      SEPTULE_TRY(const int id, table.integer(i, "class_id", 0, kIdMax));
      if (static_cast<std::size_t>(id) != i) {
        return table.error(i, "class_id", fmt::format("is {}; expected {} (rows in order)", id, i));
      }
      SEPTULE_TRY(job.model, table.text(i, "model"));
      SEPTULE_TRY(job.batch, table.integer(i, "batch", 1, kIdMax));
      job.is_dummy = job.model == kDummyModel;
      dummies += job.is_dummy ? 1 : 0;
      SEPTULE_TRY(job.time[0], table.number(i, "target_7g"));
      SEPTULE_TRY(job.time[1], table.number(i, "target_4g"));
      SEPTULE_TRY(job.time[2], table.number(i, "target_3g"));
      const auto [least, largest] = std::ranges::minmax(job.time);
      if (!(least > 0) || largest != 1) {
        return table.error(
            i,
            "target_7g",
            fmt::format("the targets {} are not valid; expected times in (0, 1], the "
                        "largest of which is 1",
                        fmt::join(job.time, ", ")));
      }
      data_.classes.push_back(std::move(job));
    }
    if (dummies != 1) {
      return interop::input_error(
          files_[3].source_name,
          0,
          "",
          fmt::format("has {} rows of the model \"{}\"; expected one", dummies, kDummyModel));
    }
    return {};
  }

  JobClass* find_class(std::string_view model, int batch) {
    const auto found = std::ranges::find_if(data_.classes, [&](const JobClass& job) {
      return job.model == model && job.batch == batch;
    });
    return found == data_.classes.end() ? nullptr : &*found;
  }

  Status read_profiles() {
    SEPTULE_TRY(const NamedTable table, read_table(files_[4], kClassesMax * predict::kSlices));
    for (std::size_t i = 0; i < table.size(); ++i) {
      SEPTULE_TRY(const std::string model, table.text(i, "model"));
      SEPTULE_TRY(const int batch, table.integer(i, "batch", 1, kIdMax));
      SEPTULE_TRY(const std::string slice, table.text(i, "slice"));
      SEPTULE_TRY(const int fits, table.integer(i, "fits", 0, 1));
      const auto name = std::ranges::find(predict::kSliceNames, slice.substr(0, slice.find('.')));
      if (name == predict::kSliceNames.end()) {
        return table.error(
            i, "slice", fmt::format("{} is not one of 7g to 1g", quoted_for_message(slice)));
      }
      JobClass* const job = find_class(model, batch);
      if (job == nullptr || fits == 0) {
        continue;
      }
      SEPTULE_TRY(const double step, table.number(i, "mean_step_s_artifact"));
      if (!(step > 0)) {
        return table.error(i, "mean_step_s_artifact", fmt::format("is {}; expected > 0", step));
      }
      // The step time for now; relative to 7g once all are read.
      job->speed[static_cast<std::size_t>(name - predict::kSliceNames.begin())] = step;
    }
    for (JobClass& job : data_.classes) {
      SEPTULE_TRY_STATUS(finish_speeds(job));
    }
    return {};
  }

  Status finish_speeds(JobClass& job) {
    if (job.is_dummy) {
      job.speed = {1.0, job.time[0] / job.time[1], job.time[0] / job.time[2], {}, {}};
      return {};
    }
    const auto fault = [&](std::string_view what) {
      return interop::input_error(
          files_[4].source_name, 0, fmt::format("model {} batch {}", job.model, job.batch), what);
    };
    std::array<double, kTargetSlices> steps{};
    for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
      steps[slice] = job.speed[slice].value_or(0);
      if (steps[slice] == 0) {
        return fault("has no step time on one of 7g, 4g and 3g; expected all three");
      }
    }
    const double largest = std::ranges::max(steps);
    for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
      // The published triples come from step times rounded to 0.1 ms.
      const double rounded = std::round(steps[slice] * 1e4) / std::round(largest * 1e4);
      if (std::abs(rounded - job.time[slice]) > kTripleTolerance) {
        return fault(fmt::format("{} is {:.4f} of the slowest slice; {} has {}",
                                 predict::kSliceNames[slice],
                                 rounded,
                                 files_[3].source_name,
                                 job.time[slice]));
      }
    }
    for (std::optional<double>& speed : job.speed) {
      if (speed) {
        speed = steps[0] / *speed;
      }
    }
    return {};
  }

  Status read_counters() {
    SEPTULE_TRY(const NamedTable table, read_table(files_[5], kClassesMax));
    for (std::size_t i = 0; i < table.size(); ++i) {
      SEPTULE_TRY(const std::string model, table.text(i, "model"));
      SEPTULE_TRY(const int batch, table.integer(i, "batch", 1, kIdMax));
      JobClass* const job = find_class(model, batch);
      if (job == nullptr) {
        continue;
      }
      SEPTULE_TRY(job->counters.sm_percent, table.number(i, "util_sm_pct"));
      SEPTULE_TRY(job->counters.memory_percent, table.number(i, "util_mem_pct"));
      SEPTULE_TRY(job->counters.power_watts, table.number(i, "power_w"));
      SEPTULE_TRY(job->counters.footprint_mib, table.number(i, "memory_mb_util"));
    }
    return {};
  }

  Status read_rows() {
    std::vector<bool> is_filler;
    for (const JobClass& job : data_.classes) {
      is_filler.push_back(job.is_dummy);
    }
    const TrainingFile& file = files_[2];
    SEPTULE_TRY(const auto rows,
                interop::read_measured_rows({file.text, file.source_name}, is_filler));
    for (const interop::MeasuredRow& row : rows) {
      data_.rows.push_back({.measurement = row.measurement,
                            .mix = row.mix,
                            .fold = row.fold,
                            .active = row.active,
                            .classes = row.classes,
                            .input = {},
                            .target = {}});
    }
    return {};
  }

  template <class Cells>
  Status read_array(const TrainingFile& file, Cells cells_of) {
    SEPTULE_TRY(const interop::NpyArray array, interop::read_npy({file.text, file.source_name}));
    const std::vector<std::size_t> expected = {data_.rows.size(), kLevels, kColumns};
    if (array.shape != expected) {
      return interop::input_error(
          file.source_name,
          0,
          "",
          fmt::format("has the shape ({}); expected ({}), a row for each of "
                      "{}",
                      fmt::join(array.shape, ", "),
                      fmt::join(expected, ", "),
                      files_[2].source_name));
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < data_.rows.size(); ++i) {
      auto& cells = cells_of(data_.rows[i]);
      std::array<double, kColumns> largest{};
      for (auto& level : cells) {
        for (std::size_t column = 0; column < kColumns; ++column) {
          const double value = four_decimals(array.values[next++]);
          if (!(value > 0 && value <= 1)) {
            return interop::input_error(
                file.source_name,
                0,
                fmt::format("row {} column {}", i, column),
                fmt::format("{} is not valid; expected a time in (0, 1]", value));
          }
          level[column] = value;
          largest[column] = std::max(largest[column], value);
        }
      }
      for (std::size_t column = 0; column < kColumns; ++column) {
        if (largest[column] != 1) {
          return interop::input_error(
              file.source_name,
              0,
              fmt::format("row {} column {}", i, column),
              fmt::format("the largest value is {}; expected 1 (times are relative to the largest "
                          "of their column)",
                          largest[column]));
        }
      }
    }
    return {};
  }

  Status check_targets() const {
    for (std::size_t i = 0; i < data_.rows.size(); ++i) {
      const TrainingRow& row = data_.rows[i];
      for (std::size_t column = 0; column < kColumns; ++column) {
        const JobClass& job = data_.classes[static_cast<std::size_t>(row.classes[column])];
        for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
          if (std::abs(row.target[slice][column] - job.time[slice]) > kTripleTolerance) {
            return interop::input_error(files_[1].source_name,
                                        0,
                                        fmt::format("row {} column {}", i, column),
                                        fmt::format("{} is {}; class {} ({}:{}) has {}",
                                                    predict::kSliceNames[slice],
                                                    row.target[slice][column],
                                                    row.classes[column],
                                                    job.model,
                                                    job.batch,
                                                    job.time[slice]));
          }
        }
      }
    }
    return {};
  }

  const std::array<TrainingFile, kTrainingFiles.size()>& files_;
  TrainingData data_;
};

}  // namespace

std::vector<std::string> TrainingData::families() const {
  std::set<std::string> names;
  for (const JobClass& job : classes) {
    if (!job.is_dummy) {
      names.insert(job.model);
    }
  }
  return {names.begin(), names.end()};
}

Result<TrainingData> parse_training_data(
    const std::array<TrainingFile, kTrainingFiles.size()>& files) {
  return DataParser(files).parse();
}

std::vector<int> first_permutations(const TrainingData& data) {
  std::vector<int> rows;
  std::set<int> seen;
  for (std::size_t i = 0; i < data.rows.size(); ++i) {
    if (seen.insert(data.rows[i].measurement).second) {
      rows.push_back(static_cast<int>(i));
    }
  }
  return rows;
}

predict::MpsMatrix matrix_of(const TrainingData& data,
                             const TrainingRow& row,
                             const MatrixContents& contents) {
  const auto is_shown = [&](std::size_t column) {
    return contents.fillers == Fillers::kMeasured || !data.is_dummy(row.classes[column]);
  };
  predict::MpsMatrix matrix;
  for (std::size_t level = 0; level < kLevels; ++level) {
    predict::MpsMatrix::Level& out = matrix.levels.emplace_back();
    out.atp = ActiveThreadPercentage(kLevelPercentages[level]);
    for (std::size_t column = 0; column < kColumns; ++column) {
      if (is_shown(column)) {
        out.step[column] = row.input[level][column];
      }
    }
  }
  for (std::size_t column = 0; column < kColumns; ++column) {
    const JobClass& job = data.classes[static_cast<std::size_t>(row.classes[column])];
    if (contents.counters == MatrixContents::Part::kShown && is_shown(column)) {
      matrix.counters[column] = job.counters;
    }
    for (std::size_t slice = predict::kSlices; slice > 0; --slice) {
      if (contents.smallest == MatrixContents::Part::kShown && !job.is_dummy &&
          job.speed[slice - 1]) {
        matrix.smallest[column] = ComputeSlices(predict::kSliceComputeSlices[slice - 1]);
        break;
      }
    }
  }
  return matrix;
}

}  // namespace septule::learn_train
