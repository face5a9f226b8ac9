#include "interop/job_table.hpp"

#include <utility>

#include "interop/job_rows.hpp"

namespace septule::interop {

Result<JobTable> parse_job_table(const InputText& input, const gpu::Geometry& geometry) {
  SEPTULE_TRY(JobRows rows, read_job_rows(input, geometry, {}));
  JobTable table;
  table.notes = std::move(rows.notes);
  for (JobRow& row : rows.rows) {
    table.jobs.push_back(std::move(row.job));
  }
  return table;
}

}  // namespace septule::interop
