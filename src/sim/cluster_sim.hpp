#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "control/agent.hpp"
#include "control/controller.hpp"
#include "device/emulated_device.hpp"
#include "job/cost_model.hpp"
#include "job/metrics.hpp"
#include "job/workload.hpp"
#include "predict/mps_model.hpp"
#include "predict/speed_book.hpp"
#include "sched/policy_registry.hpp"
#include "sim/mps_measurement.hpp"
#include "sim/predictor_factory.hpp"
#include "sim/sim_jobs.hpp"

namespace septule::sim {

/// One simulated run: which cluster, which jobs, which policy, which costs. Everything pointed to
/// outlives the run and is only read, so that runs may go on in parallel. A value.
struct SimSetup {
  const gpu::Geometry* geometry = nullptr;
  const gpu::LatencyTable* latencies = nullptr;
  int gpu_count = 8;
  int gpus_per_node = 8;
  const job::Workload* workload = nullptr;
  const predict::SpeedBook* book = nullptr;  ///< of the workload's signatures on the geometry
  const sched::PolicyVariant* policy = nullptr;
  /// Geometry, counts and, for a serial controller, Pass::kOneByOne are filled in by the simulator.
  sched::PolicySetup policy_setup;
  job::CostModel costs;
  predict::MpsModel mps;
  predict::TableError error;  ///< of the belief, for policies that have one
  /// Makes the belief of policies that predict (PolicyVariant::has_error), instead of a table with
  /// `error`; null = the table. Then `measurements` is not null, and what was believed is recorded.
  const PredictorFactory* predictors = nullptr;
  /// What instruments say, where `predictors` are asked; a table looks at no times.
  const MpsMeasurementSource* measurements = nullptr;
  device::EmulatedDeviceOptions device;
  control::AgentWaits waits;  ///< `stops` is filled in: it goes with the controller's pace
  control::Controller::Options controller;
  double whole_instance_speed = 1;  ///< see SimJobs::Truth
  double neighbour_loss = 0;
  std::uint64_t seed = 1;
  std::string cluster_name;
};

/// Is shown every GPU as the device has it when its agent reports it ready.
class DeviceObserver {
 public:
  DeviceObserver() = default;
  DeviceObserver(const DeviceObserver&) = delete;
  DeviceObserver& operator=(const DeviceObserver&) = delete;
  virtual ~DeviceObserver() = default;
  virtual void on_device(SimTime time, GpuId gpu, const port::DeviceState& state) = 0;
};

/// Who watches a run; each may be null.
struct SimObservers {
  JobObserver* jobs = nullptr;
  control::ControlObserver* control = nullptr;
  DeviceObserver* devices = nullptr;
};

/// Runs it to the end: the controller, agent and policy objects of the live system over a virtual
/// clock, an emulated device per node and the truth about the jobs. Deterministic: equal setups
/// give equal records, digest included, with every compiler. Fails with kFailed if the policy
/// leaves jobs waiting for ever or decides what the checker refuses (naming job or rule), kTimedOut
/// beyond kEventsPerJobMax events per job.
Result<job::RunRecord> simulate(const SimSetup& setup, const SimObservers& observers = {});
inline constexpr std::int64_t kEventsPerJobMax = 100000;

}  // namespace septule::sim
