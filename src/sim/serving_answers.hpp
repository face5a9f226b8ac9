#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/serving_fleet.hpp"

namespace septule::sim {

/// What became of one tenant's requests in one second.
struct TenantSecond {
  double arrived = 0;
  double in_slo = 0;    ///< answered within the SLO, in this second
  double missed = 0;    ///< answered late, or lost
  double waiting = 0;   ///< in queues or being answered, at its end
  double capacity = 0;  ///< requests that ready occupants could have answered within the SLO
};

/// Answers requests, second by second. One thread.
class ServingAnswers {
 public:
  ServingAnswers() = default;
  ServingAnswers(const ServingAnswers&) = delete;
  ServingAnswers& operator=(const ServingAnswers&) = delete;
  virtual ~ServingAnswers() = default;

  /// The second from `now`, with what stands in `fleet`. `seconds`: one for each tenant, to be
  /// filled in but for the capacity.
  virtual void serve_second(SimTime now,
                            const ServingFleet& fleet,
                            std::span<TenantSecond> seconds) = 0;
  /// Latency not exceeded by this part of a tenant's answered requests, in milliseconds; nothing
  /// where single requests are not known.
  virtual std::optional<double> latency_ms(std::size_t tenant, double quantile) const = 0;
};

/// min(arrived, capacity); the rest is lost. Nothing waits from one second to the next.
class FluidAnswers final : public ServingAnswers {
 public:
  explicit FluidAnswers(const ServingSimSetup& setup) : setup_(&setup) {}
  void serve_second(SimTime now,
                    const ServingFleet& fleet,
                    std::span<TenantSecond> seconds) override;
  std::optional<double> latency_ms(std::size_t /*tenant*/, double /*quantile*/) const override {
    return std::nullopt;
  }

 private:
  const ServingSimSetup* setup_;
};

}  // namespace septule::sim
