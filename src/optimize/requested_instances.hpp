#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "gpu/inventory.hpp"
#include "gpu/layout_request.hpp"

namespace septule::optimize {

/// What a request means on one GPU model. `geometry` is owned by the Catalogue and never null.
struct RequestReading {
  const gpu::Geometry* geometry = nullptr;
  gpu::InstanceRequest instance;
};

/// `count` equal GPU instances that somebody asked for. A node may hold GPUs of different models,
/// so the request is resolved once per model; a model without a reading cannot hold it. Values; no
/// thread rule.
struct RequestedInstances {
  std::string text;  ///< as written, for messages
  int count = 1;
  std::vector<RequestReading> readings;  ///< each geometry at most once

  /// Nothing if the model has no such profile.
  const gpu::InstanceRequest* on(const gpu::Geometry& geometry) const;
  /// The profile and given start of one instance, for messages: "3g.20gb@4"; where models differ
  /// "3g.20gb or 2g.12gb".
  std::string name() const;
};

/// A whole request and what has to be said about it once (aliases).
struct RequestList {
  std::vector<RequestedInstances> items;
  std::vector<std::string> notes;

  int instance_count() const;
};

/// The models of an inventory that have a profile table, each once, in the order of the GPUs.
std::vector<const gpu::Geometry*> geometries_of(const gpu::Inventory& inventory);

/// Reads a layout text (layout_request.hpp) for every model. An item may be unknown to some models
/// but not to all. Fails with kInvalidInput as parse_layout_request does, or if two models would
/// cut one item into different numbers of GPU instances.
Result<RequestList> read_request(std::span<const gpu::Geometry* const> geometries,
                                 std::string_view text);

/// One instance of a profile that is known by its index, on one model.
RequestedInstances request_for(const gpu::Geometry& geometry, ProfileIndex profile);

/// The GPU instance that a request becomes at a place: its compute instances at their given or
/// first possible places. Nothing if they do not fit into the profile together.
std::optional<gpu::GpuInstance> cut_instance(const gpu::Geometry& geometry,
                                             const gpu::InstanceRequest& request,
                                             MemorySlices start);

/// Whether an existing instance's compute instances already are what is asked for. A request that
/// does not speak of compute instances is content with any; unlisted ones match nothing else.
bool has_compute_instances_of(const gpu::ObservedInstance& instance,
                              const gpu::InstanceRequest& request);

}  // namespace septule::optimize
