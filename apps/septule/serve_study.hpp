#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "gpu/latency.hpp"
#include "job/serving_record.hpp"
#include "septule/app.hpp"
#include "septule/serve_inputs.hpp"
#include "serve/serving_setup.hpp"
#include "sim/serving_sim.hpp"

namespace septule::app {

/// What the runs of `serve simulate` and `serve compare` have in common. The input and the table
/// outlive it.
struct ServeStudy {
  const ServeInput* input = nullptr;
  const gpu::LatencyTable* latencies = nullptr;
  int gpus = 1;
  std::string forecaster;
  sim::ServingSimOptions options;  ///< `length` and `seed` as given; a run may change them
  Duration begin;                  ///< of the first window, in the rates' own time
};

/// Options of both commands: GPUs, length, mode, arrivals, forecaster, costs.
std::vector<OptionRecord> serve_study_options();
/// `input` outlives the study. kInvalidInput where the trace is shorter than what is asked for.
Result<ServeStudy> load_serve_study(const Invocation& invocation,
                                    const Context& context,
                                    const ServeInput& input);

/// How long the tenants' rates are known for: the longest series; nothing if all are constant.
std::optional<Duration> trace_length(const ServeInput& input);
/// Begins of `count` windows, evenly over what the trace has beyond the first one's begin. kUsage
/// where several windows are asked for and there is only one to be had.
Result<std::vector<Duration>> window_begins(const ServeStudy& study, int count);

/// A policy as a command line names it: "septule", or "septule:horizon=60,step=5".
struct PolicyChoice {
  std::string label;  ///< as written
  std::string name;
  serve::PolicyOptions options;
};
/// kUsage for text that is not of that form, kNotFound for an unknown policy.
Result<PolicyChoice> parse_policy_choice(std::string_view text);

/// One run: this policy on the window that begins at `begin` of the rates, requests drawn from
/// `seed`. Policies are told the first rate of the window and nothing of the rest, unless they are
/// oracles.
Result<job::ServingRecord> run_serving(const ServeStudy& study,
                                       const PolicyChoice& policy,
                                       Duration begin,
                                       std::uint64_t seed);

}  // namespace septule::app
