// The way back of layout_program.hpp.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"
#include "serve/layout_program.hpp"

namespace septule::serve {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

bool is_subset(const Spelling& part, const Spelling& whole) {
  return std::ranges::all_of(part, [&](const SpelledInstance& instance) {
    return std::ranges::find(whole, instance) != whole.end();
  });
}

}  // namespace

Spelling LayoutProgram::pick_kept(int t, const Spelling& state) {
  // Which instances of the state were created at the begin of this step, serving at once: try all.
  std::vector<std::size_t> early;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const SpelledInstance& instance = state[i];
    const Letter& letter = states_.alphabet().letters[at(instance.size)][at(instance.letter)];
    if (letter.is_made_early && created_max(t) > 0) {
      early.push_back(i);
    }
  }
  if (early.empty()) {
    return state;
  }
  const Spelling start = initial();
  Spelling best;
  double best_value = kNever;
  int best_created = 0;
  for (std::uint32_t made = 0; made < std::uint32_t{1} << early.size(); ++made) {
    Spelling kept = state;
    double value = 0;
    int created = 0;
    for (std::size_t i = early.size(); i-- > 0;) {
      if ((made >> i & 1U) != 0) {
        const SpelledInstance& instance = state[early[i]];
        value -= costs_at(t)[at(instance.size)][at(instance.letter)];
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(early[i]));
        ++created;
      }
    }
    if (created > created_max(t)) {
      continue;
    }
    if (t == 0) {
      value += is_subset(kept, start) ? 0 : kNever;
    } else {
      const Predecessor found =
          find_predecessor(*problem_.lattice, states_, layer(t - 1), kept, rules_at(t - 1));
      value += found.is_found ? found.value : kNever;
      created += found.created;
    }
    if (value > best_value || (value == best_value && created < best_created)) {
      best = kept;
      best_value = value;
      best_created = created;
    }
  }
  return best;
}

std::vector<LabelledLayout> LayoutProgram::trace(std::size_t last, int steps) {
  std::vector<LabelledLayout> layouts(at(steps));
  Spelling kept = spell(states_, last);
  for (int t = steps - 1; t >= 0; --t) {
    StepRules rules = rules_at(t);
    rules.may_drop = rules.may_drop && t + 1 < steps;
    const Predecessor found = find_predecessor(*problem_.lattice, states_, layer(t), kept, rules);
    SEPTULE_CHECK(found.is_found && found.value > kNever, "every value has a way to it");
    LabelledLayout& layout = layouts[at(t)];
    const auto add = [&](const SpelledInstance& instance) {
      const std::vector<Letter>& letters = states_.alphabet().letters[at(instance.size)];
      const LabelledInstance labelled{instance.placement, letters[at(instance.letter)].label};
      const auto same = std::ranges::find(layout, instance.placement, &LabelledInstance::placement);
      if (same == layout.end()) {
        layout.push_back(labelled);
      }
    };
    std::ranges::for_each(kept, add);  // first: others may have been handed over to these
    std::ranges::for_each(found.state, add);
    std::ranges::sort(layout);
    kept = pick_kept(t, found.state);
  }
  return layouts;
}

LayoutProgramAnswer LayoutProgram::solve(const LayoutProgramInput& input, WorkBudget& budget) {
  begin(input);
  const int steps = problem_.step_count;
  const bool keeps_all = states_.count() * sizeof(double) <= bytes_max_ / at(steps);
  stretch_ = keeps_all ? 0 : static_cast<int>(std::ceil(std::sqrt(steps)));
  const Keeping keeping = keeps_all ? Keeping::kLayers : Keeping::kCheckpoints;
  LayoutProgramAnswer answer;
  const int end = run(0, steps, keeping, budget);
  if (end < steps && !budget.is_exhausted()) {
    answer.dead_step = end;
    return answer;
  }
  answer.is_complete = end == steps;
  if (end == 0) {
    return answer;
  }
  const std::size_t last = best_last(end - 1, answer.value);
  answer.layouts = trace(last, end);
  while (std::ssize(answer.layouts) < steps) {
    answer.layouts.push_back(answer.layouts.back());
  }
  return answer;
}

}  // namespace septule::serve
