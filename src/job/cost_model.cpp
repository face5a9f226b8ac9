#include "job/cost_model.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/clock.hpp"

namespace septule::job {

namespace {

Duration transfer_time(Bytes size, double bytes_per_s) {
  SEPTULE_CHECK(bytes_per_s > 0, "a transfer rate is positive");
  return seconds_to_duration(static_cast<double>(size.value()) / bytes_per_s);
}

/// Process start until the end of the first step, that step itself left out.
Duration first_start_time(const CostModel& costs,
                          const PerfSignature& signature,
                          const SliceTime* slice) {
  if (costs.kind == CostKind::kCalibrated) {
    return costs.calibrated_start;
  }
  const bool is_measured = slice != nullptr && slice->first_step > Duration();
  return is_measured ? signature.start + slice->first_step - slice->step : signature.start;
}

}  // namespace

std::string_view cost_kind_name(CostKind kind) {
  return kind == CostKind::kNominal ? "nominal" : "calibrated";
}

std::optional<CostKind> parse_cost_kind(std::string_view text) {
  for (const CostKind kind : {CostKind::kNominal, CostKind::kCalibrated}) {
    if (text == cost_kind_name(kind)) {
      return kind;
    }
  }
  return std::nullopt;
}

double CostModel::step_factor() const {
  return kind == CostKind::kCalibrated ? calibrated_step_factor : 1;
}

Bytes footprint(const PerfSignature& signature, std::optional<Bytes> smallest_fitting_memory) {
  if (!signature.memory.has_value()) {
    return smallest_fitting_memory.value_or(Bytes());
  }
  return std::min(*signature.memory, smallest_fitting_memory.value_or(*signature.memory));
}

Duration start_time(const CostModel& costs,
                    const PerfSignature& signature,
                    const SliceTime* slice,
                    Bytes footprint_bytes,
                    StartKind kind) {
  if (costs.is_free && kind == StartKind::kRestart) {
    return {};
  }
  Duration time = first_start_time(costs, signature, slice) + costs.start_extra;
  if (kind == StartKind::kRestart) {
    time += transfer_time(footprint_bytes, costs.restart_bytes_per_s);
  }
  return std::max(time, Duration());  // a first step may be shorter than the mean
}

Duration checkpoint_time(const CostModel& costs, Bytes footprint_bytes) {
  if (costs.is_free) {
    return {};
  }
  return scaled(
      costs.checkpoint_base + transfer_time(footprint_bytes, costs.checkpoint_bytes_per_s),
      costs.checkpoint_factor);
}

}  // namespace septule::job
