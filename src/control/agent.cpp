#include "control/agent.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace septule::control {

namespace {
// A timer's payload: GPU number and token of the stage it belongs to.
constexpr unsigned kTokenBits = 40;

std::uint64_t payload_of(GpuId id, std::uint64_t token) {
  return (static_cast<std::uint64_t>(id.value()) << kTokenBits) | token;
}
}  // namespace

Agent::Agent(const Parts& parts,
             const gpu::Geometry& geometry,
             GpuId first_gpu,
             const AgentWaits& waits)
    : parts_(parts),
      geometry_(&geometry),
      first_(first_gpu),
      waits_(waits),
      gpus_(static_cast<std::size_t>(parts.device.gpu_count())) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const port::DeviceState state =
        checked_value(parts_.device.inspect(GpuIndex(static_cast<int>(i))),
                      "a device shows every GPU that it counts");
    Gpu& gpu = gpus_[i];
    gpu.mode = state.mig_mode;
    gpu.has_mps = state.has_mps;
    for (const port::DeviceInstance& instance : state.instances) {
      const auto& compute = instance.compute_instances;
      gpu.instances.push_back(
          Instance{instance.placed,
                   instance.id,
                   compute.empty() ? std::nullopt : std::optional(compute.front().id),
                   instance.has_mps});
    }
  }
}

port::JobPlace Agent::place_of(GpuId id, const GpuOrder& order, const sched::Slot& slot) const {
  port::JobPlace place{id, std::nullopt, slot.atp};
  if (order.goal.purpose == sched::GoalPurpose::kCharacterise) {
    place.atp = ActiveThreadPercentage(100);  // the levels set it while the run lasts
  }
  if (slot.instance != sched::Slot::kWholeGpu) {
    place.instance = order.goal.instances[static_cast<std::size_t>(slot.instance)];
  }
  return place;
}

bool Agent::needs_mps(const GpuOrder& order, const sched::Slot& slot) const {
  if (order.goal.purpose == sched::GoalPurpose::kCharacterise || slot.atp.value() < 100) {
    return true;
  }
  return std::count_if(
             order.goal.slots.begin(), order.goal.slots.end(), [&](const sched::Slot& other) {
               return other.instance == slot.instance;
             }) > 1;
}

/// Whether a running job may keep its process: same place, and under MPS if it has to share.
bool Agent::stays(GpuId id, const Running& running) const {
  const GpuOrder& order = gpus_[static_cast<std::size_t>(id.value() - first_.value())].order;
  if (order.goal.restart == sched::RestartRule::kEverything ||
      order.goal.purpose == sched::GoalPurpose::kCharacterise) {
    return false;
  }
  const sched::Slot* slot = order.goal.find(running.job);
  return slot != nullptr && place_of(id, order, *slot) == running.place &&
         (running.is_under_mps || !needs_mps(order, *slot));
}

void Agent::take(const GpuOrder& order) {
  Gpu& gpu = at(order.gpu);
  if (order.epoch <= gpu.order.epoch) {
    ++stale_order_count_;
    return;
  }
  gpu.order = order;
  begin_stop(order.gpu);
}

void Agent::send(GpuId id, AgentReport::Kind kind) {
  report_.kind = kind;
  report_.gpu = id;
  report_.epoch = at(id).order.epoch;
  report_.samples.clear();
  if (kind == AgentReport::Kind::kCharacterised) {
    report_.samples = at(id).samples;
  }
  if (kind != AgentReport::Kind::kObserved) {
    report_.observations.clear();
  }
  parts_.controller.report(report_);
}

void Agent::arm(GpuId id, Duration after) {
  Gpu& gpu = at(id);
  ++gpu.token;
  parts_.env.call_at(
      parts_.env.now() + after, port::TimerClass::kAgent, *this, payload_of(id, gpu.token));
}

void Agent::begin_stop(GpuId id) {
  Gpu& gpu = at(id);
  leaving_.clear();
  for (Running& running : gpu.running) {
    running.is_leaving = !stays(id, running);
    if (running.is_leaving) {
      leaving_.push_back(running.job);
    }
  }
  if (gpu.was_characterising && leaving_.size() < gpu.running.size()) {
    runner_->end_characterisation(id);
  }
  gpu.stage = Stage::kStopping;
  ++gpu.token;
  if (leaving_.empty()) {
    begin_cut(id);
    return;
  }
  runner_->stop(id, leaving_, gpu.token);
}

void Agent::on_stopped(GpuId id, std::uint64_t token) {
  Gpu& gpu = at(id);
  if (gpu.token != token || gpu.stage != Stage::kStopping) {
    return;
  }
  for (std::size_t i = 0; i < gpu.running.size();) {
    // Not stays() once more: the end of another job may have changed the answer meanwhile.
    if (!gpu.running[i].is_leaving) {
      ++i;
      continue;
    }
    detach(id, gpu.running[i]);
    gpu.running.erase_at(i);
  }
  const Duration wait = gpu.was_characterising ? waits_.after_mps : waits_.after_checkpoint;
  if (wait > Duration()) {
    gpu.stage = Stage::kWaiting;
    arm(id, wait);
    return;
  }
  begin_cut(id);
}

void Agent::begin_cut(GpuId id) {
  Gpu& gpu = at(id);
  gpu.stage = Stage::kCutting;
  gpu.was_characterising = false;
  if (waits_.stops == AgentWaits::Stops::kReported) {
    send(id, AgentReport::Kind::kStopped);
  }
  const Refused refused = cut(id);
  const Duration latency = parts_.device.take_latency(local(id));
  if (!refused.is_ok()) {
    give_up(id, refused.code, refused.step);
    return;
  }
  if (latency > Duration()) {
    arm(id, latency);
    return;
  }
  begin_start(id);
}

void Agent::begin_start(GpuId id) {
  Gpu& gpu = at(id);
  gpu.stage = Stage::kStarting;
  starts_.clear();
  for (const sched::Slot& slot : gpu.order.goal.slots) {
    const bool is_running =
        std::any_of(gpu.running.begin(), gpu.running.end(), [&](const Running& running) {
          return running.job == slot.job;
        });
    if (is_running) {
      continue;
    }
    const port::JobPlace place = place_of(id, gpu.order, slot);
    const port::DeviceCode code =
        parts_.device.attach_client(local(id), instance_id(gpu, place.instance));
    if (code != port::DeviceCode::kOk) {
      // None of them has been launched: they let go again, and the next attempt begins anew.
      for (std::size_t launched = starts_.size(); launched > 0; --launched) {
        detach(id, gpu.running.back());
        gpu.running.pop_back();
      }
      give_up(id, code, "start a client");
      return;
    }
    gpu.running.push_back(Running{slot.job, place, needs_mps(gpu.order, slot)});
    starts_.push_back(port::JobStart{slot.job, place});
  }
  ++gpu.token;
  const bool is_characterising = gpu.order.goal.purpose == sched::GoalPurpose::kCharacterise;
  gpu.was_characterising = is_characterising;
  const std::uint64_t token = gpu.token;
  const bool from_launch =
      is_characterising && gpu.order.goal.characterisation.from == sched::LevelsFrom::kLaunch;
  runner_->start(id,
                 starts_,
                 is_characterising ? port::RunPurpose::kCharacterise : port::RunPurpose::kRun,
                 token);
  if (is_characterising) {
    ++characterisation_count_;
    runner_->set_atp(id, gpu.order.goal.characterisation.levels[0]);
  }
  send(id, AgentReport::Kind::kReady);
  if (from_launch) {
    begin_level(id);
  }
}

void Agent::on_started(GpuId id, std::uint64_t token) {
  Gpu& gpu = at(id);
  if (gpu.token != token || gpu.stage != Stage::kStarting) {
    return;
  }
  if (gpu.order.goal.purpose == sched::GoalPurpose::kCharacterise) {
    begin_level(id);
    return;
  }
  gpu.stage = Stage::kIdle;
  send(id, AgentReport::Kind::kSettled);
  await_observation(id);
}

void Agent::begin_level(GpuId id) {
  Gpu& gpu = at(id);
  const sched::CharacterisationPlan& plan = gpu.order.goal.characterisation;
  if (gpu.stage != Stage::kLevels) {
    gpu.stage = Stage::kLevels;
    gpu.level = 0;
    gpu.samples.clear();
    for (const Running& running : gpu.running) {
      gpu.samples.push_back(predict::MpsSample{running.job, {}, {}});
    }
  }
  runner_->set_atp(id, plan.levels[gpu.level]);
  arm(id, plan.per_level);
}

/// Notes what was seen at the level that is over; after the last one the run is over.
void Agent::end_level(GpuId id) {
  Gpu& gpu = at(id);
  const sched::CharacterisationPlan& plan = gpu.order.goal.characterisation;
  for (predict::MpsSample& sample : gpu.samples) {
    sample.signature = runner_->current_signature(sample.job);
    sample.levels.push_back({plan.levels[gpu.level], runner_->observed_step(sample.job)});
  }
  ++gpu.level;
  if (gpu.level < plan.levels.size()) {
    begin_level(id);
    return;
  }
  gpu.stage = Stage::kIdle;
  send(id, AgentReport::Kind::kCharacterised);
}

void Agent::on_timer(std::uint64_t payload) {
  const GpuId id(static_cast<int>(payload >> kTokenBits));
  Gpu& gpu = at(id);
  if ((payload & ((std::uint64_t{1} << kTokenBits) - 1)) != gpu.token) {
    return;  // of a stage that is past
  }
  switch (gpu.stage) {
    case Stage::kWaiting:
      begin_cut(id);
      break;
    case Stage::kCutting:
      begin_start(id);
      break;
    case Stage::kLevels:
      end_level(id);
      break;
    case Stage::kIdle:
      observe(id);
      break;
    case Stage::kStopping:
    case Stage::kStarting:
      break;
  }
}

void Agent::on_job_ended(GpuId id, job::JobId job) {
  Gpu& gpu = at(id);
  for (std::size_t i = 0; i < gpu.running.size(); ++i) {
    if (gpu.running[i].job == job) {
      detach(id, gpu.running[i]);
      gpu.running.erase_at(i);
      break;
    }
  }
  gpu.order.goal.remove(job);
  std::erase_if(gpu.samples, [job](const predict::MpsSample& sample) { return sample.job == job; });
  report_.job = job;
  send(id, AgentReport::Kind::kJobEnded);
}

void Agent::on_speed_changed(GpuId id, job::JobId job, double factor) {
  for (Running& running : at(id).running) {
    if (running.job == job) {
      running.is_observed = false;
    }
  }
  report_.job = job;
  report_.factor = factor;
  send(id, AgentReport::Kind::kSpeedChanged);
}

// ---- observations

bool Agent::is_alone(const Gpu& gpu, const Running& running) const {
  return running.place.atp.value() == 100 &&
         std::ranges::count_if(gpu.running, [&](const Running& other) {
           return other.place.instance == running.place.instance;
         }) == 1;
}

void Agent::await_observation(GpuId id) {
  const Gpu& gpu = at(id);
  const bool is_due = std::ranges::any_of(gpu.running, [&](const Running& running) {
    return !running.is_observed && is_alone(gpu, running);
  });
  if (waits_.observe_after.has_value() && is_due) {
    arm(id, *waits_.observe_after);
  }
}

void Agent::observe(GpuId id) {
  Gpu& gpu = at(id);
  report_.observations.clear();
  for (Running& running : gpu.running) {
    const auto profile = running.place.instance.has_value()
                             ? std::optional(running.place.instance->profile)
                             : geometry_->plain_profile(geometry_->compute_slices());
    const auto step = runner_->observed_step(running.job);
    const bool is_due = !running.is_observed && is_alone(gpu, running);
    if (is_due && profile.has_value() && step.has_value() && *step > Duration()) {
      running.is_observed = true;
      report_.observations.push_back(
          {running.job, *profile, *step, runner_->current_signature(running.job)});
    }
  }
  if (!report_.observations.empty()) {
    send(id, AgentReport::Kind::kObserved);
  }
}

void Agent::give_up(GpuId id, port::DeviceCode code, std::string_view step) {
  Gpu& gpu = at(id);
  gpu.stage = Stage::kIdle;
  ++gpu.token;
  report_.code = code;
  report_.step = step;
  send(id, AgentReport::Kind::kTroubled);
}

}  // namespace septule::control
