#pragma once

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "gpu/geometry.hpp"
#include "gpu/inventory.hpp"
#include "plan/job_speeds.hpp"
#include "plan/plan.hpp"

namespace septule::app {

/// The plan of one GPU for jobs, as plan --jobs and predict show it: the document
/// (docs/output.md, "septule-plan/1"; "after" is `before` with the plan carried out) ...
nlohmann::ordered_json plan_document(const plan::Plan& plan,
                                     std::span<const plan::JobSpeeds> jobs,
                                     gpu::ProfileSet set,
                                     const gpu::Inventory& before);
/// ... and the text for people.
std::string plan_text(const plan::Plan& plan, std::span<const plan::JobSpeeds> jobs);

}  // namespace septule::app
