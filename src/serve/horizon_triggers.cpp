#include "serve/horizon_triggers.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace septule::serve {

HorizonTriggers::HorizonTriggers(std::size_t tenant_count, const TriggerOptions& options)
    : options_(options), watches_(tenant_count) {}

std::array<bool, kTriggerCount> HorizonTriggers::look_at(const TenantState& state,
                                                         const Expectation& expected,
                                                         SimTime now,
                                                         Watch& watch) const {
  std::array<bool, kTriggerCount> fires{};
  const auto fire = [&](Trigger trigger) { fires[static_cast<std::size_t>(trigger)] = true; };
  const double rate = state.arrived.empty() ? 0 : state.arrived.back();

  const double least = options_.error_share * std::max(expected.mean_rps, rate);
  const bool is_outside = !state.arrived.empty() &&
                          std::abs(rate - expected.mean_rps) > std::max(expected.margin_rps, least);
  watch.outside_s = is_outside ? watch.outside_s + 1 : 0;
  if (watch.outside_s == options_.error_s) {
    watch.outside_s = 0;
    fire(Trigger::kForecastError);
  }

  const double promised = std::min(expected.promised_rps, rate);
  const bool is_missing =
      static_cast<double>(state.answered_in_slo) + 1 < promised * (1 - options_.miss_share);
  watch.missing_s = is_missing ? watch.missing_s + 1 : 0;
  if (watch.missing_s == options_.miss_s) {
    watch.missing_s = 0;
    fire(Trigger::kMisses);
  }

  const bool is_due = state.retraining_left_s > 0 &&
                      (!state.retraining_release || *state.retraining_release <= now);
  if (watch.is_known && (is_due != watch.was_due || state.is_retrained != watch.was_retrained)) {
    fire(Trigger::kRetraining);
  }
  watch.was_due = is_due;
  watch.was_retrained = state.is_retrained;

  if (rate > 0) {
    if (watch.silent_s >= options_.silence_s) {
      fire(Trigger::kTenant);
    }
    watch.silent_s = 0;
  } else if (++watch.silent_s == options_.silence_s) {
    fire(Trigger::kTenant);
  }
  watch.is_known = true;
  return fires;
}

std::optional<Trigger> HorizonTriggers::look(const ServingView& view,
                                             std::span<const Expectation> expected,
                                             Instances instances) {
  SEPTULE_CHECK(expected.size() == watches_.size(), "something is expected of each tenant");
  std::array<bool, kTriggerCount> fires{};
  for (std::size_t m = 0; m < watches_.size(); ++m) {
    const auto own = look_at(view.tenants[m], expected[m], view.now, watches_[m]);
    for (std::size_t i = 0; i < kTriggerCount; ++i) {
      fires[i] = fires[i] || own[i];
    }
  }
  fires[static_cast<std::size_t>(Trigger::kInstances)] = instances == Instances::kOther;
  for (std::size_t i = 0; i < kTriggerCount; ++i) {
    if (fires[i]) {
      return static_cast<Trigger>(i);
    }
  }
  return std::nullopt;
}

}  // namespace septule::serve
