#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "learn/partition_env.hpp"
#include "learn/q_network.hpp"
#include "learn/seating_times.hpp"
#include "learn/weights_file.hpp"
#include "optimize/group_schedule.hpp"
#include "optimize/window_optimizer.hpp"

namespace septule::learn {

/// The built-in weights' name: data/weights/window.septule-weights.
inline constexpr std::string_view kWindowNetName = "window";

/// Method `rl`: the learned agent as it is, without a guard (optimize/window_portfolio.hpp has
/// one).
///
/// Steps: PartitionEnv is played once; at each step the allowed action that the network values most
/// is taken. Windows of more than kWindowRows jobs are cut, by solo time, into windows of at most
/// that many, one after another. Then groups are put into an order with few switches
/// (optimize::order_by_cut()): the network knows nothing of what switching costs.
/// It decides by times of the clock kIdle, or kSpeedUp for every other clock of the problem.
/// Ties: the lowest action.
/// Assumes: a GPU of seven compute and eight memory slices; kInvalidInput for others (A30), naming
/// methods that take them. Trained on A100-80GB; the others of its grid differ in memory and SMs,
/// which the co-run model and the features say.
/// No proof. Cost: a unit for each time of some jobs that is worked out, a few hundred a window; if
/// the budget ends, the jobs left run one after another.
class WindowAgent final : public optimize::WindowOptimizer {
 public:
  /// Fails as QNetwork::make() does.
  static Result<std::unique_ptr<WindowAgent>> make(const NetworkWeights& weights);
  /// The one that comes with Septule; kNotFound if it was not built in.
  static Result<std::unique_ptr<WindowAgent>> builtin();

  std::string_view name() const override { return "rl"; }
  Result<optimize::WindowAnswer> optimize(const optimize::WindowProblem& problem,
                                          WorkBudget& budget) const override;

  /// The groups of one episode, in the order in which they were closed.
  std::vector<ClosedGroup> roll_out(SeatingTimes& times, WorkBudget& budget) const;

 private:
  explicit WindowAgent(QNetwork network) : network_(std::move(network)) {}

  QNetwork network_;
};

/// A closed group as groups of the problem: templates with their percentages, jobs in their seats.
/// One; or one for each job, where they run one after another.
std::vector<optimize::SeatedGroup> seated_groups(SeatingTimes& times, const ClosedGroup& group);

}  // namespace septule::learn
