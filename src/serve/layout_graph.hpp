#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "serve/label_alphabet.hpp"

namespace septule::serve {

/// Whether a graph's states say where instances are.
enum class GraphDetail {
  kMultisets,  ///< how many instances of each size hold which letter: the relaxation
  kPlaced,     ///< which placement holds which letter: exact, many more states
};

/// States with letters and what leads from one to the other by one instance, as lists: for programs
/// whose values are many per state (work_levels.hpp), or whose states are few. At most one instance
/// retrains a tenant. Frozen instances are no part of the states, which fit beside them. By number
/// of instances. Immutable; any thread may read. (labelled_states.hpp is the fast form of the
/// placed one without retraining.)
class LayoutGraph {
 public:
  /// What a state counts: instances of a size (and placement) with a letter.
  struct Slot {
    int size = 0;
    int placement = -1;  ///< -1 = anywhere
    int letter = 0;
  };
  using Counts = std::vector<std::uint16_t>;  ///< by slot
  /// State `super` with one instance of `slot` less is `sub`.
  struct Edge {
    std::uint32_t super = 0;
    std::uint32_t sub = 0;
    std::uint32_t slot = 0;
  };
  /// State `from` with one instance handed over to a new one of `slot` (HandOver::kRelabel) is
  /// `to`.
  struct Relabel {
    std::uint32_t to = 0;
    std::uint32_t from = 0;
    std::uint32_t slot = 0;
  };
  /// The instance that retrains a tenant.
  struct Trainer {
    int tenant = 0;
    double speed = 0;
    bool is_ready = false;
  };

  /// Nothing if there are more than `states_max` states.
  static std::optional<LayoutGraph> make(const GoodputProblem& problem,
                                         const LabelAlphabet& alphabet,
                                         GraphDetail detail,
                                         std::int64_t states_max);

  bool has_early() const { return alphabet_.has_early; }
  bool has_late() const { return alphabet_.has_late; }
  std::size_t count() const { return counts_.size(); }
  std::span<const Slot> slots() const { return slots_; }
  const Letter& letter(std::size_t slot) const {
    return alphabet_.letters[static_cast<std::size_t>(slots_[slot].size)]
                            [static_cast<std::size_t>(slots_[slot].letter)];
  }
  const Counts& counts(std::size_t state) const { return counts_[state]; }
  std::span<const double> ready_rps(std::size_t state) const {
    return std::span(ready_rps_).subspan(state * tenants_, tenants_);
  }
  std::span<const double> all_rps(std::size_t state) const {
    return std::span(all_rps_).subspan(state * tenants_, tenants_);
  }
  std::span<const Trainer> trainers(std::size_t state) const { return trainers_[state]; }
  /// By `super` ascending.
  std::span<const Edge> edges() const { return edges_; }
  /// By slot, then by how many instances of it `to` has: any number of relabels is a path along
  /// them. Letters that must stay for a step more may be handed over too (a relaxation).
  std::span<const Relabel> relabels() const { return relabels_; }
  /// The slots of one size and place that can be handed over to a new one of `slot`.
  std::span<const std::uint32_t> handed_over_to(std::size_t slot) const {
    return handed_over_to_[slot];
  }
  bool has_ages() const { return alphabet_.has_ages; }
  /// (from, to) of one step of time where they differ, in the order in which they are to be moved.
  std::span<const std::pair<std::uint32_t, std::uint32_t>> advances() const { return advances_; }
  /// The state one step of time later.
  std::uint32_t advanced(std::size_t state) const { return advanced_[state]; }
  /// Whether these counts, and so many instances of each size beside them, are legal together.
  bool is_legal(const Counts& counts, const SizeTable<int>& beside) const;
  /// The state of these instances; those of no use are left out.
  std::size_t state_of(const GoodputProblem& problem, const LabelledLayout& layout) const;

 private:
  explicit LayoutGraph(const LabelAlphabet& alphabet) : alphabet_(alphabet) {}
  void make_slots(const LayoutLattice& lattice);
  void make_legal(const GoodputProblem& problem);
  bool make_states(const GoodputProblem& problem, std::int64_t states_max);
  void describe(const GoodputProblem& problem, const Counts& counts);
  void make_edges();
  void make_relabels(const GoodputProblem& problem);
  void make_index();
  std::uint64_t hash_of(const Counts& counts) const;
  std::uint32_t index_of(std::uint64_t hash) const;

  LabelAlphabet alphabet_;
  GraphDetail detail_ = GraphDetail::kMultisets;
  std::size_t tenants_ = 0;
  std::vector<Slot> slots_;
  std::vector<SizeTable<int>> legal_sizes_;      // sorted
  std::vector<std::uint32_t> legal_placements_;  // sorted
  std::vector<Counts> counts_;
  std::vector<std::uint64_t> slot_hashes_;  // a state's hash is the sum over its instances
  std::vector<std::uint64_t> hashes_;       // by state; all different
  std::vector<std::uint32_t> index_;        // states by hash, open addressing
  std::vector<double> ready_rps_;
  std::vector<double> all_rps_;
  std::vector<std::vector<Trainer>> trainers_;
  std::vector<Edge> edges_;
  std::vector<Relabel> relabels_;
  std::vector<std::vector<std::uint32_t>> handed_over_to_;  // by slot
  std::vector<std::uint32_t> advanced_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> advances_;
};

}  // namespace septule::serve
