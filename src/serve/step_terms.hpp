#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "serve/goodput_problem.hpp"
#include "serve/reservation.hpp"

namespace septule::serve {

/// What one step is worth to a state that has so much capacity, by tenant.
struct StepTerms {
  std::vector<double> worth;  ///< per request served: weight * accuracy of who answers
  std::vector<double> arrived_rps;
  std::vector<double> base_rps;   ///< of reserved instances that are ready
  std::vector<double> floor_rps;  ///< least to be served; 0 = no floor
  std::uint32_t reserved = 0;     ///< placements
  int created = 0;                ///< reserved instances created in this step
};

/// Terms of every step, with the reservations in and with each tenant's accuracy switched to that
/// after retraining from step `retrained_from[m]` on; one entry more at the end is for the terminal
/// value (rates of the last step, all reserved instances ready, no floors).
std::vector<StepTerms> make_step_terms(const GoodputProblem& problem,
                                       std::span<const Reservation> reservations,
                                       std::span<const std::optional<int>> retrained_from);
/// Requests times worth in a step of `step_s` seconds for capacity `rps` by tenant; minus infinity
/// below a floor.
double value_of(const StepTerms& terms, std::span<const double> rps, double step_s);

}  // namespace septule::serve
