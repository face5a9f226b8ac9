#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "predict/interference_model.hpp"
#include "predict/limits.hpp"
#include "predict/solo_fit.hpp"

namespace septule::predict {

/// A GPU, or an instance of one. `gpu` must outlive it.
struct Place {
  const gpu::Geometry* gpu = nullptr;
  std::optional<ProfileIndex> profile;  ///< nothing = the whole GPU with MIG off
};

/// A whole GPU relative to the one on which a job was measured. The catalogue knows neither clocks
/// nor bandwidths, so whoever asks about another model says it: compute = SMs x clock (x tensor
/// throughput for tensor jobs), see performance-model.md 8.1.
struct GpuRatio {
  double compute = 1;
  double bandwidth = 1;
  /// Of one SM. Nothing = compute over the ratio of the SMs in the catalogue.
  std::optional<double> sm_speed;
};

/// The resources of a place with this active thread percentage, relative to the whole of its own
/// GPU: SMs of the profile over SMs of the GPU, memory slices over memory slices. Where the SMs of
/// a profile are not published its compute slices count, marked so.
struct PlaceResources {
  Resources resources;
  bool is_estimated = false;
};
/// Fails with kInvalidInput: no GPU, a profile that is not in its table, a percentage outside 1 to
/// 100.
Result<PlaceResources> place_resources(const Place& place, ActiveThreadPercentage atp);

/// One measurement of a job alone: on the whole GPU or a slice, with an active thread percentage.
struct MeasuredStep {
  std::optional<ProfileIndex> profile;  ///< nothing = the whole GPU with MIG off
  ActiveThreadPercentage atp{100};
  double step = 0;  ///< > 0; seconds, or any unit that is one for all jobs that are to share
};

struct SignatureOptions {
  SoloFitOptions solo;
  std::optional<int> kernel_count;  ///< kernels in one step, >= 1; nothing = not known
};

/// The universal performance model of one job (performance-model.md): fitted to whatever was
/// measured of it, it answers for any GPU, slice, active thread percentage and co-runners.
/// Immutable; any thread. The geometry must outlive it.
class SignatureModel {
 public:
  /// Fails with kInvalidInput as SoloFit::make() and place_resources() do, saying which step time,
  /// and for a kernel count below 1.
  static Result<SignatureModel> fit(const gpu::Geometry& measured_on,
                                    std::span<const MeasuredStep> steps,
                                    const SignatureOptions& options);

  const gpu::Geometry& measured_on() const { return *measured_on_; }
  const SoloFit& solo() const { return solo_; }
  std::optional<int> kernel_count() const { return kernel_count_; }

  /// What a place is to this job. Fails as place_resources() does, and with kInvalidInput for a GPU
  /// of another model without a ratio, or with one that is not above 0, or where the number of SMs
  /// is not published and the ratio does not say how fast one is.
  Result<PlaceResources> resources(const Place& place,
                                   ActiveThreadPercentage atp,
                                   const std::optional<GpuRatio>& ratio) const;
  /// Speed alone at `place` relative to the whole GPU on which it was measured.
  Result<SpeedBelief> speed(const Place& place,
                            ActiveThreadPercentage atp,
                            const std::optional<GpuRatio>& ratio) const;

 private:
  SignatureModel(const gpu::Geometry& measured_on, SoloFit solo)
      : measured_on_(&measured_on), solo_(std::move(solo)) {}

  const gpu::Geometry* measured_on_;
  SoloFit solo_;
  std::optional<int> kernel_count_;
};

/// A job that shares a place. `model` must outlive the call.
struct SignatureClient {
  const SignatureModel* model = nullptr;
  ActiveThreadPercentage atp{100};
  std::optional<GpuRatio> ratio = std::nullopt;  ///< of the place's GPU to the model's
};

/// What is believed of one job among its co-runners.
struct ShareBelief {
  StepBelief alone;           ///< on the place, with all of its threads
  StepBelief together;        ///< under its percentage and with the others
  double rate = 1;            ///< alone.step / together.step, in (0, 1]
  LimitShares limits;         ///< what `together.step` is spent on
  bool is_estimated = false;  ///< SMs of the profile are not published
  bool knows_kernels = true;  ///< false: lengths of kernels were guessed from the work
};

/// Error of a co-run's ln(step) as a part of the waiting's share of the step: measured on pairs
/// that the model was not fitted to (docs/performance-model.md), with kernel counts and without
/// [C].
inline constexpr double kWaitError = 0.26;
inline constexpr double kWaitErrorWithoutKernels = 0.95;
/// The exponent of lengths where a kernel count is missing and every job is taken to have as many.
inline constexpr double kExponentWithoutKernels = 0.5;

/// What happens to jobs that share a place, one belief for each client; one client is alone.
/// - Without percentages (all 100): InterferenceModel.
/// - With: each runs on its part of the SMs (parts that add up to more than 100 shrink together),
///   slowed as parted_rates() says.
/// Fails as SignatureModel::resources() does, with kInvalidInput for no clients, more than
/// kMpsClientsMax and a client without a model.
Result<std::vector<ShareBelief>> predict_sharing(const Place& place,
                                                 std::span<const SignatureClient> clients,
                                                 double contention = kPartContention);

}  // namespace septule::predict
