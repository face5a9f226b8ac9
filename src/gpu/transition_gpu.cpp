#include "gpu/transition_gpu.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "gpu/partition_checker.hpp"
#include "gpu/transition_steps.hpp"

namespace septule::gpu {

namespace {

/// Plans one GPU. One use.
class GpuPlanner {
 public:
  GpuPlanner(const ObservedGpu& gpu, const DesiredGpu& goal, const LatencyTable& latencies)
      : gpu_(gpu), geometry_(*gpu.geometry), goal_(goal), steps_(gpu, latencies) {
    result_.gpu = gpu.index;
    result_.geometry = gpu.geometry;
  }

  GpuTransition plan() {
    if (goal_.is_mig_enabled) {
      plan_layout();
    } else {
      plan_mig_off();
    }
    finish();
    return std::move(result_);
  }

 private:
  using Observed = std::vector<const ObservedInstance*>;

  void plan_mig_off() {
    std::vector<std::string> blockers;
    for (const ObservedInstance& instance : gpu_.instances) {
      if (instance.effective_hold() != Hold::kIdle) {
        blockers.push_back(observed_text(gpu_, instance));
      }
    }
    if (!blockers.empty()) {
      result_.undone.push_back(
          {.wanted = "MIG off",
           .blockers = std::move(blockers),
           .reason = "MIG can only be switched off when no instance is busy or foreign"});
      for (const ObservedInstance& instance : gpu_.instances) {
        keep(instance);
        result_.kept_unwanted.push_back(observed_text(gpu_, instance));
      }
      return;
    }
    for (const ObservedInstance& instance : gpu_.instances) {
      steps_.destroy(instance);
    }
    result_.is_mig_enabled_after = false;
    if (gpu_.is_mig_enabled) {
      steps_.disable_mig();
    }
  }

  void plan_layout() {
    if (!gpu_.is_mig_enabled) {
      steps_.enable_mig();
    }
    LayoutBuilder room(geometry_);
    for (const ObservedInstance& instance : gpu_.instances) {
      const GpuInstance* wanted = wanted_at(instance.placed);
      if (wanted != nullptr) {
        recut(instance, *wanted);
      } else if (instance.effective_hold() != Hold::kIdle) {
        held_unwanted_.push_back(&instance);
        keep(instance);
        result_.kept_unwanted.push_back(observed_text(gpu_, instance));
      } else {
        idle_unwanted_.push_back(&instance);
        continue;
      }
      room.add(instance.placed);
    }
    create_missing(room);
    decide_idle(room);
  }

  const GpuInstance* wanted_at(const PlacedProfile& placed) const {
    const auto& wanted = goal_.partition.instances;
    const auto found = std::ranges::find(wanted, placed, &GpuInstance::placed);
    return found == wanted.end() ? nullptr : &*found;
  }

  void create_missing(LayoutBuilder& room) {
    std::vector<const GpuInstance*> missing;
    for (const GpuInstance& wanted : goal_.partition.instances) {
      if (std::ranges::find(gpu_.instances, wanted.placed, &ObservedInstance::placed) ==
          gpu_.instances.end()) {
        missing.push_back(&wanted);
      }
    }
    const auto largest_first = [&](const GpuInstance* instance) {
      const GpuInstanceProfile& profile = geometry_.profile(instance->placed.profile);
      return std::tuple(
          -profile.size().value(), -profile.slices.value(), instance->placed.start, profile.smi_id);
    };
    std::ranges::sort(missing, {}, largest_first);
    for (const GpuInstance* wanted : missing) {
      if (!room.can_add(wanted->placed)) {
        blocked_.push_back(wanted);
        result_.undone.push_back(undone(*wanted));
        continue;
      }
      room.add(wanted->placed);
      steps_.create(wanted->placed);
      for (const ComputeInstance& inside : wanted->compute_instances) {
        steps_.create_compute(wanted->placed, std::nullopt, inside);
      }
      result_.reached.instances.push_back(*wanted);
    }
  }

  /// An idle instance that the goal lacks stays only if something undone is all it makes room for,
  /// and if it leaves room for everything else.
  void decide_idle(LayoutBuilder& room) {
    for (const ObservedInstance* idle : idle_unwanted_) {
      const bool is_for_blocked = std::ranges::any_of(blocked_, [&](const GpuInstance* wanted) {
        return makes_room(idle->placed, wanted->placed);
      });
      if (is_for_blocked && room.can_add(idle->placed)) {
        room.add(idle->placed);
        keep(*idle);
        result_.kept_unwanted.push_back(observed_text(gpu_, *idle));
      } else {
        steps_.destroy(*idle);
      }
    }
  }

  bool overlaps(const PlacedProfile& a, const PlacedProfile& b) const {
    return placement_of(geometry_, a).overlaps(placement_of(geometry_, b));
  }

  int engines_of(const PlacedProfile& placed, std::size_t engine) const {
    return geometry_.profile(placed.profile).engines[engine].value_or(0);
  }

  /// Everything wanted, and all that stays in spite of it.
  Layout wanted_and_held() const {
    Layout layout = layout_of(goal_.partition);
    for (const ObservedInstance* held : held_unwanted_) {
      layout.push_back(held->placed);
    }
    return layout;
  }

  /// Whether `idle` could be in the way of `wanted`: same memory slices, or a share of a maximum or
  /// an engine budget that does not suffice for both.
  bool makes_room(const PlacedProfile& idle, const PlacedProfile& wanted) const {
    if (overlaps(idle, wanted)) {
      return true;
    }
    const Layout others = wanted_and_held();
    if (idle.profile == wanted.profile &&
        std::ranges::count(others, idle.profile, &PlacedProfile::profile) >=
            geometry_.profile(idle.profile).instances_max) {
      return true;
    }
    for (std::size_t engine = 0; engine < kEngineCount; ++engine) {
      const auto budget = geometry_.engine_budget()[engine];
      int needed = engines_of(idle, engine);
      if (!budget.has_value() || needed == 0 || engines_of(wanted, engine) == 0) {
        continue;
      }
      for (const PlacedProfile& other : others) {
        needed += engines_of(other, engine);
      }
      if (needed > *budget) {
        return true;
      }
    }
    return false;
  }

  /// Says which held instances are in the way of `wanted`, and how.
  UndoneGoal undone(const GpuInstance& wanted) const {
    const GpuInstanceProfile& profile = geometry_.profile(wanted.placed.profile);
    UndoneGoal goal{.wanted = placed_text(geometry_, wanted.placed), .blockers = {}, .reason = {}};
    const auto blame = [&](const auto& is_blocker, std::string reason) {
      for (const ObservedInstance* held : held_unwanted_) {
        if (is_blocker(held->placed)) {
          goal.blockers.push_back(observed_text(gpu_, *held));
        }
      }
      goal.reason = std::move(reason);
      return !goal.blockers.empty();
    };
    const Placement place = placement_of(geometry_, wanted.placed);
    if (blame([&](const PlacedProfile& held) { return overlaps(held, wanted.placed); },
              place.size == MemorySlices(1)
                  ? fmt::format("its memory slice {} is taken", place.start.value())
                  : fmt::format("some of its memory slices {}-{} are taken",
                                place.start.value(),
                                place.end().value() - 1))) {
      return goal;
    }
    const Layout reached = layout_of(result_.reached);
    if (std::ranges::count(reached, wanted.placed.profile, &PlacedProfile::profile) >=
            profile.instances_max &&
        blame([&](const PlacedProfile& held) { return held.profile == wanted.placed.profile; },
              fmt::format("{} allows at most {} of {}",
                          geometry_.key(),
                          profile.instances_max,
                          profile.name))) {
      return goal;
    }
    for (std::size_t engine = 0; engine < kEngineCount; ++engine) {
      int used = engines_of(wanted.placed, engine);
      for (const PlacedProfile& other : reached) {
        used += engines_of(other, engine);
      }
      const auto budget = geometry_.engine_budget()[engine];
      if (engines_of(wanted.placed, engine) > 0 && budget.has_value() && used > *budget &&
          blame([&](const PlacedProfile& held) { return engines_of(held, engine) > 0; },
                fmt::format("{} engines: {} needed, {} there",
                            engine_name(static_cast<Engine>(engine)),
                            used,
                            *budget))) {
        return goal;
      }
    }
    blame([](const PlacedProfile&) { return true; },
          fmt::format("{} holds no more instances beside these", geometry_.key()));
    return goal;
  }

  GpuInstance as_observed(const ObservedInstance& instance) const {
    GpuInstance own{.placed = instance.placed, .compute_instances = {}};
    if (!instance.compute_instances.has_value()) {
      own.compute_instances.push_back(full_compute_instance(geometry_, instance.placed.profile));
      return own;
    }
    for (const ObservedComputeInstance& inside : *instance.compute_instances) {
      own.compute_instances.push_back(inside.instance);
    }
    return own;
  }

  void keep(const ObservedInstance& instance) {
    result_.kept.push_back(instance.placed);
    result_.reached.instances.push_back(as_observed(instance));
  }

  std::string compute_text(const PlacedProfile& placed, const ComputeInstance& instance) const {
    return fmt::format("{}@{}/{}",
                       compute_instance_name(geometry_, placed.profile, instance),
                       placed.start.value(),
                       instance.placement.start.value());
  }
  std::string observed_compute_text(const PlacedProfile& placed,
                                    const ObservedComputeInstance& inside) const {
    // One rule for how holders are written: that of a GPU instance which holds nothing else.
    ObservedInstance alone;
    alone.placed = placed;
    alone.hold = inside.hold;
    alone.holder = inside.holder;
    const std::string place = placed_text(geometry_, placed);
    return compute_text(placed, inside.instance) + observed_text(gpu_, alone).substr(place.size());
  }

  /// A GPU instance that stays: changes its compute instances to those wanted as far as they are
  /// idle.
  void recut(const ObservedInstance& instance, const GpuInstance& wanted) {
    const bool is_known = instance.compute_instances.has_value();
    GpuInstance after = as_observed(instance);
    std::ranges::sort(after.compute_instances);
    GpuInstance goal = wanted;
    std::ranges::sort(goal.compute_instances);
    if (after == goal) {
      // Nothing to do.
    } else if (instance.hold != Hold::kIdle) {
      leave_uncut(instance, goal);
    } else if (is_known) {
      after = recut_idle(instance, goal);
    } else {
      steps_.destroy_every_compute(instance);
      for (const ComputeInstance& inside : goal.compute_instances) {
        steps_.create_compute(goal.placed, instance.id, inside);
      }
      after = goal;
    }
    result_.kept.push_back(instance.placed);
    result_.reached.instances.push_back(std::move(after));
  }

  /// The GPU instance itself is busy or foreign: says what of the goal is missing or too much.
  void leave_uncut(const ObservedInstance& instance, const GpuInstance& goal) {
    const std::string reason =
        fmt::format("the GPU instance is {}, so it is not re-cut", hold_name(instance.hold));
    if (!instance.compute_instances.has_value()) {
      result_.undone.push_back({.wanted = instance_text(geometry_, goal),
                                .blockers = {observed_text(gpu_, instance)},
                                .reason = reason});
      return;
    }
    const auto& inside = *instance.compute_instances;
    for (const ComputeInstance& wanted : goal.compute_instances) {
      if (std::ranges::find(inside, wanted, &ObservedComputeInstance::instance) == inside.end()) {
        result_.undone.push_back({.wanted = compute_text(goal.placed, wanted),
                                  .blockers = {observed_text(gpu_, instance)},
                                  .reason = reason});
      }
    }
    for (const ObservedComputeInstance& there : inside) {
      if (std::ranges::find(goal.compute_instances, there.instance) ==
          goal.compute_instances.end()) {
        result_.kept_unwanted.push_back(observed_compute_text(goal.placed, there));
      }
    }
  }

  /// As for GPU instances: what is wanted stays, what is held stays, what is missing is made where
  /// there is room, and what is idle goes unless something undone is all it makes room for.
  GpuInstance recut_idle(const ObservedInstance& instance, const GpuInstance& goal) {
    SEPTULE_CHECK(instance.compute_instances.has_value(), "its compute instances are listed");
    GpuInstance after{.placed = goal.placed, .compute_instances = {}};
    std::vector<const ObservedComputeInstance*> held_unwanted;
    std::vector<const ObservedComputeInstance*> idle_unwanted;
    for (const ObservedComputeInstance& inside : *instance.compute_instances) {
      const bool is_wanted = std::ranges::find(goal.compute_instances, inside.instance) !=
                             goal.compute_instances.end();
      if (!is_wanted && inside.hold == Hold::kIdle) {
        idle_unwanted.push_back(&inside);
        continue;
      }
      after.compute_instances.push_back(inside.instance);
      if (!is_wanted) {
        held_unwanted.push_back(&inside);
        result_.kept_unwanted.push_back(observed_compute_text(goal.placed, inside));
      }
    }
    std::vector<ComputeInstance> blocked;
    for (const ComputeInstance& wanted : goal.compute_instances) {
      if (std::ranges::find(after.compute_instances, wanted) != after.compute_instances.end()) {
        continue;
      }
      if (can_add_compute_instance(geometry_, after, wanted)) {
        after.compute_instances.push_back(wanted);
        steps_.create_compute(goal.placed, instance.id, wanted);
      } else {
        blocked.push_back(wanted);
        result_.undone.push_back(undone_compute(goal.placed, wanted, held_unwanted));
      }
    }
    for (const ObservedComputeInstance* idle : idle_unwanted) {
      const bool is_for_blocked = std::ranges::any_of(blocked, [&](const ComputeInstance& wanted) {
        return idle->instance.placement.overlaps(wanted.placement);
      });
      if (is_for_blocked && can_add_compute_instance(geometry_, after, idle->instance)) {
        after.compute_instances.push_back(idle->instance);
        result_.kept_unwanted.push_back(observed_compute_text(goal.placed, *idle));
      } else {
        steps_.destroy_compute(instance, *idle);
      }
    }
    return after;
  }

  UndoneGoal undone_compute(const PlacedProfile& placed,
                            const ComputeInstance& wanted,
                            const std::vector<const ObservedComputeInstance*>& held) const {
    UndoneGoal goal{.wanted = compute_text(placed, wanted),
                    .blockers = {},
                    .reason = "some of its compute slices are taken"};
    for (const ObservedComputeInstance* other : held) {
      if (other->instance.placement.overlaps(wanted.placement)) {
        goal.blockers.push_back(observed_compute_text(placed, *other));
      }
    }
    if (goal.blockers.empty()) {
      goal.reason = "the GPU instance allows no more compute instances of this size";
      for (const ObservedComputeInstance* other : held) {
        if (other->instance.placement.size == wanted.placement.size) {
          goal.blockers.push_back(observed_compute_text(placed, *other));
        }
      }
    }
    return goal;
  }

  void finish() {
    steps_.move_into(result_);
    canonicalise(result_.kept);
    canonicalise(result_.reached);
    SEPTULE_CHECK(check_partition(geometry_, result_.reached).empty(),
                  "a transition ends in a legal partition");
  }

  const ObservedGpu& gpu_;
  const Geometry& geometry_;
  const DesiredGpu& goal_;
  GpuTransition result_;
  Observed held_unwanted_;
  Observed idle_unwanted_;
  std::vector<const GpuInstance*> blocked_;  ///< wanted, but undone
  StepList steps_;
};

}  // namespace

GpuTransition plan_gpu_transition(const ObservedGpu& from,
                                  const DesiredGpu& to,
                                  const LatencyTable& latencies) {
  SEPTULE_CHECK(from.geometry != nullptr, "an observed GPU has a geometry");
  return GpuPlanner(from, to, latencies).plan();
}

}  // namespace septule::gpu
