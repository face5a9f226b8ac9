#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "optimize/requested_instances.hpp"

namespace septule::optimize {

/// Whether idle instances may be destroyed to make room. Equal ones may always be reused.
enum class IdleRule { kMayDestroy, kKeep };

/// Equal requested instances, over all items: given starts and compute instances count.
struct RequestKind {
  RequestedInstances request;  ///< `count` is the demand; `text` that of the first item
  /// (item, copy) of each member in the order of the request.
  std::vector<std::pair<std::size_t, int>> members;
};
std::vector<RequestKind> kinds_of(const RequestList& list);

/// A requested instance at its place on a GPU.
struct ServedRequest {
  gpu::PlacedProfile placed;
  std::size_t kind = 0;
  bool is_reused = false;  ///< an idle GPU instance stands there already
  bool is_recut = false;   ///< reused, but its compute instances are cut anew
};

/// One thing a GPU can do for a request: internal to the optimizers.
struct GpuOption {
  std::vector<int> takes;  ///< per kind
  std::vector<ServedRequest> served;
  std::vector<std::size_t> destroyed;  ///< indices into ObservedGpu::instances, ascending
  int created = 0;                     ///< created or re-cut
  /// Compute slices of the plain profiles that still fit afterwards, descending; greater is better.
  std::vector<int> room;

  int load() const { return static_cast<int>(served.size()); }
};

/// Whether a GPU can hold requested instances at all: MIG on, a profile table, and instances that
/// are legal together by the catalogue (what a driver reports need not be what the catalogue
/// knows).
bool is_usable(const gpu::ObservedGpu& gpu);

/// The compute slices of the plain profiles that still fit beside `layout`, descending.
std::vector<int> room_beside(const gpu::Geometry& geometry, const gpu::Layout& layout);

/// For each multiset of kinds the GPU can take, the best way: fewest idle instances destroyed, then
/// fewest created, then the most room left, then the first in canonical order. The first option is
/// "nothing". Busy and foreign instances stay. Looks at every legal layout around them.
std::vector<GpuOption> options_of(const gpu::ObservedGpu& gpu,
                                  std::span<const RequestKind> kinds,
                                  IdleRule idle_rule);

/// Equal for GPUs that are alike to options_of (same model, instances and holds).
std::string state_signature(const gpu::ObservedGpu& gpu);

}  // namespace septule::optimize
