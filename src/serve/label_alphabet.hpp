#pragma once

#include <cstdint>
#include <vector>

#include "serve/goodput_problem.hpp"

namespace septule::serve {

/// What an instance may hold in a state of the exact program: a label with how long it still waits
/// and must stay. An instance created at the begin of a step passes through its letters one a step.
struct Letter {
  int label = 0;
  int wait = 0;                ///< steps in which it yields nothing, from the next one on
  int stay = 0;                ///< steps for which it must stay
  int next = 0;                ///< letter (of the same size) one step later; itself when settled
  bool is_made_early = false;  ///< a new instance that serves in the step of its creation
  bool is_made_late = false;   ///< a new instance that serves from the next step on, or later
  double creation_cost = 0;
};

/// How exactly an alphabet follows warm-up and dwell.
enum class LetterDetail {
  kExact,    ///< a letter for each step of age
  kRelaxed,  ///< warm-ups of one step at most, no dwell: never less goodput than in truth
};

/// The letters of each size: labels that get anything out of it, settled letters first within a
/// label. A value.
struct LabelAlphabet {
  SizeTable<std::vector<Letter>> letters;
  bool has_ages = false;   ///< some letter is not settled
  bool has_early = false;  ///< some label serves in the step of its creation
  bool has_late = false;

  /// The settled letter of a label; -1 = the label is of no use on this size.
  int settled(int size, int label) const;
};
/// Retraining labels get letters for the tenants of `trained` (bit m = tenant m) only.
LabelAlphabet make_alphabet(const GoodputProblem& problem,
                            LetterDetail detail,
                            std::uint64_t trained = 0);
/// Whether an instance of the size that is ready and serves as `from` goes on until it is ready as
/// `to` (HandOver::kRelabel).
bool hands_over(const GoodputProblem& problem, int from, int to, int size);
/// Whether some label takes longer than a step to be ready.
bool has_long_warm_ups(const GoodputProblem& problem);
/// Whether the program on letters with ages misses no goodput: it knows what is handed over in the
/// first step of a warm-up only. With relaxed letters it never does: who is handed over for longer
/// can as well stay for longer.
bool bounds_when_exact(const GoodputProblem& problem);
/// Placed layouts spelled in these letters; at most `limit + 1` is said.
std::int64_t spelled_set_count(const LayoutLattice& lattice,
                               const LabelAlphabet& alphabet,
                               std::int64_t limit);

}  // namespace septule::serve
