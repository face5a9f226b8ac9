#include "job/serving_record.hpp"

namespace septule::job {
namespace {

std::optional<double> ratio(double part, double whole) {
  return whole == 0 ? std::nullopt : std::optional(part / whole);
}

}  // namespace

std::optional<double> attainment(const ServingRecord& run) {
  double in_slo = 0;
  double arrived = 0;
  for (const ServingTenantRecord& tenant : run.tenants) {
    in_slo += tenant.in_slo;
    arrived += tenant.arrived;
  }
  return ratio(in_slo, arrived);
}

std::optional<double> mean_accuracy(const ServingRecord& run) {
  double goodput = 0;
  double in_slo = 0;
  for (const ServingTenantRecord& tenant : run.tenants) {
    goodput += tenant.goodput;
    in_slo += tenant.in_slo;
  }
  return ratio(goodput, in_slo);
}

std::optional<double> overhead_hidden(const ServingRecord& run) {
  const auto shown = ratio(run.capacity_lost, run.capacity_lost_in_place);
  return shown ? std::optional(1 - *shown) : std::nullopt;
}

std::optional<double> needed_hidden(const ServingRecord& run) {
  const auto shown = ratio(run.needed_lost, run.needed_lost_in_place);
  return shown ? std::optional(1 - *shown) : std::nullopt;
}

}  // namespace septule::job
