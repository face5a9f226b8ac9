#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "report/serving_figures.hpp"
#include "septule/app.hpp"
#include "septule/serve_inputs.hpp"
#include "sim/serving_study.hpp"

namespace septule::app {

/// The runs of `serve simulate` and `serve compare`. The input and the context outlive it; moving
/// it keeps what the spec points to.
struct ServeStudy {
  const ServeInput* input = nullptr;
  std::vector<serve::RateSeries> rates;
  sim::ServingStudySpec spec;
};

/// Options of both commands: GPUs, length, mode, arrivals, forecaster, costs, threads.
std::vector<OptionRecord> serve_study_options();
/// All of the spec but policies, windows and seeds; `windows` has the first one (--begin,
/// --length). kInvalidInput where the rates end before it begins.
Result<ServeStudy> load_serve_study(const Invocation& invocation,
                                    const Context& context,
                                    const ServeInput& input);

/// Makes `count` windows out of the first one, evenly over what the rates have beyond its begin.
/// kUsage where several are asked for and there is only one to be had.
Status spread_windows(ServeStudy& study, int count);

/// A policy as a command line names it: "septule", or "septule:NAME=VALUE+NAME=VALUE". kUsage for
/// text that is not of that form, kNotFound for an unknown policy.
Result<sim::StudyServingPolicy> parse_serving_policy(std::string_view text);

/// What to do where a policy cannot serve these tenants at all (it would put two trust groups into
/// one instance, say).
enum class UnfitPolicies { kFail, kLeaveOut };

/// Every run, each with a bound, by policy, then window and seed. Of later runs of a policy only
/// figures are kept: no series, no timeline. A policy that is left out is warned of.
Result<std::vector<report::ServingPolicyRuns>> run_serve_study(const ServeStudy& study,
                                                               const Invocation& invocation,
                                                               UnfitPolicies unfit);

}  // namespace septule::app
