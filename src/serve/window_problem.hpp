#pragma once

#include <optional>
#include <span>

#include "base/result.hpp"
#include "serve/admission.hpp"
#include "serve/goodput_problem.hpp"
#include "serve/layout_lattice.hpp"
#include "serve/tenant.hpp"

namespace septule::serve {

/// Which window of the tenants' rates is planned, and by what warm-ups.
struct WindowSetup {
  Duration begin;                                 ///< of the window, in the rates' own time
  Duration step = Duration::milliseconds(1000);   ///< > 0
  int step_count = 0;                             ///< > 0
  WarmUpQuantile warm_up = WarmUpQuantile::kP90;  ///< that is planned with
  Duration driver;                                ///< of a creation, on top of the warm-up; >= 0
  std::optional<int> warm_up_steps;               ///< of every tenant instead of its own; >= 0
};

/// The mean rate of `rate` between `begin` and `begin + length`, length > 0.
double mean_rate(const RateSeries& rate, Duration begin, Duration length);

/// Tenants on one GPU over a window as a GoodputProblem, from an empty GPU: a label for each tenant
/// that has an operating point (its name), then one for each that retrains ("bert retrains"), in
/// the order of tenants. Rates are means over steps. A job's release is rounded up to a step and
/// its deadline down, so that what is planned holds; without a deadline the period's end counts, at
/// most the window's. A period begins with the window, as it does in the simulator's windows.
/// Warm-ups are rounded up to whole steps. `lattice` outlives the problem. kInvalidInput for a
/// setup out of range; the problem returned is valid.
Result<GoodputProblem> make_window_problem(const LayoutLattice& lattice,
                                           std::span<const AdmittedTenant> tenants,
                                           const WindowSetup& setup);

}  // namespace septule::serve
