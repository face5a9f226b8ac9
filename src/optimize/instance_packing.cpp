#include "optimize/instance_packing.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "optimize/packing_space.hpp"
#include "optimize/pattern_selection.hpp"

namespace septule::optimize {
namespace {

bool is_allowed(const GpuOption& option, PackingPolicy policy, int demand) {
  switch (policy) {
    case PackingPolicy::kSameGpu:
      return option.load() == 0 || option.load() == demand;
    case PackingPolicy::kDistinctGpu:
      return option.load() <= 1;
    case PackingPolicy::kPack:
    case PackingPolicy::kSpread:
      break;
  }
  return true;
}

int largest(const std::vector<int>& room) {
  return room.empty() ? 0 : room.front();
}

std::vector<std::int64_t> keys_of(const GpuOption& option,
                                  const GpuClass& group,
                                  PackingPolicy policy) {
  const std::int64_t load = option.load();
  std::int64_t by_policy = load > 0 && !group.is_open ? 1 : 0;
  if (policy == PackingPolicy::kSpread) {
    by_policy = load * load;
  }
  const int lost = largest(group.options.front().room) - largest(option.room);
  return {static_cast<std::int64_t>(option.destroyed.size()), by_policy, option.created, lost};
}

// The pattern problem and, per class and pattern, the option it stands for.
struct Model {
  PatternProblem problem;
  std::vector<std::vector<const GpuOption*>> options;
};

Model model_of(const PackingSearchSpace& space, PackingPolicy policy, std::optional<int> load_max) {
  Model model;
  model.problem.keys_proven = 3;
  model.problem.key_count = 4;
  for (const RequestKind& kind : space.kinds) {
    model.problem.demand.push_back(kind.request.count);
  }
  for (const GpuClass& group : space.classes) {
    PatternClass patterns;
    patterns.gpu_count = static_cast<int>(group.gpus.size());
    std::vector<const GpuOption*>& options = model.options.emplace_back();
    for (const GpuOption& option : group.options) {
      if (!is_allowed(option, policy, space.demand) || (load_max && option.load() > *load_max)) {
        continue;
      }
      patterns.patterns.push_back({option.takes, keys_of(option, group, policy)});
      options.push_back(&option);
    }
    model.problem.classes.push_back(std::move(patterns));
  }
  return model;
}

struct Solved {
  Model model;
  PatternOutcome outcome;
  std::optional<PackingKey> load_max;
};

// Spread: the largest load is raised from its bound until as few idle instances are destroyed as
// without a limit.
Solved solve_spread(const PackingSearchSpace& space, WorkBudget& budget) {
  Model free = model_of(space, PackingPolicy::kSpread, std::nullopt);
  free.problem.key_count = 1;
  free.problem.keys_proven = 1;
  for (PatternClass& group : free.problem.classes) {
    for (Pattern& pattern : group.patterns) {
      pattern.keys.resize(1);
    }
  }
  PatternOutcome unlimited = select_patterns(free.problem, budget);
  if (!unlimited.counts) {
    return {std::move(free), std::move(unlimited), std::nullopt};
  }
  const int gpus = std::max(1, space.usable_gpus);
  const int bound = (space.demand + gpus - 1) / gpus;
  int refuted_up_to = bound - 1;
  bool is_every_refusal_proven = true;
  for (int load = bound;; ++load) {
    Model model = model_of(space, PackingPolicy::kSpread, load);
    PatternOutcome outcome = select_patterns(model.problem, budget);
    const bool is_enough = outcome.counts && outcome.values.front() <= unlimited.values.front();
    if (is_enough || load >= space.demand) {
      outcome.is_proven =
          outcome.is_proven && unlimited.is_proven && is_every_refusal_proven && is_enough;
      PackingKey key{"largest load", load, refuted_up_to + 1};
      return {std::move(model), std::move(outcome), std::move(key)};
    }
    is_every_refusal_proven = is_every_refusal_proven && outcome.is_proven;
    refuted_up_to = is_every_refusal_proven ? load : refuted_up_to;
  }
}

Solved solve(const PackingSearchSpace& space, PackingPolicy policy, WorkBudget& budget) {
  if (policy == PackingPolicy::kSpread) {
    return solve_spread(space, budget);
  }
  Model model = model_of(space, policy, std::nullopt);
  PatternOutcome outcome = select_patterns(model.problem, budget);
  return {std::move(model), std::move(outcome), std::nullopt};
}

PackingCertificate certificate_of(const Solved& solved, PackingPolicy policy) {
  PackingCertificate certificate;
  const PatternOutcome& outcome = solved.outcome;
  certificate.is_optimal = outcome.is_proven;
  const auto add = [&](std::string name, std::size_t key) {
    certificate.keys.push_back({std::move(name), outcome.values[key], outcome.lower_bounds[key]});
  };
  add("idle instances destroyed", 0);
  if (policy == PackingPolicy::kSpread) {
    SEPTULE_CHECK(solved.load_max.has_value(), "a spread answer knows its largest load");
    certificate.keys.push_back(*solved.load_max);
    add("sum of squared loads", 1);
  } else {
    add("GPUs opened", 1);
  }
  add("instances created", 2);
  return certificate;
}

// Turns counts per class into places: fuller options go to GPUs with a lower index.
class AnswerWriter {
 public:
  AnswerWriter(const gpu::Inventory& inventory, const PackingSearchSpace& space)
      : inventory_(inventory), space_(space), next_member_(space.kinds.size(), 0) {}

  InstancePacking write(const Model& model, const PatternCounts& counts) {
    std::map<std::size_t, const GpuOption*> option_of_gpu;
    for (std::size_t group = 0; group < space_.classes.size(); ++group) {
      assign_class(model.options[group], counts[group], group, option_of_gpu);
    }
    for (const auto& [gpu, option] : option_of_gpu) {
      write_gpu(gpu, *option);
    }
    std::sort(answer_.packed.begin(),
              answer_.packed.end(),
              [](const PackedInstance& a, const PackedInstance& b) {
                return std::pair(a.item, a.copy) < std::pair(b.item, b.copy);
              });
    return std::move(answer_);
  }

 private:
  void assign_class(const std::vector<const GpuOption*>& options,
                    const std::vector<int>& counts,
                    std::size_t group,
                    std::map<std::size_t, const GpuOption*>& option_of_gpu) const {
    std::vector<std::size_t> order(counts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto load = [&](std::size_t i) { return options[i]->load(); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return load(a) > load(b);
    });
    std::size_t gpu = 0;
    for (const std::size_t i : order) {
      for (int copy = 0; copy < counts[i]; ++copy) {
        option_of_gpu[space_.classes[group].gpus[gpu]] = options[i];
        ++gpu;
      }
    }
  }

  void write_gpu(std::size_t index, const GpuOption& option) {
    if (option.served.empty() && option.destroyed.empty()) {
      return;
    }
    const gpu::ObservedGpu& gpu = inventory_.gpus[index];
    gpu::DesiredGpu desired{gpu.index, true, {}};
    const gpu::Partition before = gpu.partition();
    for (std::size_t i = 0; i < gpu.instances.size(); ++i) {
      const gpu::PlacedProfile& placed = gpu.instances[i].placed;
      if (std::find(option.destroyed.begin(), option.destroyed.end(), i) !=
          option.destroyed.end()) {
        answer_.destroyed.push_back({gpu.index, placed, gpu::placed_text(*gpu.geometry, placed)});
        continue;
      }
      const bool is_served = std::any_of(
          option.served.begin(), option.served.end(), [&placed](const ServedRequest& served) {
            return served.placed == placed;
          });
      if (!is_served) {
        keep_instance(before, placed, desired.partition);
      }
    }
    for (const ServedRequest& served : option.served) {
      write_served(gpu, served, desired.partition);
    }
    gpu::canonicalise(desired.partition);
    answer_.desired.push_back(std::move(desired));
    answer_.gpus_used += option.served.empty() ? 0 : 1;
    answer_.gpus_opened += option.served.empty() || is_open(gpu) ? 0 : 1;
    answer_.created += option.created;
    answer_.load_max = std::max(answer_.load_max, option.load());
  }

  static void keep_instance(const gpu::Partition& before,
                            const gpu::PlacedProfile& placed,
                            gpu::Partition& desired) {
    const auto kept = std::find_if(
        before.instances.begin(), before.instances.end(), [&placed](const gpu::GpuInstance& seen) {
          return seen.placed == placed;
        });
    SEPTULE_CHECK(kept != before.instances.end(), "a GPU's partition holds its instances");
    desired.instances.push_back(*kept);
  }

  void write_served(const gpu::ObservedGpu& gpu,
                    const ServedRequest& served,
                    gpu::Partition& desired) {
    const RequestKind& kind = space_.kinds[served.kind];
    const auto [item, copy] = kind.members[next_member_[served.kind]++];
    const gpu::InstanceRequest* reading = kind.request.on(*gpu.geometry);
    SEPTULE_CHECK(reading != nullptr, "a request is served only where its profile exists");
    std::optional<gpu::GpuInstance> instance =
        cut_instance(*gpu.geometry, *reading, served.placed.start);
    SEPTULE_CHECK(instance.has_value(), "options exist only for compute instances that fit");
    if (served.is_reused && !served.is_recut && reading->compute_instances) {
      const gpu::Partition before = gpu.partition();
      for (const gpu::GpuInstance& seen : before.instances) {
        if (seen.placed == served.placed) {
          instance = seen;
        }
      }
    }
    desired.instances.push_back(*instance);
    answer_.packed.push_back(
        {item, copy, gpu.index, *std::move(instance), served.is_reused, served.is_recut});
  }

  const gpu::Inventory& inventory_;
  const PackingSearchSpace& space_;
  std::vector<std::size_t> next_member_;
  InstancePacking answer_;
};

}  // namespace

std::string_view packing_policy_name(PackingPolicy policy) {
  switch (policy) {
    case PackingPolicy::kPack:
      return "pack";
    case PackingPolicy::kSpread:
      return "spread";
    case PackingPolicy::kSameGpu:
      return "same-gpu";
    case PackingPolicy::kDistinctGpu:
      return "distinct-gpu";
  }
  return "unknown";
}

std::optional<PackingPolicy> parse_packing_policy(std::string_view text) {
  for (const PackingPolicy policy : {PackingPolicy::kPack,
                                     PackingPolicy::kSpread,
                                     PackingPolicy::kSameGpu,
                                     PackingPolicy::kDistinctGpu}) {
    if (text == packing_policy_name(policy)) {
      return policy;
    }
  }
  return std::nullopt;
}

Result<InstancePacking> pack_instances(const gpu::Inventory& inventory,
                                       const PackingProblem& problem,
                                       WorkBudget& budget) {
  if (inventory.gpus.empty()) {
    return Error{ErrorCode::kInvalidInput, "there is no GPU to place instances on"};
  }
  const std::int64_t units_before = budget.units_spent();
  const PackingSearchSpace space = search_space_of(inventory, problem.request, problem.idle_rule);
  const Solved solved = solve(space, problem.policy, budget);
  if (!solved.outcome.counts) {
    if (!solved.outcome.is_proven) {
      return Error{ErrorCode::kTimedOut,
                   fmt::format("no way to place {} instances on {} GPUs was found within {} work "
                               "units, and none could be ruled out",
                               space.demand,
                               inventory.gpus.size(),
                               budget.units_spent() - units_before)};
    }
    return packing_failure(inventory, space, problem);
  }
  InstancePacking answer =
      AnswerWriter(inventory, space).write(solved.model, *solved.outcome.counts);
  answer.certificate = certificate_of(solved, problem.policy);
  answer.certificate.work_units = budget.units_spent() - units_before;
  return answer;
}

}  // namespace septule::optimize
