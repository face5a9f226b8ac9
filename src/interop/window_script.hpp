#pragma once

#include <span>
#include <string>

#include "base/result.hpp"
#include "gpu/inventory.hpp"
#include "gpu/latency.hpp"
#include "plan/schedule.hpp"
#include "plan/window.hpp"

namespace septule::interop {

/// What a window's script is written for. Borrowed; outlives the call.
struct WindowScriptInput {
  const plan::Schedule& schedule;  ///< passed by check_schedule()
  std::span<const plan::WindowJob> jobs;
  const gpu::ObservedGpu& before;  ///< the GPU as it is now; nothing of it in use
  const gpu::LatencyTable& latencies;
};

/// A schedule as a POSIX shell script that carries it out: GPU instances made and unmade (the
/// functions and checks of smi_script()), an MPS daemon for each compute instance that jobs share
/// (its own pipe and log directory), each job with its environment. In the order of the schedule,
/// but waits instead of times: a step begins when the steps before it are done and the jobs have
/// ended that the schedule has end before it in the same instance. At the
/// end of a group it waits for all of the group's jobs. Jobs are files of $SEPTULE_JOBS (./jobs),
/// by name; the script looks before its first step whether all are there. MIG devices are named by
/// the UUIDs that `nvidia-smi -L` gives when they exist. Instances of the last group stay.
///
/// MPS clients of several users share a server only with -multiuser-server, which is given where
/// the schedule has them in one compute instance at one time.
///
/// Fails with kInvalidInput for a job whose name cannot be a file's or whose user is "-", and with
/// kBlocked for a cut that the GPU cannot be brought to (somebody holds an instance), as
/// plan_transition() says. Source of the variables and commands: mig-and-mps reference, C.3 and
/// C.5.
Result<std::string> window_script(const WindowScriptInput& input);

}  // namespace septule::interop
