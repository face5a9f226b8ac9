#include "serve/layout_program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"

namespace septule::serve {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

std::uint32_t bit(int placement) {
  return std::uint32_t{1} << static_cast<unsigned>(placement);
}

}  // namespace

LayoutProgram::LayoutProgram(const GoodputProblem& problem,
                             const LabelledStates& states,
                             std::size_t bytes_max)
    : problem_(problem),
      states_(states),
      bytes_max_(bytes_max),
      step_s_(problem.step.to_seconds()) {
  for (std::size_t size = 0; size < kSizesMax; ++size) {
    for (const Letter& letter : states.alphabet().letters[size]) {
      own_costs_[size].push_back(letter.creation_cost);
    }
  }
}

Spelling LayoutProgram::initial() const {
  Spelling spelling;
  for (const LabelledInstance& instance : problem_.initial) {
    const int size = problem_.lattice->placements()[at(instance.placement)].size;
    const int letter = states_.alphabet().settled(size, instance.label);
    const bool is_reserved = (problem_.frozen & bit(instance.placement)) != 0;
    if (letter >= 0 && !is_reserved) {
      spelling.push_back({instance.placement, size, letter});
    }
  }
  return spelling;
}

void LayoutProgram::begin(const LayoutProgramInput& input) {
  input_ = &input;
  open_.clear();
  layers_.assign(at(problem_.step_count), {});
  checkpoints_.assign(at(problem_.step_count), {});
  values_.assign(states_.count(), kNever);
  const Spelling start = initial();
  std::uint32_t mask = 0;
  for (const SpelledInstance& instance : start) {
    mask |= bit(instance.placement);
  }
  const auto set = std::ranges::find(states_.sets(), mask, &LabelledStates::Set::placements);
  SEPTULE_CHECK(set != states_.sets().end(), "what is in force is a state once it is of use");
  std::size_t index = set->offset;
  for (int k = 0; k < set->count; ++k) {
    const auto held = std::ranges::find(start, set->placement[at(k)], &SpelledInstance::placement);
    index += at(held->letter) * set->stride[at(k)];
  }
  values_[index] = 0;
}

bool LayoutProgram::may_change(int t) const {
  return input_->may_change.empty() || input_->may_change[at(t)] != 0;
}

int LayoutProgram::created_max(int t) const {
  if (!may_change(t)) {
    return 0;
  }
  const int any = static_cast<int>(kInstancesMax);
  const int reserved = input_->steps[at(t)].created;
  const int left = problem_.changes_per_step_max.value_or(any + reserved) - reserved;
  return std::clamp(left, 0, any);
}

const LetterCosts& LayoutProgram::costs_at(int t) const {
  return input_->costs.empty() ? own_costs_ : input_->costs[at(t)];
}

const LayoutProgram::Open& LayoutProgram::open_at(int t) {
  const std::uint32_t reserved = t < 0 ? 0 : input_->steps[at(t)].reserved;
  for (const Open& open : open_) {
    if (open.reserved == reserved) {
      return open;
    }
  }
  Open open;
  open.reserved = reserved;
  for (const LabelledStates::Set& set : states_.sets()) {
    const bool is_open =
        (set.placements & reserved) == 0 && problem_.lattice->is_legal(set.placements | reserved);
    open.sets.push_back(is_open ? 1 : 0);
    open.states += is_open ? static_cast<std::int64_t>(set.states) : 0;
  }
  open_.push_back(std::move(open));
  return open_.back();
}

void LayoutProgram::add_values(int t, const Open& open) {
  const LabelledStates::Contents& contents = states_.contents();
  const std::size_t tenants = problem_.tenants.size();
  const StepTerms& terms = input_->steps[at(t)];
  worth_.resize(contents.count);
  for (std::size_t c = 0; c < contents.count; ++c) {
    const std::span<const double> rps(contents.ready_rps.data() + c * tenants, tenants);
    worth_[c] = value_of(terms, rps, step_s_);
  }
  shape_worth_.resize(states_.sets().size());
  std::vector<std::uint8_t> is_spread(states_.sets().size(), 0);
  for (std::size_t i = 0; i < states_.sets().size(); ++i) {
    const LabelledStates::Set& set = states_.sets()[i];
    if (open.sets[i] == 0) {
      continue;
    }
    std::vector<double>& spread = shape_worth_[at(set.shape)];
    if (is_spread[at(set.shape)] == 0) {
      is_spread[at(set.shape)] = 1;
      const std::vector<int>& content = states_.shape(set.shape).content;
      spread.resize(content.size());
      for (std::size_t s = 0; s < content.size(); ++s) {
        spread[s] = worth_[at(content[s])];
      }
    }
    double* values = values_.data() + set.offset;
    for (std::size_t s = 0; s < set.states; ++s) {
      values[s] += spread[s];
    }
  }
}

void LayoutProgram::run_step(int t, Keeping keeping) {
  if (may_change(t)) {
    states_.close_drops(values_, open_at(t - 1).sets);
  }
  const Open& open = open_at(t);
  for (std::size_t i = 0; i < states_.sets().size(); ++i) {
    const LabelledStates::Set& set = states_.sets()[i];
    if (open.sets[i] == 0) {
      std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(set.offset), set.states, kNever);
    }
  }
  const int created = created_max(t);
  if (states_.alphabet().has_early && created > 0) {
    states_.close_creations(values_, open.sets, LabelledStates::Made::kEarly, costs_at(t), created);
  }
  add_values(t, open);
  if (keeping == Keeping::kLayers) {
    layers_[at(t)] = values_;
  }
  if (states_.hands_over() && created == static_cast<int>(kInstancesMax)) {
    states_.advance_handing_over(values_, open.sets, costs_at(t));
  } else if (states_.alphabet().has_ages) {
    states_.advance(values_);
  }
  if (states_.alphabet().has_late && created > 0) {
    states_.close_creations(values_, open.sets, LabelledStates::Made::kLate, costs_at(t), created);
  }
}

bool LayoutProgram::is_dead() const {
  return std::ranges::all_of(values_, [](double value) { return value == kNever; });
}

int LayoutProgram::run(int from, int to, Keeping keeping, WorkBudget& budget) {
  for (int t = from; t < to; ++t) {
    if (!budget.spend(open_at(t).states)) {
      return t;
    }
    if (keeping == Keeping::kCheckpoints && t % stretch_ == 0) {
      checkpoints_[at(t)] = values_;
    }
    run_step(t, keeping);
    if (is_dead()) {
      return t;
    }
  }
  return to;
}

std::size_t LayoutProgram::best_last(int t, double& value) {
  const LabelledStates::Contents& contents = states_.contents();
  const std::size_t tenants = problem_.tenants.size();
  std::vector<double> held(contents.count, 0.0);
  for (std::size_t c = 0; c < contents.count; ++c) {
    const std::span<const double> rps(contents.all_rps.data() + c * tenants, tenants);
    for (int later = t + 1; later < problem_.step_count; ++later) {
      held[c] += value_of(input_->steps[at(later)], rps, step_s_);
    }
    if (problem_.terminal_steps > 0) {
      held[c] += problem_.terminal_steps * value_of(input_->steps.back(), rps, step_s_);
    }
  }
  std::size_t best = 0;
  value = kNever;
  for (const LabelledStates::Set& set : states_.sets()) {
    const std::vector<int>& content = states_.shape(set.shape).content;
    for (std::size_t s = 0; s < set.states; ++s) {
      const double here = values_[set.offset + s] + held[at(content[s])];
      if (here > value) {
        value = here;
        best = set.offset + s;
      }
    }
  }
  return best;
}

double LayoutProgram::best_value(const LayoutProgramInput& input, WorkBudget& budget) {
  begin(input);
  if (run(0, problem_.step_count, Keeping::kNothing, budget) < problem_.step_count) {
    return kNever;
  }
  double value = kNever;
  best_last(problem_.step_count - 1, value);
  return value;
}

std::span<const double> LayoutProgram::layer(int t) {
  if (layers_[at(t)].empty()) {
    SEPTULE_CHECK(stretch_ > 0, "layers that are not kept come from checkpoints");
    for (std::vector<double>& old : layers_) {
      old = {};
    }
    const int from = t / stretch_ * stretch_;
    values_ = checkpoints_[at(from)];
    for (int again = from; again <= t; ++again) {
      run_step(again, Keeping::kLayers);
    }
  }
  return layers_[at(t)];
}

StepRules LayoutProgram::rules_at(int t) {
  StepRules rules;
  rules.costs = &costs_at(t);
  rules.open = &open_at(t).sets;
  rules.reserved = input_->steps[at(t)].reserved;
  rules.created_max = created_max(t);
  rules.may_drop = t + 1 < problem_.step_count && may_change(t + 1);
  return rules;
}

}  // namespace septule::serve
