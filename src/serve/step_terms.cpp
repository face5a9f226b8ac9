#include "serve/step_terms.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "serve/indices.hpp"

namespace septule::serve {

namespace {

// A floor is kept if what is missing is rounding.
constexpr double kFloorTolerance = 1e-9;

void reserve(const GoodputProblem& problem,
             const Reservation& reservation,
             std::span<StepTerms> steps) {
  const int begin = std::max(0, reservation.begin);
  const int last = static_cast<int>(steps.size()) - 1;  // of the terminal value
  const int end = reservation.end >= last ? last + 1 : reservation.end;
  const int placement = reservation.instance.placement;
  const auto size = at(problem.lattice->placements()[at(placement)].size);
  for (int t = begin; t < end; ++t) {
    StepTerms& terms = steps[at(t)];
    terms.reserved |= bit(placement);
    terms.created += t == reservation.begin && reservation.is_created ? 1 : 0;
    if (t < reservation.ready && t < last) {
      continue;
    }
    for (const Label::Output& output : problem.labels[at(reservation.instance.label)].serves) {
      terms.base_rps[at(output.tenant)] += output.rate_rps[size];
    }
  }
}

}  // namespace

std::vector<StepTerms> make_step_terms(const GoodputProblem& problem,
                                       std::span<const Reservation> reservations,
                                       std::span<const std::optional<int>> retrained_from) {
  const std::size_t tenants = problem.tenants.size();
  std::vector<StepTerms> steps(at(problem.step_count + 1));
  for (std::size_t t = 0; t < steps.size(); ++t) {
    StepTerms& terms = steps[t];
    terms.base_rps.assign(tenants, 0.0);
    for (std::size_t m = 0; m < tenants; ++m) {
      const GoodputTenant& tenant = problem.tenants[m];
      const bool is_terminal = t + 1 == steps.size();
      const double rate = is_terminal ? tenant.rate_rps.back() : tenant.rate_rps[t];
      const std::optional<int> from = m < retrained_from.size() ? retrained_from[m] : std::nullopt;
      const bool is_retrained = from.has_value() && *from <= static_cast<int>(t);
      terms.worth.push_back(tenant.weight *
                            (is_retrained ? tenant.accuracy_after : tenant.accuracy));
      terms.arrived_rps.push_back(rate);
      terms.floor_rps.push_back(is_terminal ? 0.0
                                            : tenant.floor_share * rate * (1 - kFloorTolerance));
    }
  }
  for (const Reservation& reservation : reservations) {
    reserve(problem, reservation, steps);
  }
  return steps;
}

double value_of(const StepTerms& terms, std::span<const double> rps, double step_s) {
  double total = 0;
  for (std::size_t m = 0; m < rps.size(); ++m) {
    const double served = std::min(terms.arrived_rps[m], terms.base_rps[m] + rps[m]);
    if (served < terms.floor_rps[m]) {
      return -std::numeric_limits<double>::infinity();
    }
    total += terms.worth[m] * served;
  }
  return total * step_s;
}

}  // namespace septule::serve
