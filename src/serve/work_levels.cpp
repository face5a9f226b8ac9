#include "serve/work_levels.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/check.hpp"

namespace septule::serve {

namespace {

constexpr double kTolerance = 1e-9;
// Sums looked at before coarser ones are tried.
constexpr std::size_t kSumsMax = 2000;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// Sorted, values that differ by rounding only merged.
void tidy(std::vector<double>& values, double work) {
  std::ranges::sort(values);
  const auto rest = std::ranges::unique(
      values, [&](double a, double b) { return std::abs(a - b) <= kTolerance * work; });
  values.erase(rest.begin(), rest.end());
}

/// All sums below `work` of gains with at most `kinds` different ones among them; nothing if there
/// are too many.
std::optional<std::vector<double>> sums_of(const std::vector<double>& gains,
                                           double work,
                                           int kinds) {
  std::vector<std::vector<double>> by_kinds(at(kinds + 1));
  by_kinds[0] = {0.0};
  const double end = work * (1 - kTolerance);
  for (const double gain : gains) {
    for (int k = kinds; k > 0; --k) {
      const std::vector<double> from = by_kinds[at(k - 1)];
      for (const double base : from) {
        for (double sum = base + gain; sum < end; sum += gain) {
          by_kinds[at(k)].push_back(sum);
          if (by_kinds[at(k)].size() > kSumsMax * 4) {
            return std::nullopt;
          }
        }
      }
      tidy(by_kinds[at(k)], work);
    }
  }
  std::vector<double> all;
  for (const std::vector<double>& values : by_kinds) {
    all.insert(all.end(), values.begin(), values.end());
  }
  tidy(all, work);
  if (all.size() > kSumsMax) {
    return std::nullopt;
  }
  return all;
}

std::vector<double> grid_of(double work, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(work * i / count);
  }
  return values;
}

/// Levels that keep exactly these values below the work.
std::vector<std::vector<int>> transitions(const std::vector<double>& kept,
                                          const std::vector<double>& gains,
                                          double work,
                                          WorkRounding rounding) {
  const int complete = static_cast<int>(kept.size());
  std::vector<std::vector<int>> next(gains.size());
  for (std::size_t g = 0; g < gains.size(); ++g) {
    for (const double value : kept) {
      const double sum = value + gains[g];
      const double slack = kTolerance * work;
      int to = complete;
      if (sum < work - slack) {
        to = rounding == WorkRounding::kUp
                 ? static_cast<int>(std::ranges::lower_bound(kept, sum - slack) - kept.begin())
                 : static_cast<int>(std::ranges::upper_bound(kept, sum + slack) - kept.begin()) - 1;
      }
      next[g].push_back(to);
    }
    next[g].push_back(complete);
  }
  return next;
}

/// Makes levels with the same future one, highest first.
std::vector<std::vector<int>> merged(const std::vector<std::vector<int>>& next) {
  const std::size_t count = next.front().size();
  std::map<std::vector<int>, int> seen;
  std::vector<int> label(count, 0);  // counted down from "complete" = 0
  for (std::size_t level = count - 1; level-- > 0;) {
    std::vector<int> future;
    for (const std::vector<int>& row : next) {
      future.push_back(label[at(row[level])]);
      if (row[level] == static_cast<int>(level)) {
        future.back() = -1;  // gains nothing
      }
    }
    label[level] = seen.try_emplace(future, static_cast<int>(seen.size()) + 1).first->second;
  }
  const int last = static_cast<int>(seen.size());
  std::vector<std::vector<int>> out(next.size(), std::vector<int>(at(last + 1), last));
  for (std::size_t g = 0; g < next.size(); ++g) {
    for (std::size_t level = 0; level < count; ++level) {
      out[g][at(last - label[level])] = last - label[at(next[g][level])];
    }
  }
  return out;
}

WorkLevels levels_without_rows(const GoodputProblem& problem, int tenant) {
  const GoodputTenant& who = problem.tenants[at(tenant)];
  WorkLevels levels;
  levels.tenant = tenant;
  levels.release_step = who.retraining->release_step;
  levels.deadline_step = who.retraining->deadline_step;
  levels.worth_after = who.weight * who.accuracy_after;
  for (const Label& label : problem.labels) {
    for (const double speed : label.speed) {
      if (label.retrains == tenant && speed > 0) {
        levels.speeds.push_back(speed);
      }
    }
  }
  std::ranges::sort(levels.speeds);
  const auto rest = std::ranges::unique(levels.speeds);
  levels.speeds.erase(rest.begin(), rest.end());
  SEPTULE_CHECK(!levels.speeds.empty(), "a tenant that retrains has a label for it");
  return levels;
}

}  // namespace

const std::vector<int>& WorkLevels::row(double speed) const {
  const auto found = std::ranges::find(speeds, speed);
  SEPTULE_CHECK(found != speeds.end(), "the speed is one of the tenant's labels");
  return next[static_cast<std::size_t>(found - speeds.begin())];
}

WorkLevels make_work_levels(const GoodputProblem& problem,
                            int tenant,
                            int count_max,
                            WorkRounding rounding) {
  WorkLevels levels = levels_without_rows(problem, tenant);
  const double work = problem.tenants[at(tenant)].retraining->work_s;
  std::vector<double> gains;
  for (const double speed : levels.speeds) {
    gains.push_back(speed * problem.step.to_seconds());
  }
  const int all_kinds = static_cast<int>(gains.size());
  for (int kinds = all_kinds; kinds > 0; kinds = kinds > 2 ? 2 : kinds - 1) {
    const std::optional<std::vector<double>> kept = sums_of(gains, work, kinds);
    if (!kept.has_value()) {
      continue;
    }
    levels.next = merged(transitions(*kept, gains, work, rounding));
    levels.count = static_cast<int>(levels.next.front().size());
    levels.is_exact = kinds == all_kinds;
    if (levels.count <= count_max) {
      return levels;
    }
  }
  levels.is_exact = false;
  levels.next = transitions(grid_of(work, count_max - 1), gains, work, rounding);
  levels.count = count_max;
  return levels;
}

WorkLevels make_run_levels(const GoodputProblem& problem, int tenant) {
  WorkLevels levels = levels_without_rows(problem, tenant);
  for (const double speed : levels.speeds) {
    const double gain = speed * problem.step.to_seconds();
    const double steps = problem.tenants[at(tenant)].retraining->work_s / gain;
    const double whole = std::ceil(steps * (1 - kTolerance));
    // Longer than the window is never complete.
    const int last = static_cast<int>(std::min(whole, problem.step_count + 1.0));
    std::vector<int>& row = levels.next.emplace_back();
    for (int level = 0; level <= last; ++level) {
      row.push_back(std::min(level + 1, last));
    }
  }
  return levels;
}

}  // namespace septule::serve
