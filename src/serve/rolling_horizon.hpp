#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "serve/capacity_choices.hpp"
#include "serve/fleet_shares.hpp"
#include "serve/forecaster.hpp"
#include "serve/gpu_holding.hpp"
#include "serve/horizon_triggers.hpp"
#include "serve/horizon_window.hpp"
#include "serve/job_placement.hpp"
#include "serve/reactive_greedy.hpp"
#include "serve/serving_policy.hpp"
#include "serve/serving_setup.hpp"
#include "serve/tenant_shares.hpp"

namespace septule::serve {

/// How tenants are dealt out to several GPUs: by a fleet plan (fleet_shares.hpp), or in a row
/// (tenant_shares.hpp), which is also what is done where there is no usable plan.
enum class Dealing { kFleetPlan, kInARow };

struct HorizonOptions {
  Dealing dealing = Dealing::kFleetPlan;
  /// Plans are made for mean + z * margin of the forecast ...
  double z = 0.5;
  /// ... in three scenarios, `spread` margins wide, that the steps of a window take in turn: the
  /// worth of a layout over the window is then that expected over them. 0 = one scenario. With
  /// z = 1 and no scenarios (serving.md 2.7) plans follow the noise: docs/benchmarks.md.
  double spread = 1;
  WindowShape shape;       ///< of a window without retraining
  int commit_s = 10;       ///< a plan is followed for so long
  int retraining_s = 200;  ///< jobs are placed looking so far ahead
  double caution = 1.3;    ///< job_placement.hpp
  int fleet_s = 60;        ///< how often tenants are dealt out to GPUs
  int moves_max = 12;      ///< instances created on a GPU in 60 s
  double gap = 0.002;      ///< no planning while what stands is within this of the bound
  double drift = 0.02;     ///< no planning while the forecast is within this of the last one
  std::int64_t units_max = 20'000'000;  ///< work per plan (base/work_budget.hpp)
  TriggerOptions triggers;
};

/// What a rolling horizon did, for logs and tests.
struct HorizonLog {
  std::int64_t plans = 0;             ///< searches for a plan
  std::int64_t skipped_good = 0;      ///< what stood was within `gap` of the bound
  std::int64_t skipped_same = 0;      ///< nothing had changed since a plan that changed nothing
  std::int64_t fallbacks_last = 0;    ///< budget spent: the last plan was followed further
  std::int64_t fallbacks_greedy = 0;  ///< budget spent: reactive greedy
  std::int64_t caps_held = 0;         ///< decisions put off because of moves_max
  std::array<std::int64_t, kTriggerCount> triggered{};
  std::int64_t units_spent = 0;
  double gap_sum = 0;  ///< of (bound - objective) / bound over plans
  double gap_max = 0;
};

/// Septule's serving policy: rolling horizon on two clocks (serving.md 2.7).
///
/// Assumes: the profiles, warm-up quantiles and accuracies of the tenants. Steps, each second:
/// observe arrivals; every fleet_s seconds, if needs have changed, deal the tenants out to the
/// GPUs; for each GPU every commit_s seconds, or when something triggers it (horizon_triggers.hpp),
/// plan a window of shape.step_count steps for mean + z * margin of the forecast, and follow the
/// plan until the next one.
///  - The plan: exact (layout_dp.hpp) with what retrains held fast. When a job runs, and on what
///    size, is estimated at each plan (job_placement.hpp, looking retraining_s ahead); a run due at
///    once takes its place and the rest is planned around it. A running job is not disturbed until
///    it is done, or could not be done before its deadline any more. Work done stays done when a
///    job's instance goes, but a new one warms up again.
///  - No plan is sought while what stands is within `gap` of a bound on every plan, or while
///  neither
///    forecast nor layout has changed since a plan that changed nothing.
///  - Hysteresis: creation costs, a dwell of shape.dwell_factor warm-ups (younger instances are
///    frozen), at most moves_max creations a GPU and minute: a limit of the plan, and
///    no plan at all once they are used up.
///  - End of the window: the last layout is valued for shape.terminal_steps more.
///  - Fallbacks when the budget of a plan is spent: the last plan while it reaches so far, then one
///    move of reactive greedy; routing alone (DispatchRule::kSlack) where that changes nothing.
/// Ties: as in the planners. Cost: units_max work units a GPU and plan.
class RollingHorizon final : public ServingPolicy {
 public:
  /// `name` has static lifetime. One forecaster per tenant.
  RollingHorizon(std::string_view name,
                 const HoldingContext& context,
                 int gpu_count,
                 const HorizonOptions& options,
                 std::vector<std::unique_ptr<Forecaster>> forecasters);

  std::string_view name() const override { return name_; }
  DispatchRule dispatch() const override { return DispatchRule::kSlack; }
  std::optional<Deployment> decide(const ServingView& view) override;
  std::span<const double> expected_rps() const override { return expected_; }
  std::optional<double> planned_goodput() const override { return planned_goodput_; }
  const HorizonLog& log() const { return log_; }

 private:
  /// What is being followed on one GPU.
  struct Gpu {
    GpuHoldings holdings;
    std::vector<int> tenants;
    CapacityBook book;                      ///< of `tenants`
    SimTime planned_at = SimTime::never();  ///< never = no plan
    SimTime due;
    Duration step;
    std::vector<GpuHoldings> plan;  ///< by step from planned_at
    std::vector<double> rates;      ///< mean rate by tenant of the window it was made for
    bool changes_nothing = false;
    std::vector<SimTime> creations;  ///< of the last 60 s

    bool is_retraining(int tenant) const;
  };
  static constexpr int kRetrainingStepSeconds = 5;
  enum class Scenarios { kAll, kMeanOnly };
  enum class Outcome { kPlanned, kSpent };

  void observe(const ServingView& view);
  std::optional<Trigger> look(const ServingView& view);
  void deal(const ServingView& view);
  void forecast(SimTime now);
  std::vector<std::vector<double>> window_rates(std::size_t gpu,
                                                int step_s,
                                                int steps,
                                                Scenarios scenarios) const;
  /// Of all tenants; work is left only of jobs that are for this GPU.
  std::vector<TenantState> states_for(std::size_t gpu, const ServingView& view) const;
  /// Takes out the instances of jobs that are done, or cannot be done before their deadline where
  /// they stand.
  void drop_jobs(std::span<const TenantState> states, SimTime now, Gpu& gpu) const;
  /// Puts instances for jobs that should begin now into `stands`; whether there are any.
  bool start_jobs(std::size_t index,
                  std::span<const TenantState> states,
                  SimTime now,
                  GpuHoldings& stands);
  void plan(std::size_t index, const ServingView& view);
  bool may_skip(Gpu& gpu, const HorizonWindow& window, SimTime now);
  bool is_good_enough(Gpu& gpu,
                      const GoodputProblem& problem,
                      std::span<const double> values) const;
  Outcome plan_window(Gpu& gpu, const HorizonWindow& window, SimTime now);
  void fall_back(std::size_t index, const ServingView& view);
  void follow(Gpu& gpu, SimTime now);
  /// Instances that may be created now.
  int moves_left(Gpu& gpu, SimTime now) const;
  bool may_change(Gpu& gpu, const GpuHoldings& next, SimTime now);
  void promise(const ServingView& view);

  std::string_view name_;
  HoldingContext context_;
  HorizonOptions options_;
  std::vector<std::unique_ptr<Forecaster>> forecasters_;
  ReactiveGreedy greedy_;
  HorizonTriggers triggers_;
  TenantShares shares_;
  std::vector<Gpu> gpus_;
  std::vector<RateForecast> forecasts_;  ///< by tenant, from forecast_at_ on
  SimTime forecast_at_ = SimTime::never();
  std::size_t seconds_seen_ = 0;
  SimTime fleet_due_;
  std::vector<double> expected_;  ///< by tenant, for the second at hand
  std::vector<double> promised_;  ///< by tenant: capacity that is ready in the second at hand
  double planned_goodput_ = 0;
  HorizonLog log_;
};

/// For the registry: "septule" and "septule-oracle".
std::vector<OptionRecord> septule_serving_options();
Result<std::unique_ptr<ServingPolicy>> make_septule_serving(const ServingSetup& setup);
Result<std::unique_ptr<ServingPolicy>> make_septule_oracle(const ServingSetup& setup);
/// One forecaster per tenant by the setup's name (or "oracle"); the prior is the first value of the
/// tenant's expected rate.
Result<std::vector<std::unique_ptr<Forecaster>>> make_forecasters(const ServingSetup& setup,
                                                                  std::string_view name);

}  // namespace septule::serve
