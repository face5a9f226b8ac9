#include "serve/graph_program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.hpp"

namespace septule::serve {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

GraphProgram::GraphProgram(const GoodputProblem& problem,
                           const LayoutGraph& graph,
                           GraphInput input)
    : problem_(problem),
      graph_(graph),
      input_(std::move(input)),
      step_s_(problem.step.to_seconds()) {
  for (const WorkLevels& work : input_.tracked) {
    strides_.push_back(width_);
    width_ *= at(work.count);
  }
  done_.assign(width_, 0);
  for (std::size_t g = 0; g < width_; ++g) {
    for (std::size_t k = 0; k < input_.tracked.size(); ++k) {
      const std::size_t level = g / strides_[k] % at(input_.tracked[k].count);
      done_[g] |= level + 1 == at(input_.tracked[k].count) ? 1U << k : 0U;
    }
  }
}

std::int64_t GraphProgram::units() const {
  return static_cast<std::int64_t>(graph_.count() * width_) * problem_.step_count;
}

void GraphProgram::begin() {
  values_.assign(graph_.count() * width_, kNever);
  values_[graph_.state_of(problem_, problem_.initial) * width_] = 0;
  layers_.assign(at(problem_.step_count), {});
  checkpoints_.assign(at(problem_.step_count), {});
  open_.assign(input_.beside.size(), {});
  for (std::size_t t = 0; t < input_.beside.size(); ++t) {
    if (t > 0 && input_.beside[t] == input_.beside[t - 1]) {
      open_[t] = open_[t - 1];
      continue;
    }
    for (std::size_t s = 0; s < graph_.count(); ++s) {
      open_[t].push_back(graph_.is_legal(graph_.counts(s), input_.beside[t]) ? 1 : 0);
    }
  }
}

bool GraphProgram::is_open(int t, std::size_t state) {
  return open_.empty() || open_[at(t)][state] != 0;
}

void GraphProgram::raise(std::size_t to, std::size_t from, double cost) {
  double* target = values_.data() + to * width_;
  const double* source = values_.data() + from * width_;
  for (std::size_t g = 0; g < width_; ++g) {
    const double value = source[g] - cost;
    target[g] = target[g] > value ? target[g] : value;
  }
}

void GraphProgram::drop() {
  const auto edges = graph_.edges();
  for (std::size_t i = edges.size(); i-- > 0;) {
    if (graph_.letter(edges[i].slot).stay == 0) {
      raise(edges[i].sub, edges[i].super, 0);
    }
  }
}

void GraphProgram::create(int t, bool Letter::* made) {
  for (const LayoutGraph::Edge& edge : graph_.edges()) {
    const Letter& created = graph_.letter(edge.slot);
    if (created.*made && is_open(t, edge.super)) {
      raise(edge.super, edge.sub, created.creation_cost);
    }
  }
}

/// The step's value for each combination of tracked tenants that are done.
std::vector<double> GraphProgram::worths(StepTerms terms, std::span<const double> rps) const {
  std::vector<double> worth(std::size_t{1} << input_.tracked.size());
  const std::vector<double> before = terms.worth;
  for (std::size_t done = 0; done < worth.size(); ++done) {
    for (std::size_t k = 0; k < input_.tracked.size(); ++k) {
      const std::size_t m = at(input_.tracked[k].tenant);
      terms.worth[m] = (done >> k & 1U) != 0 ? input_.tracked[k].worth_after : before[m];
    }
    worth[done] = value_of(terms, rps, step_s_);
  }
  return worth;
}

void GraphProgram::add_values(int t) {
  for (std::size_t s = 0; s < graph_.count(); ++s) {
    const std::span<double> values = row(s);
    if (!is_open(t, s)) {
      std::ranges::fill(values, kNever);
      continue;
    }
    if (width_ == 1) {
      values[0] += value_of(input_.steps[at(t)], graph_.ready_rps(s), step_s_);
      continue;
    }
    const std::vector<double> worth = worths(input_.steps[at(t)], graph_.ready_rps(s));
    for (std::size_t g = 0; g < width_; ++g) {
      values[g] += worth[done_[g]];
    }
  }
}

void GraphProgram::train(std::size_t state, int t) {
  for (const LayoutGraph::Trainer& trainer : graph_.trainers(state)) {
    for (std::size_t k = 0; k < input_.tracked.size(); ++k) {
      const WorkLevels& work = input_.tracked[k];
      if (work.tenant == trainer.tenant && t >= work.release_step && t < work.deadline_step) {
        move_levels(row(state), k, work.row(trainer.speed));
      }
    }
  }
}

/// Along one axis every level moves to its next one; from the top, so that nothing moves twice.
void GraphProgram::move_levels(std::span<double> values,
                               std::size_t k,
                               const std::vector<int>& next) const {
  const std::size_t stride = strides_[k];
  const std::size_t block = stride * next.size();
  for (std::size_t high = 0; high < values.size(); high += block) {
    for (std::size_t level = next.size(); level-- > 0;) {
      if (at(next[level]) == level) {
        continue;
      }
      double* from = values.data() + high + level * stride;
      double* to = values.data() + high + at(next[level]) * stride;
      for (std::size_t low = 0; low < stride; ++low) {
        to[low] = to[low] > from[low] ? to[low] : from[low];
        from[low] = kNever;
      }
    }
  }
}

void GraphProgram::advance() {
  for (const auto& [from, to] : graph_.advances()) {
    raise(to, from, 0);
    std::ranges::fill(row(from), kNever);
  }
}

void GraphProgram::run_step(int t, bool keeps_layer) {
  drop();
  for (std::size_t s = 0; s < graph_.count() && !open_.empty(); ++s) {
    if (!is_open(t, s)) {
      std::ranges::fill(row(s), kNever);
    }
  }
  if (graph_.has_early()) {
    create(t, &Letter::is_made_early);
  }
  add_values(t);
  if (keeps_layer) {
    layers_[at(t)] = values_;
  }
  for (std::size_t s = 0; s < graph_.count(); ++s) {
    train(s, t);
  }
  advance();
  if (graph_.has_late()) {
    create(t, &Letter::is_made_late);
  }
}

bool GraphProgram::run(int from, int to, WorkBudget& budget, int stretch) {
  for (int t = from; t < to; ++t) {
    if (!budget.spend(static_cast<std::int64_t>(values_.size()))) {
      return false;
    }
    if (stretch > 0 && t % stretch == 0) {
      checkpoints_[at(t)] = values_;
    }
    run_step(t, false);
  }
  return true;
}

double GraphProgram::best(Node& node) const {
  double best = kNever;
  for (std::size_t s = 0; s < graph_.count(); ++s) {
    const std::vector<double> worth = worths(input_.steps.back(), graph_.all_rps(s));
    for (std::size_t g = 0; g < width_; ++g) {
      const double ending =
          problem_.terminal_steps == 0 ? 0.0 : problem_.terminal_steps * worth[done_[g]];
      const double here = values_[s * width_ + g] + ending;
      if (here > best) {
        best = here;
        node = {s, g};
      }
    }
  }
  return best;
}

std::optional<double> GraphProgram::value(WorkBudget& budget) {
  begin();
  if (!run(0, problem_.step_count, budget, 0)) {
    return std::nullopt;
  }
  Node node;
  return best(node);
}

std::optional<GraphAnswer> GraphProgram::solve(WorkBudget& budget) {
  SEPTULE_CHECK(!graph_.has_early(), "the way back knows no labels that serve at once");
  stretch_ = static_cast<int>(std::ceil(std::sqrt(problem_.step_count)));
  begin();
  if (!run(0, problem_.step_count, budget, stretch_)) {
    return std::nullopt;
  }
  GraphAnswer answer;
  Node node;
  answer.value = best(node);
  if (answer.value > kNever) {
    answer.path = trace(node);
  }
  return answer;
}

}  // namespace septule::serve
