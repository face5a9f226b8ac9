#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace septule::sched {

/// Room by index, and "the lowest index with at least so much room" in O(log size): a binary tree
/// of maxima. Room 0 = takes nothing. One owner.
class FirstFitTree {
 public:
  explicit FirstFitTree(std::size_t size)
      : leaves_(std::bit_ceil(std::max<std::size_t>(size, 1))), room_max_(2 * leaves_, 0) {}

  void set(std::size_t index, std::uint64_t room) {
    std::size_t node = leaves_ + index;
    room_max_[node] = room;
    for (node /= 2; node > 0; node /= 2) {
      room_max_[node] = std::max(room_max_[2 * node], room_max_[2 * node + 1]);
    }
  }

  /// `room` > 0.
  std::optional<std::size_t> first_with(std::uint64_t room) const {
    if (room_max_[1] < room) {
      return std::nullopt;
    }
    std::size_t node = 1;
    while (node < leaves_) {
      node = room_max_[2 * node] >= room ? 2 * node : 2 * node + 1;
    }
    return node - leaves_;
  }

 private:
  std::size_t leaves_;
  std::vector<std::uint64_t> room_max_;  ///< node 1 = root, children of n = 2n and 2n + 1
};

}  // namespace septule::sched
