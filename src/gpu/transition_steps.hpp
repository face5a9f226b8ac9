#pragma once

#include <optional>
#include <vector>

#include "gpu/inventory.hpp"
#include "gpu/latency.hpp"
#include "gpu/transition.hpp"

namespace septule::gpu {

/// Collects the steps of one GPU in any order and hands them out in the order in which a driver can
/// do them: MIG on, destroy compute instances, destroy GPU instances, create GPU instances, create
/// compute instances, MIG off. Destroying what is busy or foreign is a programmer error. Keeps
/// references to the GPU and the latencies. One use, one thread.
class StepList {
 public:
  StepList(const ObservedGpu& gpu, const LatencyTable& latencies)
      : gpu_(gpu), latencies_(latencies) {}

  void enable_mig();
  void disable_mig();
  /// The GPU instance, and its compute instances before it.
  void destroy(const ObservedInstance& instance);
  void destroy_compute(const ObservedInstance& instance, const ObservedComputeInstance& inside);
  /// For compute instances that were not listed.
  void destroy_every_compute(const ObservedInstance& instance);
  void create(const PlacedProfile& placed);
  /// `id`: of the GPU instance, if it exists already.
  void create_compute(const PlacedProfile& placed,
                      std::optional<GpuInstanceId> id,
                      const ComputeInstance& wanted);

  /// Appends the steps to the transition and adds up their estimates; the evidence is that of the
  /// weakest. Leaves the list empty.
  void move_into(GpuTransition& transition);

 private:
  Step step(StepKind kind, const PlacedProfile& placed) const;
  LatencyFigure figure_of(StepKind kind, const PlacedProfile& placed) const;

  const ObservedGpu& gpu_;
  const LatencyTable& latencies_;
  std::vector<Step> mode_first_;
  std::vector<Step> compute_destroys_;
  std::vector<Step> gpu_destroys_;
  std::vector<Step> gpu_creates_;
  std::vector<Step> compute_creates_;
  std::vector<Step> mode_last_;
};

}  // namespace septule::gpu
