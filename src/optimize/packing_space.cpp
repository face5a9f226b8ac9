#include "optimize/packing_space.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "base/text.hpp"

namespace septule::optimize {
namespace {

constexpr std::size_t kHoldersNamedMax = 6;

// "busy 1g.5gb@5 (job 17) on GPU 0, ..."; empty if nothing is held.
std::string held_text(const gpu::Inventory& inventory) {
  std::vector<std::string> names;
  std::size_t count = 0;
  for (const gpu::ObservedGpu& gpu : inventory.gpus) {
    for (const gpu::ObservedInstance& instance : gpu.instances) {
      if (instance.effective_hold() == gpu::Hold::kIdle) {
        continue;
      }
      ++count;
      if (names.size() < kHoldersNamedMax) {
        names.push_back(
            fmt::format("{} on GPU {}", gpu::observed_text(gpu, instance), gpu.index.value()));
      }
    }
  }
  if (count > names.size()) {
    names.push_back(fmt::format("{} more", count - names.size()));
  }
  return names.empty() ? "" : fmt::format("; held are {}", joined_with_and(names));
}

std::string unusable_text(const gpu::Inventory& inventory) {
  std::vector<std::string> reasons;
  for (const gpu::ObservedGpu& gpu : inventory.gpus) {
    if (is_usable(gpu)) {
      continue;
    }
    std::string reason = "holds instances that its catalogue entry does not allow together";
    if (!gpu.is_mig_enabled) {
      reason = "has MIG off";
    } else if (!gpu.geometry->has_profile_table()) {
      reason = "has no published profile table";
    }
    reasons.push_back(fmt::format("GPU {} {}", gpu.index.value(), reason));
  }
  return reasons.empty() ? "" : fmt::format("; {}", joined_with_and(reasons));
}

// The first kind of which more is asked for than fits even if nothing else is placed.
std::string limiting_kind(const PackingSearchSpace& space) {
  for (std::size_t kind = 0; kind < space.kinds.size(); ++kind) {
    int capacity = 0;
    for (const GpuClass& group : space.classes) {
      int most = 0;
      for (const GpuOption& option : group.options) {
        most = std::max(most, option.takes[kind]);
      }
      capacity += most * static_cast<int>(group.gpus.size());
    }
    const RequestedInstances& request = space.kinds[kind].request;
    if (request.count > capacity) {
      if (capacity == 0) {
        return fmt::format("{} fits on no GPU", request.name());
      }
      return fmt::format("{} x {} are asked for, at most {} {}",
                         request.count,
                         request.name(),
                         capacity,
                         capacity == 1 ? "fits" : "fit");
    }
  }
  return "";
}

// Only where one model makes slices comparable. Idle instances count as free if they may go.
std::string limiting_slices(const gpu::Inventory& inventory,
                            const PackingSearchSpace& space,
                            IdleRule idle_rule) {
  const gpu::Geometry* geometry = inventory.gpus.front().geometry;
  int memory_free = 0;
  int compute_free = 0;
  for (const gpu::ObservedGpu& gpu : inventory.gpus) {
    if (gpu.geometry != geometry) {
      return "";
    }
    if (!is_usable(gpu)) {
      continue;
    }
    memory_free += geometry->memory_slices().value();
    compute_free += geometry->compute_slices().value();
    for (const gpu::ObservedInstance& instance : gpu.instances) {
      if (instance.effective_hold() != gpu::Hold::kIdle || idle_rule == IdleRule::kKeep) {
        memory_free -= geometry->profile(instance.placed.profile).size().value();
        compute_free -= geometry->profile(instance.placed.profile).slices.value();
      }
    }
  }
  int memory = 0;
  int compute = 0;
  for (const RequestKind& kind : space.kinds) {
    if (const gpu::InstanceRequest* reading = kind.request.on(*geometry)) {
      memory += geometry->profile(reading->profile).size().value() * kind.request.count;
      compute += geometry->profile(reading->profile).slices.value() * kind.request.count;
    }
  }
  const char* const free = idle_rule == IdleRule::kKeep ? "free" : "not held";
  if (compute > compute_free) {
    return fmt::format("{} compute slices are needed, {} are {}", compute, compute_free, free);
  }
  if (memory > memory_free) {
    return fmt::format("{} memory slices are needed, {} are {}", memory, memory_free, free);
  }
  return "";
}

}  // namespace

bool is_open(const gpu::ObservedGpu& gpu) {
  return std::any_of(
      gpu.instances.begin(), gpu.instances.end(), [](const gpu::ObservedInstance& instance) {
        return instance.effective_hold() != gpu::Hold::kIdle;
      });
}

PackingSearchSpace search_space_of(const gpu::Inventory& inventory,
                                   const RequestList& request,
                                   IdleRule idle_rule) {
  PackingSearchSpace space;
  space.kinds = kinds_of(request);
  space.demand = request.instance_count();
  std::map<std::string, std::size_t> class_of_state;
  for (std::size_t i = 0; i < inventory.gpus.size(); ++i) {
    const gpu::ObservedGpu& gpu = inventory.gpus[i];
    const auto [entry, is_new] =
        class_of_state.try_emplace(state_signature(gpu), space.classes.size());
    if (is_new) {
      space.classes.push_back({{}, options_of(gpu, space.kinds, idle_rule), is_open(gpu)});
    }
    space.classes[entry->second].gpus.push_back(i);
    space.usable_gpus += is_usable(gpu) ? 1 : 0;
  }
  return space;
}

std::string packing_limit(const gpu::Inventory& inventory,
                          const PackingSearchSpace& space,
                          const PackingProblem& problem) {
  std::string reason = limiting_kind(space);
  if (reason.empty() && problem.policy == PackingPolicy::kDistinctGpu &&
      space.demand > space.usable_gpus) {
    reason = fmt::format(
        "{} instances on GPUs of their own, {} GPUs can be used", space.demand, space.usable_gpus);
  }
  if (reason.empty() && problem.policy == PackingPolicy::kSameGpu) {
    reason = fmt::format("no GPU can hold all {} instances", space.demand);
  }
  if (reason.empty()) {
    reason = limiting_slices(inventory, space, problem.idle_rule);
  }
  if (reason.empty()) {
    reason = geometries_of(inventory).size() == 1
                 ? "each kind alone and the slices in total would suffice, but no arrangement of "
                   "placements holds all of them"
                 : "each kind alone would fit, but no arrangement holds all of them together";
  }
  return fmt::format("{}{}", reason, unusable_text(inventory));
}

Error packing_failure(const gpu::Inventory& inventory,
                      const PackingSearchSpace& space,
                      const PackingProblem& problem) {
  const std::string policy =
      problem.policy == PackingPolicy::kPack
          ? ""
          : fmt::format(" with policy {}", packing_policy_name(problem.policy));
  return Error{ErrorCode::kBlocked,
               fmt::format("cannot be placed{}: {}{}",
                           policy,
                           packing_limit(inventory, space, problem),
                           held_text(inventory))};
}

}  // namespace septule::optimize
