#include "control/controller.hpp"

#include <algorithm>

namespace septule::control {

namespace {

constexpr std::uint64_t kStepTimer = 0;
constexpr std::uint64_t kPolicyTimer = 1;     // a wake-up that the policy asked for
constexpr std::uint64_t kIssueTimer = 2;      // a serial controller goes on to its next order
constexpr std::uint64_t kRetryTimerBase = 3;  // payload = base + GPU number
/// A refused order is tried again after so long, doubled with every failure in a row.
constexpr Duration kRetryDelay = Duration::milliseconds(1000);
constexpr int kRetryDoublingsMax = 6;

/// The first start + k * tick, k >= 0, that is not before `now`.
SimTime next_tick(SimTime start, SimTime now, Duration tick) {
  const std::int64_t step = tick.to_nanoseconds();
  if (step == 0) {
    return now;
  }
  const std::int64_t past = (now - start).to_nanoseconds();
  return start + Duration::nanoseconds((past + step - 1) / step * step);
}

}  // namespace

Controller::Controller(const Parts& parts, const Options& options)
    : parts_(parts),
      options_(options),
      checker_(parts.view.geometry(), parts.view.gpu_count(), options.memory_rule),
      reconciler_(parts.view.gpu_count(), parts.view.jobs_max()) {}

void Controller::start() {
  events_.clear();
  decide();
  carry_out();
  issue();
}

void Controller::submit(const job::JobSpec& spec) {
  submitted_.push_back(&spec);
  wake();
}

void Controller::report(const AgentReport& report) {
  reports_.push_back(report);
  if (is_working_ &&
      (report.kind == AgentReport::Kind::kReady || report.kind == AgentReport::Kind::kStopped ||
       report.kind == AgentReport::Kind::kTroubled)) {
    parts_.env.call_at(parts_.env.now(), port::TimerClass::kController, *this, kIssueTimer);
  }
  wake();
}

/// Whether a serial controller must let the order in hand get on before it gives another.
bool Controller::is_waiting() const {
  switch (options_.pace) {
    case Options::Pace::kSerial:
      return reconciler_.changing_count() > 0;
    case Options::Pace::kSerialStops:
      return stopping_.has_value();
    case Options::Pace::kOverlapped:
      break;
  }
  return false;
}

/// The serial controller waits for its order only, not for the next tick, before it gives the next
/// or looks what else there is to do; it sleeps a tick when there is nothing.
void Controller::go_on() {
  if (!is_working_) {
    return;
  }
  take_reports();
  if (is_waiting()) {
    return;
  }
  issue();
  if (!is_waiting()) {
    step();
  }
}

void Controller::take_reports() {
  for (const AgentReport& report : reports_) {
    take(report);
  }
  reports_.clear();
}

/// Arms the next step. Armed once per instant: a later one is not pulled forward by itself.
void Controller::wake() {
  if (is_working_) {
    return;  // go_on() sees to it
  }
  const SimTime now = parts_.env.now();
  const bool is_resting = now == rested_at_ && now > SimTime();
  const SimTime due = is_resting ? now + options_.tick : next_tick(rested_at_, now, options_.tick);
  if (due < wake_at_ || wake_at_ < now) {
    wake_at_ = due;
    parts_.env.call_at(due, port::TimerClass::kController, *this, kStepTimer);
  }
}

void Controller::on_timer(std::uint64_t payload) {
  if (payload == kPolicyTimer) {
    is_woken_ = true;
    wake();
    return;
  }
  if (payload == kIssueTimer) {
    go_on();
    return;
  }
  if (payload >= kRetryTimerBase) {
    reconciler_.retry(GpuId(static_cast<int>(payload - kRetryTimerBase)));
    issue();
    return;
  }
  if (parts_.env.now() != wake_at_) {
    return;  // an earlier step has been armed since; or this instant is done
  }
  wake_at_ = SimTime::never();
  if (!is_working_) {
    step();
  }
}

bool Controller::fits(const job::JobSpec& spec) const {
  return spec.gpus <= parts_.view.gpu_count() && parts_.predictor.smallest(spec.id).has_value();
}

void Controller::step() {
  const SimTime now = parts_.env.now();
  take_reports();
  for (const job::JobSpec* spec : submitted_) {
    parts_.predictor.submitted(*spec);
    parts_.view.submit(*spec, now);
    if (!fits(*spec)) {
      parts_.view.reject(spec->id, now);
      ++rejected_count_;
      if (parts_.observer != nullptr) {
        parts_.observer->on_reject(now, spec->id);
      }
      continue;
    }
    events_.emplace_back(sched::JobSubmitted{spec->id});
  }
  submitted_.clear();
  if (is_woken_) {
    is_woken_ = false;
    events_.emplace_back(sched::WokeUp{});
  }
  decide();
  carry_out();
  events_.clear();
  const bool was_working = is_working_;
  if (!issue() && was_working) {
    rest();
  }
}

/// A serial controller found nothing to do: it looks again one tick after its last work.
void Controller::rest() {
  is_working_ = false;
  rested_at_ = parts_.env.now();
  if (!reports_.empty() || !submitted_.empty() || is_woken_) {
    wake();
  }
}

void Controller::take(const AgentReport& report) {
  const SimTime now = parts_.env.now();
  const auto add = [&](const sched::Event& event) {
    parts_.view.apply(event, now);
    events_.push_back(event);
  };
  switch (report.kind) {
    case AgentReport::Kind::kStopped:
      if (stopping_ == report.gpu) {
        stopping_.reset();
      }
      break;
    case AgentReport::Kind::kReady:
      if (reconciler_.ready(report.gpu, report.epoch)) {
        add(sched::GpuReady{report.gpu});
      }
      break;
    case AgentReport::Kind::kSettled:
      if (reconciler_.is_current(report.gpu, report.epoch)) {
        add(sched::GpuSettled{report.gpu});
      }
      break;
    case AgentReport::Kind::kCharacterised:
      if (reconciler_.characterised(report.gpu, report.epoch)) {
        parts_.predictor.characterised(report.samples);
        add(sched::GpuCharacterised{report.gpu});
      }
      break;
    case AgentReport::Kind::kJobEnded:
      if (parts_.view.job(report.job).state == sched::JobView::State::kEnded) {
        break;  // each GPU of a gang reports it
      }
      reconciler_.job_ended(report.job);
      add(sched::JobEnded{report.job, report.gpu});
      break;
    case AgentReport::Kind::kSpeedChanged:
      add(sched::JobSpeedChanged{report.job, report.gpu, report.factor});
      break;
    case AgentReport::Kind::kObserved:
      for (const predict::SliceObservation& observation : report.observations) {
        const auto factor = parts_.predictor.observed(observation);
        if (factor.has_value() &&
            parts_.view.job(observation.job).state == sched::JobView::State::kPlaced) {
          add(sched::JobSpeedChanged{observation.job, report.gpu, *factor});
        }
      }
      break;
    case AgentReport::Kind::kTroubled:
      if (reconciler_.troubled(report.gpu, report.epoch)) {
        take_trouble(report);
        add(sched::GpuTroubled{report.gpu});
      }
      break;
  }
}

/// Tries again later, unless the GPU is gone: then nothing that is ordered can help, and the others
/// go on without it.
void Controller::take_trouble(const AgentReport& report) {
  if (stopping_ == report.gpu) {
    stopping_.reset();
  }
  if (report.code == port::DeviceCode::kGpuLost) {
    lost_gpus_.push_back(report.gpu);
    return;
  }
  const int doublings = std::min(reconciler_.trouble_count(report.gpu) - 1, kRetryDoublingsMax);
  const Duration delay = Duration::nanoseconds(kRetryDelay.to_nanoseconds() << doublings);
  parts_.env.call_at(parts_.env.now() + delay,
                     port::TimerClass::kController,
                     *this,
                     kRetryTimerBase + static_cast<std::uint64_t>(report.gpu.value()));
}

void Controller::decide() {
  decisions_.clear();
  ++decision_count_;
  const SimTime now = parts_.env.now();
  if (parts_.observer != nullptr) {
    for (const sched::Event& event : events_) {
      parts_.observer->on_event(now, event);
    }
  }
  parts_.policy.decide(
      parts_.view, events_, sched::PolicyContext{now, parts_.predictor, parts_.costs}, decisions_);
  if (options_.checking == Options::Checking::kOff || decisions_.goals.empty()) {
    return;
  }
  if (const auto why = checker_.refusal(parts_.view, parts_.predictor, decisions_)) {
    if (refusal_.empty()) {
      refusal_ = *why;
    }
    if (parts_.observer != nullptr) {
      parts_.observer->on_refusal(now, *why);
    }
    decisions_.clear();
  }
}

/// Writes the decisions into view and reconciler; jobs that no goal holds any more queue again.
void Controller::carry_out() {
  const SimTime now = parts_.env.now();
  dropped_.clear();
  for (const sched::SetGoal& decision : decisions_.goals) {
    if (parts_.observer != nullptr) {
      parts_.observer->on_goal(now, decision);
    }
    for (const sched::Slot& slot : parts_.view.gpu(decision.gpu).goal.slots) {
      if (decision.goal.find(slot.job) == nullptr) {
        dropped_.push_back(slot.job);
      }
    }
    parts_.view.set_goal(decision.gpu, decision.goal, now);
    const bool is_gang = decision.goal.slots.size() == 1 &&
                         parts_.view.job(decision.goal.slots[0].job).spec->gpus > 1;
    reconciler_.desire(decision.gpu,
                       decision.goal,
                       is_gang ? Reconciler::Members::kGang : Reconciler::Members::kOwnJobs);
  }
  for (const job::JobId job : dropped_) {
    if (parts_.view.job(job).state == sched::JobView::State::kPlaced &&
        !parts_.view.is_placed(job)) {
      parts_.view.requeue(job, now);
      if (parts_.observer != nullptr) {
        parts_.observer->on_requeue(now, job);
      }
    }
  }
  for (const sched::WakeAt& wake_up : decisions_.wakes) {
    if (wake_up.time > now) {
      parts_.env.call_at(wake_up.time, port::TimerClass::kController, *this, kPolicyTimer);
    }
  }
}

/// Whether any order was given.
bool Controller::issue() {
  bool has_issued = false;
  const SimTime now = parts_.env.now();
  while (!is_waiting()) {
    const std::optional<GpuOrder> order = reconciler_.next_order();
    if (!order) {
      break;
    }
    parts_.view.set_phase(order->gpu,
                          order->goal.purpose == sched::GoalPurpose::kCharacterise
                              ? sched::GpuPhase::kCharacterising
                              : sched::GpuPhase::kChanging,
                          now);
    if (parts_.observer != nullptr) {
      parts_.observer->on_order(now, *order);
    }
    if (options_.pace != Options::Pace::kOverlapped) {
      is_working_ = true;
    }
    if (options_.pace == Options::Pace::kSerialStops) {
      stopping_ = order->gpu;
    }
    has_issued = true;
    parts_.agents.send(*order);
  }
  return has_issued;
}

}  // namespace septule::control
