#include "optimize/move_options.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace septule::optimize {
namespace {

class MoveOptionSearch {
 public:
  MoveOptionSearch(const gpu::ObservedGpu& gpu,
                   std::span<const RequestKind> kinds,
                   std::span<const MovableProfile> movable)
      : gpu_(gpu), kinds_(kinds), movable_(movable) {
    for (const RequestKind& kind : kinds) {
      const gpu::InstanceRequest* reading = kind.request.on(*gpu.geometry);
      if (reading != nullptr && !cut_instance(*gpu.geometry, *reading, MemorySlices(0))) {
        reading = nullptr;
      }
      readings_.push_back(reading);
      if (reading != nullptr) {
        profiles_.push_back(reading->profile);
      }
    }
    for (const MovableProfile& profile : movable) {
      if (profile.geometry == gpu.geometry) {
        profiles_.push_back(profile.profile);
      }
    }
    for (const gpu::ObservedInstance& instance : gpu.instances) {
      if (instance.effective_hold() == gpu::Hold::kIdle) {
        profiles_.push_back(instance.placed.profile);
      } else if (!can_move(instance)) {
        fixed_.push_back(instance.placed);
      }
    }
    gpu::canonicalise(fixed_);
    std::sort(profiles_.begin(), profiles_.end());
    profiles_.erase(std::unique(profiles_.begin(), profiles_.end()), profiles_.end());
  }

  std::vector<MoveOption> run() {
    MoveOption nothing;
    nothing.takes.assign(kinds_.size() + movable_.size(), 0);
    gpu::for_each_layout(*gpu_.geometry, profiles_, fixed_, [&](const gpu::Layout& layout, bool) {
      places_.clear();
      for (const gpu::PlacedProfile& placed : layout) {
        if (std::find(fixed_.begin(), fixed_.end(), placed) == fixed_.end()) {
          places_.push_back(placed);
        }
      }
      current_ = nothing;
      stays_.assign(gpu_.instances.size(), false);
      hand_out(0);
    });
    best_.erase(nothing.takes);
    std::vector<MoveOption> options{nothing};
    for (auto& [takes, option] : best_) {
      options.push_back(std::move(option));
    }
    return options;
  }

 private:
  std::optional<std::size_t> movable_index(ProfileIndex profile) const {
    for (std::size_t i = 0; i < movable_.size(); ++i) {
      if (movable_[i].geometry == gpu_.geometry && movable_[i].profile == profile) {
        return kinds_.size() + i;
      }
    }
    return std::nullopt;
  }

  std::optional<std::size_t> instance_at(const gpu::PlacedProfile& placed) const {
    for (std::size_t i = 0; i < gpu_.instances.size(); ++i) {
      if (gpu_.instances[i].placed == placed) {
        return i;
      }
    }
    return std::nullopt;
  }

  // Each place holds what is there already, something that comes from elsewhere, or the request.
  void hand_out(std::size_t i) {
    if (i == places_.size()) {
      finish();
      return;
    }
    const gpu::PlacedProfile placed = places_[i];
    const std::optional<std::size_t> present = instance_at(placed);
    const bool is_idle_there =
        present && gpu_.instances[*present].effective_hold() == gpu::Hold::kIdle;
    if (present) {
      stays_[*present] = true;
      hand_out(i + 1);
      stays_[*present] = false;
    }
    if (!present || is_idle_there) {
      if (const auto index = movable_index(placed.profile)) {
        Stay stay(*this, is_idle_there ? present : std::nullopt);
        ++current_.takes[*index];
        current_.arrivals.push_back(placed);
        hand_out(i + 1);
        current_.arrivals.pop_back();
        --current_.takes[*index];
      }
    }
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      serve(i, kind, is_idle_there ? present : std::nullopt);
    }
  }

  void serve(std::size_t i, std::size_t kind, std::optional<std::size_t> idle) {
    const gpu::InstanceRequest* reading = readings_[kind];
    const gpu::PlacedProfile placed = places_[i];
    if (reading == nullptr || reading->profile != placed.profile ||
        (reading->start && *reading->start != placed.start) ||
        current_.takes[kind] == kinds_[kind].request.count) {
      return;
    }
    const bool is_recut =
        idle.has_value() && !has_compute_instances_of(gpu_.instances[*idle], *reading);
    Stay stay(*this, idle);
    ++current_.takes[kind];
    current_.served.push_back({placed, kind, idle.has_value(), is_recut});
    hand_out(i + 1);
    current_.served.pop_back();
    --current_.takes[kind];
  }

  void finish() {
    MoveOption option = current_;
    for (std::size_t i = 0; i < gpu_.instances.size(); ++i) {
      const gpu::ObservedInstance& instance = gpu_.instances[i];
      if (stays_[i]) {
        continue;
      }
      if (instance.effective_hold() == gpu::Hold::kIdle) {
        option.destroyed.push_back(i);
      } else if (can_move(instance)) {
        option.departures.push_back(i);
        --option.takes[*movable_index(instance.placed.profile)];
      }
    }
    const auto cost = std::tuple(option.departures.size(), option.destroyed.size());
    const auto [entry, is_new] = best_.try_emplace(option.takes, option);
    const MoveOption& known = entry->second;
    if (!is_new && cost < std::tuple(known.departures.size(), known.destroyed.size())) {
      entry->second = std::move(option);
    }
  }

  // An idle instance that is taken over is not destroyed.
  class Stay {
   public:
    Stay(MoveOptionSearch& search, std::optional<std::size_t> instance)
        : search_(search), instance_(instance) {
      if (instance_) {
        search_.stays_[*instance_] = true;
      }
    }
    ~Stay() {
      if (instance_) {
        search_.stays_[*instance_] = false;
      }
    }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

   private:
    MoveOptionSearch& search_;
    std::optional<std::size_t> instance_;
  };

  const gpu::ObservedGpu& gpu_;
  std::span<const RequestKind> kinds_;
  std::span<const MovableProfile> movable_;
  std::vector<const gpu::InstanceRequest*> readings_;
  std::vector<ProfileIndex> profiles_;
  gpu::Layout fixed_;
  std::map<std::vector<int>, MoveOption> best_;
  gpu::Layout places_;
  MoveOption current_;
  std::vector<bool> stays_;
};

}  // namespace

bool can_move(const gpu::ObservedInstance& instance) {
  return instance.is_movable && instance.effective_hold() == gpu::Hold::kBusy;
}

std::vector<MovableProfile> movable_profiles(const gpu::Inventory& inventory) {
  std::vector<MovableProfile> profiles;
  for (const gpu::ObservedGpu& gpu : inventory.gpus) {
    for (const gpu::ObservedInstance& instance : gpu.instances) {
      const bool is_known =
          std::any_of(profiles.begin(), profiles.end(), [&](const MovableProfile& profile) {
            return profile.geometry == gpu.geometry && profile.profile == instance.placed.profile;
          });
      if (can_move(instance) && !is_known) {
        profiles.push_back({gpu.geometry, instance.placed.profile});
      }
    }
  }
  return profiles;
}

std::vector<MoveOption> move_options_of(const gpu::ObservedGpu& gpu,
                                        std::span<const RequestKind> kinds,
                                        std::span<const MovableProfile> movable) {
  if (!is_usable(gpu)) {
    MoveOption nothing;
    nothing.takes.assign(kinds.size() + movable.size(), 0);
    return {nothing};
  }
  return MoveOptionSearch(gpu, kinds, movable).run();
}

}  // namespace septule::optimize
