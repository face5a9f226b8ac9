#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "interop/trace_findings.hpp"
#include "interop/trace_workload.hpp"
#include "job/workload.hpp"
#include "septule/app.hpp"
#include "septule/study_options.hpp"
#include "sim/study.hpp"

namespace septule::app {

/// The jobs of a study and where they come from.
struct StudyJobs {
  job::Workload workload;
  std::string source_name;  ///< "miso-100", a file
  bool has_submit_times = false;
  std::uint64_t digest = 0;  ///< of the text they were read from
  std::vector<interop::TraceFinding> findings;
  std::vector<interop::LeftOutJob> left_out;  ///< rows of the trace that are not simulated
  std::int64_t jobs_in_trace = 0;
  std::int64_t jobs_measured = 0;  ///< simulated with the signature of their app, not a drawn one
};

/// Reads --trace as the settings say. Findings are said on standard error.
Result<StudyJobs> load_study_jobs(const StudySettings& settings);

/// The study of these settings; every fault names its setting. `jobs` and `context` outlive it.
Result<sim::StudySpec> study_spec(const StudySettings& settings,
                                  const StudyJobs& jobs,
                                  const Context& context);

/// "miso-100 (100 jobs), poisson arrivals, mean gap 60 s".
std::string trace_text(const StudyJobs& jobs, const sim::StudySpec& spec);

}  // namespace septule::app
