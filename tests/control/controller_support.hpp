#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "control/control_support.hpp"
#include "control/controller.hpp"

namespace septule::control::test {

using job::JobId;
using sched::GpuGoal;

/// Decides what the test says, and notes when it was asked and about what.
class ScriptedPolicy final : public sched::Policy {
 public:
  explicit ScriptedPolicy(const port::Env& env) : env_(&env) {}
  std::string_view name() const override { return "scripted"; }
  void decide(const sched::ClusterView& view,
              std::span<const sched::Event> events,
              const sched::PolicyContext& context,
              sched::Decisions& out) override {
    std::string line = fmt::format("{}:", env_->now().to_seconds());
    for (const sched::Event& event : events) {
      line += fmt::format(" {}", sched::event_name(event));
    }
    calls.push_back(line);
    if (next) {
      next(view, context, out);
    }
  }
  std::vector<std::string> calls;
  std::function<void(const sched::ClusterView&, const sched::PolicyContext&, sched::Decisions&)>
      next;

 private:
  const port::Env* env_;
};

/// Every job fits 1g unless it is said to fit nothing.
class StatedPredictor final : public predict::Predictor {
 public:
  void submitted(const job::JobSpec& job) override { submitted_jobs.push_back(job.id.value()); }
  const predict::SpeedRow* speeds(JobId /*job*/) const override { return nullptr; }
  std::optional<ProfileIndex> smallest(JobId job) const override {
    return too_large == job.value() ? std::nullopt : a100().find_profile("1g.5gb");
  }
  Bytes need(JobId /*job*/) const override { return Bytes::mebibytes(1000); }
  void characterised(std::span<const predict::MpsSample> run) override {
    for (const predict::MpsSample& sample : run) {
      characterised_jobs.push_back(sample.job.value());
    }
  }
  void forget(JobId /*job*/) override {}
  std::vector<int> submitted_jobs;
  std::vector<int> characterised_jobs;
  int too_large = -1;
};

class OrderLog final : public AgentLink {
 public:
  void send(const GpuOrder& order) override { orders.push_back(order); }
  std::vector<GpuOrder> orders;
};

class ObserverLog final : public ControlObserver {
 public:
  void on_event(SimTime /*time*/, const sched::Event& event) override {
    lines.push_back(fmt::format("event {}", sched::event_name(event)));
  }
  void on_goal(SimTime /*time*/, const sched::SetGoal& set) override {
    lines.push_back(fmt::format("goal {}", set.gpu.value()));
  }
  void on_order(SimTime /*time*/, const GpuOrder& order) override {
    lines.push_back(fmt::format("order {}/{}", order.gpu.value(), order.epoch));
  }
  void on_refusal(SimTime /*time*/, const std::string& why) override {
    lines.push_back("refusal: " + why);
  }
  void on_requeue(SimTime /*time*/, JobId job) override {
    lines.push_back(fmt::format("requeue {}", job.value()));
  }
  void on_reject(SimTime /*time*/, JobId job) override {
    lines.push_back(fmt::format("reject {}", job.value()));
  }
  std::vector<std::string> lines;
};

inline constexpr int kGpus = 3;
inline constexpr int kJobs = 8;

class ControllerTest : public ::testing::Test {
 protected:
  ControllerTest() { make({}); }

  void make(const Controller::Options& options) {
    view_ = std::make_unique<sched::ClusterView>(a100(), kGpus, kJobs);
    controller_ = std::make_unique<Controller>(
        Controller::Parts{env_, *view_, policy_, predictor_, orders_, costs_, &observer_}, options);
    specs_.clear();
    policy_.calls.clear();
    orders_.orders.clear();
    observer_.lines.clear();
  }
  JobId submit(int gpus = 1) {
    const JobId id(static_cast<int>(specs_.size()));
    specs_.push_back({.id = id,
                      .name = fmt::format("job-{}", id.value()),
                      .submit = env_.now(),
                      .work = Duration::milliseconds(1000),
                      .gpus = gpus});
    controller_->submit(specs_.back());
    return id;
  }
  static GpuGoal goal(const std::vector<int>& jobs) {
    GpuGoal made;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      made.instances.push_back(placed("1g.5gb", static_cast<int>(i)));
      made.add({JobId(jobs[i]), static_cast<int>(i)});
    }
    return made;
  }
  /// The next decision gives these goals.
  void decide(std::vector<std::pair<int, GpuGoal>> goals) {
    policy_.next = [this, goals](const sched::ClusterView&,
                                 const sched::PolicyContext&,
                                 sched::Decisions& out) {
      for (const auto& [gpu, wanted] : goals) {
        out.goals.push_back({.gpu = GpuId(gpu), .goal = wanted, .reason = "test"});
      }
      policy_.next = nullptr;
    };
  }
  void report(AgentReport::Kind kind,
              int gpu,
              std::uint64_t epoch,
              int job = 0,
              port::DeviceCode code = port::DeviceCode::kInUse) {
    AgentReport report;
    report.kind = kind;
    report.gpu = GpuId(gpu);
    report.epoch = epoch;
    report.job = JobId(job);
    report.code = code;
    report.step = "create a GPU instance";
    controller_->report(report);
  }
  void at(double seconds) { env_.run_until(seconds); }

  ManualEnv env_;
  ScriptedPolicy policy_{env_};
  StatedPredictor predictor_;
  OrderLog orders_;
  ObserverLog observer_;
  job::CostModel costs_;
  std::unique_ptr<sched::ClusterView> view_;
  std::unique_ptr<Controller> controller_;
  std::deque<job::JobSpec> specs_;
};

}  // namespace septule::control::test
