#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "gpu/geometry.hpp"
#include "interop/limits.hpp"
#include "plan/job_speeds.hpp"

namespace septule::interop {

/// What a table of jobs may have beside the columns of every such table (`name`, `memory_gib`,
/// `weight` and speeds). Borrowed for the call.
struct JobRowsFormat {
  std::span<const std::string_view> extra;  ///< headings, in lower case
  enum class Speeds { kNeeded, kOptional };
  Speeds speeds = Speeds::kNeeded;
  std::string_view example = "name,s7,s4,s3,s2,s1";  ///< a heading, for messages
};

/// A row: the job, and the cells of the extra columns as they stand (trimmed; empty = not given).
struct JobRow {
  int line = 0;
  plan::JobSpeeds job;
  std::vector<std::string> extra;  ///< as JobRowsFormat::extra
};
/// The rows with what the reader should know about the reading, each said once.
struct JobRows {
  std::vector<JobRow> rows;
  std::vector<std::string> notes;
};

/// Reads a CSV table of jobs: the one reader of job tables and of windows. Fails with
/// kInvalidInput, naming source, line and column.
Result<JobRows> read_job_rows(const InputText& input,
                              const gpu::Geometry& geometry,
                              const JobRowsFormat& format);

}  // namespace septule::interop
