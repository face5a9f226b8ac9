#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "job/cost_model.hpp"
#include "sched/decision_checker.hpp"
#include "sched/policy.hpp"
#include "sched/policy_registry.hpp"

namespace septule::test {

/// A predictor told everything by the test: the smallest profile and the need of each job. Knows
/// no speeds.
class StatedPredictor final : public predict::Predictor {
 public:
  explicit StatedPredictor(const gpu::Geometry& geometry) : geometry_(&geometry) {}

  /// The need is the memory of the profile unless `need` says otherwise.
  void state(job::JobId job, ProfileIndex smallest, std::optional<Bytes> need = std::nullopt) {
    jobs_.resize(std::max(jobs_.size(), static_cast<std::size_t>(job.value()) + 1));
    jobs_[static_cast<std::size_t>(job.value())] = {
        .smallest = smallest,
        .need = need.value_or(geometry_->profile(smallest).memory.value_or(Bytes()))};
  }

  void submitted(const job::JobSpec& /*job*/) override {}
  const predict::SpeedRow* speeds(job::JobId /*job*/) const override { return nullptr; }
  std::optional<ProfileIndex> smallest(job::JobId job) const override { return of(job).smallest; }
  Bytes need(job::JobId job) const override { return of(job).need; }
  void characterised(std::span<const predict::MpsSample> /*run*/) override {}
  void forget(job::JobId /*job*/) override {}

 private:
  struct Stated {
    std::optional<ProfileIndex> smallest;
    Bytes need;
  };
  const Stated& of(job::JobId job) const { return jobs_[static_cast<std::size_t>(job.value())]; }

  const gpu::Geometry* geometry_;
  std::vector<Stated> jobs_;
};

/// The least that can drive a policy: decisions are judged by the checker and take effect at once,
/// jobs end when the test says so. No time passes but by `advance`.
class PolicyLoop {
 public:
  static constexpr int kJobsMax = 4096;

  PolicyLoop(const gpu::Geometry& geometry,
             int gpu_count,
             std::unique_ptr<sched::Policy> policy,
             sched::MemoryRule memory_rule = sched::MemoryRule::kChecked)
      : view_(geometry, gpu_count, kJobsMax),
        predictor_(geometry),
        checker_(geometry, gpu_count, memory_rule),
        policy_(std::move(policy)) {}

  struct JobOptions {
    std::string_view smallest = "1g.5gb";
    int gpus = 1;
    int priority = 0;
    std::optional<Bytes> need = std::nullopt;
  };

  /// Submits the next job; decide() comes later.
  job::JobId submit(const JobOptions& options) {
    const job::JobId id(static_cast<int>(specs_.size()));
    specs_.push_back({.id = id,
                      .name = fmt::format("job-{}", id.value()),
                      .submit = now_,
                      .work = Duration::milliseconds(1000),
                      .gpus = options.gpus,
                      .priority = options.priority});
    predictor_.state(id, view_.geometry().find_profile(options.smallest).value(), options.need);
    view_.submit(specs_.back(), now_);
    happened(sched::JobSubmitted{id});
    return id;
  }
  /// A placed job ends.
  void end(job::JobId job) { happened(sched::JobEnded{.job = job, .gpu = view_.job(job).gpu}); }
  void happened(const sched::Event& event) {
    view_.apply(event, now_);
    events_.push_back(event);
  }
  void set_phase(GpuId gpu, sched::GpuPhase phase) { view_.set_phase(gpu, phase, now_); }
  void advance(Duration length) { now_ = now_ + length; }

  /// Lets the policy decide on what happened since the last call, judges and applies it.
  const sched::Decisions& decide() {
    decisions_.clear();
    policy_->decide(
        view_, events_, {.now = now_, .predictor = predictor_, .costs = costs_}, decisions_);
    events_.clear();
    const std::optional<std::string> fault = checker_.refusal(view_, predictor_, decisions_);
    EXPECT_EQ(fault.value_or(""), "") << policy_->name();
    std::vector<job::JobId> dropped;
    for (const sched::SetGoal& set : decisions_.goals) {
      for (const sched::Slot& slot : view_.gpu(set.gpu).goal.slots) {
        dropped.push_back(slot.job);
      }
      view_.set_goal(set.gpu, set.goal, now_);
    }
    for (const job::JobId job : dropped) {
      if (view_.job(job).state == sched::JobView::State::kPlaced && !view_.is_placed(job)) {
        view_.requeue(job, now_);
      }
    }
    return decisions_;
  }

  const sched::ClusterView& view() const { return view_; }
  const StatedPredictor& predictor() const { return predictor_; }
  std::size_t job_count() const { return specs_.size(); }
  bool is_placed(job::JobId job) const { return view_.is_placed(job); }
  GpuId gpu_of(job::JobId job) const { return view_.job(job).gpu; }
  /// The slot of a placed job with one GPU.
  const sched::Slot& slot_of(job::JobId job) const {
    return *view_.gpu(gpu_of(job)).goal.find(job);
  }
  std::vector<job::JobId> jobs_in(sched::JobView::State state) const {
    std::vector<job::JobId> jobs;
    for (const job::JobSpec& spec : specs_) {
      if (view_.job(spec.id).state == state) {
        jobs.push_back(spec.id);
      }
    }
    return jobs;
  }

  /// No job is lost or doubled: each job is waiting, placed on as many GPUs as it asks for, or
  /// over; and no goal names another.
  void expect_sound() const {
    std::vector<int> mentions(specs_.size(), 0);
    for (int gpu = 0; gpu < view_.gpu_count(); ++gpu) {
      for (const sched::Slot& slot : view_.gpu(GpuId(gpu)).goal.slots) {
        ++mentions[static_cast<std::size_t>(slot.job.value())];
      }
    }
    for (const job::JobSpec& spec : specs_) {
      const sched::JobView& job = view_.job(spec.id);
      const bool is_placed = job.state == sched::JobView::State::kPlaced;
      const bool is_waiting = job.state == sched::JobView::State::kWaiting;
      const bool is_queued =
          view_.queue().contains({.negative_priority = -spec.priority, .job = spec.id});
      EXPECT_EQ(mentions[static_cast<std::size_t>(spec.id.value())], is_placed ? spec.gpus : 0)
          << policy_->name() << " job " << spec.id.value();
      EXPECT_EQ(is_queued, is_waiting) << policy_->name() << " job " << spec.id.value();
    }
  }

 private:
  sched::ClusterView view_;
  StatedPredictor predictor_;
  sched::DecisionChecker checker_;
  std::unique_ptr<sched::Policy> policy_;
  std::deque<job::JobSpec> specs_;  // addresses stay
  std::vector<sched::Event> events_;
  sched::Decisions decisions_;
  job::CostModel costs_;
  SimTime now_;
};

/// Whole numbers from a seed, the same everywhere.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : engine_(seed) {}
  /// 0 .. below - 1.
  int number(int below) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(below)); }
  template <class T>
  const T& one_of(const std::vector<T>& items) {
    return items[static_cast<std::size_t>(number(static_cast<int>(items.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

/// Gives tests an A100-40GB and policies by name.
class PolicyTest : public ::testing::Test {
 protected:
  const gpu::Geometry& geometry() const { return **catalogue_.find("A100-40GB"); }
  gpu::PlacedProfile placed(std::string_view profile, int start) const {
    return {.profile = geometry().find_profile(profile).value(), .start = MemorySlices(start)};
  }
  /// 2g.10gb@0, 2g.10gb@2, 3g.20gb@4: the artifact's static layout.
  gpu::Layout layout_3_2_2() const {
    return {placed("2g.10gb", 0), placed("2g.10gb", 2), placed("3g.20gb", 4)};
  }
  sched::PolicySetup setup(int gpu_count, sched::Setting setting = sched::Setting::kPaper) const {
    return {.geometry = &geometry(),
            .gpu_count = gpu_count,
            .jobs_max = PolicyLoop::kJobsMax,
            .setting = setting,
            .characterisation = sched::default_characterisation(setting),
            .static_layout = layout_3_2_2()};
  }
  std::unique_ptr<sched::Policy> policy(std::string_view name,
                                        const sched::PolicySetup& setup) const {
    return sched::find_policy(name).value()->make(setup);
  }
  PolicyLoop loop(std::string_view name,
                  int gpu_count,
                  sched::Setting setting = sched::Setting::kPaper) const {
    return PolicyLoop(geometry(), gpu_count, policy(name, setup(gpu_count, setting)));
  }

  gpu::Catalogue catalogue_ = gpu::load_builtin_catalogue();
};

}  // namespace septule::test
