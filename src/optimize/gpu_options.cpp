#include "optimize/gpu_options.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

namespace septule::optimize {
namespace {

bool has_equal_readings(const RequestedInstances& a, const RequestedInstances& b) {
  const auto is_equal = [](const RequestReading& x, const RequestReading& y) {
    return x.geometry == y.geometry && x.instance.profile == y.instance.profile &&
           x.instance.start == y.instance.start &&
           x.instance.compute_instances == y.instance.compute_instances;
  };
  return std::equal(
      a.readings.begin(), a.readings.end(), b.readings.begin(), b.readings.end(), is_equal);
}

gpu::Layout held_layout(const gpu::ObservedGpu& gpu) {
  gpu::Layout held;
  for (const gpu::ObservedInstance& instance : gpu.instances) {
    if (instance.effective_hold() != gpu::Hold::kIdle) {
      held.push_back(instance.placed);
    }
  }
  gpu::canonicalise(held);
  return held;
}

// What a driver reports need not be what the catalogue knows.
bool is_possible(const gpu::Geometry& geometry, const gpu::PlacedProfile& placed) {
  const std::vector<gpu::Placement>& places = geometry.profile(placed.profile).placements;
  return std::any_of(places.begin(), places.end(), [&placed](const gpu::Placement& place) {
    return place.start == placed.start;
  });
}

bool is_legal(const gpu::Geometry& geometry, const gpu::Layout& layout) {
  gpu::LayoutBuilder builder(geometry);
  for (const gpu::PlacedProfile& placed : layout) {
    if (!is_possible(geometry, placed) || !builder.can_add(placed)) {
      return false;
    }
    builder.add(placed);
  }
  return true;
}

// Hands the free places of each layout to the kinds and keeps the best option per multiset.
class OptionSearch {
 public:
  OptionSearch(const gpu::ObservedGpu& gpu, std::span<const RequestKind> kinds, IdleRule idle_rule)
      : gpu_(gpu), kinds_(kinds), idle_rule_(idle_rule), held_(held_layout(gpu)) {
    readings_.resize(kinds.size(), nullptr);
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      const gpu::InstanceRequest* reading = kinds[kind].request.on(*gpu.geometry);
      if (reading != nullptr && cut_instance(*gpu.geometry, *reading, MemorySlices(0))) {
        readings_[kind] = reading;
        profiles_.push_back(reading->profile);
      }
    }
    for (std::size_t i = 0; i < gpu.instances.size(); ++i) {
      if (gpu.instances[i].effective_hold() == gpu::Hold::kIdle) {
        idle_.push_back(i);
        profiles_.push_back(gpu.instances[i].placed.profile);
      }
    }
    std::sort(profiles_.begin(), profiles_.end());
    profiles_.erase(std::unique(profiles_.begin(), profiles_.end()), profiles_.end());
  }

  std::vector<GpuOption> run() {
    GpuOption nothing;
    nothing.takes.assign(kinds_.size(), 0);
    nothing.room = room_beside(*gpu_.geometry, gpu_.layout());
    best_.emplace(nothing.takes, nothing);
    gpu::for_each_layout(*gpu_.geometry, profiles_, held_, [this](const gpu::Layout& layout, bool) {
      look_at(layout);
    });
    std::vector<GpuOption> options;
    options.reserve(best_.size());
    for (auto& [takes, option] : best_) {  // "nothing" is the smallest key
      options.push_back(std::move(option));
    }
    return options;
  }

 private:
  void look_at(const gpu::Layout& layout) {
    places_.clear();
    for (const gpu::PlacedProfile& placed : layout) {
      if (std::find(held_.begin(), held_.end(), placed) == held_.end()) {
        places_.push_back(placed);
      }
    }
    current_ = GpuOption{};
    current_.takes.assign(kinds_.size(), 0);
    for (const std::size_t i : idle_) {
      if (std::find(places_.begin(), places_.end(), gpu_.instances[i].placed) == places_.end()) {
        current_.destroyed.push_back(i);
      }
    }
    if (idle_rule_ == IdleRule::kKeep && !current_.destroyed.empty()) {
      return;
    }
    layout_ = &layout;
    hand_out(0);
  }

  const gpu::ObservedInstance* idle_at(const gpu::PlacedProfile& placed) const {
    for (const std::size_t i : idle_) {
      if (gpu_.instances[i].placed == placed) {
        return &gpu_.instances[i];
      }
    }
    return nullptr;
  }

  void hand_out(std::size_t i) {
    if (i == places_.size()) {
      keep_if_better();
      return;
    }
    const gpu::ObservedInstance* idle = idle_at(places_[i]);
    if (idle != nullptr) {
      hand_out(i + 1);
    }
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      const gpu::InstanceRequest* reading = readings_[kind];
      if (reading == nullptr || reading->profile != places_[i].profile ||
          (reading->start && *reading->start != places_[i].start) ||
          current_.takes[kind] == kinds_[kind].request.count) {
        continue;
      }
      const bool is_recut = idle != nullptr && !has_compute_instances_of(*idle, *reading);
      const int created = idle == nullptr || is_recut ? 1 : 0;
      ++current_.takes[kind];
      current_.created += created;
      current_.served.push_back({places_[i], kind, idle != nullptr, is_recut});
      hand_out(i + 1);
      current_.served.pop_back();
      current_.created -= created;
      --current_.takes[kind];
    }
  }

  void keep_if_better() {
    const auto found = best_.find(current_.takes);
    if (found != best_.end()) {
      const GpuOption& known = found->second;
      const auto cost = std::tuple(current_.destroyed.size(), current_.created);
      const auto known_cost = std::tuple(known.destroyed.size(), known.created);
      if (cost > known_cost) {
        return;
      }
      current_.room = room_beside(*gpu_.geometry, *layout_);
      if (cost == known_cost && current_.room <= known.room) {
        return;
      }
      found->second = current_;
      return;
    }
    current_.room = room_beside(*gpu_.geometry, *layout_);
    best_.emplace(current_.takes, current_);
  }

  const gpu::ObservedGpu& gpu_;
  std::span<const RequestKind> kinds_;
  IdleRule idle_rule_;
  gpu::Layout held_;
  std::vector<const gpu::InstanceRequest*> readings_;
  std::vector<std::size_t> idle_;
  std::vector<ProfileIndex> profiles_;
  std::map<std::vector<int>, GpuOption> best_;
  gpu::Layout places_;
  GpuOption current_;
  const gpu::Layout* layout_ = nullptr;
};

}  // namespace

std::vector<RequestKind> kinds_of(const RequestList& list) {
  std::vector<RequestKind> kinds;
  for (std::size_t item = 0; item < list.items.size(); ++item) {
    const RequestedInstances& wanted = list.items[item];
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&wanted](const RequestKind& known) {
      return has_equal_readings(known.request, wanted);
    });
    if (kind == kinds.end()) {
      kinds.push_back({wanted, {}});
      kind = kinds.end() - 1;
      kind->request.count = 0;
    }
    kind->request.count += wanted.count;
    for (int copy = 0; copy < wanted.count; ++copy) {
      kind->members.emplace_back(item, copy);
    }
  }
  return kinds;
}

bool is_usable(const gpu::ObservedGpu& gpu) {
  return gpu.is_mig_enabled && gpu.geometry->has_profile_table() &&
         is_legal(*gpu.geometry, gpu.layout());
}

std::vector<int> room_beside(const gpu::Geometry& geometry, const gpu::Layout& layout) {
  gpu::LayoutBuilder builder(geometry);
  for (const gpu::PlacedProfile& placed : layout) {
    if (is_possible(geometry, placed)) {
      builder.add(placed);
    }
  }
  std::vector<int> room;
  for (const ProfileIndex index : geometry.profiles_in(gpu::ProfileSet::kPlain)) {
    const gpu::GpuInstanceProfile& profile = geometry.profile(index);
    const bool fits = std::any_of(
        profile.placements.begin(), profile.placements.end(), [&](const gpu::Placement& place) {
          return builder.can_add({index, place.start});
        });
    if (fits) {
      room.push_back(profile.slices.value());
    }
  }
  std::sort(room.begin(), room.end(), std::greater<>());
  return room;
}

std::vector<GpuOption> options_of(const gpu::ObservedGpu& gpu,
                                  std::span<const RequestKind> kinds,
                                  IdleRule idle_rule) {
  if (!is_usable(gpu)) {
    GpuOption nothing;
    nothing.takes.assign(kinds.size(), 0);
    return {nothing};
  }
  return OptionSearch(gpu, kinds, idle_rule).run();
}

std::string state_signature(const gpu::ObservedGpu& gpu) {
  std::string text = fmt::format("{}|{}", gpu.geometry->key(), gpu.is_mig_enabled ? 1 : 0);
  for (const gpu::ObservedInstance& instance : gpu.instances) {
    const gpu::Hold hold = instance.effective_hold();
    text += fmt::format("|{}@{}:{}",
                        instance.placed.profile.value(),
                        instance.placed.start.value(),
                        static_cast<int>(hold));
    if (hold == gpu::Hold::kIdle && instance.compute_instances) {
      for (const gpu::ObservedComputeInstance& compute : *instance.compute_instances) {
        text += fmt::format("/{}+{}",
                            compute.instance.placement.start.value(),
                            compute.instance.placement.size.value());
      }
    } else {
      text += instance.is_movable ? "m" : "";
      text += instance.compute_instances ? "" : "?";
    }
  }
  return text;
}

}  // namespace septule::optimize
