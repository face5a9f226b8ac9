#include "sim/serving_answers.hpp"

#include <algorithm>

namespace septule::sim {

void FluidAnswers::serve_second(SimTime now,
                                const ServingFleet& /*fleet*/,
                                std::span<TenantSecond> seconds) {
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    TenantSecond& second = seconds[i];
    second.arrived = setup_->rates[i].at(now);
    second.in_slo = std::min(second.arrived, second.capacity);
    second.missed = second.arrived - second.in_slo;
  }
}

}  // namespace septule::sim
