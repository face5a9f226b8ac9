#pragma once

#include <functional>
#include <span>
#include <vector>

#include "serve/goodput_problem.hpp"

namespace septule::serve {

/// An instance that is set beforehand in the steps begin .. end - 1: a frozen one or one that
/// retrains. It serves (if it does) from step `ready` on.
struct Reservation {
  LabelledInstance instance;
  int begin = 0;
  int end = 0;
  int ready = 0;
  bool is_created = false;  ///< at `begin`; otherwise it was in force before
};

/// The frozen instances of a problem over the whole window.
std::vector<Reservation> frozen_reservations(const GoodputProblem& problem);
/// Every stretch in which an instance of a label that `is_wanted` is there, frozen ones left out;
/// by placement, then begin.
std::vector<Reservation> reservations_of(const GoodputProblem& problem,
                                         const std::vector<LabelledLayout>& layouts,
                                         const std::function<bool(int label)>& is_wanted);
/// Adds the reserved instances to the layouts.
void add_reservations(std::span<const Reservation> reservations,
                      std::vector<LabelledLayout>& layouts);

}  // namespace septule::serve
