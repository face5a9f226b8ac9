#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "serve/admission.hpp"
#include "serve/goodput_problem.hpp"

namespace septule::serve {

/// The name under which plans and records show it. Never "MIGRator": equations, predictor and
/// solver of the paper (arXiv 2407.13126) are not known; this is our reconstruction.
inline constexpr std::string_view kMigratorModeName = "MIGRator mode (reconstruction)";

/// The window of the reconstruction; counts and lengths > 0.
struct MigratorWindowOptions {
  int step_count = 200;
  Duration step = Duration::milliseconds(1000);
  Duration warm_up = Duration::milliseconds(6000);  ///< of every instance
  /// Tenants whose instances were assembled and warmed ahead of need: one step instead.
  std::vector<int> pre_initialised;
  LabelledLayout initial;  ///< in force, with the labels of the window: serving, then retraining
};

/// The window that MIGRator mode (reconstruction) plans (serving.md 1.3, ours): 200 steps of one
/// second on one GPU, a warm-up of 6 s for every tenant (1 step where pre-initialised), no labels
/// of two tenants, the point forecast as it is, no hysteresis (no creation costs, dwell, limits or
/// floors), no value after the window. One label serves each tenant, in the order given; then one
/// retrains each that has a job. `forecast_rps`: by tenant, one rate for each step.
/// kInvalidInput for a problem that goodput_problem.hpp would refuse, an unknown tenant among the
/// pre-initialised, a warm-up or step below 0.
/// Plans: the exact programs (layout_dp.hpp and, with jobs, retraining_search.hpp) where they
/// prove their answer, else window_milp.hpp.
Result<GoodputProblem> migrator_problem(const LayoutLattice& lattice,
                                        std::span<const AdmittedTenant> tenants,
                                        std::span<const std::vector<double>> forecast_rps,
                                        const MigratorWindowOptions& options);

}  // namespace septule::serve
