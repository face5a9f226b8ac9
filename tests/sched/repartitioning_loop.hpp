#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/geometry.hpp"
#include "gpu/partition_checker.hpp"
#include "job/cost_model.hpp"
#include "sched/cluster_view.hpp"
#include "sched/decision_checker.hpp"
#include "sched/policy.hpp"

namespace septule::test {

/// A belief that the test writes: speeds in proportion to compute slices from the smallest profile
/// on, unless set. Known from the start, or after a characterisation run.
class WrittenPredictor final : public predict::Predictor {
 public:
  enum class Knows { kEverything, kAfterRun };
  WrittenPredictor(const gpu::Geometry& geometry, Knows knows)
      : geometry_(&geometry), knows_(knows) {}

  void write(job::JobId job, ProfileIndex smallest, const predict::SpeedRow& row) {
    jobs_[job] = {.row = row,
                  .smallest = smallest,
                  .is_known = knows_ == Knows::kEverything,
                  .need = std::nullopt,
                  .kernels = std::nullopt};
  }
  void submitted(const job::JobSpec& /*job*/) override {}
  const predict::SpeedRow* speeds(job::JobId job) const override {
    const Written& its = jobs_.at(job);
    return its.is_known ? &its.row : nullptr;
  }
  std::optional<ProfileIndex> smallest(job::JobId job) const override {
    return jobs_.at(job).smallest;
  }
  /// Needs so much where it shares; without it the memory of its smallest profile.
  void write_need(job::JobId job, Bytes need) { jobs_.at(job).need = need; }
  void write_kernels(job::JobId job, predict::KernelUse kernels) {
    jobs_.at(job).kernels = kernels;
  }
  Bytes need(job::JobId job) const override {
    const Written& its = jobs_.at(job);
    return its.need.value_or(geometry_->profile(its.smallest).memory.value_or(Bytes()));
  }
  std::optional<predict::KernelUse> kernels(job::JobId job) const override {
    const Written& its = jobs_.at(job);
    return its.is_known ? its.kernels : std::nullopt;
  }
  void characterised(std::span<const predict::MpsSample> run) override {
    for (const predict::MpsSample& sample : run) {
      jobs_.at(sample.job).is_known = true;
    }
  }
  void forget(job::JobId job) override {
    ++forget_count_;
    jobs_.at(job).is_known = false;
  }
  int forget_count() const { return forget_count_; }

 private:
  struct Written {
    predict::SpeedRow row;
    ProfileIndex smallest;
    bool is_known = false;
    std::optional<Bytes> need;
    std::optional<predict::KernelUse> kernels;
  };
  const gpu::Geometry* geometry_;
  Knows knows_;
  std::map<job::JobId, Written> jobs_;
  int forget_count_ = 0;
};

/// Drives a policy through the phases of its GPUs as controller and agents do, with the test saying
/// when: a goal makes its GPU kChanging or kCharacterising; proceed() goes one phase on. Decisions
/// are judged by the checker. Jobs may end in any phase.
class PhaseLoop {
 public:
  static constexpr int kJobsMax = 4096;

  /// When the policy may change a GPU: also when its jobs have been launched but made no step yet?
  enum class Changes { kSettledOnly, kStartingToo };
  PhaseLoop(const gpu::Geometry& geometry,
            int gpu_count,
            std::unique_ptr<sched::Policy> policy,
            WrittenPredictor::Knows knows,
            Changes changes = Changes::kSettledOnly)
      : geometry_(&geometry),
        changes_(changes),
        view_(geometry, gpu_count, kJobsMax),
        predictor_(geometry, knows),
        checker_(geometry, gpu_count, sched::MemoryRule::kChecked),
        policy_(std::move(policy)) {}

  job::JobId submit(std::string_view smallest, int gpus = 1) {
    const ProfileIndex profile = geometry_->find_profile(smallest).value();
    predict::SpeedRow row;
    const auto& least = geometry_->profile(profile);
    for (const ProfileIndex index : geometry_->profiles_in(gpu::ProfileSet::kPlain)) {
      const auto& its = geometry_->profile(index);
      if (its.slices >= least.slices) {
        row.speed[static_cast<std::size_t>(index.value())] =
            static_cast<double>(its.slices.value()) / geometry_->compute_slices().value();
      }
    }
    return submit(profile, row, gpus);
  }
  job::JobId submit(ProfileIndex smallest, const predict::SpeedRow& row, int gpus = 1) {
    const job::JobId id(static_cast<int>(specs_.size()));
    specs_.push_back({.id = id,
                      .name = fmt::format("job-{}", id.value()),
                      .submit = now_,
                      .work = Duration::milliseconds(1000),
                      .gpus = gpus});
    predictor_.write(id, smallest, row);
    view_.submit(specs_.back(), now_);
    happened(sched::JobSubmitted{id});
    return id;
  }
  void end(job::JobId job) { happened(sched::JobEnded{.job = job, .gpu = view_.job(job).gpu}); }
  void happened(const sched::Event& event) {
    view_.apply(event, now_);
    events_.push_back(event);
  }
  void advance(Duration length) { now_ = now_ + length; }

  /// Takes the GPU one phase on; false if it is settled.
  bool proceed(GpuId gpu) {
    switch (phase(gpu)) {
      case sched::GpuPhase::kSettled:
        return false;
      case sched::GpuPhase::kChanging:
        happened(sched::GpuReady{gpu});
        return true;
      case sched::GpuPhase::kStarting:
        happened(sched::GpuSettled{gpu});
        return true;
      case sched::GpuPhase::kCharacterising:
        for (const sched::Slot& slot : goal(gpu).slots) {
          if (!is_run_blind_) {
            predictor_.characterised_alone({.job = slot.job});
          }
        }
        happened(sched::GpuCharacterised{gpu});
        return true;
    }
    return false;
  }
  /// Decides and proceeds until every GPU is settled and the policy wants nothing more.
  void settle() {
    for (int round = 0; round < 200; ++round) {
      decide();
      bool is_moving = !decisions_.goals.empty();
      for (int gpu = 0; gpu < view_.gpu_count(); ++gpu) {
        is_moving = proceed(GpuId(gpu)) || is_moving;
      }
      if (!is_moving && events_.empty()) {
        return;
      }
    }
    ADD_FAILURE() << policy_->name() << " never comes to rest";
  }

  const sched::Decisions& decide() {
    decisions_.clear();
    policy_->decide(
        view_, events_, {.now = now_, .predictor = predictor_, .costs = costs_}, decisions_);
    events_.clear();
    EXPECT_EQ(checker_.refusal(view_, predictor_, decisions_).value_or(""), "") << policy_->name();
    std::vector<job::JobId> dropped;
    for (const sched::SetGoal& set : decisions_.goals) {
      EXPECT_TRUE(
          phase(set.gpu) == sched::GpuPhase::kSettled ||
          (changes_ == Changes::kStartingToo && phase(set.gpu) == sched::GpuPhase::kStarting))
          << "a goal for a GPU that changes";
      EXPECT_FALSE(set.goal == goal(set.gpu)) << "a goal that changes nothing";
      for (const sched::Slot& slot : goal(set.gpu).slots) {
        dropped.push_back(slot.job);
      }
      view_.set_goal(set.gpu, set.goal, now_);
      view_.set_phase(set.gpu,
                      set.goal.purpose == sched::GoalPurpose::kCharacterise
                          ? sched::GpuPhase::kCharacterising
                          : sched::GpuPhase::kChanging,
                      now_);
    }
    for (const job::JobId job : dropped) {
      if (view_.job(job).state == sched::JobView::State::kPlaced && !view_.is_placed(job)) {
        view_.requeue(job, now_);
        ++preempted_count_;
      }
    }
    return decisions_;
  }

  /// Each job waits, is placed on as many GPUs as it asks for, or is over; and each partition that
  /// runs jobs has one job per instance, unless the policy shares them.
  enum class Instances { kOneJob, kShared };
  void expect_sound(Instances instances = Instances::kOneJob) const {
    std::vector<int> mentions(specs_.size(), 0);
    for (int gpu = 0; gpu < view_.gpu_count(); ++gpu) {
      for (const sched::Slot& slot : goal(GpuId(gpu)).slots) {
        ++mentions[static_cast<std::size_t>(slot.job.value())];
        for (const sched::Slot& other : goal(GpuId(gpu)).slots) {
          EXPECT_TRUE(instances == Instances::kShared ||
                      goal(GpuId(gpu)).purpose == sched::GoalPurpose::kCharacterise ||
                      other.job == slot.job || other.instance != slot.instance);
        }
      }
    }
    for (const job::JobSpec& spec : specs_) {
      const sched::JobView& job = view_.job(spec.id);
      const bool is_placed = job.state == sched::JobView::State::kPlaced;
      EXPECT_EQ(mentions[static_cast<std::size_t>(spec.id.value())], is_placed ? spec.gpus : 0)
          << policy_->name() << " job " << spec.id.value();
    }
  }

  const sched::ClusterView& view() const { return view_; }
  WrittenPredictor& predictor() { return predictor_; }
  const sched::GpuGoal& goal(GpuId gpu) const { return view_.gpu(gpu).goal; }
  sched::GpuPhase phase(GpuId gpu) const { return view_.gpu(gpu).phase; }
  bool is_placed(job::JobId job) const { return view_.is_placed(job); }
  GpuId gpu_of(job::JobId job) const { return view_.job(job).gpu; }
  std::size_t job_count() const { return specs_.size(); }
  int preempted_count() const { return preempted_count_; }
  void allow_starting() { changes_ = Changes::kStartingToo; }
  /// From now on characterisation runs see nothing.
  void make_runs_blind() { is_run_blind_ = true; }
  std::vector<job::JobId> jobs_in(sched::JobView::State state) const {
    std::vector<job::JobId> jobs;
    for (const job::JobSpec& spec : specs_) {
      if (view_.job(spec.id).state == state) {
        jobs.push_back(spec.id);
      }
    }
    return jobs;
  }
  /// "4g:0 2g:1 1g:-": the instances of a GPU by start, with their jobs.
  std::string text(GpuId gpu) const {
    std::string text;
    const sched::GpuGoal& its = goal(gpu);
    for (std::size_t i = 0; i < its.instances.size(); ++i) {
      text += fmt::format("{}{}g:",
                          text.empty() ? "" : " ",
                          geometry_->profile(its.instances[i].profile).slices.value());
      std::string jobs;
      for (const sched::Slot& slot : its.slots) {
        if (slot.instance == static_cast<int>(i)) {
          jobs += fmt::format("{}{}", jobs.empty() ? "" : ",", slot.job.value());
        }
      }
      text += jobs.empty() ? "-" : jobs;
    }
    return its.mode == sched::GpuGoal::Mode::kWholeGpu ? "whole" : text;
  }

 private:
  const gpu::Geometry* geometry_;
  Changes changes_;
  sched::ClusterView view_;
  WrittenPredictor predictor_;
  sched::DecisionChecker checker_;
  std::unique_ptr<sched::Policy> policy_;
  std::deque<job::JobSpec> specs_;  // addresses stay
  std::vector<sched::Event> events_;
  sched::Decisions decisions_;
  job::CostModel costs_;
  SimTime now_;
  int preempted_count_ = 0;
  bool is_run_blind_ = false;
};

}  // namespace septule::test
