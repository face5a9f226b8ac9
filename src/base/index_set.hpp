#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace septule {

/// A set of small whole numbers 0..capacity-1 as a tree of 64-bit words: insert, erase and
/// "smallest from x on" cost log64(capacity). Keeps ids in order, so that ties go to the lowest.
/// One owner.
class IndexSet {
 public:
  IndexSet() = default;
  explicit IndexSet(std::size_t capacity);

  void insert(std::size_t index);
  void erase(std::size_t index);
  bool contains(std::size_t index) const;
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// The smallest member >= `from`; nothing if there is none.
  std::optional<std::size_t> first_from(std::size_t from) const;
  std::optional<std::size_t> first() const { return first_from(0); }

 private:
  std::vector<std::vector<std::uint64_t>> levels_;  // level 0 = members, each next one summarises
  std::size_t size_ = 0;
};

}  // namespace septule
