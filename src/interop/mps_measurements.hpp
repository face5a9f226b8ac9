#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "interop/limits.hpp"
#include "predict/mps_matrix.hpp"
#include "predict/slice_prediction.hpp"

namespace septule::interop {

inline constexpr std::string_view kMpsSchema = "septule-mps/1";

/// What was declared of one job of a co-run beside what was measured. A plain value.
struct MeasuredJob {
  std::string name;
  std::optional<Bytes> memory;             ///< what it needs; nothing = not declared
  std::optional<predict::Slice> smallest;  ///< the smallest slice that holds it; nothing = not
                                           ///< declared
};

/// One MPS co-run. Invariants: 1 to 7 jobs, their names differ; job i is column i of the matrix and
/// has a time at every level; the columns after them are absent. MpsMatrix::smallest is left empty:
/// what a declared memory allows depends on the GPU. A plain value.
struct MpsRun {
  std::string name;  ///< empty where a text of one run gives none
  std::vector<MeasuredJob> jobs;
  predict::MpsMatrix matrix;  ///< seconds (step_time of the one-line form: any unit)
};

/// Parses MPS measurements (docs/formats.md, "MPS measurements"), in the order of the text: CSV
/// with a row for each job and level, JSON of the same content, or one object of the one-line form
/// below. Fails with kInvalidInput, naming source, line and column or field: a level missing or
/// given twice for a job, levels that differ between the jobs of a run, more than seven jobs,
/// percentages that are not 1 to 100, times that are not above 0.
Result<std::vector<MpsRun>> parse_mps_measurements(const InputText& input);

/// Parses one line of `septule predict --jsonl`: {"mps_levels":[100,50,14],"step_time":[[7 times or
/// null],...]}, a row of step_time for each level, null in all rows for an absent job. Optional:
/// sm_percent, memory_percent, power_w, footprint_mib and smallest, lists of seven; the last goes
/// into MpsMatrix::smallest. Where all seven columns are present, fillers are possible: the
/// published measurements are in this form, and idle programs filled them up (read as a
/// measurement, a line holds jobs only). Fails as above; also if every job is absent.
Result<predict::MpsMatrix> parse_mps_line(const InputText& input);

}  // namespace septule::interop
