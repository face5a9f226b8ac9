#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "septule/serve_inputs.hpp"
#include "serve/fleet_problem.hpp"

namespace septule::app {

/// A fleet plan with what the question was, for the views.
struct FleetAnswer {
  const ServeInput* input = nullptr;
  serve::FleetProblem problem;
  serve::FleetPlan plan;
  Duration solve_time;  ///< of the planner, by the wall clock
};

/// "2 x 1g.10gb, 3g.40gb"; "none".
std::string instances_text(const serve::LayoutLattice& lattice,
                           const serve::SizeTable<int>& counts);

/// What min-gpus, max-goodput and plan share: "layouts", "tenants", "method", "timing"
/// (docs/output.md).
void add_fleet_fields(const FleetAnswer& answer, nlohmann::ordered_json& document);

/// What a table says of the instances of a tenant; kOperatingPoints: batch and processes of each
/// (-o wide).
enum class FleetDetail { kInstances, kOperatingPoints };
FleetDetail fleet_detail(const Context& context);
/// A row for each tenant and for each layout.
std::string fleet_tables_text(const FleetAnswer& answer, FleetDetail detail);

/// (bound - value) / value of a goodput; 0 for an answer of 0.
double goodput_gap(double value, double bound);

}  // namespace septule::app
