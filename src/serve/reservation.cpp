#include "serve/reservation.hpp"

#include <algorithm>
#include <cstddef>

#include "serve/indices.hpp"

namespace septule::serve {

namespace {

bool is_in(const LabelledLayout& layout, const LabelledInstance& instance) {
  return std::ranges::binary_search(layout, instance);
}

}  // namespace

std::vector<Reservation> frozen_reservations(const GoodputProblem& problem) {
  std::vector<Reservation> reservations;
  for (const LabelledInstance& instance : problem.initial) {
    if ((problem.frozen >> static_cast<unsigned>(instance.placement) & 1U) != 0) {
      reservations.push_back({instance, 0, problem.step_count, 0, false});
    }
  }
  return reservations;
}

std::vector<Reservation> reservations_of(const GoodputProblem& problem,
                                         const std::vector<LabelledLayout>& layouts,
                                         const std::function<bool(int label)>& is_wanted) {
  std::vector<Reservation> reservations;
  const int steps = static_cast<int>(layouts.size());
  for (int t = 0; t < steps; ++t) {
    for (const LabelledInstance& instance : layouts[at(t)]) {
      const LabelledLayout& before = t == 0 ? problem.initial : layouts[at(t - 1)];
      const bool was_there = is_in(before, instance);
      const bool is_frozen =
          is_in(problem.initial, instance) &&
          (problem.frozen >> static_cast<unsigned>(instance.placement) & 1U) != 0;
      if ((was_there && t > 0) || is_frozen || !is_wanted(instance.label)) {
        continue;
      }
      Reservation reservation{instance, t, t + 1, t, !was_there};
      while (reservation.end < steps && is_in(layouts[at(reservation.end)], instance)) {
        ++reservation.end;
      }
      reservation.ready += was_there ? 0 : problem.labels[at(instance.label)].warm_up_steps;
      reservations.push_back(reservation);
    }
  }
  std::ranges::stable_sort(
      reservations, {}, [](const Reservation& r) { return r.instance.placement; });
  return reservations;
}

void add_reservations(std::span<const Reservation> reservations,
                      std::vector<LabelledLayout>& layouts) {
  for (const Reservation& reservation : reservations) {
    const int end = std::min(reservation.end, static_cast<int>(layouts.size()));
    for (int t = reservation.begin; t < end; ++t) {
      layouts[at(t)].push_back(reservation.instance);
      std::ranges::sort(layouts[at(t)]);
    }
  }
}

}  // namespace septule::serve
