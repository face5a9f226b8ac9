#include "serve/layout_graph.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"
#include "base/rng.hpp"

namespace septule::serve {

namespace {

constexpr std::uint64_t kHashSeed = 0x5e97;
constexpr std::uint32_t kNoState = UINT32_MAX;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

std::uint32_t bit(int placement) {
  return std::uint32_t{1} << static_cast<unsigned>(placement);
}

template <class T>
void sort_unique(std::vector<T>& values) {
  std::ranges::sort(values);
  const auto rest = std::ranges::unique(values);
  values.erase(rest.begin(), rest.end());
}

}  // namespace

std::optional<LayoutGraph> LayoutGraph::make(const GoodputProblem& problem,
                                             const LabelAlphabet& alphabet,
                                             GraphDetail detail,
                                             std::int64_t states_max) {
  LayoutGraph graph(alphabet);
  graph.detail_ = detail;
  graph.tenants_ = problem.tenants.size();
  graph.make_slots(*problem.lattice);
  graph.make_legal(problem);
  if (!graph.make_states(problem, states_max)) {
    return std::nullopt;
  }
  graph.make_edges();
  graph.make_relabels(problem);
  return graph;
}

void LayoutGraph::make_slots(const LayoutLattice& lattice) {
  const auto add = [&](int size, int placement) {
    for (int i = 0; i < static_cast<int>(alphabet_.letters[at(size)].size()); ++i) {
      slots_.push_back({size, placement, i});
    }
  };
  if (detail_ == GraphDetail::kPlaced) {
    for (int p = 0; p < static_cast<int>(lattice.placements().size()); ++p) {
      add(lattice.placements()[at(p)].size, p);
    }
    return;
  }
  for (int size = 0; size < static_cast<int>(lattice.sizes().size()); ++size) {
    add(size, -1);
  }
}

void LayoutGraph::make_legal(const GoodputProblem& problem) {
  for (const LayoutLattice::PlacedSet& set : problem.lattice->placed_sets()) {
    const bool is_beside_frozen = (set.placements & problem.frozen) == 0 &&
                                  problem.lattice->is_legal(set.placements | problem.frozen);
    if (is_beside_frozen) {
      legal_sizes_.push_back(problem.lattice->multisets()[at(set.multiset)].counts);
      legal_placements_.push_back(set.placements);
    }
  }
  sort_unique(legal_sizes_);
  sort_unique(legal_placements_);
}

bool LayoutGraph::is_legal(const Counts& counts, const SizeTable<int>& beside) const {
  SizeTable<int> sizes = beside;
  std::uint32_t placements = 0;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (counts[slot] == 0) {
      continue;
    }
    sizes[at(slots_[slot].size)] += counts[slot];
    if (slots_[slot].placement >= 0) {
      if (counts[slot] > 1 || (placements & bit(slots_[slot].placement)) != 0) {
        return false;
      }
      placements |= bit(slots_[slot].placement);
    }
  }
  return std::ranges::binary_search(legal_sizes_, sizes) &&
         (detail_ == GraphDetail::kMultisets ||
          std::ranges::binary_search(legal_placements_, placements));
}

bool LayoutGraph::make_states(const GoodputProblem& problem, std::int64_t states_max) {
  // Grown instance by instance: a state and a slot not before the last one used. Whatever is legal
  // stays so without an instance, so nothing is missed.
  std::vector<std::size_t> last_slot = {0};
  counts_.emplace_back(slots_.size(), 0);
  describe(problem, counts_.front());
  for (std::size_t grown = 0; grown < counts_.size(); ++grown) {
    bool is_legal_here = false;
    for (std::size_t slot = last_slot[grown]; slot < slots_.size(); ++slot) {
      Counts counts = counts_[grown];
      ++counts[slot];
      // The letters of one size and place lie side by side and are legal together or not.
      if (slot == last_slot[grown] || slots_[slot].letter == 0) {
        is_legal_here = is_legal(counts, {});
      }
      const auto& retrains = problem.labels[at(letter(slot).label)].retrains;
      const bool is_second = retrains.has_value() &&
                             std::ranges::find(trainers_[grown], *retrains, &Trainer::tenant) !=
                                 trainers_[grown].end();
      if (!is_legal_here || is_second) {
        continue;
      }
      if (std::ssize(counts_) >= states_max) {
        return false;
      }
      describe(problem, counts);
      counts_.push_back(std::move(counts));
      last_slot.push_back(slot);
    }
  }
  make_index();
  return true;
}

void LayoutGraph::describe(const GoodputProblem& problem, const Counts& counts) {
  const std::size_t base = ready_rps_.size();
  ready_rps_.resize(base + tenants_, 0.0);
  all_rps_.resize(base + tenants_, 0.0);
  std::vector<Trainer> trainers;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (counts[slot] == 0) {
      continue;
    }
    const std::size_t size = at(slots_[slot].size);
    const Letter& held = letter(slot);
    const Label& label = problem.labels[at(held.label)];
    for (const Label::Output& output : label.serves) {
      const double rps = counts[slot] * output.rate_rps[size];
      all_rps_[base + at(output.tenant)] += rps;
      ready_rps_[base + at(output.tenant)] += held.wait == 0 ? rps : 0.0;
    }
    if (label.retrains.has_value()) {
      trainers.push_back({*label.retrains, label.speed[size], held.wait == 0});
    }
  }
  trainers_.push_back(std::move(trainers));
}

std::uint64_t LayoutGraph::hash_of(const Counts& counts) const {
  std::uint64_t hash = 0;
  for (std::size_t slot = 0; slot < counts.size(); ++slot) {
    hash += counts[slot] * slot_hashes_[slot];
  }
  return hash;
}

void LayoutGraph::make_index() {
  Rng rng(kHashSeed);
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    slot_hashes_.push_back(rng.next());
  }
  index_.assign(std::bit_ceil(counts_.size() * 2), kNoState);
  for (std::uint32_t state = 0; state < counts_.size(); ++state) {
    hashes_.push_back(hash_of(counts_[state]));
    std::size_t where = hashes_.back() & (index_.size() - 1);
    while (index_[where] != kNoState) {
      SEPTULE_CHECK(hashes_[index_[where]] != hashes_.back(), "states have different hashes");
      where = (where + 1) & (index_.size() - 1);
    }
    index_[where] = state;
  }
}

std::uint32_t LayoutGraph::index_of(std::uint64_t hash) const {
  std::size_t where = hash & (index_.size() - 1);
  while (index_[where] != kNoState && hashes_[index_[where]] != hash) {
    where = (where + 1) & (index_.size() - 1);
  }
  SEPTULE_CHECK(index_[where] != kNoState, "the state is one of these");
  return index_[where];
}

void LayoutGraph::make_edges() {
  for (std::uint32_t state = 0; state < counts_.size(); ++state) {
    std::uint64_t next = 0;
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
      if (counts_[state][slot] == 0) {
        continue;
      }
      edges_.push_back({state, index_of(hashes_[state] - slot_hashes_[slot]), slot});
      // The letters of one size and place lie side by side.
      const std::size_t to = slot - at(slots_[slot].letter) + at(letter(slot).next);
      next += counts_[state][slot] * slot_hashes_[to];
    }
    advanced_.push_back(alphabet_.has_ages ? index_of(next) : state);
    if (advanced_.back() != state) {
      advances_.emplace_back(state, advanced_.back());
    }
  }
  // Whoever is moved into must have moved on before: lexicographically greater counts are nearer to
  // settled, as settled letters come first.
  std::ranges::sort(
      advances_, [&](const auto& a, const auto& b) { return counts_[a.first] > counts_[b.first]; });
}

void LayoutGraph::make_relabels(const GoodputProblem& problem) {
  handed_over_to_.resize(slots_.size());
  for (std::uint32_t to = 0; to < slots_.size(); ++to) {
    for (std::uint32_t from = 0; from < slots_.size() && letter(to).is_made_late; ++from) {
      const bool is_here =
          slots_[from].size == slots_[to].size && slots_[from].placement == slots_[to].placement;
      const bool is_settled = letter(from).next == slots_[from].letter;
      if (is_here && is_settled &&
          hands_over(problem, letter(from).label, letter(to).label, slots_[to].size)) {
        handed_over_to_[to].push_back(from);
      }
    }
    // With fewer instances of the slot first, so that one relabel follows another.
    const auto first = static_cast<std::ptrdiff_t>(relabels_.size());
    for (std::uint32_t state = 0; state < counts_.size(); ++state) {
      for (const std::uint32_t from : handed_over_to_[to]) {
        if (counts_[state][to] > 0) {
          const std::uint64_t before = hashes_[state] - slot_hashes_[to] + slot_hashes_[from];
          relabels_.push_back({state, index_of(before), to});
        }
      }
    }
    std::stable_sort(
        relabels_.begin() + first, relabels_.end(), [&](const Relabel& a, const Relabel& b) {
          return counts_[a.to][to] < counts_[b.to][to];
        });
  }
}

std::size_t LayoutGraph::state_of(const GoodputProblem& problem,
                                  const LabelledLayout& layout) const {
  Counts counts(slots_.size(), 0);
  for (const LabelledInstance& instance : layout) {
    const int size = problem.lattice->placements()[at(instance.placement)].size;
    const bool is_frozen = (problem.frozen & bit(instance.placement)) != 0;
    const int settled = is_frozen ? -1 : alphabet_.settled(size, instance.label);
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      const Slot& at_slot = slots_[slot];
      const bool is_there = at_slot.placement < 0 || at_slot.placement == instance.placement;
      if (settled >= 0 && is_there && at_slot.size == size && at_slot.letter == settled) {
        ++counts[slot];
      }
    }
  }
  return index_of(hash_of(counts));
}

}  // namespace septule::serve
