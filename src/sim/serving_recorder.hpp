#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "sim/serving_answers.hpp"
#include "sim/tenant_retraining.hpp"

namespace septule::sim {

/// Watches a run of the serving simulator, checks it and makes its record. One thread.
class ServingRecorder {
 public:
  /// `setup` outlives the recorder.
  ServingRecorder(const ServingSimSetup& setup, const serve::ServingPolicy& policy);

  void add_violation(SimTime now, const std::string& text);
  void add_moves(SimTime now, std::span<const ServingMove> moves);
  /// One second of all tenants; accuracy of the models that answered, and expected rates (may be
  /// empty), by tenant.
  void add_second(SimTime now,
                  std::span<const TenantSecond> seconds,
                  std::span<const double> accuracy,
                  std::span<const double> expected_rps);
  /// What stands on the GPUs during the second from `now`.
  void add_instances(SimTime now, const ServingFleet& fleet);
  /// Closes what is open and hands the record over.
  job::ServingRecord finish(const ServingAnswers& answers,
                            std::span<const TenantRetraining> retraining);

 private:
  struct Balance {
    double arrived = 0;
    double in_slo = 0;
    double missed = 0;
  };
  void check_second(SimTime now, std::size_t tenant, const TenantSecond& second);
  void close_spans(SimTime end);
  std::vector<job::ServingSpan::Use> uses_of(std::span<const LiveInstance> instances,
                                             SimTime now) const;

  const ServingSimSetup* setup_;
  job::ServingRecord record_;
  Digest digest_;
  std::int64_t stretch_ = 1;  ///< seconds per point of the series
  std::vector<Balance> balances_;
  std::int64_t generation_ = -1;  ///< of the fleet when last looked at
  int gpus_used_ = 0;
  std::vector<job::ServingSpan> open_;  ///< by GPU
  std::int64_t violations_ = 0;
};

}  // namespace septule::sim
