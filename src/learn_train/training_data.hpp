#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "interop/measured_rows.hpp"
#include "predict/mps_matrix.hpp"
#include "predict/slice_prediction.hpp"

namespace septule::learn_train {

/// Columns of a measurement: seven jobs that shared the GPU, fillers included.
inline constexpr std::size_t kColumns = predict::kCoRunnersMax;
/// Levels of a measurement, and their active thread percentages.
inline constexpr std::size_t kLevels = 3;
inline constexpr std::array<int, kLevels> kLevelPercentages = {100, 50, 14};
/// Slices of a target: 7g, 4g, 3g.
inline constexpr std::size_t kTargetSlices = 3;
/// Folds that the data's own column `val5` cuts the job mixes into.
inline constexpr int kFolds = interop::kMeasuredFolds;

/// A kind of job in the data: a model at a batch size, or the filler. A plain value.
struct JobClass {
  std::string model;  ///< also its family
  int batch = 0;
  bool is_dummy = false;  ///< the filler that stood where there was no job
  /// Step time alone on 7g, 4g, 3g divided by the largest of the three, as the targets have it.
  std::array<double, kTargetSlices> time{};
  /// Speed alone by predict::Slice, relative to 7g; nothing = does not fit (the filler: was not
  /// measured on 2g and 1g). From mean_step_s_artifact of profiles.csv; the filler's from `time`.
  std::array<std::optional<double>, predict::kSlices> speed;
  /// Alone on the whole GPU, from util.csv.
  predict::JobCounters counters;
};

/// One row of the arrays. Rows that follow one another with the same measurement are column
/// permutations of each other. A plain value.
struct TrainingRow {
  int measurement = 0;
  int mix = 0;     ///< rows of one multiset of jobs share it
  int fold = 0;    ///< val5: 0..4; a mix is in one fold
  int active = 0;  ///< columns that are not the filler
  std::array<int, kColumns> classes{};
  /// Step times by level (kLevelPercentages), then column; the largest of each column is 1.
  std::array<std::array<double, kColumns>, kLevels> input{};
  /// Step times alone by slice (7g, 4g, 3g), then column; the largest of each column is 1.
  std::array<std::array<double, kColumns>, kTargetSlices> target{};
};

/// The predictor's training data (MISO's published measurements; miso.md 3.2 and 16). Invariants:
/// every column of input and target has maximum 1; a row's targets are those of its classes; the
/// classes' triples follow from profiles.csv to 1e-4; a mix is in one fold. Immutable once parsed.
struct TrainingData {
  std::vector<JobClass> classes;
  std::vector<TrainingRow> rows;
  std::string digest;  ///< of the six texts as read, 16 hexadecimal digits

  bool is_dummy(int job_class) const {
    return classes[static_cast<std::size_t>(job_class)].is_dummy;
  }
  /// Families in alphabetical order, without the filler's.
  std::vector<std::string> families() const;
};

/// Names of the files, in the order in which parse_training_data() takes their texts.
inline constexpr std::array<const char*, 6> kTrainingFiles = {"unet_input.npy",
                                                              "unet_target.npy",
                                                              "unet_rows.csv",
                                                              "unet_classes.csv",
                                                              "profiles.csv",
                                                              "util.csv"};

/// A file as read, and what to call it in messages.
struct TrainingFile {
  std::string text;
  std::string source_name;
};

/// Reads and checks the data. Values of the arrays are rounded to the four decimals they were
/// published with. Fails with kInvalidInput, naming file and row: not such a file, another shape,
/// row counts that differ, a value that is not in (0, 1], a broken invariant.
Result<TrainingData> parse_training_data(
    const std::array<TrainingFile, kTrainingFiles.size()>& files);

/// The rows of a measurement's first permutation, in order of rows: what "our" network trains on,
/// because permuting columns tells it nothing.
std::vector<int> first_permutations(const TrainingData& data);

/// Whether the filler's columns are shown as they were measured, or empty, as they are where there
/// is no filler.
enum class Fillers { kMeasured, kAbsent };
/// What a row's matrix says beside the step times.
struct MatrixContents {
  enum class Part { kHidden, kShown };
  Fillers fillers = Fillers::kMeasured;
  Part counters = Part::kHidden;
  Part smallest = Part::kHidden;  ///< the smallest slice in which each job fits
};
/// A row as the product's models take it in.
predict::MpsMatrix matrix_of(const TrainingData& data,
                             const TrainingRow& row,
                             const MatrixContents& contents);

}  // namespace septule::learn_train
