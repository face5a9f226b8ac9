#include "serve/predecessor_search.hpp"

#include <algorithm>

namespace septule::serve {

namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

std::uint32_t bit(int placement) {
  return std::uint32_t{1} << static_cast<unsigned>(placement);
}

/// Looks through the ways to fill one set that go with `kept`.
class Search {
 public:
  Search(const LayoutLattice& lattice,
         const LabelledStates& states,
         std::span<const double> layer,
         const Spelling& kept,
         const StepRules& rules)
      : lattice_(lattice), states_(states), layer_(layer), kept_(kept), rules_(rules) {
    for (const SpelledInstance& instance : kept) {
      mask_ |= bit(instance.placement);
    }
  }

  Predecessor run() {
    for (std::size_t i = 0; i < states_.sets().size(); ++i) {
      const LabelledStates::Set& set = states_.sets()[i];
      if ((*rules_.open)[i] != 0 && lattice_.is_legal(set.placements | mask_ | rules_.reserved) &&
          prepare(set)) {
        walk(set, 0, 0);
      }
    }
    if (best_.is_found) {
      best_.state = spell(states_, best_index_);
    }
    return best_;
  }

 private:
  /// Works out what is created and dropped; false if the rules forbid it.
  bool prepare(const LabelledStates::Set& set) {
    created_ = 0;
    cost_ = 0;
    for (const SpelledInstance& instance : kept_) {
      if ((set.placements & bit(instance.placement)) != 0) {
        continue;
      }
      const Letter& letter = states_.alphabet().letters[at(instance.size)][at(instance.letter)];
      if (!letter.is_made_late) {
        return false;
      }
      ++created_;
      cost_ += (*rules_.costs)[at(instance.size)][at(instance.letter)];
    }
    dropped_ = 0;
    for (int k = 0; k < set.count; ++k) {
      wanted_[at(k)] = -1;
      const auto found =
          std::ranges::find(kept_, set.placement[at(k)], &SpelledInstance::placement);
      if (found != kept_.end()) {
        wanted_[at(k)] = found->letter;
      } else {
        ++dropped_;
      }
    }
    return created_ <= rules_.created_max && (dropped_ == 0 || rules_.may_drop);
  }

  bool is_allowed(const LabelledStates::Set& set, int k, std::size_t digit) const {
    const std::vector<Letter>& letters = states_.alphabet().letters[at(set.size[at(k)])];
    const int next = letters[digit].next;
    return wanted_[at(k)] >= 0 ? next == wanted_[at(k)] : letters[at(next)].stay == 0;
  }

  void walk(const LabelledStates::Set& set, int k, std::size_t state) {
    if (k == set.count) {
      offer(set.offset + state);
      return;
    }
    for (std::size_t digit = 0; digit < set.radix[at(k)]; ++digit) {
      const std::size_t longer = state + digit * set.stride[at(k)];
      if (is_allowed(set, k, digit)) {
        walk(set, k + 1, longer);
      } else if (is_handed_over(set, k, digit)) {
        const double cost = cost_;
        cost_ += (*rules_.costs)[at(set.size[at(k)])][at(wanted_[at(k)])];
        ++created_;
        walk(set, k + 1, longer);
        --created_;
        cost_ = cost;
      }
    }
  }

  bool is_handed_over(const LabelledStates::Set& set, int k, std::size_t digit) const {
    return wanted_[at(k)] >= 0 && created_ < rules_.created_max &&
           states_.may_hand_over(set.size[at(k)], digit, at(wanted_[at(k)]));
  }

  void offer(std::size_t index) {
    const double value = layer_[index] - cost_;
    if (best_.is_found) {
      if (value < best_.value) {
        return;
      }
      const bool is_better =
          value > best_.value || created_ < best_.created ||
          (created_ == best_.created && dropped_ < best_.dropped) ||
          (created_ == best_.created && dropped_ == best_.dropped && index < best_index_);
      if (!is_better) {
        return;
      }
    }
    best_ = {{}, value, created_, dropped_, true};
    best_index_ = index;
  }

  const LayoutLattice& lattice_;
  const LabelledStates& states_;
  std::span<const double> layer_;
  const Spelling& kept_;
  const StepRules& rules_;
  std::uint32_t mask_ = 0;
  std::array<int, kInstancesMax> wanted_{};  // letter after this step; -1 = none
  int created_ = 0;
  int dropped_ = 0;
  double cost_ = 0;
  Predecessor best_;
  std::size_t best_index_ = 0;
};

}  // namespace

Spelling spell(const LabelledStates& states, std::size_t index) {
  const auto after =
      std::ranges::upper_bound(states.sets(), index, {}, &LabelledStates::Set::offset);
  const LabelledStates::Set& set = *(after - 1);
  const std::size_t state = index - set.offset;
  Spelling spelling;
  for (int k = 0; k < set.count; ++k) {
    const std::size_t digit = state / set.stride[at(k)] % set.radix[at(k)];
    spelling.push_back({set.placement[at(k)], set.size[at(k)], static_cast<int>(digit)});
  }
  std::ranges::sort(spelling, {}, &SpelledInstance::placement);
  return spelling;
}

Predecessor find_predecessor(const LayoutLattice& lattice,
                             const LabelledStates& states,
                             std::span<const double> layer,
                             const Spelling& kept,
                             const StepRules& rules) {
  return Search(lattice, states, layer, kept, rules).run();
}

}  // namespace septule::serve
