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
/// Where the speeds of a plan come from: what is optimal for predicted ones need not be for true
/// ones.
enum class SpeedOrigin { kGiven, kPredicted };
std::string plan_text(const plan::Plan& plan,
                      std::span<const plan::JobSpeeds> jobs,
                      SpeedOrigin origin = SpeedOrigin::kGiven);

}  // namespace septule::app
