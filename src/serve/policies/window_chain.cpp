#include "serve/policies/window_chain.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "serve/indices.hpp"

namespace septule::serve {

namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

/// Labelled placed sets as numbers: of each placed set, labels as digits, the lowest placement the
/// least significant.
class ChainStates {
 public:
  ChainStates(const LayoutLattice& lattice, int labels) : lattice_(lattice), labels_(labels) {
    powers_[0] = 1;
    for (std::size_t i = 1; i < powers_.size(); ++i) {
      powers_[i] = powers_[i - 1] * labels;
    }
    for (std::size_t set = 0; set < lattice.placed_sets().size(); ++set) {
      set_of_bits_[lattice.placed_sets()[set].placements] = static_cast<int>(set);
      offsets_.push_back(count_);
      count_ += powers_[static_cast<std::size_t>(lattice.placed_sets()[set].size_count)];
    }
    for (const LayoutLattice::PlacedSet& set : lattice.placed_sets()) {
      additions_.push_back(additions_of(set.placements));
    }
  }

  /// A placement that can be added to a placed set.
  struct Addition {
    int set = 0;       // with it
    int position = 0;  // of its digit
    int placement = 0;
  };
  std::int64_t count() const { return count_; }
  std::int64_t labels() const { return labels_; }
  std::int64_t power(int digits) const { return powers_[static_cast<std::size_t>(digits)]; }
  std::int64_t offset(std::size_t set) const { return offsets_[set]; }
  std::span<const Addition> additions(std::size_t set) const { return additions_[set]; }
  /// State of the larger set of an addition with this label.
  std::int64_t with(const Addition& addition, std::int64_t code, int label) const {
    const std::int64_t power = this->power(addition.position);
    const std::int64_t grown = (code / power * labels_ + label) * power + code % power;
    return offsets_[static_cast<std::size_t>(addition.set)] + grown;
  }
  LabelledLayout layout(std::size_t set, std::int64_t code) const {
    LabelledLayout layout;
    for (std::uint32_t bits = lattice_.placed_sets()[set].placements; bits != 0; bits &= bits - 1) {
      layout.push_back({std::countr_zero(bits), static_cast<int>(code % labels_)});
      code /= labels_;
    }
    return layout;
  }
  LabelledLayout layout(std::int64_t state) const {
    const auto after = std::ranges::upper_bound(offsets_, state);
    const auto set = static_cast<std::size_t>(after - offsets_.begin()) - 1;
    return layout(set, state - offsets_[set]);
  }

 private:
  std::vector<Addition> additions_of(std::uint32_t placements) const {
    std::vector<Addition> additions;
    for (int p = 0; p < static_cast<int>(lattice_.placements().size()); ++p) {
      const std::uint32_t own = bit(p);
      const auto grown = set_of_bits_.find(placements | own);
      if ((placements & own) == 0 && grown != set_of_bits_.end()) {
        additions.push_back({grown->second, std::popcount(placements & (own - 1)), p});
      }
    }
    return additions;
  }

  const LayoutLattice& lattice_;
  std::int64_t labels_;
  std::array<std::int64_t, kInstancesMax + 1> powers_{};
  std::map<std::uint32_t, int> set_of_bits_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::vector<Addition>> additions_;
  std::int64_t count_ = 0;
};

class ChainProgram {
 public:
  explicit ChainProgram(const ChainProblem& problem)
      : problem_(problem), states_(*problem.lattice, problem.label_count) {
    number_counts();
  }

  LayoutChain run() {
    const auto count = static_cast<std::size_t>(states_.count());
    values_.assign(count, kImpossible);
    values_[0] = 0;  // the empty layout
    LayoutChain chain;
    for (int window = 0; window < problem_.windows; ++window) {
      close_over_kept();
      chain.free_value += add_rewards(window);
      close_over_created(window);
    }
    std::int64_t state = std::ranges::max_element(values_) - values_.begin();
    chain.value = values_[static_cast<std::size_t>(state)];
    chain.layouts.resize(static_cast<std::size_t>(problem_.windows));
    for (std::size_t window = chain.layouts.size(); window > 0; --window) {
      chain.layouts[window - 1] = states_.layout(state);
      const std::int32_t kept = kept_of_[window - 1][static_cast<std::size_t>(state)];
      state = came_from_[window - 1][static_cast<std::size_t>(kept)];
    }
    return chain;
  }

 private:
  void number_counts() {
    std::map<std::vector<SizeTable<int>>, std::int32_t> numbers;
    for (std::size_t set = 0; set < problem_.lattice->placed_sets().size(); ++set) {
      const std::int64_t codes = states_.power(problem_.lattice->placed_sets()[set].size_count);
      for (std::int64_t code = 0; code < codes; ++code) {
        std::vector<SizeTable<int>> counts(static_cast<std::size_t>(problem_.label_count));
        for (const LabelledInstance& instance : states_.layout(set, code)) {
          const int size =
              problem_.lattice->placements()[static_cast<std::size_t>(instance.placement)].size;
          ++counts[static_cast<std::size_t>(instance.label)][static_cast<std::size_t>(size)];
        }
        const auto [at, is_new] =
            numbers.try_emplace(counts, static_cast<std::int32_t>(counts_.size()));
        if (is_new) {
          counts_.push_back(counts);
        }
        number_.push_back(at->second);
      }
    }
  }

  /// Each value becomes the best of the states that contain this one: what is kept of them.
  void close_over_kept() {
    std::vector<std::int32_t>& from = came_from_.emplace_back(values_.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      from[i] = static_cast<std::int32_t>(i);
    }
    for (std::size_t set = problem_.lattice->placed_sets().size(); set > 0; --set) {
      const std::int64_t codes = states_.power(problem_.lattice->placed_sets()[set - 1].size_count);
      for (std::int64_t code = 0; code < codes; ++code) {
        const auto here = static_cast<std::size_t>(states_.offset(set - 1) + code);
        for (const ChainStates::Addition& addition : states_.additions(set - 1)) {
          for (int label = 0; label < problem_.label_count; ++label) {
            const auto there = static_cast<std::size_t>(states_.with(addition, code, label));
            if (values_[there] > values_[here]) {
              values_[here] = values_[there];
              from[here] = from[there];
            }
          }
        }
      }
    }
  }

  /// Kept states begin the window with what they were worth; the reward is that of the state after
  /// creation, which close_over_created() reaches. Returns the best reward.
  double add_rewards(int window) {
    rewards_.clear();
    for (const std::vector<SizeTable<int>>& counts : counts_) {
      rewards_.push_back(problem_.reward(window, counts));
    }
    return *std::ranges::max_element(rewards_);
  }

  void close_over_created(int window) {
    std::vector<std::int32_t>& kept = kept_of_.emplace_back(values_.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      kept[i] = static_cast<std::int32_t>(i);
    }
    for (std::size_t set = 0; set < problem_.lattice->placed_sets().size(); ++set) {
      for (const ChainStates::Addition& addition : states_.additions(set)) {
        const int size =
            problem_.lattice->placements()[static_cast<std::size_t>(addition.placement)].size;
        for (int label = 0; label < problem_.label_count; ++label) {
          create(set, addition, label, problem_.creation_cost(window, label, size));
        }
      }
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i] += rewards_[static_cast<std::size_t>(number_[i])];
    }
  }

  void create(std::size_t set, const ChainStates::Addition& addition, int label, double cost) {
    std::vector<std::int32_t>& kept = kept_of_.back();
    const std::int64_t codes = states_.power(problem_.lattice->placed_sets()[set].size_count);
    for (std::int64_t code = 0; code < codes; ++code) {
      const auto here = static_cast<std::size_t>(states_.offset(set) + code);
      const auto there = static_cast<std::size_t>(states_.with(addition, code, label));
      if (values_[here] - cost > values_[there]) {
        values_[there] = values_[here] - cost;
        kept[there] = kept[here];
      }
    }
  }

  const ChainProblem& problem_;
  ChainStates states_;
  std::vector<std::vector<SizeTable<int>>> counts_;   // different ones
  std::vector<std::int32_t> number_;                  // of the counts, by state
  std::vector<double> values_;                        // by state
  std::vector<double> rewards_;                       // by number
  std::vector<std::vector<std::int32_t>> came_from_;  // by window: state before, of a kept state
  std::vector<std::vector<std::int32_t>> kept_of_;    // by window: kept state, of a state
};

}  // namespace

Result<LayoutChain> chain_layouts(const ChainProblem& problem) {
  SEPTULE_CHECK(problem.lattice != nullptr, "the layouts are known");
  SEPTULE_CHECK(problem.windows > 0, "there is a window");
  const std::int64_t states = problem.lattice->labelled_set_count(problem.label_count);
  if (states > kChainStatesMax / problem.windows) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{} uses of instances make {} labelled layouts, too many for an exact "
                             "chain over {} windows; at most {} together are possible, so plan "
                             "with fewer tenants per GPU or a shorter run",
                             problem.label_count,
                             states,
                             problem.windows,
                             kChainStatesMax)};
  }
  return ChainProgram(problem).run();
}

}  // namespace septule::serve
