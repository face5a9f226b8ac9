#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "optimize/moldable.hpp"

namespace septule::test {

/// The least makespan over all timelines of a tiny problem, splits and merges alike: every sequence
/// of (task, place) is tried, where a task goes on in a standing instance of its place or has one
/// made after whatever is in the way was destroyed. Written for itself: it knows masks and costs
/// only. `kMerges` = any order; the number of sequences grows as tasks! * places^tasks.
class ExhaustiveMoldable {
 public:
  explicit ExhaustiveMoldable(const optimize::MoldableProblem& problem)
      : problem_(problem), done_(problem.tasks.size(), false) {}

  std::int64_t search() {
    step(State(problem_.gpu->nodes().size()), 0);
    return best_;
  }

 private:
  struct State {
    explicit State(std::size_t nodes) : free_at(nodes) {}
    std::vector<std::optional<std::int64_t>> free_at;  // of standing instances
    std::int64_t driver_free = 0;
    std::int64_t last_end = 0;
  };

  void step(const State& state, std::size_t done_count) {
    if (state.last_end >= best_) {
      return;
    }
    if (done_count == problem_.tasks.size()) {
      best_ = state.last_end;
      return;
    }
    for (std::size_t task = 0; task < problem_.tasks.size(); ++task) {
      for (std::size_t node = 0; node < problem_.gpu->nodes().size(); ++node) {
        const auto time = problem_.tasks[task].times[problem_.gpu->node(node).size];
        if (done_[task] || !time.has_value()) {
          continue;
        }
        done_[task] = true;
        step(after(state, node, time->to_nanoseconds()), done_count + 1);
        done_[task] = false;
      }
    }
  }

  State after(State state, std::size_t node, std::int64_t time) const {
    const optimize::MoldableGpu& gpu = *problem_.gpu;
    if (!state.free_at[node].has_value()) {
      std::vector<std::pair<std::int64_t, std::size_t>> gone;
      for (std::size_t other = 0; other < gpu.nodes().size(); ++other) {
        if (state.free_at[other].has_value() &&
            (gpu.node(other).memory_mask & gpu.node(node).memory_mask) != 0) {
          gone.emplace_back(*state.free_at[other], other);
        }
      }
      std::sort(gone.begin(), gone.end());
      for (const auto& [end, other] : gone) {
        state.driver_free =
            std::max(state.driver_free, end) + gpu.size_of(other).destroy.to_nanoseconds();
        state.free_at[other].reset();
      }
      state.driver_free += gpu.size_of(node).create.to_nanoseconds();
      state.free_at[node] = state.driver_free;
    }
    *state.free_at[node] += time;
    state.last_end = std::max(state.last_end, *state.free_at[node]);
    return state;
  }

  const optimize::MoldableProblem& problem_;
  std::vector<bool> done_;
  std::int64_t best_ = INT64_MAX;
};

inline Duration exhaustive_makespan(const optimize::MoldableProblem& problem) {
  return Duration::nanoseconds(ExhaustiveMoldable(problem).search());
}

}  // namespace septule::test
