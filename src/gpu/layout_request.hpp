#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "gpu/partition.hpp"

namespace septule::gpu {

/// One instance somebody asked for: a profile, perhaps a place, perhaps its compute instances.
struct InstanceRequest {
  ProfileIndex profile;
  std::optional<MemorySlices> start;
  /// Absent: one full compute instance. Present and empty: none. A compute instance without a
  /// start (nothing in the inner optional) may stand anywhere in the GPU instance.
  struct ComputeRequest {
    ComputeSlices size;
    std::optional<ComputeSlices> start;
    friend bool operator==(const ComputeRequest&, const ComputeRequest&) = default;
  };
  std::optional<std::vector<ComputeRequest>> compute_instances;
  std::string text;  ///< as the user wrote it, for messages

  friend bool operator==(const InstanceRequest&, const InstanceRequest&) = default;
};

/// A layout as people write it, resolved against a geometry but not yet placed.
struct LayoutRequest {
  std::vector<InstanceRequest> instances;
  std::vector<std::string> notes;  ///< "3g.39gb is 3g.40gb here": an alias is said once
};

/// At most so many instances may be asked for in one text (a node of 64 GPUs of 7).
inline constexpr int kRequestedInstancesMax = 448;

/// Parses items separated by commas; each item:
///   [N x] NAME [@START] [ "[" [Mc[@K]] {, ...} "]" ]
/// NAME is a profile name or alias, "1c.3g.20gb" (compute instances; equal ones share GPU instances
/// as far as they fit), a shape ("3g" = the plain profile of three compute slices, "1g+me"), or
/// "smallest"/"largest" (the plain profile with fewest/most compute slices). "N x" (also "NxNAME",
/// "N*NAME") repeats. "empty" alone is the empty layout. Nothing else is guessed.
/// Fails with kInvalidInput: the item, why, and the nearest real names.
Result<LayoutRequest> parse_layout_request(const Geometry& geometry, std::string_view text);

/// Places a request on one empty GPU: given starts are kept, the others are chosen so that
/// everything fits; among the ways, the one that leaves the largest profile placeable and then the
/// first in canonical order. Fails with kBlocked when no way exists, saying which limit is hit.
/// Compute instances without a start are placed at their first possible places.
Result<Partition> place_layout_request(const Geometry& geometry, const LayoutRequest& request);

/// The partition a request with *all* starts given describes, or kept starts where given and the
/// first conflict-free place otherwise, without judging it: for the checker to say what is wrong.
Result<Partition> partition_as_written(const Geometry& geometry, const LayoutRequest& request);

}  // namespace septule::gpu
