#include "optimize/moldable_annealing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/portable_math.hpp"
#include "base/rng.hpp"

namespace septule::optimize {

namespace {

// Temperatures relative to the square of the mean task: at the begin a sixth of a task's length too
// much on one leaf is nothing, at the end a twentieth counts. Found by trying on drawn tasks
// (n = 20 and 50, all mixes): a third or three times of either costs 0.1 % of the makespan.
constexpr double kHot = 0.03;
constexpr double kCold = 2e-3;
constexpr std::int64_t kStepsPerTemperature = 64;

using Leaves = std::array<double, kMoldableLeavesMax>;

/// Quantiles of the exponential distribution: a step that makes things worse by `worse` is taken if
/// worse <= temperature * quantile. Drawn by table, because a logarithm costs more than the step.
class ExponentialTable {
 public:
  ExponentialTable() {
    for (std::size_t at = 0; at < kCount; ++at) {
      quantiles_[at] = -portable_log((static_cast<double>(at) + 0.5) / kCount);
    }
  }
  double draw(std::uint64_t bits) const { return quantiles_[bits % kCount]; }

 private:
  static constexpr std::size_t kCount = 1024;
  std::array<double, kCount> quantiles_{};
};

class Annealer {
 public:
  Annealer(const MoldableGpu& gpu, const MoldableTimes& times, const MoldableAssignment& start)
      : gpu_(gpu), node_count_(gpu.nodes().size()), node_of_(start) {
    fill_times(times);
    fill_tree();
    for (std::size_t task = 0; task < node_of_.size(); ++task) {
      load_[node_of_[task]] += time(task, node_of_[task]);
      ++tasks_[node_of_[task]];
    }
    ends_ = ends_of();
  }

  MoldableAssignment run(const AnnealingOptions& options) {
    target_ = static_cast<double>(options.target);
    energy_ = energy_of(ends_);
    best_ = node_of_;
    best_makespan_ = latest(ends_);
    Rng rng(options.seed);
    const double unit = mean_time_ * mean_time_;
    double temperature = kHot * unit;
    const double rounds = std::max(1.0, static_cast<double>(options.steps) / kStepsPerTemperature);
    const double cooling = portable_exp(portable_log(kCold / kHot) / rounds);
    const auto task_count = static_cast<std::uint64_t>(node_of_.size());
    for (std::int64_t step = 0; step < options.steps; ++step) {
      if (step % kStepsPerTemperature == 0) {
        temperature *= cooling;
      }
      // One draw a step: 32 bits for the task, the rest for what to do with it.
      const std::uint64_t bits = rng.next();
      const auto task = static_cast<std::size_t>(((bits & 0xFFFFFFFFU) * task_count) >> 32U);
      const std::uint64_t rest = bits >> 32U;
      const double limit = energy_ + temperature * table_.draw(rest >> 22U);
      const std::uint64_t choice = (rest >> 1U) & 0xFFFFFU;
      if ((rest & 1U) != 0) {
        try_move(task, static_cast<std::size_t>((choice * node_count_) >> 20U), limit);
      } else {
        try_swap(task, static_cast<std::size_t>((choice * task_count) >> 20U), limit);
      }
    }
    return best_;
  }

 private:
  void fill_times(const MoldableTimes& times) {
    times_.reserve(times.task_count() * times.size_count());
    double sum = 0;
    for (std::size_t task = 0; task < times.task_count(); ++task) {
      std::int64_t longest = 0;
      for (std::size_t size = 0; size < times.size_count(); ++size) {
        const bool fits = times.fits(task, size);
        times_.push_back(fits ? static_cast<double>(times.at(task, size)) : -1.0);
        longest = std::max(longest, fits ? times.at(task, size) : 0);
      }
      sum += static_cast<double>(longest);
    }
    size_count_ = times.size_count();
    mean_time_ = sum / static_cast<double>(std::max<std::size_t>(1, times.task_count()));
  }

  void fill_tree() {
    for (std::size_t node = 0; node < node_count_; ++node) {
      size_[node] = gpu_.node(node).size;
      create_[node] = static_cast<double>(gpu_.size_of(node).create.to_nanoseconds());
      destroy_[node] = static_cast<double>(gpu_.size_of(node).destroy.to_nanoseconds());
      parent_[node] = gpu_.node(node).parent.value_or(0);
    }
    for (std::size_t leaf = 0; leaf < gpu_.leaves().size(); ++leaf) {
      leaf_node_[leaf] = gpu_.leaves()[leaf];
      for (std::size_t node = leaf_node_[leaf];; node = parent_[node]) {
        covers_[node][leaf] = 1;
        if (node == 0) {
          break;
        }
      }
    }
  }

  double time(std::size_t task, std::size_t node) const {
    return times_[task * size_count_ + size_[node]];
  }

  /// Ends of all leaves from the loads.
  Leaves ends_of() const {
    std::array<std::int32_t, kMoldableNodesMax> below{};
    for (std::size_t node = node_count_; node-- > 1;) {
      below[parent_[node]] += below[node] + tasks_[node];
    }
    std::array<double, kMoldableNodesMax> end{};
    for (std::size_t node = 0; node < node_count_; ++node) {
      double own = 0;
      if (tasks_[node] > 0) {
        own = load_[node] + create_[node] + (below[node] > 0 ? destroy_[node] : 0);
      }
      end[node] = (node > 0 ? end[parent_[node]] : 0) + own;
    }
    Leaves ends{};
    for (std::size_t leaf = 0; leaf < gpu_.leaves().size(); ++leaf) {
      ends[leaf] = end[leaf_node_[leaf]];
    }
    return ends;
  }

  double energy_of(const Leaves& ends) const {
    double energy = 0;
    for (const double end : ends) {
      const double above = std::max(0.0, end - target_);
      energy += above * above;
    }
    return energy;
  }

  static double latest(const Leaves& ends) {
    double most = 0;
    for (const double end : ends) {
      most = std::max(most, end);
    }
    return most;
  }

  Leaves shifted(std::size_t a, double by_a, std::size_t b, double by_b) const {
    Leaves ends;
    for (std::size_t leaf = 0; leaf < ends.size(); ++leaf) {
      ends[leaf] = ends_[leaf] + by_a * covers_[a][leaf] + by_b * covers_[b][leaf];
    }
    return ends;
  }

  /// Whether the step to these ends was taken.
  bool take(const Leaves& ends, double limit) {
    const double energy = energy_of(ends);
    if (energy > limit) {
      return false;
    }
    energy_ = energy;
    ends_ = ends;
    return true;
  }

  void note_best() {
    const double makespan = latest(ends_);
    if (makespan < best_makespan_) {
      best_makespan_ = makespan;
      best_ = node_of_;
    }
  }

  void try_move(std::size_t task, std::size_t to, double limit) {
    const std::size_t from = node_of_[task];
    if (from == to || time(task, to) < 0) {
      return;
    }
    const double less = time(task, from);
    const double more = time(task, to);
    const double load_from = load_[from];
    const double load_to = load_[to];
    load_[from] -= less;
    load_[to] += more;
    --tasks_[from];
    ++tasks_[to];
    const bool same_instances = tasks_[from] > 0 && tasks_[to] > 1;
    if (take(same_instances ? shifted(from, -less, to, more) : ends_of(), limit)) {
      node_of_[task] = to;
      note_best();
      return;
    }
    load_[from] = load_from;
    load_[to] = load_to;
    ++tasks_[from];
    --tasks_[to];
  }

  void try_swap(std::size_t a, std::size_t b, double limit) {
    const std::size_t node_a = node_of_[a];
    const std::size_t node_b = node_of_[b];
    if (node_a == node_b || time(a, node_b) < 0 || time(b, node_a) < 0) {
      return;
    }
    const double by_a = time(b, node_a) - time(a, node_a);
    const double by_b = time(a, node_b) - time(b, node_b);
    if (take(shifted(node_a, by_a, node_b, by_b), limit)) {
      load_[node_a] += by_a;
      load_[node_b] += by_b;
      std::swap(node_of_[a], node_of_[b]);
      note_best();
    }
  }

  const MoldableGpu& gpu_;
  std::size_t node_count_ = 0;
  std::size_t size_count_ = 0;
  std::vector<double> times_;  // by task, then size; -1 = does not fit
  double mean_time_ = 0;

  std::array<std::size_t, kMoldableNodesMax> size_{};
  std::array<std::size_t, kMoldableNodesMax> parent_{};
  std::array<double, kMoldableNodesMax> create_{};
  std::array<double, kMoldableNodesMax> destroy_{};
  std::array<std::size_t, kMoldableLeavesMax> leaf_node_{};
  std::array<Leaves, kMoldableNodesMax> covers_{};  // 1 where the leaf lies below the node

  MoldableAssignment node_of_;
  std::array<double, kMoldableNodesMax> load_{};
  std::array<std::int32_t, kMoldableNodesMax> tasks_{};
  Leaves ends_{};
  double target_ = 0;
  double energy_ = 0;

  MoldableAssignment best_;
  double best_makespan_ = 0;
  ExponentialTable table_;
};

}  // namespace

MoldableAssignment anneal(const MoldableGpu& gpu,
                          const MoldableTimes& times,
                          const MoldableAssignment& start,
                          const AnnealingOptions& options) {
  if (start.empty() || options.steps <= 0) {
    return start;
  }
  return Annealer(gpu, times, start).run(options);
}

}  // namespace septule::optimize
