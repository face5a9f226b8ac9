#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "gpu/geometry.hpp"
#include "interop/limits.hpp"
#include "plan/job_speeds.hpp"

namespace septule::interop {

/// Jobs read from a CSV table, in the order of its rows, with what the reader should know about
/// the reading (a column that this GPU cannot use, an alias), each said once.
struct JobTable {
  std::vector<plan::JobSpeeds> jobs;
  std::vector<std::string> notes;
};

/// Parses a job table (docs/formats.md, "Job table"): a heading with `name`, optional `memory_gib`
/// and `weight`, and speed columns `s7`,`s4`,`s3`,`s2`,`s1` or any profile name or alias of
/// `geometry`. Absent columns, empty cells and 0 mean that the job does not fit. Fails with
/// kInvalidInput, naming source, line and column.
Result<JobTable> parse_job_table(const InputText& input, const gpu::Geometry& geometry);

}  // namespace septule::interop
