#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "gpu/inventory.hpp"
#include "gpu/transition.hpp"

namespace septule::gpu::test {

/// A GPU that does what a driver does with the steps of a transition, and refuses what a driver
/// would refuse (and, beyond that, every touch of a busy or foreign instance). Shares no code with
/// the planner: an owner per memory slice and per compute slice, and counts. For tests.
class ToyDevice {
 public:
  /// `hidden`: what GPU instances really hold whose compute instances were not listed.
  ToyDevice(const ObservedGpu& gpu, const std::vector<ComputePlacement>& hidden)
      : geometry_(*gpu.geometry), is_mig_enabled_(gpu.is_mig_enabled) {
    for (const ObservedInstance& seen : gpu.instances) {
      Instance instance{.placed = seen.placed, .hold = seen.hold, .inside = {}};
      if (seen.compute_instances.has_value()) {
        for (const ObservedComputeInstance& inside : *seen.compute_instances) {
          instance.inside.push_back({inside.instance.placement, inside.hold});
        }
      } else {
        for (const ComputePlacement& placement : hidden) {
          if (placement.end() <= geometry_.profile(seen.placed.profile).slices) {
            instance.inside.push_back({placement, seen.hold});
          }
        }
      }
      instances_.push_back(std::move(instance));
    }
  }

  /// Empty if done; else why not.
  std::string execute(const Step& step) {
    switch (step.kind) {
      case StepKind::kEnableMig:
        return set_mode(true);
      case StepKind::kDisableMig:
        return set_mode(false);
      case StepKind::kDestroyComputeInstance:
        return destroy_compute(step);
      case StepKind::kDestroyGpuInstance:
        return destroy(step);
      case StepKind::kCreateGpuInstance:
        return create(step);
      case StepKind::kCreateComputeInstance:
        return create_compute(step);
    }
    return "unknown step";
  }

  bool is_mig_enabled() const { return is_mig_enabled_; }

  Partition partition() const {
    Partition partition;
    for (const Instance& instance : instances_) {
      GpuInstance own{.placed = instance.placed, .compute_instances = {}};
      for (const Inside& inside : instance.inside) {
        own.compute_instances.push_back({.placement = inside.placement});
      }
      partition.instances.push_back(std::move(own));
    }
    canonicalise(partition);
    return partition;
  }

 private:
  struct Inside {
    ComputePlacement placement;
    Hold hold = Hold::kIdle;
  };
  struct Instance {
    PlacedProfile placed;
    Hold hold = Hold::kIdle;
    std::vector<Inside> inside;
  };

  std::string set_mode(bool on) {
    if (is_mig_enabled_ == on) {
      return "the mode is already so";
    }
    if (!instances_.empty()) {
      return "instances exist";
    }
    is_mig_enabled_ = on;
    return {};
  }

  Instance* find(const PlacedProfile& placed) {
    for (Instance& instance : instances_) {
      if (instance.placed == placed) {
        return &instance;
      }
    }
    return nullptr;
  }

  std::string destroy_compute(const Step& step) {
    Instance* instance = find(step.placed);
    if (instance == nullptr || instance->hold != Hold::kIdle) {
      return "no such idle GPU instance";
    }
    if (step.is_every_compute_instance) {
      instance->inside.clear();
      return {};
    }
    if (!step.compute_instance.has_value()) {
      return "no compute instance named";
    }
    for (std::size_t i = 0; i < instance->inside.size(); ++i) {
      if (instance->inside[i].placement == step.compute_instance->placement) {
        if (instance->inside[i].hold != Hold::kIdle) {
          return "the compute instance is held";
        }
        instance->inside.erase(instance->inside.begin() + static_cast<std::ptrdiff_t>(i));
        return {};
      }
    }
    return "no such compute instance";
  }

  std::string destroy(const Step& step) {
    Instance* instance = find(step.placed);
    if (instance == nullptr || instance->hold != Hold::kIdle) {
      return "no such idle GPU instance";
    }
    if (!instance->inside.empty()) {
      return "compute instances remain";
    }
    instances_.erase(instances_.begin() + (instance - instances_.data()));
    return {};
  }

  std::string create(const Step& step) {
    if (!is_mig_enabled_) {
      return "MIG is off";
    }
    const GpuInstanceProfile& profile = geometry_.profile(step.placed.profile);
    bool is_possible = false;
    for (const Placement& placement : profile.placements) {
      is_possible = is_possible || placement.start == step.placed.start;
    }
    if (!is_possible) {
      return "not a placement";
    }
    std::array<bool, 64> owned{};
    std::array<int, kEngineCount> engines{};
    int of_profile = 0;
    for (const Instance& instance : instances_) {
      const GpuInstanceProfile& other = geometry_.profile(instance.placed.profile);
      for (int i = 0; i < other.size().value(); ++i) {
        owned.at(static_cast<unsigned>(instance.placed.start.value() + i)) = true;
      }
      for (std::size_t e = 0; e < engines.size(); ++e) {
        engines[e] += other.engines[e].value_or(0);
      }
      of_profile += instance.placed.profile == step.placed.profile ? 1 : 0;
    }
    for (int i = 0; i < profile.size().value(); ++i) {
      if (owned.at(static_cast<unsigned>(step.placed.start.value() + i))) {
        return "a memory slice is taken";
      }
    }
    for (std::size_t e = 0; e < engines.size(); ++e) {
      const int own = profile.engines[e].value_or(0);
      if (own > 0 && geometry_.engine_budget()[e].has_value() &&
          engines[e] + own > *geometry_.engine_budget()[e]) {
        return "engines are used up";
      }
    }
    if (of_profile >= profile.instances_max) {
      return "no more of this profile";
    }
    instances_.push_back({.placed = step.placed, .hold = Hold::kIdle, .inside = {}});
    return {};
  }

  std::string create_compute(const Step& step) {
    Instance* instance = find(step.placed);
    if (instance == nullptr || instance->hold != Hold::kIdle) {
      return "no such idle GPU instance";
    }
    if (!step.compute_instance.has_value()) {
      return "no compute instance named";
    }
    const ComputePlacement wanted = step.compute_instance->placement;
    std::array<bool, 64> owned{};
    int of_size = 0;
    for (const Inside& inside : instance->inside) {
      for (int i = inside.placement.start.value(); i < inside.placement.end().value(); ++i) {
        owned.at(static_cast<std::size_t>(i)) = true;
      }
      of_size += inside.placement.size == wanted.size ? 1 : 0;
    }
    for (int i = wanted.start.value(); i < wanted.end().value(); ++i) {
      if (owned.at(static_cast<std::size_t>(i))) {
        return "a compute slice is taken";
      }
    }
    for (const ComputeInstanceProfile& row : geometry_.compute_profiles(step.placed.profile)) {
      if (row.slices == wanted.size && of_size < row.instances_max &&
          std::ranges::find(row.placements, wanted) != row.placements.end()) {
        instance->inside.push_back({wanted, Hold::kIdle});
        return {};
      }
    }
    return "not a compute-instance placement, or no more of its size";
  }

  const Geometry& geometry_;
  bool is_mig_enabled_;
  std::vector<Instance> instances_;
};

}  // namespace septule::gpu::test
