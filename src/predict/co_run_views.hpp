#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "predict/co_run_model.hpp"

namespace septule::predict {

/// Some jobs of another model, numbered anew: a window out of a pool. `base` outlives it.
/// Immutable; any thread.
class SelectedCoRun final : public CoRunModel {
 public:
  /// `jobs`: those of `base`, by their number here; all below its job_count().
  SelectedCoRun(const CoRunModel& base, std::span<const std::size_t> jobs);

  std::size_t job_count() const override { return jobs_.size(); }
  void rates(const CoRunPlace& place,
             std::span<const CoRunClient> clients,
             std::span<double> out) const override;
  bool only_slows() const override { return base_->only_slows(); }

 private:
  const CoRunModel* base_;
  std::vector<std::size_t> jobs_;
};

/// How wrong a model is.
struct CoRunNoise {
  std::uint64_t seed = 1;
  double solo_sd = 0.02;    ///< of ln(rate) of a job in a place, whoever else is there
  double co_run_sd = 0.10;  ///< of ln(slowdown against alone there), by set of jobs and seats
};

/// Another model with errors, so that what is believed and what happens differ: rates in a place
/// are off by a factor for the job and the place, slowdowns in company by another for who is there
/// and how (lognormal, performance-model.md 8.2). Drawn from the seed and the question, not in
/// turn: equal questions get equal answers. The whole GPU alone is 1 always; a rate is at most the
/// one alone in the place (noise included), 0 stays 0. `base` outlives it. Immutable; any thread.
class NoisyCoRun final : public CoRunModel {
 public:
  NoisyCoRun(const CoRunModel& base, const CoRunNoise& noise) : base_(&base), noise_(noise) {}

  std::size_t job_count() const override { return base_->job_count(); }
  void rates(const CoRunPlace& place,
             std::span<const CoRunClient> clients,
             std::span<double> out) const override;
  bool only_slows() const override { return true; }

 private:
  const CoRunModel* base_;
  CoRunNoise noise_;
};

}  // namespace septule::predict
