#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/options.hpp"
#include "base/result.hpp"
#include "gpu/geometry.hpp"
#include "gpu/inventory.hpp"
#include "septule/app.hpp"
#include "serve/admission.hpp"
#include "serve/fleet_problem.hpp"
#include "serve/layout_lattice.hpp"
#include "serve/tenant.hpp"

namespace septule::app {

/// The tenants of a `serve` command as they were asked for, admitted. Moving it keeps the pointers
/// into it valid.
struct ServeInput {
  const gpu::Geometry* geometry = nullptr;
  std::unique_ptr<serve::LayoutLattice> lattice;
  serve::AdmissionRule rule;
  std::vector<serve::AdmittedTenant> tenants;
};

/// Options of every `serve` command: tenants, profiles, GPU model and the rule of admission.
std::vector<OptionRecord> serve_input_options();

/// Reads the files and admits the tenants. Notes are said. The GPU model is that of --gpu, else
/// that of the profiles, else the A100-80GB; where `node` (null = none is given) has no such GPU,
/// that of its first. A tenant that no instance can serve within its SLO is kInvalidInput (exit 3),
/// naming it, why, and what would be needed.
Result<ServeInput> load_serve_input(const Invocation& invocation,
                                    const Context& context,
                                    const gpu::Inventory* node = nullptr);

/// The same tenants with one process for each instance.
Status admit_without_mps(ServeInput& input);

/// How many GPUs serve, 1 without it (option --gpus).
OptionRecord serving_gpus_option(double gpus_max);
/// The quantile that the option --warm-up names; nothing for anything else ("drawn").
std::optional<serve::WarmUpQuantile> warm_up_quantile(std::string_view text);

/// How long the tenants' rates are known for: the longest series; nothing if all are constant.
std::optional<Duration> trace_length(const ServeInput& input);
/// A window that begins past the end of the rates is kInvalidInput; one that ends past it is said,
/// because the last rate holds from there on.
Status check_rates_reach(const ServeInput& input, Duration begin, Duration length);

/// Which rate of a trace one moment's plan is for (option --demand).
OptionRecord demand_option();
/// The fleet problem of these tenants at that rate. `gpu_count` as in serve::FleetProblem.
/// kInvalidInput for a tenant whose rate is 0 there.
Result<serve::FleetProblem> fleet_problem_of(const ServeInput& input,
                                             const std::string& demand,
                                             std::optional<int> gpu_count);

}  // namespace septule::app
