#include "optimize/pattern_selection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>

#include "base/check.hpp"
#include "optimize/pattern_relaxation.hpp"

namespace septule::optimize {
namespace {

constexpr std::int64_t kScale = PatternRelaxation::kScale;
constexpr std::size_t kMemoEntriesMax = 400000;

std::int64_t divide_up(std::int64_t value, std::int64_t divisor) {
  const std::int64_t quotient = value / divisor;
  return quotient * divisor < value ? quotient + 1 : quotient;
}

using Counts = std::vector<int>;  // per column

enum class SearchEnd { kFound, kRefuted, kOutOfBudget };

// Looks for any selection whose cost is at most `target`.
class PatternSearch {
 public:
  PatternSearch(const PatternColumns& columns,
                const PatternRelaxation& relaxation,
                std::int64_t target,
                WorkBudget& budget)
      : columns_(columns),
        relaxation_(relaxation),
        budget_(budget),
        slack_((target * kScale) - relaxation.bound_scaled),
        counts_(columns.cost.size(), 0) {
    order_columns();
    find_limits();
  }

  SearchEnd run() {
    if (slack_ < 0) {
      return SearchEnd::kRefuted;
    }
    std::vector<std::int64_t> rest = columns_.demand;
    const bool is_found = try_group(0, rest, slack_);
    if (is_found) {
      return SearchEnd::kFound;
    }
    return budget_.is_exhausted() ? SearchEnd::kOutOfBudget : SearchEnd::kRefuted;
  }

  const Counts& counts() const { return counts_; }

 private:
  std::size_t group_count() const { return columns_.gpu_counts.size(); }

  // Per class the columns that the slack allows, those the relaxation uses most first.
  void order_columns() {
    order_.resize(group_count());
    for (std::size_t group = 0; group < group_count(); ++group) {
      std::vector<std::size_t>& order = order_[group];
      for (std::size_t i = columns_.first[group]; i < columns_.first[group + 1]; ++i) {
        if (relaxation_.reduced_scaled[i] <= slack_) {
          order.push_back(i);
        }
      }
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const double use_a = relaxation_.use[a];
        const double use_b = relaxation_.use[b];
        if (std::abs(use_a - use_b) > 1e-7) {
          return use_a > use_b;
        }
        return relaxation_.reduced_scaled[a] < relaxation_.reduced_scaled[b];
      });
    }
  }

  // What one GPU of a class can take at most and at least from its i-th column on, and what all
  // GPUs of the classes from a given one on can.
  void find_limits() {
    const std::size_t width = columns_.width();
    most_.resize(group_count());
    least_.resize(group_count());
    most_later_.assign((group_count() + 1) * width, 0);
    least_later_.assign((group_count() + 1) * width, 0);
    for (std::size_t group = group_count(); group-- > 0;) {
      const std::vector<std::size_t>& order = order_[group];
      most_[group].assign(order.size() * width, 0);
      least_[group].assign(order.size() * width, 0);
      for (std::size_t k = 0; k < width; ++k) {
        std::int64_t most = std::numeric_limits<std::int64_t>::min();
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (std::size_t i = order.size(); i-- > 0;) {
          most = std::max(most, columns_.take(order[i], k));
          least = std::min(least, columns_.take(order[i], k));
          most_[group][(i * width) + k] = most;
          least_[group][(i * width) + k] = least;
        }
        const std::int64_t gpus = columns_.gpu_counts[group];
        if (order.empty()) {
          continue;  // no column: try_columns() fails there
        }
        most_later_[(group * width) + k] = most_later_[((group + 1) * width) + k] + (most * gpus);
        least_later_[(group * width) + k] =
            least_later_[((group + 1) * width) + k] + (least * gpus);
      }
    }
  }

  bool can_meet(std::size_t group,
                std::size_t i,
                int gpus,
                const std::vector<std::int64_t>& rest) const {
    const std::size_t width = columns_.width();
    for (std::size_t k = 0; k < width; ++k) {
      const std::int64_t most =
          (most_[group][(i * width) + k] * gpus) + most_later_[((group + 1) * width) + k];
      const std::int64_t least =
          (least_[group][(i * width) + k] * gpus) + least_later_[((group + 1) * width) + k];
      if (rest[k] > most || rest[k] < least) {
        return false;
      }
    }
    return true;
  }

  bool try_group(std::size_t group, std::vector<std::int64_t>& rest, std::int64_t slack) {
    if (group == group_count()) {
      return std::all_of(rest.begin(), rest.end(), [](std::int64_t left) { return left == 0; });
    }
    return try_columns(group, 0, columns_.gpu_counts[group], rest, slack);
  }

  std::string state_key(std::size_t group,
                        std::size_t i,
                        int gpus,
                        const std::vector<std::int64_t>& rest) const {
    std::string key;
    key.reserve((rest.size() + 3) * 4);
    const auto append = [&key](std::int64_t value) {
      for (int shift = 0; shift < 32; shift += 8) {
        key.push_back(static_cast<char>((value >> shift) & 0xff));
      }
    };
    append(static_cast<std::int64_t>(group));
    append(static_cast<std::int64_t>(i));
    append(gpus);
    for (const std::int64_t left : rest) {
      append(left);
    }
    return key;
  }

  bool try_columns(std::size_t group,
                   std::size_t i,
                   int gpus,
                   std::vector<std::int64_t>& rest,
                   std::int64_t slack) {
    if (gpus == 0) {
      return try_group(group + 1, rest, slack);
    }
    const std::string key = state_key(group, i, gpus, rest);
    if (const auto failed = failed_.find(key); failed != failed_.end() && failed->second >= slack) {
      return false;
    }
    for (std::size_t j = i; j < order_[group].size(); ++j) {
      if (!can_meet(group, j, gpus, rest)) {
        break;
      }
      if (try_column(group, j, gpus, rest, slack)) {
        return true;
      }
      if (budget_.is_exhausted()) {
        return false;
      }
    }
    if (failed_.size() < kMemoEntriesMax) {
      std::int64_t& known = failed_.try_emplace(key, slack).first->second;
      known = std::max(known, slack);
    }
    return false;
  }

  // Counts of one column, from what the relaxation says outwards.
  bool try_column(std::size_t group,
                  std::size_t j,
                  int gpus,
                  std::vector<std::int64_t>& rest,
                  std::int64_t slack) {
    const std::size_t column = order_[group][j];
    const std::int64_t reduced = relaxation_.reduced_scaled[column];
    const int high =
        reduced == 0 ? gpus : static_cast<int>(std::min<std::int64_t>(gpus, slack / reduced));
    const int guess = std::clamp(
        static_cast<int>(std::floor(relaxation_.use[column] + 1e-6)), 1, std::max(high, 1));
    for (int distance = 0; distance <= std::max(guess - 1, high - guess); ++distance) {
      for (const int count : {guess - distance, guess + distance}) {
        if (count < 1 || count > high || (distance == 0 && count != guess)) {
          continue;
        }
        if (!budget_.spend(1)) {
          return false;
        }
        shift(rest, column, -count);
        counts_[column] = count;
        if (try_columns(group, j + 1, gpus - count, rest, slack - (reduced * count))) {
          return true;
        }
        counts_[column] = 0;
        shift(rest, column, count);
        if (distance == 0) {
          break;
        }
      }
    }
    return false;
  }

  void shift(std::vector<std::int64_t>& rest, std::size_t column, int count) const {
    for (std::size_t k = 0; k < rest.size(); ++k) {
      rest[k] += columns_.take(column, k) * count;
    }
  }

  const PatternColumns& columns_;
  const PatternRelaxation& relaxation_;
  WorkBudget& budget_;
  std::int64_t slack_;
  Counts counts_;
  std::vector<std::vector<std::size_t>> order_;
  std::vector<std::vector<std::int64_t>> most_;
  std::vector<std::vector<std::int64_t>> least_;
  std::vector<std::int64_t> most_later_;
  std::vector<std::int64_t> least_later_;
  std::unordered_map<std::string, std::int64_t> failed_;  // looked up only, never iterated
};

struct StageOutcome {
  std::optional<Counts> counts;
  std::int64_t value = 0;
  std::int64_t lower_bound = 0;
  bool is_proven = false;
};

std::int64_t cost_of(const PatternColumns& columns, const Counts& counts) {
  std::int64_t cost = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    cost += columns.cost[i] * counts[i];
  }
  return cost;
}

// One key. Targets rise from the bound; after two refuted ones any selection is sought, so that an
// impossible demand is recognised without climbing through all costs.
class StageSolver {
 public:
  StageSolver(const PatternColumns& columns, std::optional<Counts> known, std::int64_t units_max)
      : columns_(columns), units_left_(units_max), relaxation_(relax_patterns(columns)) {
    charge(1 + (relaxation_.columns_priced / 100));
    outcome_.lower_bound = divide_up(relaxation_.bound_scaled, kScale);
    if (known.has_value()) {
      keep(*std::move(known));
    }
  }

  StageOutcome run() {
    int refuted = 0;
    bool is_bound_stuck = false;  // the bound could neither be met nor refuted with half the work
    while (!is_closed() && units_left_ > 0) {
      if (outcome_.lower_bound > relaxation_.cost_max) {
        outcome_.is_proven = true;  // nothing at all is possible
        return outcome_;
      }
      std::int64_t target = outcome_.lower_bound;
      if (!outcome_.counts && (refuted >= 2 || is_bound_stuck)) {
        target = relaxation_.cost_max;
      } else if (is_bound_stuck) {
        target += (outcome_.value - target) / 2;
      }
      const SearchEnd end = search(target, (units_left_ + 1) / 2);
      if (end == SearchEnd::kRefuted) {
        outcome_.lower_bound = target + 1;
        ++refuted;
      } else if (end == SearchEnd::kOutOfBudget) {
        if (is_bound_stuck) {
          break;
        }
        is_bound_stuck = true;
      }
    }
    outcome_.is_proven = is_closed();
    return outcome_;
  }

  std::int64_t units_spent() const { return units_spent_; }

 private:
  bool is_closed() const {
    return outcome_.counts.has_value() && outcome_.lower_bound >= outcome_.value;
  }
  void charge(std::int64_t units) {
    units_spent_ += units;
    units_left_ -= units;
  }
  void keep(Counts counts) {
    outcome_.value = cost_of(columns_, counts);
    outcome_.counts = std::move(counts);
  }
  SearchEnd search(std::int64_t target, std::int64_t units) {
    WorkBudget share(units);
    PatternSearch search(columns_, relaxation_, target, share);
    const SearchEnd end = search.run();
    charge(share.units_spent() + 1);
    if (end == SearchEnd::kFound) {
      keep(search.counts());
    }
    return end;
  }

  const PatternColumns& columns_;
  std::int64_t units_left_;
  std::int64_t units_spent_ = 0;
  PatternRelaxation relaxation_;
  StageOutcome outcome_;
};

PatternColumns columns_of(const PatternProblem& problem,
                          std::size_t key,
                          const std::vector<std::int64_t>& fixed) {
  PatternColumns columns;
  columns.demand.assign(problem.demand.begin(), problem.demand.end());
  columns.demand.insert(columns.demand.end(), fixed.begin(), fixed.end());
  columns.first.push_back(0);
  for (std::size_t group = 0; group < problem.classes.size(); ++group) {
    columns.gpu_counts.push_back(problem.classes[group].gpu_count);
    for (const Pattern& pattern : problem.classes[group].patterns) {
      SEPTULE_CHECK(pattern.takes.size() == problem.demand.size(),
                    "a pattern takes from each demand once");
      SEPTULE_CHECK(pattern.keys.size() == problem.key_count, "a pattern has every key once");
      columns.group.push_back(group);
      columns.takes.insert(columns.takes.end(), pattern.takes.begin(), pattern.takes.end());
      columns.takes.insert(columns.takes.end(),
                           pattern.keys.begin(),
                           pattern.keys.begin() + static_cast<std::ptrdiff_t>(fixed.size()));
      columns.cost.push_back(pattern.keys[key]);
    }
    columns.first.push_back(columns.cost.size());
  }
  return columns;
}

PatternCounts split_by_class(const PatternColumns& columns, const Counts& counts) {
  PatternCounts result;
  for (std::size_t group = 0; group < columns.gpu_counts.size(); ++group) {
    result.emplace_back(counts.begin() + static_cast<std::ptrdiff_t>(columns.first[group]),
                        counts.begin() + static_cast<std::ptrdiff_t>(columns.first[group + 1]));
  }
  return result;
}

}  // namespace

PatternOutcome select_patterns(const PatternProblem& problem, WorkBudget& budget) {
  PatternOutcome outcome;
  std::optional<Counts> counts;
  bool is_proven = true;
  for (std::size_t key = 0; key < problem.key_count; ++key) {
    const bool is_tie_break = key >= problem.keys_proven;
    const PatternColumns columns = columns_of(problem, key, outcome.values);
    const std::int64_t left = budget.units_left();
    StageSolver solver(columns, counts, is_tie_break ? left / 20 : left);
    StageOutcome stage = solver.run();
    budget.spend(solver.units_spent());
    if (!is_tie_break) {
      is_proven = is_proven && stage.is_proven;
      outcome.lower_bounds.push_back(stage.lower_bound);
    }
    counts = std::move(stage.counts);
    if (!counts) {
      break;
    }
    outcome.values.push_back(stage.value);
    outcome.counts = split_by_class(columns, *counts);
  }
  outcome.is_proven = is_proven;
  return outcome;
}

}  // namespace septule::optimize
