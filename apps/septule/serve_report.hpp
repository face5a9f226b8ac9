#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "report/serving_figures.hpp"
#include "septule/serve_study.hpp"
#include "septule/serve_window.hpp"

namespace septule::app {

/// "Policies: septule (...), ...", for descriptions of commands.
std::string serve_policies_text();

/// Writes the page on these runs; the first run of the first policy is drawn.
Status write_serving_report(const Invocation& invocation,
                            const ServeStudy& study,
                            std::vector<report::ServingPolicyRuns> policies,
                            const std::string& path);

/// Writes the page on a plan.
Status write_plan_report(const Invocation& invocation,
                         const ServePlan& plan,
                         const std::string& path);

}  // namespace septule::app
