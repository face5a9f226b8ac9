#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/index_set.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/window_optimizer.hpp"
#include "sched/policies/company.hpp"
#include "sched/policies/septule.hpp"
#include "sched/policies/window_planner.hpp"
#include "sched/policy_registry.hpp"

namespace septule::sched {

/// MIG and MPS inside MIG instances, planned for windows of the queue: Septule's policy with
/// another way to fill GPUs while the queue is congested.
///
/// Assumptions: those of SeptulePolicy; jobs of one instance slow each other down as
/// CompanyValue believes; how long a job will run is not known (nobody else is told either), so
/// that windows are planned for steady state: a job that ends is followed by its like.
///
/// Steps of decide(): those of SeptulePolicy, but while the queue is congested (as many jobs wait
/// as WindowSettings::congested_per_gpu says):
///  - An empty GPU gets a group of jobs with its cut and percentages: a window of the first due
///  jobs
///    that are known is planned by the WindowOptimizer (window_planner.hpp); its groups go to the
///    empty GPUs one after the other, that of the job due first at first. Then seats that the group
///    leaves are given out as below. After a characterisation run the GPU's own jobs, which have to
///    start again anyway, stand at the head of the window; who is not in its group goes back to the
///    queue.
///  - A GPU on which a job ended is refilled: the freed seats and slices go to the due jobs that
///  fit
///    the company best (CompanyFiller), so that the sum of speeds grows most; where nobody's
///    joining makes it grow, the seat stays free and the others run on faster. Whoever runs is not
///    disturbed.
///  - Beside it a window of the GPU's own and the due jobs is planned. If its group is worth more
///    than the refilled company by more than the restarts cost over the life of a cut, the GPU is
///    cut anew for it: what draining to the next group would gain, without idle seats. Jobs that
///    keep instance and limit run on.
///  - Unknown jobs are characterised as Septule means to, many at one time: on a GPU of which
///    something happened, if too few of the due jobs are known to choose from, or if the first due
///    job has waited long. Running jobs that do not fit beside them go back to the queue.
/// When the queue is not congested any more, Septule's placing takes over; GPUs whose jobs share
/// instances run on, and go over to it when better places alone are worth the moves; when nobody
/// waits, GPUs with room pull jobs off the most crowded of them, as SeptuleRelief does.
/// Gangs, priorities and the bound on overtaking are Septule's.
///
/// MIG stays on: templates without MIG, and those with several compute instances in one GPU
/// instance, which a GpuGoal cannot express, are left out.
/// Ties: as the parts have them. Cost per event: two fillings of one GPU, one plan of one window;
/// none of it grows with the cluster. Sources: CLUSTER'23 (arXiv 2405.08754) for windows and
/// hierarchical sharing; the rest is ours.
class HierarchicalPolicy final : public SeptulePolicy {
 public:
  /// `optimizer` outlives it.
  HierarchicalPolicy(std::string_view name,
                     const PolicySetup& setup,
                     const optimize::WindowOptimizer& optimizer);

 protected:
  void place_characterised(const SeptuleCall& call, GpuId gpu) override;
  void place_waiting(const SeptuleCall& call, std::span<const GpuId> touched) override;
  void settle(const SeptuleCall& call, GpuId gpu, QueueLength left) override;

 private:
  /// Where a job was made a client of an MPS daemon.
  struct Client {
    GpuId gpu;
    gpu::PlacedProfile placed;
    bool is_client = false;
  };
  /// The jobs that one decision about a GPU speaks of.
  struct Pool {
    std::vector<CompanyJob> jobs;
    std::vector<std::size_t> own;          ///< of the GPU, indices into jobs
    std::vector<std::size_t> due;          ///< indices into jobs, most urgent first
    std::vector<std::size_t> all;          ///< both, own ones first
    std::vector<std::size_t> due_at;       ///< by entry of `due`: index into due_
    std::vector<CompanyInstance> running;  ///< instances with the GPU's own jobs
  };

  bool is_congested(const SeptuleCall& call) const;
  void place_gangs(const SeptuleCall& call);
  void look_at_queue(const SeptuleCall& call);
  bool has_candidates() const;
  void serve(const SeptuleCall& call, GpuId gpu);
  bool must_characterise(const GpuGoal& goal) const;
  void characterise(const SeptuleCall& call, GpuId gpu);
  void make_pool(const SeptuleCall& call, GpuId gpu);
  CompanyJob company_job(const SeptuleCall& call, job::JobId job) const;
  void add_running(const SeptuleCall& call, GpuId gpu);
  std::optional<Company> planned_company(std::span<const std::size_t> jobs);
  std::optional<Company> refilled_company();
  std::optional<Company> renewed_company(const SeptuleCall& call, GpuId gpu, double value);
  /// Of the seats of an instance, in order.
  std::array<double, kClientsMax> speeds_of(const CompanyInstance& instance) const;
  double restart_costs(const SeptuleCall& call, GpuId gpu, const Company& company) const;
  void adopt(const SeptuleCall& call, GpuId gpu, const Company& company, std::string_view reason);
  /// A job that may be pulled off a GPU whose jobs share instances.
  struct Pull {
    GpuId donor;
    job::JobId job;
    double gain = 0;
    optimize::PlacedAnswer here;
  };
  void unshare(const SeptuleCall& call, GpuId gpu);
  double worth(const SeptuleCall& call, const CompanyInstance& instance) const;
  double value_of_shared(const SeptuleCall& call, GpuId gpu);
  void relieve(const SeptuleCall& call, GpuId gpu);
  std::optional<Pull> best_pull(const SeptuleCall& call, const GpuGoal& goal);
  void consider(const SeptuleCall& call,
                const GpuGoal& goal,
                GpuId donor,
                std::optional<Pull>& best);
  void note_crowd(const SeptuleCall& call, GpuId gpu);

  WindowSettings settings_;
  CompanyValue company_value_;
  CompanyFiller filler_;
  WindowPlanner planner_;
  std::vector<Client> clients_;  // by job
  std::vector<GpuId> fresh_;     // characterised in this decision, to be filled
  bool is_congested_ = false;
  std::vector<std::size_t> known_;    // indices into due_: first due jobs that are known
  std::vector<std::size_t> unknown_;  // the same, not known
  Pool pool_;
  std::vector<IndexSet> crowds_;  // by number of jobs: GPUs whose jobs share instances
  std::vector<int> crowd_of_;     // by GPU: where in crowds_, -1 = nowhere
};

/// With PolicySetup::windows.optimizer; the exact method where it is null.
std::unique_ptr<Policy> make_hierarchical(const PolicySetup& setup);
/// With PolicySetup::windows.learned; the exact method where it is null.
std::unique_ptr<Policy> make_hierarchical_rl(const PolicySetup& setup);

}  // namespace septule::sched
