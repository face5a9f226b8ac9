#include "optimize/moldable_bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "base/check.hpp"
#include "optimize/linear_program.hpp"

namespace septule::optimize {

namespace {

using Prices = std::array<double, kMoldableSizesMax>;
/// Instances of each size in a layout.
using SizeCounts = std::array<int, kMoldableSizesMax>;

/// More than rounding can add to a sum of kMoldableTasksMax products (1.2e-12 of it).
constexpr double kRoundingShare = 4e-12;

/// Layouts that differ in their counts, in a fixed order.
std::vector<SizeCounts> layout_counts(const MoldableGpu& gpu) {
  std::set<SizeCounts> counts;
  for (const std::vector<std::size_t>& layout : gpu.layouts()) {
    SizeCounts count{};
    for (const std::size_t node : layout) {
      ++count[gpu.node(node).size];
    }
    counts.insert(count);
  }
  return {counts.begin(), counts.end()};
}

/// What the dearest layout earns at these prices.
double dearest(const std::vector<SizeCounts>& layouts, std::span<const double> prices) {
  double most = 0;
  for (const SizeCounts& layout : layouts) {
    double sum = 0;
    for (std::size_t size = 0; size < prices.size(); ++size) {
      sum += layout[size] * prices[size];
    }
    most = std::max(most, sum);
  }
  return most;
}

/// The allotment that is cheapest at some prices: its cost, and the time it uses of each size.
struct Cheapest {
  double cost = 0;
  Prices used{};
};
Cheapest cheapest(const MoldableTimes& times, std::span<const double> prices) {
  Cheapest found;
  for (std::size_t task = 0; task < times.task_count(); ++task) {
    double least = std::numeric_limits<double>::infinity();
    std::size_t best = 0;
    for (std::size_t size = 0; size < prices.size(); ++size) {
      if (times.fits(task, size)) {
        const double cost = prices[size] * static_cast<double>(times.at(task, size));
        if (cost < least) {
          least = cost;
          best = size;
        }
      }
    }
    found.cost += least;
    found.used[best] += static_cast<double>(times.at(task, best));
  }
  return found;
}

std::int64_t bound_of(const std::vector<SizeCounts>& layouts,
                      std::span<const double> prices,
                      double cost) {
  const double most = dearest(layouts, prices);
  if (!(most > 0) || !(cost > 0)) {
    return 0;
  }
  return static_cast<std::int64_t>(std::floor(cost / most * (1 - kRoundingShare)));
}

/// The linear program over layouts and allotments, one row for each size and one that says that
/// the allotments' shares add up to 1.
class LayoutProgram {
 public:
  LayoutProgram(const MoldableTimes& times, const std::vector<SizeCounts>& layouts)
      : times_(times), layouts_(layouts), size_count_(times.size_count()) {
    std::vector<LinearRow> rows(size_count_, LinearRow{.lower = 0});
    rows.push_back({.lower = 1, .upper = 1});
    program_.add_rows(rows);
    std::vector<LinearColumn> columns;
    for (const SizeCounts& layout : layouts) {
      LinearColumn& column = columns.emplace_back(LinearColumn{.cost = 1});
      for (std::size_t size = 0; size < size_count_; ++size) {
        if (layout[size] > 0) {
          column.entries.push_back({static_cast<int>(size), static_cast<double>(layout[size])});
        }
      }
    }
    program_.add_columns(columns);
  }

  /// Keeps the best bound over all rounds in `best`.
  void raise(std::span<const double> first_prices, int rounds_max, std::int64_t& best) {
    std::vector<double> prices(first_prices.begin(), first_prices.end());
    for (int round = 0; round < rounds_max; ++round) {
      const Cheapest found = cheapest(times_, prices);
      best = std::max(best, bound_of(layouts_, prices, found.cost));
      if (round == 0) {
        scale_ = std::max(found.cost, 1.0);
      }
      add_allotment(found);
      const Result<LinearSolution> solution = program_.solve();
      if (!solution.has_value() || solution->outcome != LinearOutcome::kOptimal) {
        return;
      }
      // The program's value is what its columns can do; no prices prove more.
      if (static_cast<double>(best) >= solution->objective * scale_ * (1 - 1e-7)) {
        return;
      }
      for (std::size_t size = 0; size < size_count_; ++size) {
        prices[size] = std::max(0.0, solution->prices[size]);
      }
    }
  }

 private:
  void add_allotment(const Cheapest& found) {
    LinearColumn column;
    for (std::size_t size = 0; size < size_count_; ++size) {
      if (found.used[size] > 0) {
        column.entries.push_back({static_cast<int>(size), -found.used[size] / scale_});
      }
    }
    column.entries.push_back({static_cast<int>(size_count_), 1});
    program_.add_column(column);
  }

  const MoldableTimes& times_;
  const std::vector<SizeCounts>& layouts_;
  std::size_t size_count_ = 0;
  double scale_ = 1;
  LinearProgram program_{LinearGoal::kMinimise};
};

/// Prices of the area bound: as many as a size has compute slices.
std::vector<double> slice_prices(const MoldableGpu& gpu) {
  std::vector<double> prices;
  for (const MoldableSize& size : gpu.sizes()) {
    prices.push_back(static_cast<double>(size.slices.value()) / gpu.compute_slices().value());
  }
  return prices;
}

}  // namespace

Duration MoldableBounds::best() const {
  return std::max({area, longest, layouts});
}

std::int64_t priced_bound(const MoldableProblem& problem, std::span<const double> prices) {
  SEPTULE_CHECK(prices.size() == problem.gpu->sizes().size(), "there is a price for each size");
  return bound_of(
      layout_counts(*problem.gpu), prices, cheapest(MoldableTimes(problem), prices).cost);
}

Result<MoldableBounds> moldable_bounds(const MoldableProblem& problem, int rounds_max) {
  SEPTULE_TRY_STATUS(check_moldable_problem(problem));
  MoldableBounds bounds;
  if (problem.tasks.empty()) {
    return bounds;
  }
  const MoldableGpu& gpu = *problem.gpu;
  const MoldableTimes times(problem);
  const std::vector<SizeCounts> layouts = layout_counts(gpu);
  const std::vector<double> by_slices = slice_prices(gpu);
  std::int64_t best = bound_of(layouts, by_slices, cheapest(times, by_slices).cost);
  bounds.area = Duration::nanoseconds(best);
  LayoutProgram(times, layouts).raise(by_slices, rounds_max, best);
  Duration first_creation = gpu.sizes().front().create;
  for (const MoldableSize& size : gpu.sizes()) {
    first_creation = std::min(first_creation, size.create);
  }
  bounds.layouts = Duration::nanoseconds(best) + first_creation;
  for (const MoldableTask& task : problem.tasks) {
    std::optional<Duration> least;
    for (std::size_t size = 0; size < task.times.size(); ++size) {
      if (const std::optional<Duration>& there = task.times[size]; there.has_value()) {
        const Duration time = *there + gpu.sizes()[size].create;
        least = least.has_value() ? std::min(*least, time) : time;
      }
    }
    bounds.longest = std::max(bounds.longest, checked_value(least, "a checked task fits a size"));
  }
  return bounds;
}

}  // namespace septule::optimize
