// The way back of graph_program.hpp.
#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "serve/graph_program.hpp"

namespace septule::serve {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

struct GraphProgram::Step {
  Node best;
  LayoutGraph::Counts owned;  // of the best node's step
  double value = kNever;
  int created = 0;
  int dropped = 0;
  // Of the state at hand.
  LayoutGraph::Counts owned_here;
  std::vector<int> handed_here;  // by slot: instances handed over
  double cost_here = 0;
  int created_here = 0;
  int dropped_here = 0;
};

std::span<const double> GraphProgram::layer(int t) {
  const int from = t / stretch_ * stretch_;
  if (layers_from_ != from) {
    layers_from_ = from;
    values_ = checkpoints_[at(from)];
    for (int again = from; again <= t; ++again) {
      run_step(again, true);
    }
  }
  return layers_[at(t - from)];
}

/// Finds for what is missing others of its place that are there no more and hand over to it.
void GraphProgram::move_handed_over(Step& step,
                                    const LayoutGraph::Counts& later,
                                    const LayoutGraph::Counts& wanted) const {
  for (std::size_t slot = 0; slot < later.size(); ++slot) {
    int missing = wanted[slot] - later[slot];
    for (const std::uint32_t from : graph_.handed_over_to(slot)) {
      const int left = later[from] - wanted[from] - step.handed_here[from];
      const int moved = std::max(0, std::min(missing, left));
      step.handed_here[from] += moved;
      step.owned_here[from] =
          static_cast<LayoutGraph::Counts::value_type>(step.owned_here[from] - moved);
      missing -= moved;
    }
  }
}

/// What is owned in step t if `state` serves in it and `kept` is there after it; false if that
/// takes a creation or a drop that is not allowed.
bool GraphProgram::compare(int t, std::size_t state, const Node& kept, Step& step) const {
  const LayoutGraph::Counts& later = graph_.counts(graph_.advanced(state));
  const LayoutGraph::Counts& wanted = graph_.counts(kept.state);
  step.owned_here = later;
  step.cost_here = 0;
  step.created_here = 0;
  step.dropped_here = 0;
  const bool may_drop = t + 1 < problem_.step_count;
  step.handed_here.assign(later.size(), 0);
  if (input_.hand_over == HandOver::kRelabel) {
    move_handed_over(step, later, wanted);
  }
  for (std::size_t slot = 0; slot < later.size(); ++slot) {
    const int missing = wanted[slot] - (later[slot] - step.handed_here[slot]);
    const Letter& letter = graph_.letter(slot);
    if (missing > 0) {
      if (!letter.is_made_late) {
        return false;
      }
      step.owned_here[slot] = wanted[slot];
      step.created_here += missing;
      step.cost_here += missing * letter.creation_cost;
    } else if (missing < 0) {
      if (letter.stay > 0 || !may_drop) {
        return false;
      }
      step.dropped_here -= missing;
    }
  }
  if (step.created_here == 0) {
    return true;
  }
  const SizeTable<int> none{};
  return graph_.is_legal(step.owned_here, input_.beside.empty() ? none : input_.beside[at(t)]);
}

/// The levels of one tracked tenant before step t from which `state` leads to the kept one.
std::vector<int> GraphProgram::levels_before(int t,
                                             std::size_t state,
                                             std::size_t k,
                                             const Node& kept) const {
  const WorkLevels& work = input_.tracked[k];
  const LayoutGraph::Trainer* const held = trainer(state, k);
  const LayoutGraph::Trainer* const later = trainer(kept.state, k);
  std::vector<int> after;  // on this state's axis
  for (int level = 0; level < axes(state).widths[k]; ++level) {
    int becomes = level;
    if (held != nullptr && later == nullptr) {
      becomes = work.of(held->speed).pause[at(level)];
    } else if (held == nullptr && later != nullptr) {
      becomes = work.of(later->speed).resume[at(level)];
    } else if (held != nullptr && held->speed != later->speed) {
      becomes = -1;
    }
    if (becomes == kept.levels[k]) {
      after.push_back(level);
    }
  }
  if (held == nullptr || !held->is_ready || !is_counted(t, k)) {
    return after;
  }
  const std::vector<int>& next = work.of(held->speed).next;
  std::vector<int> before;
  for (int from = 0; from < static_cast<int>(next.size()); ++from) {
    if (std::ranges::find(after, next[at(from)]) != after.end()) {
      before.push_back(from);
    }
  }
  return before;
}

/// Tries all levels before step t that lead to the kept ones.
void GraphProgram::offer_levels(int t, std::size_t state, const Node& kept, Step& step) {
  std::vector<Levels> before = {{}};
  for (std::size_t k = 0; k < input_.tracked.size(); ++k) {
    std::vector<Levels> longer;
    for (const int level : levels_before(t, state, k, kept)) {
      for (const Levels& base : before) {
        longer.push_back(base);
        longer.back().push_back(level);
      }
    }
    before = std::move(longer);
  }
  const std::span<const double> values = layer(t);
  for (const Levels& levels : before) {
    std::size_t index = offsets_[state];
    for (std::size_t k = 0; k < levels.size(); ++k) {
      index += at(levels[k]) * axes(state).strides[k];
    }
    const double value = values[index] - step.cost_here;
    const bool is_tie = value == step.value && value > kNever;
    const bool is_calmer = step.created_here < step.created ||
                           (step.created_here == step.created && step.dropped_here < step.dropped);
    if (value > step.value || (is_tie && is_calmer)) {
      step.best = {state, levels};
      step.owned = step.owned_here;
      step.value = value;
      step.created = step.created_here;
      step.dropped = step.dropped_here;
    }
  }
}

GraphProgram::Step GraphProgram::step_back(int t, const Node& kept) {
  Step step;
  for (std::size_t state = 0; state < graph_.count(); ++state) {
    if (is_open(t, state) && compare(t, state, kept, step)) {
      offer_levels(t, state, kept, step);
    }
  }
  SEPTULE_CHECK(step.value > kNever, "every value has a way to it");
  return step;
}

std::vector<LayoutGraph::Counts> GraphProgram::trace(Node last) {
  std::vector<LayoutGraph::Counts> path(at(problem_.step_count));
  Node kept = std::move(last);
  for (int t = problem_.step_count - 1; t >= 0; --t) {
    Step step = step_back(t, kept);
    path[at(t)] = std::move(step.owned);
    kept = std::move(step.best);
  }
  return path;
}

}  // namespace septule::serve
