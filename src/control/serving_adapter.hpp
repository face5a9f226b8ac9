#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sched/policy.hpp"
#include "serve/serving_policy.hpp"

namespace septule::control {

/// What was counted of one tenant in the second just over, and how its retraining stands.
struct TenantReading {
  double arrived = 0;  ///< requests
  std::int64_t answered_in_slo = 0;
  std::int64_t missed = 0;
  std::int64_t waiting = 0;
  bool is_retrained = false;
  double retraining_left_s = 0;
  std::optional<SimTime> retraining_release;
  std::optional<SimTime> retraining_deadline;
};

/// Where the adapter's counts come from: the router of the live system, a script in tests.
class TenantMeter {
 public:
  TenantMeter() = default;
  TenantMeter(const TenantMeter&) = delete;
  TenantMeter& operator=(const TenantMeter&) = delete;
  virtual ~TenantMeter() = default;
  /// Of the whole second that ends at `second_end`.
  virtual TenantReading read(int tenant, SimTime second_end) = 0;
};

/// The jobs that stand for a tenant's processes: long-running ones for its instances, one for its
/// retraining. They are submitted to the controller like any job.
struct TenantJobs {
  std::vector<job::JobId> replicas;  ///< at most so many serving instances at once
  std::optional<job::JobId> retraining;
};

/// Makes a serving policy a scheduling policy for the controller (ADR 0024). It asks for a wake-up
/// every whole second, gives the serving policy what the meter counted, and turns the deployment
/// wanted into one goal for each GPU whose goal changes: an instance with several occupants is one
/// with several slots; each occupant is one job, whose launcher starts the occupant's processes.
///
/// An occupant that stays (GPU, placement, tenant, role, processes, share) keeps its job, so that
/// it is not restarted. A new one takes the tenant's lowest job that the goals before did not name,
/// else the lowest that the new ones do not: that job is stopped where it was before it starts. An
/// occupant for which no job is left, or whose job was not submitted or has ended, leaves its
/// instance idle (unplaced_count) until one is there. A deployment of the wrong number of GPUs is
/// not carried out. Readiness as told to the policy: from the moment at which the GPU had settled.
/// What arrived is kept for all seconds, because policies look back: 8 bytes a tenant and second.
/// One thread.
class ServingAdapter final : public sched::Policy {
 public:
  /// All outlive the adapter. `jobs`: by tenant.
  ServingAdapter(serve::ServingPolicy& policy, TenantMeter& meter, std::vector<TenantJobs> jobs);

  std::string_view name() const override { return policy_->name(); }
  void decide(const sched::ClusterView& view,
              std::span<const sched::Event> events,
              const sched::PolicyContext& context,
              sched::Decisions& out) override;

  const serve::Deployment& current() const { return current_; }
  std::int64_t unplaced_count() const { return unplaced_count_; }

 private:
  /// An occupant in force, with its job.
  struct Member {
    int gpu = 0;
    std::optional<gpu::PlacedProfile> placed;
    serve::Occupant occupant;
    std::optional<job::JobId> job;
    SimTime ready = SimTime::never();

    bool is_continued_by(int other_gpu,
                         const std::optional<gpu::PlacedProfile>& other_placed,
                         const serve::Occupant& other) const;
  };

  void note_settled(std::span<const sched::Event> events, SimTime now);
  void read_meter(SimTime now);
  serve::ServingView look(const sched::ClusterView& view, SimTime now);
  void carry_out(const sched::ClusterView& view,
                 const serve::Deployment& wanted,
                 sched::Decisions& out);
  /// Whether an occupant lost its job, or lacks one that could be given now.
  bool needs_jobs(const sched::ClusterView& view) const;
  std::vector<Member> members_of(const serve::Deployment& wanted) const;
  void give_jobs(const sched::ClusterView& view, std::vector<Member>& members);
  std::optional<job::JobId> free_job(const sched::ClusterView& view,
                                     const Member& member,
                                     std::span<const Member> members) const;
  static sched::GpuGoal goal_of(int gpu,
                                const serve::GpuDeployment& wanted,
                                std::span<const Member> members);

  serve::ServingPolicy* policy_;
  TenantMeter* meter_;
  std::vector<TenantJobs> jobs_;
  SimTime next_second_;
  std::vector<std::vector<double>> arrived_;  ///< by tenant, second
  std::vector<serve::TenantState> states_;
  std::vector<serve::InstanceState> instances_;
  std::vector<Member> members_;  ///< by GPU, instance, occupant
  serve::Deployment current_;
  bool has_decided_ = false;
  std::int64_t unplaced_count_ = 0;
};

}  // namespace septule::control
