#include "serve/label_alphabet.hpp"

#include <algorithm>
#include <cstddef>

namespace septule::serve {

namespace {

constexpr double kMemoryMax = 1 + 1e-9;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

bool serves_on(const Label& label, std::size_t size) {
  return std::ranges::any_of(
      label.serves, [&](const Label::Output& output) { return output.rate_rps[size] > 0; });
}

bool retrains_on(std::uint64_t trained, const Label& label, std::size_t size) {
  return label.retrains.has_value() && label.speed[size] > 0 &&
         (trained >> static_cast<unsigned>(*label.retrains) & 1U) != 0;
}

/// Letters of one label from settled to new: letter r is r steps from settled.
void add_chain(std::vector<Letter>& letters, const Letter& settled, int warm_up, int dwell) {
  const bool is_early = warm_up == 0;
  const int wait = std::max(0, warm_up - 1);
  const int stay = dwell < 2 ? 0 : (is_early ? dwell : dwell - 1);
  const int last = std::max(wait, stay);
  const auto first = static_cast<int>(letters.size());
  for (int left = 0; left <= last; ++left) {
    Letter letter = settled;
    letter.wait = std::max(0, wait - (last - left));
    letter.stay = std::max(0, stay - (last - left));
    letter.next = first + std::max(0, left - 1);
    letter.is_made_early = is_early && left == last;
    letter.is_made_late = !is_early && left == last;
    letters.push_back(letter);
  }
}

}  // namespace

int LabelAlphabet::settled(int size, int label) const {
  const std::vector<Letter>& of_size = letters[at(size)];
  const auto found = std::ranges::find(of_size, label, &Letter::label);
  return found == of_size.end() ? -1 : static_cast<int>(found - of_size.begin());
}

LabelAlphabet make_alphabet(const GoodputProblem& problem,
                            LetterDetail detail,
                            std::uint64_t trained) {
  const bool is_exact = detail == LetterDetail::kExact;
  LabelAlphabet alphabet;
  for (std::size_t size = 0; size < problem.lattice->sizes().size(); ++size) {
    for (int l = 0; l < static_cast<int>(problem.labels.size()); ++l) {
      const Label& label = problem.labels[at(l)];
      if (!serves_on(label, size) && !retrains_on(trained, label, size)) {
        continue;
      }
      Letter settled;
      settled.label = l;
      settled.creation_cost = label.creation_cost;
      const int warm_up = is_exact ? label.warm_up_steps : std::min(1, label.warm_up_steps);
      add_chain(alphabet.letters[size], settled, warm_up, is_exact ? problem.dwell_steps : 0);
    }
    for (const Letter& letter : alphabet.letters[size]) {
      alphabet.has_ages = alphabet.has_ages || letter.wait > 0 || letter.stay > 0;
      alphabet.has_early = alphabet.has_early || letter.is_made_early;
      alphabet.has_late = alphabet.has_late || letter.is_made_late;
    }
  }
  return alphabet;
}

bool hands_over(const GoodputProblem& problem, int from, int to, int size) {
  const Label& old = problem.labels[at(from)];
  const Label& next = problem.labels[at(to)];
  return problem.hand_over == HandOver::kRelabel && from != to && !old.serves.empty() &&
         old.group == next.group && old.memory[at(size)] + next.memory[at(size)] <= kMemoryMax;
}

bool has_long_warm_ups(const GoodputProblem& problem) {
  return std::ranges::any_of(problem.labels,
                             [](const Label& label) { return label.warm_up_steps > 1; });
}

bool bounds_when_exact(const GoodputProblem& problem) {
  return problem.hand_over == HandOver::kNone || !has_long_warm_ups(problem);
}

std::int64_t spelled_set_count(const LayoutLattice& lattice,
                               const LabelAlphabet& alphabet,
                               std::int64_t limit) {
  std::int64_t total = 0;
  for (const LayoutLattice::PlacedSet& set : lattice.placed_sets()) {
    std::int64_t spelled = 1;
    for (std::size_t p = 0; p < lattice.placements().size(); ++p) {
      if ((set.placements >> p & 1U) != 0) {
        const std::size_t size = at(lattice.placements()[p].size);
        spelled = std::min(limit + 1, spelled * std::ssize(alphabet.letters[size]));
      }
    }
    total = std::min(limit + 1, total + spelled);
  }
  return total;
}

}  // namespace septule::serve
