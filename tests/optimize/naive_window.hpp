#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "gpu/sharing_template.hpp"
#include "optimize/window_optimizer.hpp"
#include "plan/window.hpp"
#include "predict/co_run_model.hpp"

namespace septule::test {

/// The least time of all sequences of groups: all set partitions in all orders, all templates, all
/// assignments. In nanoseconds; nothing if a job can run nowhere. Shares nothing with optimize/.
class NaiveWindow {
 public:
  explicit NaiveWindow(const optimize::WindowProblem& problem) : problem_(problem) {}

  std::optional<double> best() {
    std::vector<bool> done(problem_.jobs.size(), false);
    return best_from(done, problem_.jobs.size(), problem_.initial);
  }

 private:
  using Jobs = std::vector<std::size_t>;

  std::optional<double> best_from(std::vector<bool>& done,
                                  std::size_t left,
                                  const optimize::GpuCut& at) {
    if (left == 0) {
      return 0;
    }
    std::optional<double> best;
    for (std::size_t index = 0; index < problem_.catalogue->templates.size(); ++index) {
      const auto size = static_cast<std::size_t>(problem_.catalogue->templates[index].concurrency);
      if (size > left) {
        continue;
      }
      const optimize::GpuCut cut = cut_of(index);
      const double turn = switching(at, cut);
      for_each_set(size, done, [&](const Jobs& jobs) {
        const std::optional<double> own = group(index, jobs);
        if (!own.has_value()) {
          return;
        }
        for (const std::size_t job : jobs) {
          done[job] = true;
        }
        const std::optional<double> rest = best_from(done, left - size, cut);
        for (const std::size_t job : jobs) {
          done[job] = false;
        }
        if (rest.has_value() && (!best.has_value() || turn + *own + *rest < *best)) {
          best = turn + *own + *rest;
        }
      });
    }
    return best;
  }

  template <class Visit>
  static void for_each_set(std::size_t size, const std::vector<bool>& done, const Visit& visit) {
    for (std::uint32_t set = 0; set < (1U << done.size()); ++set) {
      Jobs jobs;
      bool is_free = true;
      for (std::size_t job = 0; job < done.size(); ++job) {
        if ((set >> job & 1U) != 0) {
          jobs.push_back(job);
          is_free = is_free && !done[job];
        }
      }
      if (is_free && jobs.size() == size) {
        visit(jobs);
      }
    }
  }

  optimize::GpuCut cut_of(std::size_t index) const {
    const gpu::SharingTemplate& of = problem_.catalogue->templates[index];
    if (of.layout.empty()) {
      return std::nullopt;
    }
    gpu::Partition cut;
    for (std::size_t i = 0; i < of.layout.size(); ++i) {
      cut.instances.push_back({.placed = of.layout[i], .compute_instances = {}});
      for (const auto& compute : problem_.catalogue->domains[of.domains[i]].compute) {
        cut.instances.back().compute_instances.push_back({compute});
      }
    }
    return cut;
  }

  double switching(const optimize::GpuCut& from, const optimize::GpuCut& to) const {
    const optimize::SwitchCosts* costs = problem_.costs;
    if (costs == nullptr || from == to) {
      return 0;
    }
    const auto ns = [](Duration of) { return static_cast<double>(of.to_nanoseconds()); };
    double sum = from.has_value() != to.has_value() ? ns(costs->mig_toggle) : 0;
    const auto add = [&](const optimize::GpuCut& some,
                         const optimize::GpuCut& other,
                         const std::vector<Duration>& table,
                         Duration compute) {
      if (!some.has_value()) {
        return;
      }
      for (const gpu::GpuInstance& instance : some->instances) {
        const bool stays = other.has_value() && std::ranges::count(other->instances, instance) > 0;
        const double others = static_cast<double>(instance.compute_instances.size()) - 1;
        sum += stays ? 0
                     : ns(table[static_cast<std::size_t>(instance.placed.profile.value())]) +
                           others * ns(compute);
      }
    };
    add(from, to, costs->destroy, costs->compute_destroy);
    add(to, from, costs->create, costs->compute_create);
    return sum;
  }

  /// The best of all assignments of these jobs to the seats of a template.
  std::optional<double> group(std::size_t index, Jobs jobs) {
    const auto known = groups_.find({index, jobs});
    if (known != groups_.end()) {
      return known->second;
    }
    std::optional<double> best;
    const std::pair key(index, jobs);
    do {
      const std::optional<double> time = seated(index, jobs);
      if (time.has_value() && (!best.has_value() || *time < *best)) {
        best = time;
      }
    } while (std::ranges::next_permutation(jobs).found);
    groups_[key] = best;
    return best;
  }

  std::optional<double> seated(std::size_t index, const Jobs& jobs) const {
    double longest = 0;
    double solo = 0;
    double rate_sum = 0;
    std::size_t at = 0;
    for (const std::size_t domain : problem_.catalogue->templates[index].domains) {
      const gpu::MemoryDomain& of = problem_.catalogue->domains[domain];
      const Jobs here(jobs.begin() + static_cast<std::ptrdiff_t>(at),
                      jobs.begin() + static_cast<std::ptrdiff_t>(at + of.seats.size()));
      at += of.seats.size();
      if (!is_allowed(of, here)) {
        return std::nullopt;
      }
      std::vector<double> left;
      for (const std::size_t job : here) {
        left.push_back(static_cast<double>(problem_.jobs[job].solo.to_nanoseconds()));
        solo += left.back();
      }
      const std::optional<std::vector<double>> begin = rates(of, here, left);
      if (!begin.has_value()) {
        return std::nullopt;
      }
      rate_sum += std::accumulate(begin->begin(), begin->end(), 0.0);
      const std::optional<double> time = domain_time(of, here, left, *begin);
      if (!time.has_value()) {
        return std::nullopt;
      }
      longest = std::max(longest, *time);
    }
    return problem_.clock == optimize::GroupClock::kSteadyState ? solo / rate_sum : longest;
  }

  bool is_allowed(const gpu::MemoryDomain& of, const Jobs& jobs) const {
    double needed = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const plan::WindowJob& job = problem_.jobs[jobs[i]];
      if (!job.memory.has_value() && jobs.size() > 1) {
        return false;
      }
      needed += job.memory.has_value() ? static_cast<double>(job.memory->value()) : 0;
      for (std::size_t k = 0; k < i; ++k) {
        const plan::WindowJob& other = problem_.jobs[jobs[k]];
        const bool is_one_user = !job.user.empty() && job.user == other.user;
        const bool is_fine =
            job.trust == other.trust &&
            (problem_.rules.mps_users == plan::SharingRules::Users::kAnyUsers || is_one_user);
        if (of.seats[i].compute == of.seats[k].compute && !is_fine) {
          return false;
        }
      }
    }
    const auto memory = gpu::domain_memory(*problem_.catalogue->geometry, of.profile);
    return memory.has_value() && needed <= static_cast<double>(memory->value());
  }

  /// Nothing where one of them cannot run. Jobs without work left are not there.
  std::optional<std::vector<double>> rates(const gpu::MemoryDomain& of,
                                           const Jobs& jobs,
                                           const std::vector<double>& left) const {
    std::vector<predict::CoRunClient> clients;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (left[i] > 0) {
        clients.push_back({.job = jobs[i], .compute = of.seats[i].compute, .atp = of.seats[i].atp});
      }
    }
    std::vector<double> some(clients.size());
    problem_.model->rates(
        {.profile = of.profile, .compute = {of.compute.begin(), of.compute.end()}}, clients, some);
    std::vector<double> all(jobs.size(), 0);
    for (std::size_t i = 0, next = 0; i < jobs.size(); ++i) {
      if (left[i] > 0) {
        if (!(some[next] > 0)) {
          return std::nullopt;
        }
        all[i] = some[next++];
      }
    }
    return all;
  }

  std::optional<double> domain_time(const gpu::MemoryDomain& of,
                                    const Jobs& jobs,
                                    std::vector<double> left,
                                    std::vector<double> rate) const {
    std::vector<double> end(jobs.size());
    const std::vector<double> solo = left;
    if (problem_.clock != optimize::GroupClock::kSpeedUp) {
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        end[i] = left[i] / rate[i];
      }
    } else {
      double now = 0;
      while (std::ranges::any_of(left, [](double work) { return work > 0; })) {
        double step = 1e300;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
          step = left[i] > 0 ? std::min(step, left[i] / rate[i]) : step;
        }
        now += step;
        bool is_left = false;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
          if (left[i] > 0) {
            left[i] -= step * rate[i];
            // What a nanosecond of work is about does not decide anything here.
            left[i] = left[i] < 1 ? 0 : left[i];
            end[i] = now;
            is_left = is_left || left[i] > 0;
          }
        }
        if (is_left) {
          const auto next = rates(of, jobs, left);
          if (!next.has_value()) {
            return std::nullopt;
          }
          rate = *next;
        }
      }
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (solo[i] < problem_.rules.fairness * end[i]) {
        return std::nullopt;
      }
    }
    return std::ranges::max(end);
  }

  const optimize::WindowProblem& problem_;
  std::map<std::pair<std::size_t, Jobs>, std::optional<double>> groups_;
};

}  // namespace septule::test
