#pragma once

#include "septule/app.hpp"

namespace septule::app {

/// `septule plan --jobs`: the best layout of one GPU for given jobs.
Result<int> run_plan_jobs(const Invocation& invocation, Context& context);

}  // namespace septule::app
