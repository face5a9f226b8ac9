#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "serve/tenant.hpp"

namespace septule::sim {

/// How far one tenant's retraining is. A job begins with each period (or once, at 0): the old model
/// answers again and all of the work is to be done. Work counts between release and deadline; a job
/// not complete at its deadline is missed and given up. One thread; driven second by second.
class TenantRetraining {
 public:
  /// `job` outlives this; null = nothing to retrain.
  explicit TenantRetraining(const serve::RetrainingJob* job);

  /// Before the second that begins at `now`.
  void begin_second(SimTime now);
  /// A ready occupant works at this speed (relative to the whole GPU) in part of the second.
  void work(SimTime from, SimTime to, double speed);

  bool is_retrained() const { return is_retrained_; }
  /// Work is left that may be done now.
  bool is_open() const { return is_open_; }
  double left_s() const { return left_s_; }
  std::optional<SimTime> release() const;
  std::optional<SimTime> deadline() const;
  int done() const { return done_; }
  int missed() const { return missed_; }
  /// Stretches in which it was worked on.
  const std::vector<std::pair<SimTime, SimTime>>& stretches() const { return stretches_; }

 private:
  void begin_job(SimTime begin);

  const serve::RetrainingJob* job_;
  SimTime begin_;  ///< of the period
  double left_s_ = 0;
  bool is_retrained_ = false;
  bool is_complete_ = false;  ///< the retrained model answers from the next second on
  bool is_open_ = false;
  int done_ = 0;
  int missed_ = 0;
  std::vector<std::pair<SimTime, SimTime>> stretches_;
};

}  // namespace septule::sim
