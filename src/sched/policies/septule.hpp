#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/index_set.hpp"
#include "base/units.hpp"
#include "optimize/placed_assignment.hpp"
#include "sched/admission.hpp"
#include "sched/admission_index.hpp"
#include "sched/policies/gang_book.hpp"
#include "sched/policies/goal_drafts.hpp"
#include "sched/policy.hpp"
#include "sched/policy_registry.hpp"

namespace septule::sched {

/// Septule's own policy. (Comment completed when the method is settled.)
class SeptulePolicy final : public Policy {
 public:
  struct Tuning {
    double age_scale_s = 600;  ///< a0 of the weight 1 / (age + a0)^power
    double age_power = 0.5;
    double move_factor = 1.5;
    std::size_t candidates_max = 8;
    double horizon_min_s = 60;
    double horizon_max_s = 1200;
    std::size_t donors_max = 2;
    double pull_margin = 0.0;
    int unknown = 0;
  };
  SeptulePolicy(const PolicySetup& setup, const Tuning& tuning);

  std::string_view name() const override { return "septule"; }
  void decide(const ClusterView& view,
              std::span<const Event> events,
              const PolicyContext& context,
              Decisions& out) override;

 private:
  struct GpuState {
    std::uint64_t seen_at = 0;
    bool is_dirty = false;
    bool is_characterised = false;
    bool is_troubled = false;
    bool is_moving = false;  // the goal in hand moves running jobs
    SimTime goal_at;
    SimTime changed_at;
  };
  struct JobAge {
    double attained_s = 0;  // useful seconds so far, as believed
    double rate = 0;        // believed speed since `since`
    SimTime since;
  };
  struct Call;

  GpuState& state(GpuId gpu) { return gpus_[static_cast<std::size_t>(gpu.value())]; }
  JobAge& age(job::JobId job) { return ages_[static_cast<std::size_t>(job.value())]; }
  static bool can_change(const GpuView& gpu) {
    return gpu.phase == GpuPhase::kSettled || gpu.phase == GpuPhase::kStarting;
  }
  void note(Call& call, const Event& event);
  void touch(GpuId gpu);
  void refresh(Call& call, GpuId gpu);
  void place_queue(Call& call);
  bool place(Call& call, job::JobId job);
  bool place_gang(Call& call, const job::JobSpec& spec);
  void characterise(Call& call, GpuId gpu, job::JobId job);
  void optimise_again(Call& call, GpuId gpu);
  void pull_jobs(Call& call, GpuId gpu);
  void apply(Call& call, GpuId gpu, const optimize::PlacedAnswer& answer, std::string_view reason);
  void add_job(Call& call, const GpuGoal* goal, job::JobId job);
  void fill_problem(Call& call, const GpuGoal& goal);
  double value_now(const Call& call, const GpuGoal& goal);
  double weight(const Call& call, job::JobId job);
  const predict::SpeedRow& row(const Call& call, job::JobId job);
  double attained(const Call& call, job::JobId job);
  void set_rate(const Call& call, job::JobId job, double rate);
  int smallest_rank(const Call& call, job::JobId job) const;
  bool is_all_known(const Call& call, const GpuGoal& goal) const;
  double loss_over_horizon() const;

  Tuning tuning_;
  const gpu::Geometry* geometry_;
  CharacterisationPlan characterisation_;
  double threshold_;
  AdmissionTable admission_;
  AdmissionIndex index_;
  optimize::PlacedAssigner assigner_;
  gpu::PlacedProfile whole_;
  std::vector<GpuState> gpus_;
  std::vector<JobAge> ages_;
  std::vector<IndexSet> by_count_;  // GPUs that can change, by number of jobs
  std::vector<int> count_of_;
  GangBook gangs_;
  GoalDrafts drafts_;
  std::uint64_t call_count_ = 0;
  double loss_s_ = 15;      // what a moved job loses, learned
  double horizon_s_ = 240;  // how long a cut lasts, learned
  predict::SpeedRow assumed_;
  std::vector<GpuId> touched_;
  std::vector<GpuId> candidates_;
  std::vector<job::JobId> due_;
  optimize::PlacedProblem problem_;
  std::vector<job::JobId> problem_jobs_;
};

std::unique_ptr<Policy> make_septule(const PolicySetup& setup);

}  // namespace septule::sched
