#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/check.hpp"
#include "control/agent.hpp"
#include "device/emulated_device.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "gpu/latency.hpp"

namespace septule::control::test {

inline const gpu::Geometry& a100() {
  static const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  return **catalogue.find("A100-40GB");
}

inline gpu::PlacedProfile placed(std::string_view profile, int start) {
  return {checked_value(a100().find_profile(profile), "tests name known profiles"),
          MemorySlices(start)};
}

/// A clock that the test moves. Timers in order of time, class, sequence.
class ManualEnv final : public port::Env {
 public:
  SimTime now() const override { return now_; }
  void call_at(SimTime time,
               port::TimerClass timer_class,
               port::TimerTarget& target,
               std::uint64_t payload) override {
    timers_.emplace(Key{std::max(time, now_), timer_class, sequence_++}, Call{&target, payload});
  }
  bool fire_next() {
    if (timers_.empty()) {
      return false;
    }
    const auto [key, call] = *timers_.begin();
    timers_.erase(timers_.begin());
    now_ = key.time;
    ++fired_;
    call.target->on_timer(call.payload);
    return true;
  }
  /// Fires what is due up to then, and sets the clock there.
  void run_until(double seconds) {
    const SimTime until = SimTime::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
    while (!timers_.empty() && timers_.begin()->first.time <= until) {
      fire_next();
    }
    now_ = std::max(now_, until);
  }
  void run_out() {
    while (fire_next()) {
    }
  }
  int fired_count() const { return fired_; }
  std::size_t pending_count() const { return timers_.size(); }

 private:
  struct Key {
    SimTime time;
    port::TimerClass timer_class = port::TimerClass::kWorld;
    std::uint64_t sequence = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Call {
    port::TimerTarget* target = nullptr;
    std::uint64_t payload = 0;
  };
  std::map<Key, Call> timers_;
  SimTime now_;
  std::uint64_t sequence_ = 0;
  int fired_ = 0;
};

/// An emulated node whose calls can be refused by number. Ends of clients are never refused: a
/// process may always end.
class ScriptedDevice final : public port::DeviceBackend {
 public:
  explicit ScriptedDevice(const device::EmulatedDeviceOptions& options = {}, int gpus = 1) {
    const std::vector<const gpu::Geometry*> boards(static_cast<std::size_t>(gpus), &a100());
    static const gpu::LatencyTable latencies = gpu::load_builtin_latencies();
    Result<std::unique_ptr<device::EmulatedDevice>> made =
        device::EmulatedDevice::make(boards, latencies, options);
    SEPTULE_CHECK(made.has_value(), "the options of a test are valid");
    device_ = std::move(made).value();
  }

  /// Calls are counted from 1 at each begin(); those in `refused` answer `code` and do nothing.
  void begin(std::set<int> refused, port::DeviceCode code) {
    count_ = 0;
    refused_ = std::move(refused);
    code_ = code;
    was_refused_ = false;
  }
  bool was_refused() const { return was_refused_; }
  const std::string& refused_call() const { return refused_call_; }
  port::DeviceState state(int gpu = 0) const {
    return checked_value(device_->inspect(GpuIndex(gpu)), "tests inspect GPUs that exist");
  }

  int gpu_count() const override { return device_->gpu_count(); }
  std::optional<port::DeviceState> inspect(GpuIndex gpu) const override {
    return device_->inspect(gpu);
  }
  port::DeviceCode set_mig_mode(GpuIndex gpu, port::MigMode mode) override {
    return is_refused("set_mig_mode") ? code_ : device_->set_mig_mode(gpu, mode);
  }
  port::DeviceResult<GpuInstanceId> create_gpu_instance(GpuIndex gpu,
                                                        const gpu::PlacedProfile& where) override {
    return is_refused("create_gpu_instance") ? port::DeviceResult<GpuInstanceId>{code_, {}}
                                             : device_->create_gpu_instance(gpu, where);
  }
  port::DeviceCode destroy_gpu_instance(GpuIndex gpu, GpuInstanceId id) override {
    return is_refused("destroy_gpu_instance") ? code_ : device_->destroy_gpu_instance(gpu, id);
  }
  port::DeviceResult<ComputeInstanceId> create_compute_instance(
      GpuIndex gpu, GpuInstanceId instance, const gpu::ComputeInstance& wanted) override {
    return is_refused("create_compute_instance")
               ? port::DeviceResult<ComputeInstanceId>{code_, {}}
               : device_->create_compute_instance(gpu, instance, wanted);
  }
  port::DeviceCode destroy_compute_instance(GpuIndex gpu,
                                            GpuInstanceId instance,
                                            ComputeInstanceId id) override {
    return is_refused("destroy_compute_instance")
               ? code_
               : device_->destroy_compute_instance(gpu, instance, id);
  }
  port::DeviceCode start_mps(GpuIndex gpu, std::optional<GpuInstanceId> instance) override {
    return is_refused("start_mps") ? code_ : device_->start_mps(gpu, instance);
  }
  port::DeviceCode stop_mps(GpuIndex gpu, std::optional<GpuInstanceId> instance) override {
    return is_refused("stop_mps") ? code_ : device_->stop_mps(gpu, instance);
  }
  port::DeviceCode attach_client(GpuIndex gpu, std::optional<GpuInstanceId> instance) override {
    return is_refused("attach_client") ? code_ : device_->attach_client(gpu, instance);
  }
  port::DeviceCode detach_client(GpuIndex gpu, std::optional<GpuInstanceId> instance) override {
    return device_->detach_client(gpu, instance);
  }
  Duration take_latency(GpuIndex gpu) override { return device_->take_latency(gpu); }

 private:
  bool is_refused(std::string_view call) {
    if (!refused_.contains(++count_)) {
      return false;
    }
    if (!was_refused_) {
      refused_call_ = call;
    }
    was_refused_ = true;
    return true;
  }

  std::unique_ptr<device::EmulatedDevice> device_;
  std::set<int> refused_;
  port::DeviceCode code_ = port::DeviceCode::kOk;
  int count_ = 0;
  bool was_refused_ = false;
  std::string refused_call_;
};

/// Processes that do what the test says: answers wait until it gives them.
class ScriptedRunner final : public port::JobRunner {
 public:
  void set_agent(Agent& agent) { agent_ = &agent; }

  void start(GpuId gpu,
             std::span<const port::JobStart> jobs,
             port::RunPurpose /*purpose*/,
             std::uint64_t token) override {
    for (const port::JobStart& start : jobs) {
      EXPECT_FALSE(running_.contains(start.job.value()))
          << "job " << start.job.value() << " is launched twice";
      running_[start.job.value()] = start.place;
      log.push_back(fmt::format("start {}", start.job.value()));
    }
    start_ = Answer{gpu, token};
  }
  void stop(GpuId gpu, std::span<const job::JobId> jobs, std::uint64_t token) override {
    stopping_.assign(jobs.begin(), jobs.end());
    for (const job::JobId job : jobs) {
      EXPECT_TRUE(running_.contains(job.value()))
          << "job " << job.value() << " is stopped but does not run";
      log.push_back(fmt::format("stop {}", job.value()));
    }
    stop_ = Answer{gpu, token};
  }
  void set_atp(GpuId /*gpu*/, ActiveThreadPercentage atp) override {
    log.push_back(fmt::format("atp {}", atp.value()));
    atp_ = atp;
  }
  void end_characterisation(GpuId /*gpu*/) override {
    log.push_back("end of characterisation");
    atp_ = ActiveThreadPercentage(100);
  }
  std::optional<Duration> observed_step(job::JobId job) const override {
    return Duration::milliseconds(1000 * job.value() + atp_.value());
  }
  job::SignatureIndex current_signature(job::JobId job) const override {
    return job::SignatureIndex(job.value() + 100);
  }

  void answer_stop() {
    for (const job::JobId job : stopping_) {
      running_.erase(job.value());
    }
    stopping_.clear();
    const Answer answer = checked_value(std::exchange(stop_, std::nullopt), "a stop is due");
    agent_->on_stopped(answer.gpu, answer.token);
  }
  void answer_start() {
    const Answer answer = checked_value(std::exchange(start_, std::nullopt), "a start is due");
    agent_->on_started(answer.gpu, answer.token);
  }
  bool is_stop_due() const { return stop_.has_value(); }
  bool is_start_due() const { return start_.has_value(); }
  /// The job has done its work.
  void end(GpuId gpu, int job) {
    running_.erase(job);
    std::erase(stopping_, job::JobId(job));
    agent_->on_job_ended(gpu, job::JobId(job));
  }
  std::vector<int> running() const {
    std::vector<int> jobs;
    for (const auto& [job, place] : running_) {
      jobs.push_back(job);
    }
    return jobs;
  }
  const port::JobPlace& place(int job) const { return running_.at(job); }

  std::vector<std::string> log;

 private:
  struct Answer {
    GpuId gpu;
    std::uint64_t token = 0;
  };
  Agent* agent_ = nullptr;
  std::map<int, port::JobPlace> running_;
  std::vector<job::JobId> stopping_;
  std::optional<Answer> stop_;
  std::optional<Answer> start_;
  ActiveThreadPercentage atp_{100};
};

/// What the agent said.
class ReportLog final : public ControllerLink {
 public:
  void report(const AgentReport& report) override { reports.push_back(report); }
  /// The kinds since the last call.
  std::vector<AgentReport::Kind> kinds() {
    std::vector<AgentReport::Kind> seen;
    for (; next_ < reports.size(); ++next_) {
      seen.push_back(reports[next_].kind);
    }
    return seen;
  }
  std::vector<AgentReport> reports;

 private:
  std::size_t next_ = 0;
};

}  // namespace septule::control::test
