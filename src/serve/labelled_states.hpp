#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "serve/label_alphabet.hpp"

namespace septule::serve {

/// The states of the exact program (serving.md 2.4): every placed layout, each instance with a
/// letter. A set's states are contiguous; a state is its set's offset plus its letters as digits
/// (radix = letters of the instance's size; instances by size, then placement). Removing an
/// instance removes a digit, so the steps of the program are loops over contiguous values, with no
/// table of transitions. Immutable; any thread may read.
class LabelledStates {
 public:
  struct Set {
    std::uint32_t placements = 0;
    int lattice_set = 0;
    int shape = 0;  ///< sets of equal sizes have equal shapes, hence equal contents by digits
    int count = 0;  ///< instances
    std::size_t offset = 0;
    std::size_t states = 0;
    std::array<int, kInstancesMax> placement{};
    std::array<int, kInstancesMax> size{};
    std::array<int, kInstancesMax> without{};  ///< set that is left when this instance goes
    std::array<std::size_t, kInstancesMax> radix{};
    std::array<std::size_t, kInstancesMax> stride{};
  };
  /// What the states of a shape hold: the same for every order of equal sizes.
  struct Shape {
    std::vector<int> content;  ///< by digits: index into contents
  };
  /// Capacity by tenant of one way of filling a shape.
  struct Contents {
    std::vector<double> ready_rps;  ///< [content * tenants + tenant], settled enough to serve
    std::vector<double> all_rps;    ///< the same once everything is ready
    std::size_t count = 0;
  };

  LabelledStates(const GoodputProblem& problem, const LabelAlphabet& alphabet);

  const LabelAlphabet& alphabet() const { return alphabet_; }
  /// By number of instances, the empty set first.
  std::span<const Set> sets() const { return sets_; }
  const Shape& shape(int index) const { return shapes_[static_cast<std::size_t>(index)]; }
  const Contents& contents() const { return contents_; }
  std::size_t count() const { return count_; }
  const Letter& letter(const Set& set, int instance, std::size_t state) const;

  /// One entry per set: whether it takes part.
  using OpenSets = std::vector<std::uint8_t>;

  /// values(s) = max over s and all that can become s by dropping instances that may leave.
  void close_drops(std::span<double> values, const OpenSets& open) const;
  enum class Made { kEarly, kLate };
  /// values(s) = max over s and all that becomes s by creating instances, less their costs; at most
  /// `created_max` of them (kInstancesMax = any number). `costs`: by size, then letter.
  void close_creations(std::span<double> values,
                       const OpenSets& open,
                       Made made,
                       const SizeTable<std::vector<double>>& costs,
                       int created_max) const;
  /// Moves every state to that of one step later.
  void advance(std::span<double> values) const;

  /// Whether instances can be handed over (HandOver::kRelabel): some label may take the place of
  /// another, and none serves in the step of its creation, which states would not tell from what
  /// may be handed over.
  bool hands_over() const { return hands_over_; }
  /// Whether an instance with a letter may be handed over to one created late with another; the
  /// letter before time passes.
  bool may_hand_over(int size, std::size_t from, std::size_t to) const;
  /// advance() in which any number of instances are also given others' letters, less the costs of
  /// these: the step's values count what is handed over. Under a limit on changes
  /// close_creations() does it instead, for letters without ages.
  void advance_handing_over(std::span<double> values,
                            const OpenSets& open,
                            const SizeTable<std::vector<double>>& costs) const;

 private:
  void make_sets(const LayoutLattice& lattice);
  void make_shape(const GoodputProblem& problem, const Set& set);
  void make_content(const GoodputProblem& problem, const Set& set, std::size_t state);
  void make_advance();
  void make_hand_overs(const GoodputProblem& problem);
  void hand_over(std::span<double> of_set,
                 const Set& set,
                 int instance,
                 std::span<const double> costs,
                 std::vector<double>& before) const;
  void create_and_hand_over(std::span<double> values,
                            std::size_t index,
                            const SizeTable<std::vector<double>>& charged,
                            std::vector<double>& before) const;
  void create_into(std::span<double> values,
                   const Set& set,
                   int instance,
                   std::span<const double> costs) const;

  LabelAlphabet alphabet_;
  std::vector<Set> sets_;
  std::vector<Shape> shapes_;
  Contents contents_;
  std::size_t count_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> advance_;  // from, to; where they differ
  // By size: letters that can be handed over to letters created late; (from, to).
  SizeTable<std::vector<std::pair<std::size_t, std::size_t>>> hand_overs_;
  SizeTable<bool> are_all_alike_{};  // every letter to every other
  bool hands_over_ = false;
};

}  // namespace septule::serve
