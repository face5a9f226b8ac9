// Places a layout request on one empty GPU (declared in layout_request.hpp).
#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "gpu/layout_request.hpp"
#include "gpu/partition_checker.hpp"

namespace septule::gpu {

namespace {

/// Memory slices of the plain profiles that still fit, largest first: bigger compares greater.
std::vector<int> room_left(const Geometry& geometry, const Layout& layout) {
  LayoutBuilder builder(geometry);
  for (const PlacedProfile& placed : layout) {
    builder.add(placed);
  }
  std::vector<int> sizes;
  for (const ProfileIndex index : geometry.profiles_in(ProfileSet::kPlain)) {
    for (const Placement& place : geometry.profile(index).placements) {
      if (builder.can_add(PlacedProfile{index, place.start})) {
        sizes.push_back(geometry.profile(index).slices.value());
        break;
      }
    }
  }
  std::ranges::sort(sizes, std::greater<>());
  return sizes;
}

/// Whether a layout holds exactly what is asked for: given starts met, the rest equal by profile.
bool answers(const Layout& layout,
             const std::vector<PlacedProfile>& given,
             const std::vector<int>& wanted_sorted) {
  if (layout.size() != wanted_sorted.size()) {
    return false;
  }
  std::vector<int> profiles;
  for (const PlacedProfile& placed : layout) {
    profiles.push_back(placed.profile.value());
  }
  std::ranges::sort(profiles);
  return profiles == wanted_sorted && std::ranges::all_of(given, [&](const PlacedProfile& placed) {
           return std::ranges::find(layout, placed) != layout.end();
         });
}

/// Why a request fits no empty GPU, from totals; empty if only the arrangement is to blame.
std::string reason_from_totals(const Geometry& geometry, const LayoutRequest& request) {
  int compute = 0;
  int memory = 0;
  std::vector<int> counts(geometry.profiles().size());
  for (const InstanceRequest& wanted : request.instances) {
    const GpuInstanceProfile& profile = geometry.profile(wanted.profile);
    compute += profile.slices.value();
    memory += profile.size().value();
    const auto index = static_cast<std::size_t>(wanted.profile.value());
    ++counts[index];
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const GpuInstanceProfile& profile = geometry.profiles()[i];
    if (counts[i] > profile.instances_max) {
      return fmt::format("{} instances of {} are asked for, the GPU can hold {}",
                         counts[i],
                         profile.name,
                         profile.instances_max);
    }
  }
  if (compute > geometry.compute_slices().value()) {
    return fmt::format(
        "{} compute slices are needed, the GPU has {}", compute, geometry.compute_slices().value());
  }
  if (memory > geometry.memory_slices().value()) {
    return fmt::format(
        "{} memory slices are needed, the GPU has {}", memory, geometry.memory_slices().value());
  }
  for (std::size_t e = 0; e < static_cast<std::size_t>(kEngineCount); ++e) {
    int needed = 0;
    for (const InstanceRequest& wanted : request.instances) {
      needed += geometry.profile(wanted.profile).engines[e].value_or(0);
    }
    if (const auto budget = geometry.engine_budget()[e]; budget && needed > *budget) {
      return fmt::format("{} {} engines are needed, the GPU has {}",
                         needed,
                         engine_name(static_cast<Engine>(e)),
                         *budget);
    }
  }
  return {};
}

Error does_not_fit(const Geometry& geometry, const LayoutRequest& request) {
  std::string reason = reason_from_totals(geometry, request);
  const bool has_starts = std::ranges::any_of(
      request.instances, [](const InstanceRequest& wanted) { return wanted.start.has_value(); });
  if (has_starts) {
    if (const auto written = partition_as_written(geometry, request)) {
      const std::vector<Violation> violations = check_partition(geometry, *written);
      if (!violations.empty()) {
        reason = violations.front().message;
      }
    }
  }
  if (reason.empty()) {
    const auto largest = std::ranges::max_element(
        request.instances, [&](const InstanceRequest& a, const InstanceRequest& b) {
          return geometry.profile(a.profile).size() < geometry.profile(b.profile).size();
        });
    std::vector<std::string> starts;
    for (const Placement& place : geometry.profile(largest->profile).placements) {
      starts.push_back(std::to_string(place.start.value()));
    }
    reason = fmt::format(
        "the slices would suffice, but no arrangement of placements holds all of "
        "them ({} can start only at {})",
        geometry.profile(largest->profile).name,
        fmt::join(starts, " or "));
  }
  return Error{ErrorCode::kBlocked,
               fmt::format("not possible on one {}: {}", geometry.key(), reason)};
}

}  // namespace

Result<Partition> place_layout_request(const Geometry& geometry, const LayoutRequest& request) {
  std::vector<PlacedProfile> given;
  std::vector<int> wanted;
  std::vector<ProfileIndex> profiles;
  for (const InstanceRequest& instance : request.instances) {
    wanted.push_back(instance.profile.value());
    if (instance.start) {
      given.push_back(PlacedProfile{instance.profile, *instance.start});
    }
  }
  std::ranges::sort(wanted);
  for (const int index : wanted) {
    if (profiles.empty() || profiles.back() != ProfileIndex(index)) {
      profiles.emplace_back(index);
    }
  }
  std::ranges::sort(given);
  const bool has_place_twice = std::ranges::adjacent_find(given) != given.end();
  std::optional<Layout> best;
  std::vector<int> best_room;
  if (!has_place_twice && reason_from_totals(geometry, request).empty()) {
    for_each_layout(geometry, profiles, {}, [&](const Layout& layout, bool) {
      if (!answers(layout, given, wanted)) {
        return;
      }
      std::vector<int> room = room_left(geometry, layout);
      if (!best || room > best_room) {
        best = layout;
        best_room = std::move(room);
      }
    });
  }
  if (!best) {
    return does_not_fit(geometry, request);
  }
  // Hand each place to a request: given starts first, then in the order of the request.
  LayoutRequest settled = request;
  for (const PlacedProfile& placed : *best) {
    const auto has_it = [&](const InstanceRequest& instance) {
      return instance.profile == placed.profile && instance.start == placed.start;
    };
    if (std::ranges::any_of(settled.instances, has_it)) {
      continue;
    }
    const auto open = std::ranges::find_if(settled.instances, [&](const InstanceRequest& instance) {
      return instance.profile == placed.profile && !instance.start;
    });
    SEPTULE_CHECK(open != settled.instances.end(), "a layout found answers the request");
    open->start = placed.start;
  }
  return partition_as_written(geometry, settled);
}

}  // namespace septule::gpu
