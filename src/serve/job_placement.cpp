#include "serve/job_placement.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>

#include "base/check.hpp"

namespace septule::serve {

namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();
/// Not computed yet: no amount earned is negative but for -kImpossible.
constexpr double kUnknown = -1;
/// What a driver takes to destroy and create an instance, on top of the warm-up.
constexpr double kDriverSeconds = 0.25;

std::uint32_t bit_of(int placement) {
  return std::uint32_t{1} << static_cast<unsigned>(placement);
}

/// A run that is considered; size -1 = the job does not run.
struct Option {
  int size = -1;
  int begin = 0;
  int end = 0;   ///< step after the last one of the run: the new model answers from here on
  int back = 0;  ///< from here on others serve where it ran: they warm up as well
};

/// Chooses the runs of one GPU's jobs together: from several beginnings, one job after the other is
/// given its best run beside those of the others, until no job gains.
class JobPlacer {
 public:
  JobPlacer(const HoldingContext& context, const JobPlacementInput& input, CapacityBook& book)
      : context_(context),
        input_(input),
        book_(book),
        steps_(input.rates_rps.empty() ? 0 : static_cast<int>(input.rates_rps.front().size())),
        ends_(input.tenants.size(), steps_) {}

  std::vector<JobRun> place() {
    find_jobs();
    if (steps_ == 0 || std::ranges::none_of(jobs_, [](const Job& job) { return !job.is_fixed; }) ||
        jobs_.size() > kJobsMax) {
      return {};
    }
    Runs best(jobs_.size());
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      best[j] = jobs_[j].is_fixed ? jobs_[j].options.front() : Option{};
    }
    double most = improve(best);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      for (const Option& first : firsts(jobs_[j])) {
        Runs runs(jobs_.size());
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
          runs[i] = jobs_[i].is_fixed ? jobs_[i].options.front() : Option{};
        }
        runs[j] = first;
        improve_others(runs, j);
        const double value = improve(runs);
        if (value > most * (1 + kGainMin)) {
          most = value;
          best = runs;
        }
      }
    }
    return runs_of(best, most);
  }

 private:
  static constexpr std::size_t kJobsMax = 8;
  static constexpr int kPassesMax = 4;
  static constexpr double kGainMin = 1e-9;
  static constexpr int kNearSteps = 8;

  struct Job {
    std::size_t entry = 0;
    bool is_fixed = false;
    std::vector<Option> options;
  };
  using Runs = std::vector<Option>;  // by job

  const AdmittedTenant& admitted(int tenant) const {
    return context_.tenants[static_cast<std::size_t>(tenant)];
  }
  const TenantState& state(int tenant) const {
    return input_.states[static_cast<std::size_t>(tenant)];
  }
  /// Steps in which `length_s` seconds end.
  int steps_of(double length_s) const {
    return static_cast<int>(std::min(1e6, std::ceil(length_s / input_.step.to_seconds() - 1e-9)));
  }

  void find_jobs() {
    for (std::size_t i = 0; i < input_.tenants.size(); ++i) {
      const int tenant = input_.tenants[i];
      const std::optional<RetrainingJob>& job = admitted(tenant).tenant.retraining;
      if (!job) {
        continue;
      }
      if (job->period) {
        const std::int64_t period = job->period->to_nanoseconds();
        const std::int64_t left = period - input_.now.to_nanoseconds() % period;
        ends_[i] = steps_of(Duration::nanoseconds(left).to_seconds());
      } else {
        ends_[i] = 2 * steps_;
      }
      if (state(tenant).retraining_left_s <= 0) {
        continue;
      }
      Job one{.entry = i, .is_fixed = false, .options = {}};
      for (const Holding& holding : *input_.holdings) {
        if (holding.role == Role::kRetrain && holding.tenant == tenant) {
          one.is_fixed = true;
          one.options = {running(holding)};
        }
      }
      if (!one.is_fixed) {
        one.options = options_of(tenant);
      }
      jobs_.push_back(std::move(one));
    }
  }

  Option running(const Holding& holding) const {
    const int size = context_.size_of(holding);
    const double speed = admitted(holding.tenant).retraining_speed[static_cast<std::size_t>(size)];
    const double warm_s =
        std::max(0.0,
                 (holding.since + context_.warm_up(holding.tenant, input_.warm_up) - input_.now)
                     .to_seconds());
    const int end =
        speed > 0 ? steps_of(warm_s + state(holding.tenant).retraining_left_s / speed) : 0;
    return {.size = size, .begin = 0, .end = end, .back = end};
  }

  std::vector<Option> options_of(int tenant) const {
    std::vector<Option> options{Option{}};
    const TenantState& own = state(tenant);
    const double warm_s = context_.warm_up(tenant, input_.warm_up).to_seconds();
    int first = 0;
    if (own.retraining_release && *own.retraining_release > input_.now) {
      // Warming up may begin before the data are there.
      first = std::max(
          0, steps_of((*own.retraining_release - input_.now).to_seconds()) - steps_of(warm_s));
    }
    int last = steps_;
    if (own.retraining_deadline) {
      const double left_s = (*own.retraining_deadline - input_.now).to_seconds();
      last = std::min(last, static_cast<int>(left_s / input_.step.to_seconds() + 1e-9));
    }
    for (std::size_t size = 0; size < context_.lattice->sizes().size(); ++size) {
      const double speed = admitted(tenant).retraining_speed[size];
      if (speed <= 0) {
        continue;
      }
      const int length = steps_of(warm_s + kDriverSeconds + own.retraining_left_s / speed);
      for (int begin = first; begin + length <= last; ++begin) {
        options.push_back({.size = static_cast<int>(size),
                           .begin = begin,
                           .end = begin + length,
                           .back = begin + length + steps_of(warm_s)});
      }
    }
    return options;
  }

  /// The first run of each size.
  static std::vector<Option> firsts(const Job& job) {
    std::vector<Option> firsts;
    for (const Option& option : job.options) {
      if (option.size >= 0 && !job.is_fixed &&
          (firsts.empty() || firsts.back().size != option.size)) {
        firsts.push_back(option);
      }
    }
    return firsts;
  }

  double improve(Runs& runs) {
    double value = total(runs);
    for (int pass = 0; pass < kPassesMax; ++pass) {
      const double before = value;
      for (std::size_t j = 0; j < jobs_.size(); ++j) {
        value = improve_one(runs, j, value);
      }
      if (value <= before * (1 + kGainMin)) {
        break;
      }
    }
    return value;
  }
  void improve_others(Runs& runs, std::size_t fixed) {
    double value = total(runs);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (j != fixed) {
        value = improve_one(runs, j, value);
      }
    }
  }
  double improve_one(Runs& runs, std::size_t j, double value) {
    if (jobs_[j].is_fixed) {
      return value;
    }
    Option best = runs[j];
    const int near = best.begin;
    for (const Option& option : jobs_[j].options) {
      if (option.begin > kNearSteps && option.begin % 2 != 0 && std::abs(option.begin - near) > 1) {
        continue;
      }
      runs[j] = option;
      const double with = total(runs);
      if (with > value * (1 + kGainMin) || !std::isfinite(value)) {
        value = with;
        best = option;
      }
    }
    runs[j] = best;
    return value;
  }

  /// What all tenants earn with these runs to the end of the window and, for the models they bring,
  /// of the periods beyond it.
  double total(const Runs& runs) {
    double sum = 0;
    for (int t = 0; t < steps_; ++t) {
      std::uint32_t code = 0;
      unsigned done = 0;
      for (std::size_t j = 0; j < runs.size(); ++j) {
        const Option& run = runs[j];
        if (run.size < 0 || t < run.begin) {
          continue;
        }
        const bool is_done = t >= run.end;
        done |= is_done && t < ends_[jobs_[j].entry] ? 1U << j : 0U;
        if (t < run.back && !(is_done && is_taken_over(runs, run, t))) {
          code += std::uint32_t{1} << (3U * static_cast<unsigned>(run.size));
        }
      }
      const double left = earned(t, code, done);
      sum += left - (input_.caution - 1) * std::max(0.0, earned(t, 0, done) - left);
    }
    return sum + beyond(runs);
  }
  /// Whether another job runs in step t where `run` has ended.
  static bool is_taken_over(const Runs& runs, const Option& run, int t) {
    return std::ranges::any_of(runs, [&](const Option& other) {
      return other.size == run.size && other.begin >= run.end && other.begin <= t && t < other.end;
    });
  }
  double beyond(const Runs& runs) {
    double sum = 0;
    for (std::size_t j = 0; j < runs.size(); ++j) {
      const std::size_t entry = jobs_[j].entry;
      if (runs[j].size < 0 || runs[j].end > steps_ || ends_[entry] <= steps_) {
        continue;
      }
      // As in the last step, for at most as long again.
      const double more = earned(steps_ - 1, 0, 1U << j) - earned(steps_ - 1, 0, 0);
      sum += more * std::min(ends_[entry] - steps_, steps_);
    }
    return sum;
  }

  /// What the GPU's tenants earn in a step at best, instances of the sizes in `code` (three bits
  /// for each size) being taken, the jobs in `done` being done.
  double earned(int t, std::uint32_t code, unsigned done) {
    const std::uint64_t key = (std::uint64_t{code} << 8U) | done;
    const auto [place, is_new] = rows_.try_emplace(key);
    std::vector<double>& row = place->second;
    if (is_new) {
      row.assign(static_cast<std::size_t>(steps_), kUnknown);
    }
    double& value = row[static_cast<std::size_t>(t)];
    if (value == kUnknown) {
      value = best_rate(t, code, done) * input_.step.to_seconds();
    }
    return value;
  }
  double best_rate(int t, std::uint32_t code, unsigned done) {
    std::vector<int> taken;
    for (int size = 0; size < static_cast<int>(kSizesMax); ++size) {
      const std::uint32_t count = (code >> (3U * static_cast<unsigned>(size))) & 7U;
      taken.insert(taken.end(), count, size);
    }
    const CapacityChoices* choices = book_.choices(std::move(taken));
    if (choices == nullptr || !choices->is_possible()) {
      return -kImpossible;
    }
    std::vector<double> rates;
    std::vector<double> values;
    for (std::size_t i = 0; i < input_.tenants.size(); ++i) {
      const Tenant& own = admitted(input_.tenants[i]).tenant;
      bool is_new = state(input_.tenants[i]).is_retrained;
      for (std::size_t j = 0; j < jobs_.size(); ++j) {
        is_new = is_new || (jobs_[j].entry == i && (done & (1U << j)) != 0);
      }
      const double accuracy =
          is_new && own.retraining ? own.retraining->accuracy_after : own.accuracy;
      values.push_back(own.weight * accuracy);
      rates.push_back(input_.rates_rps[i][static_cast<std::size_t>(t)]);
    }
    return choices->best_rate(rates, values);
  }

  std::vector<JobRun> runs_of(const Runs& runs, double value) {
    std::vector<JobRun> placed;
    for (std::size_t j = 0; j < runs.size(); ++j) {
      if (jobs_[j].is_fixed || runs[j].size < 0) {
        continue;
      }
      Runs without = runs;
      without[j] = {};
      placed.push_back({.tenant = input_.tenants[jobs_[j].entry],
                        .size = runs[j].size,
                        .begin = runs[j].begin,
                        .end = runs[j].end,
                        .net = value - total(without)});
    }
    std::ranges::stable_sort(
        placed, [](const JobRun& one, const JobRun& other) { return one.size > other.size; });
    return placed;
  }

  const HoldingContext& context_;
  const JobPlacementInput& input_;
  CapacityBook& book_;
  int steps_;
  std::vector<int> ends_;  // by entry of tenants: step in which the model's period ends
  std::vector<Job> jobs_;
  std::map<std::uint64_t, std::vector<double>> rows_;  // earned(), by what is taken and done
};

}  // namespace

std::vector<JobRun> place_jobs(const HoldingContext& context,
                               const JobPlacementInput& input,
                               CapacityBook& book) {
  return JobPlacer(context, input, book).place();
}

std::optional<GpuHoldings> with_job(const HoldingContext& context,
                                    const GpuHoldings& holdings,
                                    const JobRun& run,
                                    std::uint32_t fixed,
                                    SimTime now) {
  const std::span<const SizePlacement> placements = context.lattice->placements();
  std::optional<GpuHoldings> best;
  double best_cost = 0;
  for (std::size_t p = 0; p < placements.size(); ++p) {
    if (placements[p].size != run.size) {
      continue;
    }
    const int placement = static_cast<int>(p);
    // Instances that cannot stand beside it go, one by one.
    GpuHoldings left;
    double cost = 0;
    std::uint32_t bits = bit_of(placement);
    for (const Holding& holding : holdings) {
      if ((fixed & bit_of(holding.placement)) != 0) {
        bits |= bit_of(holding.placement);
      }
    }
    if (!context.lattice->is_legal(bits) || (fixed & bit_of(placement)) != 0) {
      continue;
    }
    for (const Holding& holding : holdings) {
      const bool is_fixed = (fixed & bit_of(holding.placement)) != 0;
      const std::uint32_t with = bits | bit_of(holding.placement);
      if (is_fixed || (holding.placement != placement && context.lattice->is_legal(with))) {
        bits = with;
        left.push_back(holding);
      } else {
        const Tenant& tenant = context.tenants[static_cast<std::size_t>(holding.tenant)].tenant;
        cost += tenant.weight * tenant.accuracy * context.throughput_rps(holding);
      }
    }
    if (!best || cost < best_cost) {
      insert_holding(
          left,
          {.placement = placement, .tenant = run.tenant, .role = Role::kRetrain, .since = now});
      best = std::move(left);
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace septule::serve
