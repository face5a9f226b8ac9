#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "gpu/layout.hpp"
#include "optimize/moldable.hpp"
#include "optimize/moldable_generator.hpp"
#include "optimize/moldable_gpu.hpp"

namespace septule::test {

/// A GPU model for tests of moldable tasks; owns its catalogue.
class MoldableBench {
 public:
  enum class Costs { kPublished, kFree };

  explicit MoldableBench(std::string_view key, Costs costs = Costs::kPublished)
      : catalogue_(gpu::load_builtin_catalogue()),
        gpu_(made(geometry_of(catalogue_, key), costs)) {}

  const optimize::MoldableGpu& gpu() const { return gpu_; }

  /// Tasks of one row of milliseconds each, by size; 0 = does not fit.
  optimize::MoldableProblem problem(const std::vector<std::vector<std::int64_t>>& rows) const {
    optimize::MoldableProblem problem{&gpu_, {}};
    for (const std::vector<std::int64_t>& row : rows) {
      optimize::MoldableTask task;
      for (const std::int64_t ms : row) {
        task.times.push_back(ms == 0 ? std::nullopt
                                     : std::optional<Duration>(Duration::milliseconds(ms)));
      }
      problem.tasks.push_back(std::move(task));
    }
    return problem;
  }

  /// Anything may come: times that grow with size, tasks that fit few sizes, equal times.
  optimize::MoldableProblem random_problem(std::uint64_t seed, std::size_t tasks_max) const {
    Rng rng(seed);
    std::vector<std::vector<std::int64_t>> rows(1 + rng.below(tasks_max));
    const std::uint64_t longest = rng.chance(1, 2) ? 5 : 20000;
    for (std::vector<std::int64_t>& row : rows) {
      for (std::size_t size = 0; size < gpu_.sizes().size(); ++size) {
        const bool is_last = size + 1 == gpu_.sizes().size();
        const bool fits = rng.chance(5, 6) || is_last;
        row.push_back(fits ? static_cast<std::int64_t>(1 + rng.below(longest)) : 0);
      }
    }
    return problem(rows);
  }

  optimize::MoldableProblem drawn(optimize::MoldableMix mix,
                                  std::size_t tasks,
                                  std::uint64_t seed) const {
    Rng rng = Rng(seed).stream("moldable");
    return optimize::draw_moldable_tasks(
        gpu_, {tasks, mix, Duration::milliseconds(1000), Duration::milliseconds(100000)}, rng);
  }

  /// "3@4" or "7": the node of so many compute slices at a start; the text must name one.
  std::size_t node(int slices, int start) const {
    for (std::size_t node = 0; node < gpu_.nodes().size(); ++node) {
      if (gpu_.size_of(node).slices == ComputeSlices(slices) &&
          gpu_.node(node).placed.start == MemorySlices(start)) {
        return node;
      }
    }
    SEPTULE_CHECK(false, "the test names a node that exists");
    return 0;
  }

 private:
  static const gpu::Geometry& geometry_of(const gpu::Catalogue& catalogue, std::string_view key) {
    const auto found = catalogue.find(key);
    SEPTULE_CHECK(found.has_value(), "the GPU of the test exists");
    return **found;
  }
  static optimize::MoldableGpu made(const gpu::Geometry& geometry, Costs costs) {
    optimize::SwitchCosts switching;
    const gpu::LatencyTable latencies = gpu::load_builtin_latencies();
    for (const gpu::GpuInstanceProfile& profile : geometry.profiles()) {
      if (costs == Costs::kFree) {
        break;
      }
      switching.create.push_back(
          latencies.gpu_instance_create(geometry.key(), profile.slices).duration +
          latencies.compute_instance_create(geometry.key()).duration);
      switching.destroy.push_back(
          latencies.gpu_instance_destroy(geometry.key(), profile.slices).duration +
          latencies.compute_instance_destroy(geometry.key()).duration);
    }
    auto gpu = optimize::MoldableGpu::make(geometry, switching);
    SEPTULE_CHECK(gpu.has_value(), "the GPU of the test has a tree");
    return *std::move(gpu);
  }

  gpu::Catalogue catalogue_;
  optimize::MoldableGpu gpu_;
};

/// What is wrong with a schedule, from the problem and the geometry alone: one text each.
class MoldableJudge {
 public:
  MoldableJudge(const optimize::MoldableProblem& problem,
                const optimize::MoldableSchedule& schedule)
      : problem_(problem), gpu_(*problem.gpu), schedule_(schedule) {}

  std::vector<std::string> faults() {
    judge_runs();
    judge_lifetimes();
    judge_recuts();
    judge_layouts();
    return std::move(faults_);
  }

 private:
  template <class... Args>
  void expect(bool holds, fmt::format_string<Args...> text, Args&&... args) {
    if (!holds) {
      faults_.push_back(fmt::format(text, std::forward<Args>(args)...));
    }
  }

  void judge_runs() {
    expect(schedule_.runs.size() == problem_.tasks.size(), "not every task runs");
    SimTime last;
    std::map<std::size_t, std::vector<std::pair<SimTime, SimTime>>> by_instance;
    for (std::size_t task = 0; task < schedule_.runs.size(); ++task) {
      const optimize::MoldableRun& run = schedule_.runs[task];
      const optimize::MoldableInstance& instance = schedule_.instances.at(run.instance);
      const auto time = problem_.tasks[task].times.at(gpu_.node(instance.node).size);
      expect(time.has_value() && run.end - run.begin == *time, "task {} has another time", task);
      expect(run.begin >= instance.usable_from && run.end <= instance.usable_until,
             "task {} runs outside its instance's life",
             task);
      by_instance[run.instance].emplace_back(run.begin, run.end);
      last = std::max(last, run.end);
    }
    expect(last - SimTime() == schedule_.makespan, "the makespan is not the last end");
    for (auto& [instance, runs] : by_instance) {
      std::sort(runs.begin(), runs.end());
      for (std::size_t at = 1; at < runs.size(); ++at) {
        expect(runs[at - 1].second <= runs[at].first, "runs overlap in instance {}", instance);
      }
    }
    expect(by_instance.size() == schedule_.instances.size(), "an instance has no run");
  }

  bool is_destroyed(const optimize::MoldableInstance& instance) const {
    return instance.gone_at != instance.usable_until;
  }

  void judge_lifetimes() {
    for (std::size_t at = 0; at < schedule_.instances.size(); ++at) {
      const optimize::MoldableInstance& instance = schedule_.instances[at];
      expect(instance.create_begin >= SimTime(), "instance {} is created before the begin", at);
      expect(instance.usable_from - instance.create_begin == gpu_.size_of(instance.node).create,
             "instance {} is created in another time",
             at);
      if (is_destroyed(instance)) {
        expect(instance.gone_at - instance.usable_until == gpu_.size_of(instance.node).destroy,
               "instance {} is destroyed in another time",
               at);
      }
    }
  }

  void judge_recuts() {
    std::vector<std::pair<SimTime, SimTime>> recuts;
    Duration sum;
    const auto add = [&](SimTime begin, SimTime end) {
      sum += end - begin;
      if (begin != end) {
        recuts.emplace_back(begin, end);
      }
    };
    for (const optimize::MoldableInstance& instance : schedule_.instances) {
      add(instance.create_begin, instance.usable_from);
      add(instance.usable_until, instance.gone_at);
    }
    std::sort(recuts.begin(), recuts.end());
    for (std::size_t at = 1; at < recuts.size(); ++at) {
      expect(recuts[at - 1].second <= recuts[at].first, "two re-cuts at one time");
    }
    expect(sum == schedule_.recutting, "the re-cut time is not the sum");
  }

  /// At each begin of a creation, what stands must be a legal layout.
  void judge_layouts() {
    for (const optimize::MoldableInstance& begun : schedule_.instances) {
      gpu::LayoutBuilder builder(gpu_.geometry());
      for (const optimize::MoldableInstance& other : schedule_.instances) {
        const bool stands = other.create_begin <= begun.create_begin &&
                            (begun.create_begin < other.gone_at ||
                             (!is_destroyed(other) && other.create_begin != other.gone_at));
        if (!stands) {
          continue;
        }
        const gpu::PlacedProfile placed = gpu_.node(other.node).placed;
        if (!builder.can_add(placed)) {
          expect(false, "instances overlap at {} ns", begun.create_begin.to_nanoseconds());
          return;
        }
        builder.add(placed);
      }
    }
  }

  const optimize::MoldableProblem& problem_;
  const optimize::MoldableGpu& gpu_;
  const optimize::MoldableSchedule& schedule_;
  std::vector<std::string> faults_;
};

inline std::vector<std::string> moldable_faults(const optimize::MoldableProblem& problem,
                                                const optimize::MoldableSchedule& schedule) {
  return MoldableJudge(problem, schedule).faults();
}

}  // namespace septule::test
