#include "serve/work_levels.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/check.hpp"
#include "serve/indices.hpp"

namespace septule::serve {

namespace {

constexpr double kTolerance = 1e-9;
// Sums looked at before exact levels are given up.
constexpr std::size_t kSumsMax = 4000;

RetrainingNeed need_of(const GoodputProblem& problem, int tenant) {
  return checked_value(problem.tenants[at(tenant)].retraining,
                       "levels are of tenants that retrain");
}

WorkLevels levels_without_rows(const GoodputProblem& problem, int tenant) {
  const GoodputTenant& who = problem.tenants[at(tenant)];
  WorkLevels levels;
  levels.tenant = tenant;
  const RetrainingNeed need = need_of(problem, tenant);
  levels.release_step = need.release_step;
  levels.deadline_step = need.deadline_step;
  levels.worth_after = who.weight * who.accuracy_after;
  std::vector<double> speeds;
  for (const Label& label : problem.labels) {
    if (label.retrains == tenant) {
      std::ranges::copy_if(
          label.speed, std::back_inserter(speeds), [](double speed) { return speed > 0; });
    }
  }
  std::ranges::sort(speeds);
  const auto rest = std::ranges::unique(speeds);
  speeds.erase(rest.begin(), rest.end());
  SEPTULE_CHECK(!speeds.empty(), "a tenant that retrains has a label for it");
  for (const double speed : speeds) {
    levels.speeds.push_back({speed, {}, {}, {}});
  }
  return levels;
}

/// Share of the work that a step does at each speed.
std::vector<double> gains_of(const GoodputProblem& problem, const WorkLevels& levels) {
  const double work = need_of(problem, levels.tenant).work_s;
  std::vector<double> gains;
  for (const WorkLevels::Speed& speed : levels.speeds) {
    gains.push_back(speed.speed * problem.step.to_seconds() / work);
  }
  return gains;
}

/// All sums below 1 of these gains, ascending, sums equal but for rounding once; nothing if there
/// are too many.
std::optional<std::vector<double>> sums_of(const std::vector<double>& gains) {
  std::vector<double> sums = {0.0};
  for (const double gain : gains) {
    std::vector<double> more;
    for (const double base : sums) {
      double sum = base;
      while (sum < 1 - kTolerance) {
        more.push_back(sum);
        sum += gain;
        if (more.size() > kSumsMax * 16) {
          return std::nullopt;
        }
      }
    }
    std::ranges::sort(more);
    const auto rest =
        std::ranges::unique(more, [](double a, double b) { return b - a <= kTolerance; });
    more.erase(rest.begin(), rest.end());
    sums = std::move(more);
  }
  return sums.size() <= kSumsMax ? std::optional(std::move(sums)) : std::nullopt;
}

/// By gain, then level: the level after a step. `sums` are closed under the gains.
std::vector<std::vector<int>> nexts_of(const std::vector<double>& sums,
                                       const std::vector<double>& gains) {
  const int complete = static_cast<int>(sums.size());
  std::vector<std::vector<int>> next(gains.size());
  for (std::size_t g = 0; g < gains.size(); ++g) {
    for (const double base : sums) {
      const double sum = base + gains[g];
      const auto found = std::ranges::lower_bound(sums, sum - 2 * kTolerance);
      next[g].push_back(sum >= 1 - kTolerance ? complete : static_cast<int>(found - sums.begin()));
    }
    next[g].push_back(complete);
  }
  return next;
}

/// Makes levels with the same future one, from the last one down.
std::vector<std::vector<int>> merged(const std::vector<std::vector<int>>& next) {
  const std::size_t count = next.front().size();
  std::map<std::vector<int>, int> seen;
  std::vector<int> label(count, 0);  // counted down from "complete" = 0
  for (std::size_t level = count - 1; level-- > 0;) {
    std::vector<int> future;
    for (const std::vector<int>& row : next) {
      future.push_back(label[at(row[level])]);
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

/// Steps that a speed takes alone, and one more than the window has if that is not enough.
int steps_alone(const GoodputProblem& problem, double gain) {
  return static_cast<int>(std::min(std::ceil((1 - kTolerance) / gain), problem.step_count + 1.0));
}

}  // namespace

const WorkLevels::Speed& WorkLevels::of(double speed) const {
  const auto found = std::ranges::find(speeds, speed, &Speed::speed);
  SEPTULE_CHECK(found != speeds.end(), "the speed is one of the tenant's labels");
  return *found;
}

std::optional<WorkLevels> make_exact_levels(const GoodputProblem& problem,
                                            int tenant,
                                            int count_max) {
  WorkLevels levels = levels_without_rows(problem, tenant);
  const std::vector<double> gains = gains_of(problem, levels);
  if (gains.front() < 1e-6) {
    return std::nullopt;
  }
  const std::optional<std::vector<double>> sums = sums_of(gains);
  if (!sums.has_value()) {
    return std::nullopt;
  }
  std::vector<std::vector<int>> next = merged(nexts_of(*sums, gains));
  levels.idle_count = static_cast<int>(next.front().size());
  if (levels.idle_count > count_max) {
    return std::nullopt;
  }
  std::vector<int> same;
  for (int level = 0; level < levels.idle_count; ++level) {
    same.push_back(level);
  }
  for (std::size_t g = 0; g < gains.size(); ++g) {
    levels.speeds[g].next = std::move(next[g]);
    levels.speeds[g].pause = same;
    levels.speeds[g].resume = same;
  }
  return levels;
}

WorkLevels make_bound_levels(const GoodputProblem& problem, int tenant, int parts) {
  // Idle levels: 0, 1 / parts, ..., "almost" (anything short of complete), complete. Levels of a
  // speed: whole steps of it, almost, complete.
  WorkLevels levels = levels_without_rows(problem, tenant);
  const int almost_idle = parts;
  levels.idle_count = parts + 2;
  const std::vector<double> gains = gains_of(problem, levels);
  for (std::size_t g = 0; g < gains.size(); ++g) {
    WorkLevels::Speed& speed = levels.speeds[g];
    const int almost = steps_alone(problem, gains[g]);
    for (int level = 0; level < almost; ++level) {
      const double idle = std::ceil(level * gains[g] * parts - kTolerance);
      speed.next.push_back(level + 1 < almost ? level + 1 : almost + 1);
      speed.pause.push_back(static_cast<int>(std::min<double>(idle, almost_idle)));
    }
    speed.next.insert(speed.next.end(), {almost + 1, almost + 1});
    speed.pause.insert(speed.pause.end(), {almost_idle, almost_idle + 1});
    for (int idle = 0; idle < parts; ++idle) {
      const double level = std::ceil(idle / (parts * gains[g]) - kTolerance);
      speed.resume.push_back(static_cast<int>(std::min<double>(level, almost)));
    }
    speed.resume.insert(speed.resume.end(), {almost, almost + 1});
  }
  return levels;
}

WorkLevels make_run_levels(const GoodputProblem& problem, int tenant) {
  WorkLevels levels = levels_without_rows(problem, tenant);
  levels.idle_count = 2;
  const std::vector<double> gains = gains_of(problem, levels);
  for (std::size_t g = 0; g < gains.size(); ++g) {
    WorkLevels::Speed& speed = levels.speeds[g];
    const int last = steps_alone(problem, gains[g]);
    for (int level = 0; level <= last; ++level) {
      speed.next.push_back(std::min(level + 1, last));
      speed.pause.push_back(level == last ? 1 : -1);
    }
    speed.resume = {0, -1};
  }
  return levels;
}

}  // namespace septule::serve
