#include "serve/multiset_program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace septule::serve {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
// So that a gain that is whole but for rounding is not rounded up further.
constexpr double kRounding = 1e-9;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

class MultisetProgram {
 public:
  MultisetProgram(const GoodputProblem& problem,
                  const LabelledMultisets& states,
                  std::span<const StepTerms> steps,
                  std::span<const WorkLevels> tracked)
      : problem_(problem),
        states_(states),
        steps_(steps),
        tracked_(tracked),
        step_s_(problem.step.to_seconds()) {
    for (const WorkLevels& work : tracked) {
      strides_.push_back(width_);
      width_ *= at(work.levels + 1);
    }
    done_.assign(width_, 0);
    for (std::size_t g = 0; g < width_; ++g) {
      for (std::size_t k = 0; k < tracked.size(); ++k) {
        const bool is_done = g / strides_[k] % at(tracked[k].levels + 1) == at(tracked[k].levels);
        done_[g] |= is_done ? 1U << k : 0U;
      }
    }
    values_.assign(states.count() * width_, kNever);
    values_[states.state_of(problem, problem.initial) * width_] = 0;
  }

  std::optional<double> run(WorkBudget& budget) {
    const auto units = static_cast<std::int64_t>(values_.size());
    for (int t = 0; t < problem_.step_count; ++t) {
      if (!budget.spend(units)) {
        return std::nullopt;
      }
      drop();
      if (states_.alphabet().has_early) {
        create(&Letter::is_made_early);
      }
      add_values(steps_[at(t)]);
      for (std::size_t s = 0; s < states_.count(); ++s) {
        train(s, t);
      }
      advance();
      if (states_.alphabet().has_late) {
        create(&Letter::is_made_late);
      }
    }
    return best();
  }

 private:
  std::span<double> row(std::size_t state) {
    return std::span(values_).subspan(state * width_, width_);
  }
  const Letter& letter(const LabelledMultisets::Edge& edge) const {
    return states_.alphabet().letters[at(edge.size)][at(edge.letter)];
  }

  void raise(std::size_t to, std::size_t from, double cost) {
    double* target = values_.data() + to * width_;
    const double* source = values_.data() + from * width_;
    for (std::size_t g = 0; g < width_; ++g) {
      const double value = source[g] - cost;
      target[g] = target[g] > value ? target[g] : value;
    }
  }

  void drop() {
    const auto edges = states_.edges();
    for (std::size_t i = edges.size(); i-- > 0;) {
      if (letter(edges[i]).stay == 0) {
        raise(edges[i].sub, edges[i].super, 0);
      }
    }
  }

  void create(bool Letter::* made) {
    for (const LabelledMultisets::Edge& edge : states_.edges()) {
      const Letter& created = letter(edge);
      if (created.*made) {
        raise(edge.super, edge.sub, created.creation_cost);
      }
    }
  }

  /// The step's value for each combination of tracked tenants that are done.
  std::vector<double> worths(StepTerms terms, std::span<const double> rps) const {
    std::vector<double> worth(std::size_t{1} << tracked_.size());
    const std::vector<double> before = terms.worth;
    for (std::size_t done = 0; done < worth.size(); ++done) {
      for (std::size_t k = 0; k < tracked_.size(); ++k) {
        const std::size_t m = at(tracked_[k].tenant);
        terms.worth[m] = (done >> k & 1U) != 0 ? tracked_[k].worth_after : before[m];
      }
      worth[done] = value_of(terms, rps, step_s_);
    }
    return worth;
  }

  void add_values(const StepTerms& terms) {
    for (std::size_t s = 0; s < states_.count(); ++s) {
      const std::vector<double> worth = worths(terms, states_.ready_rps(s));
      const std::span<double> values = row(s);
      for (std::size_t g = 0; g < width_; ++g) {
        values[g] += worth[done_[g]];
      }
    }
  }

  void train(std::size_t state, int t) {
    for (const LabelledMultisets::Trainer& trainer : states_.trainers(state)) {
      const auto found = std::ranges::find(tracked_, trainer.tenant, &WorkLevels::tenant);
      if (found == tracked_.end() || t < found->release_step || t >= found->deadline_step) {
        continue;
      }
      shift(row(state),
            at(found->levels),
            strides_[at(static_cast<int>(found - tracked_.begin()))],
            at(found->gain(trainer.speed, step_s_)));
    }
  }

  /// Moves all values up by `gain` levels along one axis; what passes the end stays there.
  void shift(std::span<double> values, std::size_t levels, std::size_t stride, std::size_t gain) {
    for (std::size_t high = 0; high < values.size(); high += stride * (levels + 1)) {
      for (std::size_t low = 0; low < stride; ++low) {
        double* axis = values.data() + high + low;
        double done = axis[levels * stride];
        for (std::size_t from = levels - std::min(levels, gain); from < levels; ++from) {
          done = std::max(done, axis[from * stride]);
        }
        for (std::size_t to = levels; to-- > 0;) {
          axis[to * stride] = to >= gain ? axis[(to - gain) * stride] : kNever;
        }
        axis[levels * stride] = done;
      }
    }
  }

  void advance() {
    for (const auto& [from, to] : states_.advances()) {
      raise(to, from, 0);
      std::ranges::fill(row(from), kNever);
    }
  }

  double best() {
    double best = kNever;
    for (std::size_t s = 0; s < states_.count(); ++s) {
      const std::vector<double> worth = worths(steps_.back(), states_.all_rps(s));
      const std::span<const double> values = row(s);
      for (std::size_t g = 0; g < width_; ++g) {
        const double ending =
            problem_.terminal_steps == 0 ? 0.0 : problem_.terminal_steps * worth[done_[g]];
        best = std::max(best, values[g] + ending);
      }
    }
    return best;
  }

  const GoodputProblem& problem_;
  const LabelledMultisets& states_;
  std::span<const StepTerms> steps_;
  std::span<const WorkLevels> tracked_;
  double step_s_;
  std::size_t width_ = 1;             // combinations of levels
  std::vector<std::size_t> strides_;  // of a tracked tenant's level
  std::vector<unsigned> done_;        // by combination: bit k = tracked tenant k is done
  std::vector<double> values_;        // by state, then combination
};

}  // namespace

int WorkLevels::gain(double speed, double step_s) const {
  return static_cast<int>(
      std::min(std::ceil(speed * step_s * levels_per_s - kRounding), static_cast<double>(levels)));
}

WorkLevels choose_levels(const GoodputProblem& problem, int tenant, int levels_max) {
  const GoodputTenant& who = problem.tenants[at(tenant)];
  const double step_s = problem.step.to_seconds();
  std::vector<double> speeds;
  for (const Label& label : problem.labels) {
    if (label.retrains == tenant) {
      std::ranges::copy_if(
          label.speed, std::back_inserter(speeds), [](double speed) { return speed > 0; });
    }
  }
  WorkLevels best;
  double least = std::numeric_limits<double>::infinity();
  for (int levels = 1; levels <= levels_max; ++levels) {
    WorkLevels tried;
    tried.tenant = tenant;
    tried.levels = levels;
    tried.levels_per_s = levels / who.retraining->work_s;
    double distortion = 0;
    for (const double speed : speeds) {
      const double exact = speed * step_s * tried.levels_per_s;
      const int steps = static_cast<int>(std::ceil(levels / exact - kRounding));
      const int gain = tried.gain(speed, step_s);
      distortion += steps - (levels + gain - 1) / gain + 0.1 * (gain / exact - 1);
    }
    if (distortion < least - kRounding) {
      least = distortion;
      best = tried;
    }
  }
  best.release_step = who.retraining->release_step;
  best.deadline_step = who.retraining->deadline_step;
  best.worth_after = who.weight * who.accuracy_after;
  return best;
}

std::optional<double> solve_multisets(const GoodputProblem& problem,
                                      const LabelledMultisets& states,
                                      std::span<const StepTerms> steps,
                                      std::span<const WorkLevels> tracked,
                                      WorkBudget& budget) {
  return MultisetProgram(problem, states, steps, tracked).run(budget);
}

}  // namespace septule::serve
