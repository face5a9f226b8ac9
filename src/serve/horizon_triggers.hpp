#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "serve/forecaster.hpp"
#include "serve/serving_policy.hpp"

namespace septule::serve {

/// Why a plan is made before it is due.
enum class Trigger {
  kForecastError,  ///< the rate was outside the margin of its forecast for some seconds
  kMisses,         ///< more requests than planned missed their SLO for some seconds
  kRetraining,     ///< a job was released, is done, or the model that answers changed
  kTenant,         ///< a silent tenant began to send, or one fell silent
  kInstances,      ///< what stands is not what was ordered
};
inline constexpr std::size_t kTriggerCount = 5;

/// When the triggers fire: seconds >= 1, shares 0..1.
struct TriggerOptions {
  int error_s = 3;           ///< seconds in a row outside the margin
  double error_share = 0.1;  ///< an error below this share of the rate is none
  int miss_s = 3;            ///< seconds in a row with too many misses
  double miss_share = 0.1;   ///< of the requests that were promised to be answered in time
  int silence_s = 30;        ///< a tenant without requests for so long is silent
};

/// Watches what happens against what was expected. One owner.
class HorizonTriggers {
 public:
  HorizonTriggers(std::size_t tenant_count, const TriggerOptions& options);

  /// What was expected of one tenant in the second just over.
  struct Expectation {
    double mean_rps = 0;
    double margin_rps = 0;
    double promised_rps = 0;  ///< to be answered in time
  };
  /// Takes in the second just over; the first trigger, in the order of the enumeration, that fires
  /// for any tenant. `instances_as_ordered` as found by the caller.
  enum class Instances { kAsOrdered, kOther };
  std::optional<Trigger> look(const ServingView& view,
                              std::span<const Expectation> expected,
                              Instances instances);

 private:
  struct Watch {
    int outside_s = 0;
    int missing_s = 0;
    int silent_s = 0;
    bool was_retrained = false;
    bool was_due = false;
    bool is_known = false;  ///< was looked at before
  };
  std::array<bool, kTriggerCount> look_at(const TenantState& state,
                                          const Expectation& expected,
                                          SimTime now,
                                          Watch& watch) const;

  TriggerOptions options_;
  std::vector<Watch> watches_;
};

}  // namespace septule::serve
