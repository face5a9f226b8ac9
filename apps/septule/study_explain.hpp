#pragma once

#include <string>

#include "septule/study_document.hpp"
#include "septule/study_run.hpp"

namespace septule::app {

/// `septule simulate --explain JOB`: runs the first policy with the first seed and tells what
/// happened to one job: "#3" by number, else by name, else by number. kNotFound, with near names or
/// why it is not simulated, if there is no such job.
Result<int> explain_job(const std::string& job,
                        sim::Study& study,
                        const FinishedStudy& finished,
                        const StudyRun& how,
                        Context& context);

}  // namespace septule::app
