#include "optimize/requested_instances.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace septule::optimize {
namespace {

using ComputeRequest = gpu::InstanceRequest::ComputeRequest;

bool is_equal_but_text(const gpu::InstanceRequest& a, const gpu::InstanceRequest& b) {
  return a.profile == b.profile && a.start == b.start && a.compute_instances == b.compute_instances;
}

bool is_equal_but_text(const RequestedInstances& a, const RequestedInstances& b) {
  return std::equal(a.readings.begin(),
                    a.readings.end(),
                    b.readings.begin(),
                    b.readings.end(),
                    [](const RequestReading& x, const RequestReading& y) {
                      return x.geometry == y.geometry && is_equal_but_text(x.instance, y.instance);
                    });
}

// The same text as every model reads it, instance by instance; equal neighbours become one item.
Result<std::vector<RequestedInstances>> join_readings(
    std::span<const std::pair<const gpu::Geometry*, gpu::LayoutRequest>> readings,
    std::string_view text) {
  std::vector<RequestedInstances> items;
  const std::size_t count = readings.front().second.instances.size();
  for (const auto& [geometry, layout] : readings) {
    if (layout.instances.size() != count) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("'{}' means {} GPU instances on {} but {} on {}; ask for each model "
                               "on its own",
                               quoted_for_message(text),
                               count,
                               readings.front().first->key(),
                               layout.instances.size(),
                               geometry->key())};
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    RequestedInstances item;
    item.text = readings.front().second.instances[i].text;
    for (const auto& [geometry, layout] : readings) {
      item.readings.push_back({geometry, layout.instances[i]});
    }
    if (!items.empty() && is_equal_but_text(items.back(), item)) {
      ++items.back().count;
    } else {
      items.push_back(std::move(item));
    }
  }
  return items;
}

bool place_compute_instances(const gpu::Geometry& geometry,
                             std::span<const ComputeRequest> wanted,
                             gpu::GpuInstance& instance) {
  if (wanted.empty()) {
    return true;
  }
  const ComputeRequest& next = wanted.front();
  for (const gpu::ComputeInstanceProfile& profile :
       geometry.compute_profiles(instance.placed.profile)) {
    if (profile.slices != next.size) {
      continue;
    }
    for (const gpu::ComputePlacement& place : profile.placements) {
      const gpu::ComputeInstance candidate{place};
      if ((next.start && *next.start != place.start) ||
          !gpu::can_add_compute_instance(geometry, instance, candidate)) {
        continue;
      }
      instance.compute_instances.push_back(candidate);
      if (place_compute_instances(geometry, wanted.subspan(1), instance)) {
        return true;
      }
      instance.compute_instances.pop_back();
    }
  }
  return false;
}

}  // namespace

const gpu::InstanceRequest* RequestedInstances::on(const gpu::Geometry& geometry) const {
  for (const RequestReading& reading : readings) {
    if (reading.geometry == &geometry) {
      return &reading.instance;
    }
  }
  return nullptr;
}

std::string RequestedInstances::name() const {
  std::vector<std::string> names;
  for (const auto& [geometry, instance] : readings) {
    std::string one = geometry->profile(instance.profile).name;
    if (instance.start) {
      one += fmt::format("@{}", instance.start->value());
    }
    if (std::find(names.begin(), names.end(), one) == names.end()) {
      names.push_back(std::move(one));
    }
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

int RequestList::instance_count() const {
  int count = 0;
  for (const RequestedInstances& item : items) {
    count += item.count;
  }
  return count;
}

std::vector<const gpu::Geometry*> geometries_of(const gpu::Inventory& inventory) {
  std::vector<const gpu::Geometry*> geometries;
  for (const gpu::ObservedGpu& gpu : inventory.gpus) {
    if (gpu.geometry->has_profile_table() &&
        std::find(geometries.begin(), geometries.end(), gpu.geometry) == geometries.end()) {
      geometries.push_back(gpu.geometry);
    }
  }
  return geometries;
}

Result<RequestList> read_request(std::span<const gpu::Geometry* const> geometries,
                                 std::string_view text) {
  if (geometries.empty()) {
    return Error{ErrorCode::kNotFound,
                 "no GPU with a published profile table is there to place instances on"};
  }
  std::vector<std::string_view> pieces{text};
  if (geometries.size() > 1) {
    pieces = split_outside_brackets(text, ',');
  }
  RequestList list;
  for (const std::string_view piece : pieces) {
    std::vector<std::pair<const gpu::Geometry*, gpu::LayoutRequest>> readings;
    std::vector<Error> refusals;
    for (const gpu::Geometry* geometry : geometries) {
      Result<gpu::LayoutRequest> reading = gpu::parse_layout_request(*geometry, piece);
      if (!reading) {
        refusals.push_back(reading.error());
        continue;
      }
      for (const std::string& note : reading->notes) {
        if (std::find(list.notes.begin(), list.notes.end(), note) == list.notes.end()) {
          list.notes.push_back(note);
        }
      }
      readings.emplace_back(geometry, std::move(reading).value());
    }
    if (readings.empty()) {
      return refusals.front();
    }
    SEPTULE_TRY(std::vector<RequestedInstances> items, join_readings(readings, piece));
    list.items.insert(list.items.end(), items.begin(), items.end());
  }
  if (list.instance_count() > gpu::kRequestedInstancesMax) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{} instances are asked for; at most {} are possible",
                             list.instance_count(),
                             gpu::kRequestedInstancesMax)};
  }
  return list;
}

RequestedInstances request_for(const gpu::Geometry& geometry, ProfileIndex profile) {
  RequestedInstances item;
  item.text = geometry.profile(profile).name;
  gpu::InstanceRequest instance;
  instance.profile = profile;
  instance.text = item.text;
  item.readings.push_back({&geometry, std::move(instance)});
  return item;
}

std::optional<gpu::GpuInstance> cut_instance(const gpu::Geometry& geometry,
                                             const gpu::InstanceRequest& request,
                                             MemorySlices start) {
  gpu::GpuInstance instance{{request.profile, start}, {}};
  if (!request.compute_instances) {
    instance.compute_instances.push_back(gpu::full_compute_instance(geometry, request.profile));
    return instance;
  }
  if (!place_compute_instances(geometry, *request.compute_instances, instance)) {
    return std::nullopt;
  }
  std::sort(instance.compute_instances.begin(), instance.compute_instances.end());
  return instance;
}

bool has_compute_instances_of(const gpu::ObservedInstance& instance,
                              const gpu::InstanceRequest& request) {
  if (!request.compute_instances) {
    return true;
  }
  if (!instance.compute_instances ||
      instance.compute_instances->size() != request.compute_instances->size()) {
    return false;
  }
  // Given starts first, so that a request without one does not take their place.
  std::vector<ComputeRequest> wanted = *request.compute_instances;
  std::stable_partition(wanted.begin(), wanted.end(), [](const ComputeRequest& compute) {
    return compute.start.has_value();
  });
  std::vector<gpu::ObservedComputeInstance> present = *instance.compute_instances;
  for (const ComputeRequest& compute : wanted) {
    const auto found = std::find_if(
        present.begin(), present.end(), [&compute](const gpu::ObservedComputeInstance& seen) {
          const gpu::ComputePlacement& place = seen.instance.placement;
          return place.size == compute.size && (!compute.start || *compute.start == place.start);
        });
    if (found == present.end()) {
      return false;
    }
    present.erase(found);
  }
  return true;
}

}  // namespace septule::optimize
