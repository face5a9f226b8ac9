#pragma once

#include <optional>
#include <span>
#include <vector>

#include "serve/goodput_problem.hpp"
#include "serve/gpu_holding.hpp"
#include "serve/serving_policy.hpp"

namespace septule::serve {

/// How the rolling horizon sees one GPU's window. Plain value.
struct WindowShape {
  Duration step = Duration::milliseconds(5000);
  int step_count = 12;
  int terminal_steps = 2;
  double dwell_factor = 2;  ///< warm-ups that an instance stays
  double churn = 0.5;       ///< creation cost: this share of what the tenant earns in a warm-up
  WarmUpQuantile warm_up = WarmUpQuantile::kP90;
  /// kNone: instances are handed over all the same, only no plan counts on it. Counting on it hides
  /// more of the warm-ups, but plans then follow each scenario of the forecast
  /// (docs/benchmarks.md).
  HandOver hand_over = HandOver::kNone;
};

/// What one GPU's window is planned from. Spans hold during the call.
struct WindowInput {
  SimTime now;
  const GpuHoldings* holdings = nullptr;
  std::span<const int> tenants;                    ///< of this GPU, ascending
  std::span<const std::vector<double>> rates_rps;  ///< by entry of `tenants`, then step
  std::span<const TenantState> states;             ///< by tenant
};

/// Whether the plan may move, begin and end retraining, or takes it as it stands.
enum class RetrainingRule { kPlanned, kFrozen };

/// A GPU's window as a problem, with the way back from its labels.
struct HorizonWindow {
  struct Use {
    int tenant = 0;
    Role role = Role::kServe;
  };
  GoodputProblem problem;
  std::vector<Use> uses;  ///< by label

  /// The holdings that a layout of a plan stands for; times are those of `before` where the use
  /// goes on.
  GpuHoldings holdings_of(const LabelledLayout& layout,
                          const GpuHoldings& before,
                          SimTime now) const;
};

/// Labels: serving for each tenant of the GPU that has an operating point, and retraining for each
/// whose job is due (kPlanned) or running. Instances younger than their dwell are frozen, as are
/// running retrainings under kFrozen; instances of tenants that the GPU no longer has are left out
/// of the layout in force. Warm-ups are one step, and what is longer is charged as a lump
/// at creation (serving.md 2.4): labels with ages would multiply the states of the exact program.
/// What hands over to what is said by trust groups and, where known, memory.
/// Under kPlanned the terminal value reaches to the nearest end of a period.
HorizonWindow make_window(const HoldingContext& context,
                          const WindowShape& shape,
                          const WindowInput& input,
                          RetrainingRule rule);

/// Whether a job of the tenant can be worked on at some time before `until`.
bool is_retraining_due(const TenantState& state, SimTime until);
/// Whether the holding is younger than its dwell.
bool is_dwelling(const HoldingContext& context,
                 const WindowShape& shape,
                 const Holding& holding,
                 SimTime now);

}  // namespace septule::serve
