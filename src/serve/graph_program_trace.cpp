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
  double cost_here = 0;
  int created_here = 0;
  int dropped_here = 0;
};

std::span<const double> GraphProgram::layer(int t) {
  if (layers_[at(t)].empty()) {
    for (std::vector<double>& old : layers_) {
      old = {};
    }
    const int from = t / stretch_ * stretch_;
    values_ = checkpoints_[at(from)];
    for (int again = from; again <= t; ++again) {
      run_step(again, true);
    }
  }
  return layers_[at(t)];
}

/// What is owned in step t if `state` serves in it and `kept` is there after it; false if that
/// takes a creation or a drop that is not allowed.
bool GraphProgram::compare(int t, std::size_t state, const Kept& kept, Step& step) const {
  const LayoutGraph::Counts& later = graph_.counts(graph_.advanced(state));
  step.owned_here = later;
  step.cost_here = 0;
  step.created_here = 0;
  step.dropped_here = 0;
  const bool may_drop = t + 1 < problem_.step_count;
  for (std::size_t slot = 0; slot < later.size(); ++slot) {
    const int missing = kept.counts[slot] - later[slot];
    const Letter& letter = graph_.letter(slot);
    if (missing > 0) {
      if (!letter.is_made_late) {
        return false;
      }
      step.owned_here[slot] = kept.counts[slot];
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

/// Tries all levels before step t that the state's training turns into the kept ones.
void GraphProgram::offer_levels(int t, std::size_t state, const Kept& kept, Step& step) {
  std::vector<std::size_t> before = {0};
  for (std::size_t k = 0; k < input_.tracked.size(); ++k) {
    const WorkLevels& work = input_.tracked[k];
    const std::size_t level = kept.levels / strides_[k] % at(work.count);
    const std::vector<int>* next = nullptr;
    for (const LayoutGraph::Trainer& trainer : graph_.trainers(state)) {
      const bool is_counted = t >= work.release_step && t < work.deadline_step;
      if (trainer.tenant == work.tenant && is_counted) {
        next = &work.row(trainer.speed);
      }
    }
    std::vector<std::size_t> longer;
    for (std::size_t from = 0; from <= level; ++from) {
      const std::size_t to = next == nullptr ? from : at((*next)[from]);
      for (const std::size_t base : before) {
        if (to == level) {
          longer.push_back(base + from * strides_[k]);
        }
      }
    }
    before = std::move(longer);
  }
  const std::span<const double> values = layer(t);
  for (const std::size_t levels : before) {
    const double value = values[state * width_ + levels] - step.cost_here;
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

GraphProgram::Step GraphProgram::step_back(int t, const Kept& kept) {
  Step step;
  for (std::size_t state = 0; state < graph_.count(); ++state) {
    if (is_open(t, state) && compare(t, state, kept, step)) {
      offer_levels(t, state, kept, step);
    }
  }
  SEPTULE_CHECK(step.value > kNever, "every value has a way to it");
  return step;
}

std::vector<LayoutGraph::Counts> GraphProgram::trace(const Node& last) {
  std::vector<LayoutGraph::Counts> path(at(problem_.step_count));
  Kept kept{graph_.counts(last.state), last.levels};
  for (int t = problem_.step_count - 1; t >= 0; --t) {
    Step step = step_back(t, kept);
    path[at(t)] = std::move(step.owned);
    kept = {graph_.counts(step.best.state), step.best.levels};
  }
  return path;
}

}  // namespace septule::serve
