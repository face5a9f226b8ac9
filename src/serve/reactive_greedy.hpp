#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "serve/gpu_holding.hpp"
#include "serve/serving_policy.hpp"
#include "serve/serving_setup.hpp"

namespace septule::serve {

/// Parameters of the greedy; ours but for the idea.
struct ReactiveOptions {
  int period_s = 5;          ///< moves are sought so often, >= 1
  int moves_max = 1;         ///< per period; the first decision may fill empty GPUs
  double smoothing_s = 10;   ///< of observed arrivals
  double hysteresis = 0.05;  ///< of the current goodput rate, that a move must gain
  double dwell_factor = 2;   ///< warm-ups that an instance stays at least
  int surplus_s = 20;        ///< that a slice must have been spare before a retraining takes it
  WarmUpQuantile warm_up = WarmUpQuantile::kP90;
};

/// Reactive greedy (serving.md 3.8), as a baseline and as what the rolling horizon falls back to.
///
/// Assumes: the next seconds are like the last ones (EWMA of arrivals, no forecast). Steps, every
/// period: over all legal single moves (create an instance for a tenant where slots are free; the
/// same after destroying the instances in its way; give an instance to another tenant) the one of
/// the largest (goodput rate gained - goodput lost to warm-up over the dwell time) per memory slice
/// touched is made, until moves_max moves or nothing gains more than the hysteresis. Instances
/// younger than their dwell are not destroyed. A retraining begins when some slice has been spare
/// (whoever would lose capacity still has enough for its rate) for surplus_s, on the largest such
/// slice, and is never pre-empted; its instance is destroyed when it is done. Ties: lower GPU,
/// placement, tenant. Cost: GPUs x placements x tenants per move. Parameters beyond the description
/// are ours.
class ReactiveGreedy final : public ServingPolicy {
 public:
  /// The lattice and tenants of `context` outlive the policy.
  ReactiveGreedy(const HoldingContext& context, int gpu_count, const ReactiveOptions& options);

  std::string_view name() const override { return "reactive-greedy"; }
  DispatchRule dispatch() const override { return DispatchRule::kSlack; }
  std::optional<Deployment> decide(const ServingView& view) override;
  std::span<const double> expected_rps() const override { return rates_; }

  // For a policy that keeps this one in reserve.
  /// Takes in what arrived since the last call.
  void observe(const ServingView& view);
  /// The holdings after at most moves_max moves from `gpus`.
  std::vector<GpuHoldings> improved(const ServingView& view, std::vector<GpuHoldings> gpus);

 private:
  struct Move {
    int gpu = 0;
    Holding created;
    std::uint32_t destroyed = 0;  ///< placements
    double gain = 0;              ///< goodput rate, net of warm-up over the dwell time
    double score = 0;             ///< gain per memory slice touched
  };
  /// A slice that could be spared, since when.
  struct Spare {
    int gpu = 0;
    int placement = 0;
    SimTime since;
  };

  std::vector<double> capacities(std::span<const GpuHoldings> gpus) const;
  double value_rate(int tenant, double capacity_rps) const;
  double goodput_rate(std::span<const double> capacities) const;
  bool is_removable(const Holding& holding, SimTime now) const;
  /// Placements in the way of `placement`; nothing where one of them must stay, or the layout would
  /// be illegal all the same.
  std::optional<std::uint32_t> in_the_way(const GpuHoldings& gpu, int placement, SimTime now) const;
  std::optional<Move> best_move(std::span<const GpuHoldings> gpus, SimTime now) const;
  std::optional<Move> judged(const Move& candidate,
                             std::span<const double> capacities,
                             const GpuHoldings& gpu) const;
  void note_spares(std::span<const GpuHoldings> gpus, SimTime now);
  void start_retraining(const ServingView& view, std::vector<GpuHoldings>& gpus);
  void end_retraining(const ServingView& view, std::vector<GpuHoldings>& gpus) const;
  void apply(const Move& move, std::vector<GpuHoldings>& gpus) const;

  HoldingContext context_;
  ReactiveOptions options_;
  std::vector<std::uint32_t> overlaps_;  // by placement: placements that share memory slices
  std::vector<double> rates_;            // by tenant: smoothed
  std::vector<double> accuracies_;       // by tenant: of the model that answers
  std::size_t seconds_seen_ = 0;
  std::vector<GpuHoldings> gpus_;
  std::vector<Spare> spares_;  // by GPU, placement
};

/// For the registry.
std::vector<OptionRecord> reactive_greedy_options();
Result<std::unique_ptr<ServingPolicy>> make_reactive_greedy(const ServingSetup& setup);

}  // namespace septule::serve
