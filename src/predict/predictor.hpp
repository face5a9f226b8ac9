#pragma once

#include <optional>
#include <span>

#include "base/inline_vector.hpp"
#include "base/units.hpp"
#include "job/job.hpp"
#include "predict/speed_book.hpp"

namespace septule::predict {

/// Levels of a characterisation run at most.
inline constexpr std::size_t kLevelsMax = 4;

/// What a characterisation run saw of one job: mean step time at each active thread percentage.
struct MpsSample {
  struct Level {
    ActiveThreadPercentage atp{100};
    std::optional<Duration> step;  ///< nothing = the job made no step
  };
  job::JobId job;
  InlineVector<Level, kLevelsMax> levels;
  /// By which signature the job's present behaviour is known: what table predictors look up.
  job::SignatureIndex signature;
};

/// How fast a job was seen to run alone on an instance since it was started there.
struct SliceObservation {
  job::JobId job;
  ProfileIndex profile;  ///< the whole profile also for a whole GPU with MIG off
  Duration step;         ///< mean step time, > 0
  /// By which signature the job's present behaviour is known.
  job::SignatureIndex signature;
};

/// How a job uses its kernels: what decides who starves under MPS without percentages.
struct KernelUse {
  int count = 1;  ///< kernels of a step, >= 1
  Duration step;  ///< alone on the whole GPU, > 0
};

/// A policy's belief about speeds; never the truth of the simulator (the oracle's is a table that
/// happens to equal it, handed over openly). One thread; owned by whoever runs the controller.
class Predictor {
 public:
  Predictor() = default;
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  virtual ~Predictor() = default;

  /// A job that policies will ask about has been submitted.
  virtual void submitted(const job::JobSpec& job) = 0;
  /// Believed speeds; null = not known, a characterisation run is needed. The pointer holds until
  /// the next non-const call.
  virtual const SpeedRow* speeds(job::JobId job) const = 0;
  /// Nothing = not known: such a job is given no place under MPS without percentages. Known only
  /// where speeds are.
  virtual std::optional<KernelUse> kernels(job::JobId /*job*/) const { return std::nullopt; }
  /// The smallest plain profile in which the job's memory fits: declared, not predicted. Nothing =
  /// none.
  virtual std::optional<ProfileIndex> smallest(job::JobId job) const = 0;
  /// What the job needs on a shared GPU.
  virtual Bytes need(job::JobId job) const = 0;
  /// A characterisation run is over: what it saw of every job that shared the GPU, together.
  virtual void characterised(std::span<const MpsSample> run) = 0;
  void characterised_alone(const MpsSample& sample) { characterised({&sample, 1}); }
  /// A job has been observed alone on an instance; predictors that learn on line correct what they
  /// believe. If the job is held to behave otherwise than before: the factor by which its speed
  /// departs from what was believed.
  virtual std::optional<double> observed(const SliceObservation& /*observation*/) {
    return std::nullopt;
  }
  /// Whether observed() does anything: nobody collects observations otherwise.
  virtual bool wants_observations() const { return false; }
  /// The job has changed its speed: what was believed of it is void.
  virtual void forget(job::JobId job) = 0;
};

}  // namespace septule::predict
