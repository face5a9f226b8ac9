#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "serve/label_alphabet.hpp"

namespace septule::serve {

/// The states of the multiset relaxation (serving.md 2.4): how many instances of each size hold
/// which letter; where they are is forgotten. At most one instance retrains a tenant. By number of
/// instances. Immutable; any thread may read.
class LabelledMultisets {
 public:
  /// State `super` with one instance of (size, letter) less is `sub`.
  struct Edge {
    std::uint32_t super = 0;
    std::uint32_t sub = 0;
    int size = 0;
    int letter = 0;
  };
  /// The instance that retrains a tenant, once ready.
  struct Trainer {
    int tenant = 0;
    int size = 0;
    double speed = 0;
  };

  /// Only what fits beside the frozen instances, which are not part of the states. Nothing if there
  /// are more than `states_max` states.
  static std::optional<LabelledMultisets> make(const GoodputProblem& problem,
                                               const LabelAlphabet& alphabet,
                                               std::int64_t states_max);

  const LabelAlphabet& alphabet() const { return alphabet_; }
  std::size_t count() const { return ready_rps_.size() / tenants_; }
  std::span<const double> ready_rps(std::size_t state) const {
    return std::span(ready_rps_).subspan(state * tenants_, tenants_);
  }
  std::span<const double> all_rps(std::size_t state) const {
    return std::span(all_rps_).subspan(state * tenants_, tenants_);
  }
  std::span<const Trainer> trainers(std::size_t state) const { return trainers_[state]; }
  /// Instances by size of a state, whatever they hold.
  const SizeTable<int>& sizes(std::size_t state) const { return sizes_[state]; }
  /// By `super` ascending.
  std::span<const Edge> edges() const { return edges_; }
  /// (from, to) of one step of time where they differ, in the order in which they are to be moved.
  std::span<const std::pair<std::uint32_t, std::uint32_t>> advances() const { return advances_; }
  /// The state of these instances; those of no use are left out.
  std::size_t state_of(const GoodputProblem& problem, const LabelledLayout& layout) const;

 private:
  using Counts = std::vector<std::uint16_t>;  // by size, then letter
  explicit LabelledMultisets(const LabelAlphabet& alphabet) : alphabet_(alphabet) {}
  bool make_states(const GoodputProblem& problem, std::int64_t states_max);
  void describe(const GoodputProblem& problem, const Counts& counts);
  void make_edges();
  std::uint32_t index_of(const Counts& counts) const;
  const Letter& letter(std::size_t slot) const;

  LabelAlphabet alphabet_;
  std::size_t tenants_ = 0;
  std::vector<std::pair<int, int>> slots_;  // size and letter of an entry of Counts
  std::vector<Counts> counts_;
  std::vector<std::uint32_t> sorted_;  // states by counts, to find them
  std::vector<double> ready_rps_;
  std::vector<double> all_rps_;
  std::vector<std::vector<Trainer>> trainers_;
  std::vector<SizeTable<int>> sizes_;
  std::vector<Edge> edges_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> advances_;
};

}  // namespace septule::serve
