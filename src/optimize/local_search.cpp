#include "optimize/local_search.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "optimize/phase_schedule.hpp"
#include "optimize/phase_search.hpp"
#include "optimize/seat_rates.hpp"

namespace septule::optimize {
namespace {

constexpr std::uint64_t kSeed = 1956;
/// Places in the order of lengths at which templates are tried.
constexpr std::size_t kSamples = 6;
constexpr std::size_t kShapesMax = 12;
/// Windows for which the search draws from all templates, and how many it draws from otherwise.
constexpr std::size_t kAllShapesJobs = 20;
constexpr std::size_t kShapesDrawn = 32;
/// Jobs that a seat may choose from.
constexpr std::size_t kCandidates = 5;

/// Builds groups one after another.
class GroupBuilder {
 public:
  explicit GroupBuilder(PhasePlanner& planner) : planner_(planner) {}

  /// All templates, by what they save with jobs of about equal length.
  std::vector<std::size_t> best_shapes() {
    const std::vector<SeatedJob>& jobs = planner_.jobs_by_length();
    const std::size_t count = planner_.catalogue().templates.size();
    std::vector<double> saved(count, 0);
    const std::size_t samples = std::min(kSamples, jobs.size());
    for (std::size_t sample = 0; sample < samples; ++sample) {
      const std::size_t first = sample * jobs.size() / samples;
      for (std::size_t t = 0; t < count; ++t) {
        SeatPhase phase = planner_.empty_phase(t);
        double solo = 0;
        for (std::size_t i = first; i < jobs.size() && solo_seats(phase) > 0; ++i) {
          if (!planner_.insert(phase, jobs[i])) {
            break;
          }
          solo += solo_ns(jobs[i]);
        }
        saved[t] += solo > 0 ? saving(phase, solo) / solo : 0;
      }
    }
    std::vector<std::size_t> order(count);
    for (std::size_t t = 0; t < count; ++t) {
      order[t] = t;
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return saved[a] > saved[b];
    });
    return order;
  }

  /// The first of an order of templates, and all of one seat.
  std::vector<std::size_t> first_of(std::vector<std::size_t> order, std::size_t shapes_max) const {
    const std::size_t count = order.size();
    order.resize(std::min(count, shapes_max));
    for (std::size_t t = 0; t < count; ++t) {
      if (planner_.catalogue().templates[t].concurrency == 1 &&
          std::find(order.begin(), order.end(), t) == order.end()) {
        order.push_back(t);
      }
    }
    return order;
  }

  std::optional<PhasePlan> build(std::span<const std::size_t> shapes) {
    std::vector<SeatedJob> left = planner_.jobs_by_length();
    PhasePlan plan;
    while (!left.empty()) {
      std::optional<SeatPhase> best;
      double best_saving = 0;
      for (const std::size_t shape : shapes) {
        SeatPhase phase = planner_.empty_phase(shape);
        if (!planner_.insert(phase, left.front())) {
          continue;
        }
        double solo = solo_ns(left.front());
        fill(phase, left, solo);
        const double saved = saving(phase, solo) / solo;
        if (!best.has_value() || saved > best_saving) {
          best = std::move(phase);
          best_saving = saved;
        }
      }
      if (!best.has_value()) {
        return std::nullopt;
      }
      std::erase_if(left, [&](SeatedJob job) { return has(*best, job); });
      plan.phases.push_back(*std::move(best));
    }
    return plan;
  }

 private:
  double solo_ns(SeatedJob job) const {
    return static_cast<double>(planner_.rates().problem().jobs[job].solo.to_nanoseconds());
  }

  double saving(const SeatPhase& phase, double solo) const {
    return solo - static_cast<double>(planner_.length_ns(phase));
  }

  static std::size_t solo_seats(const SeatPhase& phase) {
    std::size_t seats = 0;
    for (const DomainQueues& queues : phase.domains) {
      for (const std::vector<SeatedJob>& seat : queues.seats) {
        seats += seat.empty() ? 1 : 0;
      }
    }
    return seats;
  }

  static bool has(const SeatPhase& phase, SeatedJob job) {
    for (const DomainQueues& queues : phase.domains) {
      for (const std::vector<SeatedJob>& seat : queues.seats) {
        if (std::find(seat.begin(), seat.end(), job) != seat.end()) {
          return true;
        }
      }
    }
    return false;
  }

  /// Adds the best of the next jobs as long as there are seats and that saves time.
  void fill(SeatPhase& phase, const std::vector<SeatedJob>& left, double& solo) {
    std::size_t first = 1;
    while (first < left.size() && solo_seats(phase) > 0) {
      std::optional<SeatPhase> best;
      double best_saving = saving(phase, solo);
      double best_solo = solo;
      std::size_t tried = 0;
      for (std::size_t i = first; i < left.size() && tried < kCandidates; ++i) {
        if (has(phase, left[i])) {
          continue;
        }
        ++tried;
        SeatPhase with = phase;
        if (planner_.insert(with, left[i])) {
          const double solo_with = solo + solo_ns(left[i]);
          if (saving(with, solo_with) > best_saving) {
            best_saving = saving(with, solo_with);
            best_solo = solo_with;
            best = std::move(with);
          }
        }
      }
      if (!best.has_value()) {
        return;
      }
      phase = *std::move(best);
      solo = best_solo;
    }
  }

  PhasePlanner& planner_;
};

}  // namespace

std::optional<PhasePlan> find_groups(PhasePlanner& planner, std::int64_t units_end) {
  GroupBuilder builder(planner);
  const std::vector<std::size_t> order = builder.best_shapes();
  std::optional<PhasePlan> plan = builder.build(builder.first_of(order, kShapesMax));
  if (!plan.has_value()) {
    // Some job needs a template that was not kept.
    plan = builder.build(order);
  }
  if (!plan.has_value()) {
    return std::nullopt;
  }
  const std::size_t jobs = planner.jobs_by_length().size();
  const std::size_t drawn = jobs <= kAllShapesJobs ? order.size() : kShapesDrawn;
  PhaseSearch search(planner, builder.first_of(order, drawn), Rng(kSeed).stream("local"));
  return search.improve(*plan, units_end);
}

Result<WindowAnswer> LocalOptimizer::optimize(const WindowProblem& problem,
                                              WorkBudget& budget) const {
  return optimize_phases(
      problem, budget, SeatRule::kOneJob, name(), [&budget](PhasePlanner& planner) {
        return find_groups(planner, budget.units_spent() + budget.units_left());
      });
}

}  // namespace septule::optimize
