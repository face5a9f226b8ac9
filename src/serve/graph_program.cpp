#include "serve/graph_program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
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
  make_axes();
}

/// The instance of a state that retrains a tracked tenant.
const LayoutGraph::Trainer* GraphProgram::trainer(std::size_t state, std::size_t k) const {
  for (const LayoutGraph::Trainer& trainer : graph_.trainers(state)) {
    if (trainer.tenant == input_.tracked[k].tenant) {
      return &trainer;
    }
  }
  return nullptr;
}

int GraphProgram::width_of(std::size_t state, std::size_t k) const {
  const WorkLevels& work = input_.tracked[k];
  const LayoutGraph::Trainer* const held = trainer(state, k);
  return held == nullptr ? work.idle_count : static_cast<int>(work.of(held->speed).next.size());
}

GraphProgram::Axes GraphProgram::axes_for(std::size_t state) const {
  Axes axes;
  for (std::size_t k = 0; k < input_.tracked.size(); ++k) {
    const int width = width_of(state, k);
    axes.widths.push_back(width);
    axes.strides.push_back(axes.total);
    axes.total *= at(width);
  }
  for (std::size_t g = 0; g < axes.total; ++g) {
    unsigned done = 0;
    for (std::size_t k = 0; k < axes.widths.size(); ++k) {
      const std::size_t level = g / axes.strides[k] % at(axes.widths[k]);
      done |= level + 1 == at(axes.widths[k]) ? 1U << k : 0U;
    }
    axes.done.push_back(static_cast<std::uint8_t>(done));
  }
  return axes;
}

void GraphProgram::make_axes() {
  std::map<std::vector<int>, std::size_t> known;
  std::size_t offset = 0;
  for (std::size_t state = 0; state < graph_.count(); ++state) {
    std::vector<int> key;
    for (std::size_t k = 0; k < input_.tracked.size(); ++k) {
      key.push_back(width_of(state, k));
    }
    const auto [found, is_new] = known.try_emplace(key, axes_.size());
    if (is_new) {
      axes_.push_back(axes_for(state));
    }
    axes_of_.push_back(found->second);
    offsets_.push_back(offset);
    offset += axes(state).total;
  }
  value_count_ = offset;
  for (const LayoutGraph::Edge& edge : graph_.edges()) {
    run_edge_.push_back(tracked_by(edge.slot));
  }
}

/// The tracked tenant that a slot's letter retrains; -1 = none.
int GraphProgram::tracked_by(std::size_t slot) const {
  const auto& retrains = problem_.labels[at(graph_.letter(slot).label)].retrains;
  int found = -1;
  for (std::size_t k = 0; k < input_.tracked.size(); ++k) {
    found = retrains == input_.tracked[k].tenant ? static_cast<int>(k) : found;
  }
  return found;
}

std::int64_t GraphProgram::units() const {
  return static_cast<std::int64_t>(value_count_) * problem_.step_count;
}

void GraphProgram::begin() {
  values_.assign(value_count_, kNever);
  values_[offsets_[graph_.state_of(problem_, problem_.initial)]] = 0;
  // A run in force may be given up before it counts as the only one.
  LabelledLayout serving = problem_.initial;
  std::erase_if(serving, [&](const LabelledInstance& instance) {
    return problem_.labels[at(instance.label)].retrains.has_value();
  });
  values_[offsets_[graph_.state_of(problem_, serving)]] = 0;
  layers_.resize(at(stretch_));
  layers_from_ = -1;
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

bool GraphProgram::is_open(int t, std::size_t state) const {
  return open_.empty() || open_[at(t)][state] != 0;
}

bool GraphProgram::is_counted(int t, std::size_t k) const {
  return t >= input_.tracked[k].release_step && t < input_.tracked[k].deadline_step;
}

void GraphProgram::raise(std::size_t to, std::size_t from, double cost) {
  const std::size_t total = axes(to).total;
  double* target = values_.data() + offsets_[to];
  const double* source = values_.data() + offsets_[from];
  for (std::size_t g = 0; g < total; ++g) {
    const double value = source[g] - cost;
    target[g] = target[g] > value ? target[g] : value;
  }
}

/// Along the axis of tenant k the levels of `from` become those of `to` that `levels` says.
void GraphProgram::raise_along(
    std::size_t to, std::size_t from, std::size_t k, const std::vector<int>& levels, double cost) {
  const std::size_t stride = axes(from).strides[k];
  const std::size_t from_width = at(axes(from).widths[k]);
  const std::size_t to_width = at(axes(to).widths[k]);
  const double* source = values_.data() + offsets_[from];
  double* target = values_.data() + offsets_[to];
  for (std::size_t high = axes(from).total / (stride * from_width); high > 0; --high) {
    for (std::size_t level = 0; level < from_width; ++level, source += stride) {
      if (levels[level] < 0) {
        continue;
      }
      double* const into = target + at(levels[level]) * stride;
      for (std::size_t low = 0; low < stride; ++low) {
        const double value = source[low] - cost;
        into[low] = into[low] > value ? into[low] : value;
      }
    }
    target += stride * to_width;
  }
}

void GraphProgram::drop() {
  const auto edges = graph_.edges();
  for (std::size_t i = edges.size(); i-- > 0;) {
    if (graph_.letter(edges[i].slot).stay > 0) {
      continue;
    }
    if (run_edge_[i] >= 0) {
      const std::size_t k = at(run_edge_[i]);
      const double speed = trainer(edges[i].super, k)->speed;
      raise_along(edges[i].sub, edges[i].super, k, input_.tracked[k].of(speed).pause, 0);
    } else {
      raise(edges[i].sub, edges[i].super, 0);
    }
  }
}

void GraphProgram::create(int t, bool Letter::* made) {
  const auto edges = graph_.edges();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const Letter& created = graph_.letter(edges[i].slot);
    if (!(created.*made) || !is_open(t, edges[i].super)) {
      continue;
    }
    if (run_edge_[i] >= 0) {
      const std::size_t k = at(run_edge_[i]);
      const double speed = trainer(edges[i].super, k)->speed;
      const std::vector<int>& resume = input_.tracked[k].of(speed).resume;
      raise_along(edges[i].super, edges[i].sub, k, resume, created.creation_cost);
    } else {
      raise(edges[i].super, edges[i].sub, created.creation_cost);
    }
  }
}

/// The step's values count what is handed over at its begin.
void GraphProgram::hand_over(int t) {
  for (const LayoutGraph::Relabel& relabel : graph_.relabels()) {
    if (!is_open(t, relabel.to)) {
      continue;
    }
    const double cost = graph_.letter(relabel.slot).creation_cost;
    const int run = tracked_by(relabel.slot);
    if (run >= 0) {
      const std::size_t k = at(run);
      const double speed = trainer(relabel.to, k)->speed;
      raise_along(relabel.to, relabel.from, k, input_.tracked[k].of(speed).resume, cost);
    } else {
      raise(relabel.to, relabel.from, cost);
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
    if (values.size() == 1) {
      values[0] += value_of(input_.steps[at(t)], graph_.ready_rps(s), step_s_);
      continue;
    }
    const std::vector<double> worth = worths(input_.steps[at(t)], graph_.ready_rps(s));
    const std::vector<std::uint8_t>& done = axes(s).done;
    for (std::size_t g = 0; g < values.size(); ++g) {
      values[g] += worth[done[g]];
    }
  }
}

void GraphProgram::train(std::size_t state, int t) {
  for (std::size_t k = 0; k < input_.tracked.size(); ++k) {
    const LayoutGraph::Trainer* const held = trainer(state, k);
    if (held != nullptr && held->is_ready && is_counted(t, k)) {
      move_levels(state, k, input_.tracked[k].of(held->speed).next);
    }
  }
}

/// Along one axis every level moves to its next one; from the top, so that nothing moves twice.
void GraphProgram::move_levels(std::size_t state, std::size_t k, const std::vector<int>& next) {
  const std::span<double> values = row(state);
  const std::size_t stride = axes(state).strides[k];
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
    layers_[at(t % stretch_)] = values_;
  }
  for (std::size_t s = 0; s < graph_.count(); ++s) {
    train(s, t);
  }
  advance();
  if (input_.hand_over == HandOver::kRelabel) {
    hand_over(t);
  }
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
    const Axes& layout = axes(s);
    for (std::size_t g = 0; g < layout.total; ++g) {
      const double ending =
          problem_.terminal_steps == 0 ? 0.0 : problem_.terminal_steps * worth[layout.done[g]];
      const double here = values_[offsets_[s] + g] + ending;
      if (here > best) {
        best = here;
        node.state = s;
        node.levels.clear();
        for (std::size_t k = 0; k < layout.widths.size(); ++k) {
          node.levels.push_back(static_cast<int>(g / layout.strides[k] % at(layout.widths[k])));
        }
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
  SEPTULE_CHECK(input_.hand_over == HandOver::kNone || !graph_.has_ages(),
                "the way back hands over only what has no age");
  stretch_ = static_cast<int>(std::ceil(std::sqrt(problem_.step_count)));
  begin();
  if (!run(0, problem_.step_count, budget, stretch_)) {
    return std::nullopt;
  }
  GraphAnswer answer;
  Node node;
  answer.value = best(node);
  if (answer.value > kNever) {
    answer.path = trace(std::move(node));
  }
  return answer;
}

}  // namespace septule::serve
