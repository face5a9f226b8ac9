#include "serve/labelled_states.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace septule::serve {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

double larger(double a, double b) {
  return a > b ? a : b;
}

}  // namespace

LabelledStates::LabelledStates(const GoodputProblem& problem, const LabelAlphabet& alphabet)
    : alphabet_(alphabet) {
  make_sets(*problem.lattice);
  std::map<int, int> shape_of;  // by multiset
  for (Set& set : sets_) {
    const int multiset = problem.lattice->placed_sets()[at(set.lattice_set)].multiset;
    const auto [found, is_new] = shape_of.try_emplace(multiset, static_cast<int>(shapes_.size()));
    set.shape = found->second;
    if (is_new) {
      make_shape(problem, set);
    }
  }
  if (alphabet_.has_ages) {
    make_advance();
  }
  if (problem.hand_over == HandOver::kRelabel && !alphabet_.has_early) {
    make_hand_overs(problem);
  }
}

void LabelledStates::make_hand_overs(const GoodputProblem& problem) {
  for (int size = 0; size < static_cast<int>(problem.lattice->sizes().size()); ++size) {
    const std::vector<Letter>& letters = alphabet_.letters[at(size)];
    auto& pairs = hand_overs_[at(size)];
    std::size_t most = 0;
    for (std::size_t from = 0; from < letters.size(); ++from) {
      for (std::size_t to = 0; to < letters.size(); ++to) {
        if (!letters[to].is_made_late || letters[from].label == letters[to].label) {
          continue;
        }
        ++most;
        if (letters[from].stay == 0 &&
            septule::serve::hands_over(problem, letters[from].label, letters[to].label, size)) {
          pairs.emplace_back(from, to);
        }
      }
    }
    are_all_alike_[at(size)] = pairs.size() == most && !alphabet_.has_ages;
    hands_over_ = hands_over_ || !pairs.empty();
  }
}

bool LabelledStates::may_hand_over(int size, std::size_t from, std::size_t to) const {
  return hands_over_ && std::ranges::find(hand_overs_[at(size)], std::pair(from, to)) !=
                            hand_overs_[at(size)].end();
}

void LabelledStates::make_sets(const LayoutLattice& lattice) {
  std::vector<int> index_of(lattice.placed_sets().size(), -1);
  for (std::size_t i = 0; i < lattice.placed_sets().size(); ++i) {
    Set set;
    set.placements = lattice.placed_sets()[i].placements;
    set.lattice_set = static_cast<int>(i);
    set.states = 1;
    for (int size = 0; size < static_cast<int>(lattice.sizes().size()); ++size) {
      for (int p = 0; p < static_cast<int>(lattice.placements().size()); ++p) {
        const bool is_in = (set.placements >> static_cast<unsigned>(p) & 1U) != 0;
        if (!is_in || lattice.placements()[at(p)].size != size) {
          continue;
        }
        set.placement[at(set.count)] = p;
        set.size[at(set.count)] = size;
        set.stride[at(set.count)] = set.states;
        set.radix[at(set.count)] = alphabet_.letters[at(size)].size();
        set.states *= set.radix[at(set.count)];
        ++set.count;
      }
    }
    if (set.states == 0) {
      continue;
    }
    for (int k = 0; k < set.count; ++k) {
      const auto bit = std::uint32_t{1} << static_cast<unsigned>(set.placement[at(k)]);
      set.without[at(k)] = index_of[at(lattice.find_set(set.placements & ~bit).value_or(0))];
    }
    set.offset = count_;
    count_ += set.states;
    index_of[i] = static_cast<int>(sets_.size());
    sets_.push_back(set);
  }
}

const Letter& LabelledStates::letter(const Set& set, int instance, std::size_t state) const {
  const std::size_t digit = state / set.stride[at(instance)] % set.radix[at(instance)];
  return alphabet_.letters[at(set.size[at(instance)])][digit];
}

void LabelledStates::make_shape(const GoodputProblem& problem, const Set& set) {
  Shape shape;
  shape.content.resize(set.states);
  std::array<std::size_t, kInstancesMax> digits{};
  for (std::size_t state = 0; state < set.states; ++state) {
    for (int k = 0; k < set.count; ++k) {
      digits[at(k)] = state / set.stride[at(k)] % set.radix[at(k)];
    }
    // Equal sizes are neighbours; digits sorted within a size give the one state that stands for
    // all orders.
    std::size_t canonical = 0;
    for (int k = 0; k < set.count; ++k) {
      for (int j = k; j > 0 && set.size[at(j)] == set.size[at(j - 1)]; --j) {
        if (digits[at(j)] > digits[at(j - 1)]) {
          std::swap(digits[at(j)], digits[at(j - 1)]);
        }
      }
    }
    for (int k = 0; k < set.count; ++k) {
      canonical += digits[at(k)] * set.stride[at(k)];
    }
    if (canonical == state) {
      shape.content[state] = static_cast<int>(contents_.count);
      make_content(problem, set, state);
    } else {
      shape.content[state] = shape.content[canonical];
    }
  }
  shapes_.push_back(std::move(shape));
}

void LabelledStates::make_content(const GoodputProblem& problem,
                                  const Set& set,
                                  std::size_t state) {
  const std::size_t tenants = problem.tenants.size();
  const std::size_t base = contents_.ready_rps.size();
  contents_.ready_rps.resize(base + tenants, 0.0);
  contents_.all_rps.resize(base + tenants, 0.0);
  for (int k = 0; k < set.count; ++k) {
    const Letter& held = letter(set, k, state);
    for (const Label::Output& output : problem.labels[at(held.label)].serves) {
      const double rate = output.rate_rps[at(set.size[at(k)])];
      contents_.all_rps[base + at(output.tenant)] += rate;
      contents_.ready_rps[base + at(output.tenant)] += held.wait == 0 ? rate : 0.0;
    }
  }
  ++contents_.count;
}

void LabelledStates::make_advance() {
  for (const Set& set : sets_) {
    for (std::size_t state = 0; state < set.states; ++state) {
      std::size_t to = 0;
      for (int k = 0; k < set.count; ++k) {
        to += at(letter(set, k, state).next) * set.stride[at(k)];
      }
      if (to != state) {
        advance_.emplace_back(static_cast<std::uint32_t>(set.offset + state),
                              static_cast<std::uint32_t>(set.offset + to));
      }
    }
  }
}

void LabelledStates::close_drops(std::span<double> values, const OpenSets& open) const {
  for (std::size_t i = sets_.size(); i-- > 0;) {
    const Set& set = sets_[i];
    if (open[i] == 0) {
      continue;
    }
    for (int k = 0; k < set.count; ++k) {
      const std::size_t stride = set.stride[at(k)];
      const std::size_t radix = set.radix[at(k)];
      const std::vector<Letter>& letters = alphabet_.letters[at(set.size[at(k)])];
      const double* from = values.data() + set.offset;
      double* to = values.data() + sets_[at(set.without[at(k)])].offset;
      for (std::size_t high = 0; high < set.states / (stride * radix); ++high, to += stride) {
        for (std::size_t digit = 0; digit < radix; ++digit, from += stride) {
          if (letters[digit].stay > 0) {
            continue;
          }
          for (std::size_t low = 0; low < stride; ++low) {
            to[low] = larger(to[low], from[low]);
          }
        }
      }
    }
  }
}

void LabelledStates::create_into(std::span<double> values,
                                 const Set& set,
                                 int instance,
                                 std::span<const double> costs) const {
  const std::size_t stride = set.stride[at(instance)];
  const std::size_t radix = set.radix[at(instance)];
  double* to = values.data() + set.offset;
  const double* from = values.data() + sets_[at(set.without[at(instance)])].offset;
  for (std::size_t high = 0; high < set.states / (stride * radix); ++high, from += stride) {
    for (std::size_t digit = 0; digit < radix; ++digit, to += stride) {
      const double cost = costs[digit];
      if (cost == std::numeric_limits<double>::infinity()) {
        continue;
      }
      for (std::size_t low = 0; low < stride; ++low) {
        to[low] = larger(to[low], from[low] - cost);
      }
    }
  }
}

void LabelledStates::close_creations(std::span<double> values,
                                     const OpenSets& open,
                                     Made made,
                                     const SizeTable<std::vector<double>>& costs,
                                     int created_max) const {
  SizeTable<std::vector<double>> charged = costs;  // infinite where the letter is not a new one
  for (std::size_t size = 0; size < kSizesMax; ++size) {
    for (std::size_t i = 0; i < alphabet_.letters[size].size(); ++i) {
      const Letter& letter = alphabet_.letters[size][i];
      if (!(made == Made::kEarly ? letter.is_made_early : letter.is_made_late)) {
        charged[size][i] = -kNever;
      }
    }
  }
  const bool has_hand_overs = made == Made::kLate && hands_over_ && !alphabet_.has_ages;
  std::vector<double> before;
  const auto pull = [&](std::size_t i) {
    const Set& set = sets_[i];
    if (open[i] == 0) {
      return;
    }
    for (int k = 0; k < set.count; ++k) {
      create_into(values, set, k, charged[at(set.size[at(k)])]);
    }
  };
  if (created_max >= static_cast<int>(kInstancesMax)) {
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      pull(i);
    }
    return;
  }
  // Large sets first, so that each pass adds one instance at most.
  for (int pass = 0; pass < created_max; ++pass) {
    for (std::size_t i = sets_.size(); i-- > 0;) {
      if (has_hand_overs && open[i] != 0) {
        create_and_hand_over(values, i, charged, before);
      } else {
        pull(i);
      }
    }
  }
}

/// One change at most: an instance created, or one handed over.
void LabelledStates::create_and_hand_over(std::span<double> values,
                                          std::size_t index,
                                          const SizeTable<std::vector<double>>& charged,
                                          std::vector<double>& before) const {
  const Set& set = sets_[index];
  const std::span<double> here = values.subspan(set.offset, set.states);
  const std::vector<double> unchanged(here.begin(), here.end());
  std::vector<double> changed(set.states);
  for (int k = 0; k < set.count; ++k) {
    std::ranges::copy(unchanged, changed.begin());
    hand_over(changed, set, k, charged[at(set.size[at(k)])], before);
    for (std::size_t s = 0; s < set.states; ++s) {
      here[s] = larger(here[s], changed[s]);
    }
  }
  for (int k = 0; k < set.count; ++k) {
    create_into(values, set, k, charged[at(set.size[at(k)])]);
  }
}

/// Time passes for one instance of a set, or it is handed over. `before` is room to work in.
void LabelledStates::hand_over(std::span<double> of_set,
                               const Set& set,
                               int instance,
                               std::span<const double> costs,
                               std::vector<double>& before) const {
  const std::size_t stride = set.stride[at(instance)];
  const std::size_t radix = set.radix[at(instance)];
  const std::size_t size = at(set.size[at(instance)]);
  const std::vector<Letter>& letters = alphabet_.letters[size];
  const std::size_t block = stride * radix;
  for (std::size_t high = 0; high < set.states; high += block) {
    double* const values = of_set.data() + high;
    if (are_all_alike_[size]) {
      // The best of all letters may become any.
      before.assign(values, values + stride);
      for (std::size_t i = stride; i < block; i += stride) {
        for (std::size_t low = 0; low < stride; ++low) {
          before[low] = larger(before[low], values[i + low]);
        }
      }
      for (std::size_t digit = 0; digit < radix; ++digit) {
        for (std::size_t low = 0; low < stride; ++low) {
          double& value = values[digit * stride + low];
          value = larger(value, before[low] - costs[digit]);
        }
      }
      continue;
    }
    before.assign(values, values + block);
    for (std::size_t digit = 0; digit < radix; ++digit) {
      const std::size_t next = at(letters[digit].next);
      for (std::size_t low = 0; low < stride && next != digit; ++low) {
        double& value = values[next * stride + low];
        value = larger(value, values[digit * stride + low]);
        values[digit * stride + low] = kNever;
      }
    }
    for (const auto& [from, to] : hand_overs_[size]) {
      for (std::size_t low = 0; low < stride; ++low) {
        double& value = values[to * stride + low];
        value = larger(value, before[from * stride + low] - costs[to]);
      }
    }
  }
}

void LabelledStates::advance_handing_over(std::span<double> values,
                                          const OpenSets& open,
                                          const SizeTable<std::vector<double>>& costs) const {
  std::vector<double> before;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    const Set& set = sets_[i];
    for (int k = 0; k < set.count && open[i] != 0; ++k) {
      const std::span<double> of_set = values.subspan(set.offset, set.states);
      hand_over(of_set, set, k, costs[at(set.size[at(k)])], before);
    }
  }
}

void LabelledStates::advance(std::span<double> values) const {
  // Next letters have lower digits, so a target comes before its source: in ascending order every
  // target has moved on itself before something moves in.
  for (const auto& [from, to] : advance_) {
    values[to] = larger(values[to], values[from]);
    values[from] = kNever;
  }
}

}  // namespace septule::serve
