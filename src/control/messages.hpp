#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "job/job.hpp"
#include "port/device_backend.hpp"
#include "predict/predictor.hpp"
#include "sched/goal.hpp"

namespace septule::control {

/// What the controller tells an agent: bring this GPU there. Epochs of one GPU ascend; an agent
/// refuses an order that is not newer than the last it took. Carrying it out twice is harmless. A
/// value.
struct GpuOrder {
  GpuId gpu;
  std::uint64_t epoch = 0;
  sched::GpuGoal goal;
};

/// What an agent saw and did, about one GPU. `epoch` = of the order in hand. A value.
struct AgentReport {
  enum class Kind {
    kStopped,        ///< nobody is left who must leave, waits are over; told only on request
    kReady,          ///< cut as ordered, jobs launched; jobs left out hold nothing any more
    kSettled,        ///< every job past its first step
    kCharacterised,  ///< `samples` hold what was seen
    kJobEnded,       ///< `job`
    kSpeedChanged,   ///< `job` by `factor`
    kObserved,       ///< `observations`; only where AgentWaits::observe_after says so
    kTroubled,       ///< the device refused: `code`, `step`; the order is given up half way. Jobs
                     ///< left out hold nothing any more; new ones have not been launched
  };
  Kind kind = Kind::kReady;
  GpuId gpu;
  std::uint64_t epoch = 0;
  job::JobId job;
  double factor = 1;
  std::vector<predict::MpsSample> samples;
  std::vector<predict::SliceObservation> observations;
  port::DeviceCode code = port::DeviceCode::kOk;
  std::string_view step;  ///< static text: "create GPU instance"
};

/// The way from the controller to the agents. In simulation without delay, live over RPC.
class AgentLink {
 public:
  AgentLink() = default;
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;
  virtual ~AgentLink() = default;
  virtual void send(const GpuOrder& order) = 0;
};

/// The way from agents to the controller.
class ControllerLink {
 public:
  ControllerLink() = default;
  ControllerLink(const ControllerLink&) = delete;
  ControllerLink& operator=(const ControllerLink&) = delete;
  virtual ~ControllerLink() = default;
  virtual void report(const AgentReport& report) = 0;
};

}  // namespace septule::control
