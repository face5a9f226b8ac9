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

SimTime next_multiple(SimTime now, Duration tick) {
  const std::int64_t step = tick.to_nanoseconds();
  if (step == 0) {
    return now;
  }
  return SimTime::nanoseconds((now.to_nanoseconds() + step - 1) / step * step);
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
  if (options_.pace == Options::Pace::kSerial && report.kind == AgentReport::Kind::kReady) {
    parts_.env.call_at(parts_.env.now(), port::TimerClass::kController, *this, kIssueTimer);
  }
  wake();
}

/// The serial controller waits for its re-cut only, not for the next tick, before it begins the
/// next one.
void Controller::go_on() {
  events_.clear();
  std::erase_if(reports_, [this](const AgentReport& report) {
    if (report.kind != AgentReport::Kind::kReady) {
      return false;
    }
    take(report);
    return true;
  });
  kept_events_.insert(kept_events_.end(), events_.begin(), events_.end());
  issue();
}

/// Arms the next step. Armed once per instant: a later one is not pulled forward by itself.
void Controller::wake() {
  const SimTime now = parts_.env.now();
  const SimTime due = next_multiple(now, options_.tick);
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
  step();
}

bool Controller::fits(const job::JobSpec& spec) const {
  return spec.gpus <= parts_.view.gpu_count() && parts_.predictor.smallest(spec.id).has_value();
}

void Controller::step() {
  const SimTime now = parts_.env.now();
  events_.clear();
  for (const AgentReport& report : reports_) {
    take(report);
  }
  reports_.clear();
  if (options_.pace == Options::Pace::kSerial && reconciler_.changing_count() > 0) {
    // The one thread waits for the re-cut in hand; what was submitted is noticed later.
    for (const sched::Event& event : events_) {
      kept_events_.push_back(event);
    }
    wake_later();
    return;
  }
  if (!kept_events_.empty()) {
    events_.insert(events_.begin(), kept_events_.begin(), kept_events_.end());
    kept_events_.clear();
  }
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
  issue();
}

/// While a serial controller waits, it looks again at the next tick.
void Controller::wake_later() {
  const Duration tick = std::max(options_.tick, Duration::milliseconds(1));
  wake_at_ = next_multiple(parts_.env.now() + Duration::nanoseconds(1), tick);
  parts_.env.call_at(wake_at_, port::TimerClass::kController, *this, kStepTimer);
}

void Controller::take(const AgentReport& report) {
  const SimTime now = parts_.env.now();
  const auto add = [&](const sched::Event& event) {
    parts_.view.apply(event, now);
    events_.push_back(event);
  };
  switch (report.kind) {
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
        for (const predict::MpsSample& sample : report.samples) {
          parts_.predictor.characterised(sample);
        }
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

void Controller::issue() {
  const SimTime now = parts_.env.now();
  const bool is_serial = options_.pace == Options::Pace::kSerial;
  while (!is_serial || reconciler_.changing_count() == 0) {
    const std::optional<GpuOrder> order = reconciler_.next_order();
    if (!order) {
      return;
    }
    parts_.view.set_phase(order->gpu,
                          order->goal.purpose == sched::GoalPurpose::kCharacterise
                              ? sched::GpuPhase::kCharacterising
                              : sched::GpuPhase::kChanging,
                          now);
    if (parts_.observer != nullptr) {
      parts_.observer->on_order(now, *order);
    }
    parts_.agents.send(*order);
  }
}

}  // namespace septule::control
