#pragma once

#include <map>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "serve/admission.hpp"
#include "serve/layout_lattice.hpp"
#include "serve/policies/retraining_lanes.hpp"
#include "serve/serving_setup.hpp"

namespace septule::serve {

/// Instances of each size by use: of each tenant of a GPU, then of lanes for retraining (last).
/// A labelled multiset.
using LabelledCounts = std::vector<SizeTable<int>>;

/// All ways to give the instances of these multisets to `uses` uses; the lanes get none where
/// `lanes_max` is 0, and at most that many. In order of the multisets, then with the first uses
/// getting as many as possible.
std::vector<LabelledCounts> labelled_counts(std::span<const SizeTable<int>> multisets,
                                            int size_count,
                                            int uses,
                                            int lanes_max);

/// What static layouts of one GPU are worth with arrivals known: goodput of seconds [begin, end) in
/// the fluid model of goodput_problem.hpp (a tenant answers min(arrivals, capacity) per second).
/// Whoever makes it gives the tenants; one owner; keeps its tables.
class Hindsight {
 public:
  enum class WarmUps { kNormal, kNone };  ///< of retraining

  /// `tenants` are indices into setup.tenants. kInvalidInput where there are more retraining
  /// tenants than kOrderedMax. The setup has true rates and a span, and outlives this object.
  static Result<Hindsight> make(const ServingSetup& setup, std::span<const int> tenants);

  int seconds() const { return seconds_; }
  int tenant_count() const { return static_cast<int>(tenants_.size()); }
  int retraining_tenants() const { return static_cast<int>(retraining_.size()); }

  struct Window {
    int begin_s = 0;
    int end_s = 0;
    WarmUps warm_ups = WarmUps::kNormal;
  };
  struct Worth {
    double goodput = 0;         ///< weighted
    std::vector<LaneRun> runs;  ///< tenants as indices into the setup
  };
  /// Of a labelled multiset in a window, with the best order of retraining; everything that serves
  /// is ready from the begin on. Ties: the first order of ordered_choices().
  Worth worth(const LabelledCounts& counts, const Window& window);
  /// Goodput that one instance of this size of a tenant (by place) yields while it would warm up at
  /// the begin of a window: what creating it costs at most.
  double creation_cost(int place, int size, const Window& window) const;

 private:
  Hindsight() = default;
  const std::vector<double>& answered(std::size_t place, const SizeTable<int>& counts);
  const std::vector<std::vector<LaneRun>>& runs_of(std::span<const int> lane_sizes,
                                                   const Window& window);

  const ServingSetup* setup_ = nullptr;
  std::vector<int> tenants_;     // by place
  std::vector<int> retraining_;  // places that retrain
  std::vector<std::vector<int>> orders_;
  int seconds_ = 0;
  std::vector<std::vector<double>> rates_;  // by place, second
  // Requests answered before each second, by place and instances.
  std::vector<std::map<SizeTable<int>, std::vector<double>>> answered_;
  // Runs of each order, by lanes and window; tenants are places.
  std::map<std::pair<std::vector<int>, std::vector<int>>, std::vector<std::vector<LaneRun>>> runs_;
};

}  // namespace septule::serve
