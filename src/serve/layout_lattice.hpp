#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"

namespace septule::serve {

/// Sizes of GPU instances that serving distinguishes, at most (A100: 5, with double memory 6).
inline constexpr std::size_t kSizesMax = 8;
/// GPU instances on one GPU, at most.
inline constexpr std::size_t kInstancesMax = 8;

/// One value per size of a LayoutLattice, by index into sizes(); entries beyond are defaults.
template <class T>
using SizeTable = std::array<T, kSizesMax>;

/// A size of GPU instance: a profile of the geometry.
struct InstanceSize {
  ProfileIndex profile;
  ComputeSlices slices;         ///< what profile rows are looked up by
  MemorySlices span;            ///< memory slices it covers
  std::optional<Bytes> memory;  ///< of one instance
};

/// One place where an instance of one size may be.
struct SizePlacement {
  int size = 0;  ///< index into sizes()
  gpu::PlacedProfile placed;
};

/// The legal layouts of one GPU model over a set of profiles, enumerated once: placements (14 on
/// seven-slice parts), placed layouts (298, the empty one included) as sets of placements, and
/// multisets of sizes (38). Source: serving.md 2.0; the layouts come from gpu::for_each_layout, so
/// the rules of legality have one home. Immutable; any thread may read. The geometry must outlive
/// it.
class LayoutLattice {
 public:
  /// A placed layout: a set of placements.
  struct PlacedSet {
    std::uint32_t placements = 0;  ///< bit p = placement p is occupied
    int size_count = 0;            ///< number of instances
    int multiset = 0;              ///< index into multisets()
    bool is_maximal = false;       ///< nothing can be added
  };
  /// How many instances of each size.
  struct Multiset {
    SizeTable<int> counts{};
    int instances = 0;
    int gpcs = 0;                 ///< compute slices in use
    bool is_undominated = false;  ///< no other multiset holds more of one size and less of none
  };

  /// Fails with kNotFound for a board without a profile table, kInvalidInput where it has more
  /// sizes, or more than 32 placements, than fit.
  static Result<LayoutLattice> make(const gpu::Geometry& geometry, gpu::ProfileSet profiles);

  const gpu::Geometry& geometry() const { return *geometry_; }
  /// By compute slices, then memory, ascending.
  std::span<const InstanceSize> sizes() const { return sizes_; }
  /// In canonical order of gpu::possible_placements.
  std::span<const SizePlacement> placements() const { return placements_; }
  /// By number of instances, then bit set; the empty one first.
  std::span<const PlacedSet> placed_sets() const { return placed_sets_; }
  std::span<const Multiset> multisets() const { return multisets_; }
  std::span<const std::uint32_t> sets_of(int multiset) const {
    return sets_of_[static_cast<std::size_t>(multiset)];
  }
  /// The size with so many compute slices and the least memory.
  std::optional<int> size_of(ComputeSlices slices) const;
  /// The placement of exactly this instance.
  std::optional<int> find_placement(const gpu::PlacedProfile& placed) const;
  /// Index into placed_sets() of exactly these placements; nothing = not legal together.
  std::optional<int> find_set(std::uint32_t placements) const;
  /// Whether these placements are legal together.
  bool is_legal(std::uint32_t placements) const { return find_set(placements).has_value(); }
  /// Sum over the placed layouts of labels^instances (serving.md 2.4): the states of the exact
  /// program.
  std::int64_t labelled_set_count(int label_count) const;
  /// The same over multisets of labelled sizes.
  std::int64_t labelled_multiset_count(int label_count) const;

 private:
  LayoutLattice() = default;
  Status make_sizes(gpu::ProfileSet profiles);
  Status make_placed_sets(std::span<const ProfileIndex> profiles);
  void make_multisets();
  void mark_undominated();
  void make_index();

  const gpu::Geometry* geometry_ = nullptr;
  std::vector<InstanceSize> sizes_;
  std::vector<SizePlacement> placements_;
  std::vector<PlacedSet> placed_sets_;
  std::vector<Multiset> multisets_;
  std::vector<std::vector<std::uint32_t>> sets_of_;
  std::vector<int> set_index_;  // open addressing by hash of the bit set; -1 = free
};

}  // namespace septule::serve
