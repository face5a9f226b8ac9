#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"
#include "optimize/slice_assignment.hpp"

namespace septule::optimize {

/// Limits of the solver's fixed-size scratch memory, checked when a graph is made. The largest
/// known case is far below both (tests/optimize/slice_assignment_test.cpp prints it).
inline constexpr std::size_t kStatesMax = 4096;
inline constexpr std::size_t kProfilesPerSetMax = 32;

/// One step of the program: giving the next job a new instance of a profile.
struct AssignmentEdge {
  std::uint16_t profile = 0;  ///< index into AssignmentGraph::profiles
  std::uint16_t to = 0;       ///< node reached
};

/// One legal multiset of new profiles, with the place chosen for each.
struct AssignmentNode {
  std::uint32_t edges_begin = 0;  ///< into KeptSet::edges; by ascending profile
  std::uint32_t edges_end = 0;
  int placed_count = 0;
  std::array<gpu::PlacedProfile, kAssignedJobsMax> placed{};  ///< canonical order
  int room_count = 0;
  std::array<gpu::PlacedProfile, kAssignedJobsMax> room{};
};

/// All that can be done if exactly these current instances stay.
struct KeptSet {
  std::uint32_t kept = 0;  ///< bit per current instance
  int destroyed = 0;       ///< reusable instances that go
  std::vector<int> hosts;  ///< current instances that stay and may host, by (profile, start)
  std::vector<AssignmentNode> nodes;  ///< by number of new instances; node 0 = none
  /// Nodes with j new instances are level_begin[j] .. level_begin[j + 1].
  std::array<std::uint32_t, kAssignedJobsMax + 2> level_begin{};
  std::vector<AssignmentEdge> edges;

  /// Most jobs that can be served.
  int capacity() const;
};

/// Everything solve() reads. Made once; immutable afterwards.
struct AssignmentGraph {
  std::vector<ProfileIndex> profiles;  ///< the profile set, ascending
  std::vector<CurrentInstance> current;
  std::vector<KeptSet> kept_sets;  ///< by descending `kept`: those that keep most first
  int capacity = 0;
  ChangeCosts costs;

  static Result<AssignmentGraph> make(const gpu::Geometry& geometry,
                                      const SliceAssigner::Options& options);
};

}  // namespace septule::optimize
