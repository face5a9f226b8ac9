#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "control/messages.hpp"
#include "port/device_backend.hpp"
#include "port/env.hpp"
#include "port/job_runner.hpp"

namespace septule::control {

/// Waits of an agent.
struct AgentWaits {
  /// Only the artifact's node server has these two (miso.md 6.3); zero otherwise.
  Duration after_checkpoint;  ///< before instances are touched, if anything was saved
  Duration after_mps;         ///< instead, after a characterisation run
  /// So long after a GPU has settled, the jobs that run alone on an instance (or the whole GPU) and
  /// have not been observed there yet are: AgentReport::kObserved, once for each stay of a job.
  /// Nothing = never, at no cost: for predictors that want no observations.
  std::optional<Duration> observe_after;
  /// Whether AgentReport::kStopped is sent: for controllers with Pace::kSerialStops.
  enum class Stops { kSilent, kReported } stops = Stops::kSilent;
};

/// The node core: carries out orders for the GPUs of one node, one at a time per GPU, all GPUs
/// overlapping, and reports what it sees. An order goes through stages:
///   stop     save and end the jobs that must leave their places,
///   cut      destroy, create, switch MIG mode, start and stop MPS daemons,
///   start    launch jobs (reported: ready), wait for their first steps (reported: settled),
///   levels   of a characterisation run, one ATP after the other (reported: characterised).
/// While nothing is ordered, jobs may be observed (AgentWaits::observe_after).
/// Jobs in a place that stays as it is are not touched (unless the goal says kEverything). A job
/// may end in any stage. One thread.
class Agent final : public port::TimerTarget, public port::JobRunnerClient {
 public:
  struct Parts {
    port::Env& env;
    port::DeviceBackend& device;
    ControllerLink& controller;
  };
  /// GPUs first_gpu.. of the cluster are GPUs 0.. of this node.
  Agent(const Parts& parts,
        const gpu::Geometry& geometry,
        GpuId first_gpu,
        const AgentWaits& waits);
  /// Must be called before the first order.
  void set_runner(port::JobRunner& runner) { runner_ = &runner; }

  /// Orders not newer than the last one of the GPU are dropped.
  void take(const GpuOrder& order);

  void on_timer(std::uint64_t payload) override;
  void on_stopped(GpuId gpu, std::uint64_t token) override;
  void on_started(GpuId gpu, std::uint64_t token) override;
  void on_job_ended(GpuId gpu, job::JobId job) override;
  void on_speed_changed(GpuId gpu, job::JobId job, double factor) override;

  /// Re-cuts carried out: orders that created or destroyed an instance.
  std::int64_t recut_count() const { return recut_count_; }
  std::int64_t characterisation_count() const { return characterisation_count_; }
  std::int64_t stale_order_count() const { return stale_order_count_; }

 private:
  enum class Stage { kIdle, kStopping, kWaiting, kCutting, kStarting, kLevels };
  struct Instance {
    gpu::PlacedProfile placed;
    GpuInstanceId id;
    std::optional<ComputeInstanceId> compute;  ///< nothing: half made, or half taken down
    bool has_mps = false;
  };
  struct Running {
    job::JobId job;
    port::JobPlace place;
    bool is_under_mps = false;
    bool is_leaving = false;   ///< told to stop by the order in hand
    bool is_observed = false;  ///< in this stay, at its present speed
  };
  struct Gpu {
    GpuOrder order;
    Stage stage = Stage::kIdle;
    std::uint64_t token = 0;  ///< of the stage in hand; older timers and answers are stale
    std::size_t level = 0;
    port::MigMode mode = port::MigMode::kEnabled;
    bool has_mps = false;  ///< whole GPU
    bool was_characterising = false;
    InlineVector<Instance, sched::kInstancesMax> instances;
    InlineVector<Running, sched::kSlotsMax> running;
    std::vector<predict::MpsSample> samples;
  };

  Gpu& at(GpuId id) { return gpus_[static_cast<std::size_t>(id.value() - first_.value())]; }
  GpuIndex local(GpuId id) const { return GpuIndex(id.value() - first_.value()); }
  port::JobPlace place_of(GpuId id, const GpuOrder& order, const sched::Slot& slot) const;
  bool needs_mps(const GpuOrder& order, const sched::Slot& slot) const;
  bool stays(GpuId id, const Running& running) const;
  void begin_stop(GpuId id);
  void begin_cut(GpuId id);
  void begin_start(GpuId id);
  void begin_level(GpuId id);
  void end_level(GpuId id);
  void await_observation(GpuId id);
  void observe(GpuId id);
  bool is_alone(const Gpu& gpu, const Running& running) const;
  void arm(GpuId id, Duration after);
  void send(GpuId id, AgentReport::Kind kind);
  void give_up(GpuId id, port::DeviceCode code, std::string_view step);
  std::optional<GpuInstanceId> instance_id(const Gpu& gpu,
                                           const std::optional<gpu::PlacedProfile>& placed) const;
  struct Refused {
    port::DeviceCode code = port::DeviceCode::kOk;
    std::string_view step;
    bool is_ok() const { return code == port::DeviceCode::kOk; }
  };
  Refused cut(GpuId id);
  Refused destroy_unwanted(GpuId id);
  Refused switch_mode(GpuId id);
  Refused create_missing(GpuId id);
  Refused create(GpuId id, const gpu::PlacedProfile& placed);
  Refused destroy(GpuId id, Instance& instance);
  Refused set_daemons(GpuId id);
  Refused detach(GpuId id, const Running& running);

  Parts parts_;
  const gpu::Geometry* geometry_;
  GpuId first_;
  AgentWaits waits_;
  port::JobRunner* runner_ = nullptr;
  std::vector<Gpu> gpus_;
  AgentReport report_;
  std::vector<job::JobId> leaving_;
  std::vector<port::JobStart> starts_;
  bool is_recut_ = false;  ///< the cut in hand created or destroyed an instance
  std::int64_t recut_count_ = 0;
  std::int64_t characterisation_count_ = 0;
  std::int64_t stale_order_count_ = 0;
};

}  // namespace septule::control
