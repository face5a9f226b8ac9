#include "serve/labelled_multisets.hpp"

#include <algorithm>
#include <numeric>

#include "base/check.hpp"

namespace septule::serve {

namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

std::optional<LabelledMultisets> LabelledMultisets::make(const GoodputProblem& problem,
                                                         const LabelAlphabet& alphabet,
                                                         std::int64_t states_max) {
  LabelledMultisets states(alphabet);
  states.tenants_ = problem.tenants.size();
  for (int size = 0; size < static_cast<int>(problem.lattice->sizes().size()); ++size) {
    for (int i = 0; i < static_cast<int>(alphabet.letters[at(size)].size()); ++i) {
      states.slots_.emplace_back(size, i);
    }
  }
  if (!states.make_states(problem, states_max)) {
    return std::nullopt;
  }
  states.make_edges();
  return states;
}

const Letter& LabelledMultisets::letter(std::size_t slot) const {
  return alphabet_.letters[at(slots_[slot].first)][at(slots_[slot].second)];
}

bool LabelledMultisets::make_states(const GoodputProblem& problem, std::int64_t states_max) {
  // Every legal multiset, its instances dealt out to the letters of their size. Grown instance by
  // instance: a state and a slot not before the last one used.
  std::vector<SizeTable<int>> legal;
  for (const LayoutLattice::PlacedSet& set : problem.lattice->placed_sets()) {
    const bool is_beside_frozen = (set.placements & problem.frozen) == 0 &&
                                  problem.lattice->is_legal(set.placements | problem.frozen);
    if (is_beside_frozen) {
      legal.push_back(problem.lattice->multisets()[at(set.multiset)].counts);
    }
  }
  std::ranges::sort(legal);
  std::vector<std::size_t> last_slot = {0};
  counts_.push_back(Counts(slots_.size(), 0));
  describe(problem, counts_.front());
  for (std::size_t grown = 0; grown < counts_.size(); ++grown) {
    for (std::size_t slot = last_slot[grown]; slot < slots_.size(); ++slot) {
      SizeTable<int> sizes = sizes_[grown];
      ++sizes[at(slots_[slot].first)];
      const auto& retrains = problem.labels[at(letter(slot).label)].retrains;
      const bool is_second = retrains.has_value() && [&] {
        for (std::size_t other = 0; other < slots_.size(); ++other) {
          if (counts_[grown][other] > 0 &&
              problem.labels[at(letter(other).label)].retrains == retrains) {
            return true;
          }
        }
        return false;
      }();
      if (is_second || !std::ranges::binary_search(legal, sizes)) {
        continue;
      }
      if (std::ssize(counts_) >= states_max) {
        return false;
      }
      Counts counts = counts_[grown];
      ++counts[slot];
      describe(problem, counts);
      counts_.push_back(std::move(counts));
      last_slot.push_back(slot);
    }
  }
  sorted_.resize(counts_.size());
  std::iota(sorted_.begin(), sorted_.end(), 0U);
  std::ranges::sort(sorted_, {}, [&](std::uint32_t i) -> const Counts& { return counts_[i]; });
  return true;
}

void LabelledMultisets::describe(const GoodputProblem& problem, const Counts& counts) {
  const std::size_t base = ready_rps_.size();
  ready_rps_.resize(base + tenants_, 0.0);
  all_rps_.resize(base + tenants_, 0.0);
  SizeTable<int> sizes{};
  std::vector<Trainer> trainers;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const auto [size, index] = slots_[slot];
    sizes[at(size)] += counts[slot];
    if (counts[slot] == 0) {
      continue;
    }
    const Letter& held = letter(slot);
    const Label& label = problem.labels[at(held.label)];
    for (const Label::Output& output : label.serves) {
      const double rps = counts[slot] * output.rate_rps[at(size)];
      all_rps_[base + at(output.tenant)] += rps;
      ready_rps_[base + at(output.tenant)] += held.wait == 0 ? rps : 0.0;
    }
    if (label.retrains.has_value() && held.wait == 0) {
      trainers.push_back({*label.retrains, size, label.speed[at(size)]});
    }
  }
  sizes_.push_back(sizes);
  trainers_.push_back(std::move(trainers));
}

std::uint32_t LabelledMultisets::index_of(const Counts& counts) const {
  const auto found = std::ranges::lower_bound(
      sorted_, counts, {}, [&](std::uint32_t i) -> const Counts& { return counts_[i]; });
  SEPTULE_CHECK(found != sorted_.end() && counts_[*found] == counts, "the state is one of these");
  return *found;
}

void LabelledMultisets::make_edges() {
  for (std::uint32_t state = 0; state < counts_.size(); ++state) {
    Counts next(slots_.size(), 0);
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      const auto [size, index] = slots_[slot];
      if (counts_[state][slot] == 0) {
        continue;
      }
      Counts less = counts_[state];
      --less[slot];
      edges_.push_back({state, index_of(less), size, index});
      // Letters of one size lie side by side.
      const std::size_t to = slot - at(index) + at(letter(slot).next);
      next[to] = static_cast<std::uint16_t>(next[to] + counts_[state][slot]);
    }
    if (const std::uint32_t to = alphabet_.has_ages ? index_of(next) : state; to != state) {
      advances_.emplace_back(state, to);
    }
  }
  // Whoever is moved into must have moved on before. Lexicographically greater counts are nearer
  // to settled, as settled letters come first.
  std::ranges::sort(
      advances_, [&](const auto& a, const auto& b) { return counts_[a.first] > counts_[b.first]; });
}

std::size_t LabelledMultisets::state_of(const GoodputProblem& problem,
                                        const LabelledLayout& layout) const {
  Counts counts(slots_.size(), 0);
  for (const LabelledInstance& instance : layout) {
    const int size = problem.lattice->placements()[at(instance.placement)].size;
    const bool is_frozen = (problem.frozen >> static_cast<unsigned>(instance.placement) & 1U) != 0;
    const int settled = is_frozen ? -1 : alphabet_.settled(size, instance.label);
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      if (settled >= 0 && slots_[slot] == std::pair(size, settled)) {
        ++counts[slot];
      }
    }
  }
  return index_of(counts);
}

}  // namespace septule::serve
