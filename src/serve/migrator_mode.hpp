#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "serve/forecaster.hpp"
#include "serve/gpu_holding.hpp"
#include "serve/serving_policy.hpp"
#include "serve/serving_setup.hpp"
#include "serve/tenant_shares.hpp"

namespace septule::serve {

/// What the reconstruction assumes; lengths in whole seconds, > 0.
struct MigratorOptions {
  int window_s = 200;
  int step_s = 1;             ///< of windows without retraining
  int retraining_step_s = 5;  ///< of windows with a job
  int warm_up_s = 6;          ///< of every tenant, as the plan believes
  std::int64_t units_max = 200'000'000;
};

/// MIGrator mode (reconstruction, ours; serving.md 1.3): what is publicly known of MIGRator (arXiv
/// 2407.13126), put together by us. Equations, predictor and solver of the paper are not public.
///
/// Assumes: warm-ups of 6 s for everybody, the point forecast made at the begin of the window, no
/// MPS. Steps: every window_s seconds plan the whole window once for the mean forecast, maximising
/// goodput, with horizon_planner.hpp (exact, or with retraining the documented search) in place of
/// the paper's ILP; follow the plan to its end, whatever happens. No hysteresis, no terminal value.
/// Pre-initialisation comes out of the plan (serving.md 2.3). Where the work of a plan ends first,
/// what stands is kept for the window. Several GPUs: tenant_shares.hpp at each window.
class MigratorMode final : public ServingPolicy {
 public:
  /// `tenants`: admitted without MPS. The lattice outlives the policy.
  MigratorMode(const LayoutLattice& lattice,
               std::vector<AdmittedTenant> tenants,
               int gpu_count,
               const MigratorOptions& options,
               std::vector<std::unique_ptr<Forecaster>> forecasters);

  std::string_view name() const override { return "migrator"; }
  DispatchRule dispatch() const override { return DispatchRule::kProportional; }
  std::optional<Deployment> decide(const ServingView& view) override;
  std::span<const double> expected_rps() const override { return expected_; }

 private:
  struct Gpu {
    GpuHoldings holdings;
    std::vector<GpuHoldings> plan;  ///< by step of the window
    Duration step;
  };
  void begin_window(const ServingView& view);
  void plan(std::size_t index, const ServingView& view);

  std::vector<AdmittedTenant> tenants_;
  HoldingContext context_;
  MigratorOptions options_;
  std::vector<std::unique_ptr<Forecaster>> forecasters_;
  TenantShares shares_;
  std::vector<Gpu> gpus_;
  std::vector<std::vector<double>> means_;  ///< by tenant, second of the window
  SimTime window_begin_;
  std::size_t seconds_seen_ = 0;
  std::vector<double> expected_;
};

/// For the registry.
std::vector<OptionRecord> migrator_options();
Result<std::unique_ptr<ServingPolicy>> make_migrator(const ServingSetup& setup);

}  // namespace septule::serve
