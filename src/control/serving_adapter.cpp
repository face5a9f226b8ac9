#include "control/serving_adapter.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace septule::control {

namespace {

constexpr Duration kSecond = Duration::milliseconds(1000);

bool is_usable(const sched::ClusterView& view, job::JobId job) {
  if (job.value() < 0 || job.value() >= view.jobs_max()) {
    return false;
  }
  const sched::JobView::State state = view.job(job).state;
  return state == sched::JobView::State::kWaiting || state == sched::JobView::State::kPlaced;
}

}  // namespace

bool ServingAdapter::Member::is_continued_by(int other_gpu,
                                             const std::optional<gpu::PlacedProfile>& other_placed,
                                             const serve::Occupant& other) const {
  return gpu == other_gpu && placed == other_placed && occupant.tenant == other.tenant &&
         occupant.role == other.role && occupant.processes == other.processes &&
         occupant.share == other.share;
}

ServingAdapter::ServingAdapter(serve::ServingPolicy& policy,
                               TenantMeter& meter,
                               std::vector<TenantJobs> jobs)
    : policy_(&policy),
      meter_(&meter),
      jobs_(std::move(jobs)),
      arrived_(jobs_.size()),
      states_(jobs_.size()) {}

void ServingAdapter::note_settled(std::span<const sched::Event> events, SimTime now) {
  for (const sched::Event& event : events) {
    const auto* settled = std::get_if<sched::GpuSettled>(&event);
    if (settled == nullptr) {
      continue;
    }
    for (Member& member : members_) {
      if (member.gpu == settled->gpu.value() && member.job && member.ready.is_never()) {
        member.ready = now;
      }
    }
  }
}

void ServingAdapter::read_meter(SimTime now) {
  const bool is_first = now == SimTime();
  for (std::size_t m = 0; m < jobs_.size(); ++m) {
    const TenantReading reading = meter_->read(static_cast<int>(m), now);
    if (!is_first) {
      arrived_[m].push_back(reading.arrived);
    }
    states_[m] = {.arrived = arrived_[m],
                  .answered_in_slo = reading.answered_in_slo,
                  .missed = reading.missed,
                  .waiting = reading.waiting,
                  .is_retrained = reading.is_retrained,
                  .retraining_left_s = reading.retraining_left_s,
                  .retraining_release = reading.retraining_release,
                  .retraining_deadline = reading.retraining_deadline};
  }
}

serve::ServingView ServingAdapter::look(const sched::ClusterView& view, SimTime now) {
  instances_.clear();
  for (const Member& member : members_) {
    const bool is_same = !instances_.empty() && instances_.back().gpu == member.gpu &&
                         instances_.back().instance.placed == member.placed;
    if (!is_same) {
      instances_.push_back({.gpu = member.gpu, .instance = {.placed = member.placed}});
    }
    instances_.back().instance.occupants.push_back(member.occupant);
    instances_.back().ready.push_back(member.ready);
  }
  return {.now = now,
          .gpu_count = view.gpu_count(),
          .tenants = states_,
          .current = has_decided_ ? &current_ : nullptr,
          .instances = instances_};
}

void ServingAdapter::decide(const sched::ClusterView& view,
                            std::span<const sched::Event> events,
                            const sched::PolicyContext& context,
                            sched::Decisions& out) {
  note_settled(events, context.now);
  // A batch at this second may come before the wake-up: whoever comes first decides.
  if (context.now >= next_second_) {
    // Seconds that were slept through are read one by one, and decided upon once.
    SimTime second = next_second_;
    for (; next_second_ <= context.now; next_second_ = next_second_ + kSecond) {
      second = next_second_;
      read_meter(second);
    }
    if (const std::optional<serve::Deployment> wanted = policy_->decide(look(view, second))) {
      carry_out(view, *wanted, out);
    }
  }
  if (has_decided_ && out.goals.empty() && needs_jobs(view)) {
    carry_out(view, serve::Deployment(current_), out);
  }
  out.wakes.push_back({next_second_});
}

bool ServingAdapter::needs_jobs(const sched::ClusterView& view) const {
  return std::ranges::any_of(members_, [&](const Member& member) {
    return member.job ? !is_usable(view, *member.job)
                      : free_job(view, member, members_).has_value();
  });
}

std::vector<ServingAdapter::Member> ServingAdapter::members_of(
    const serve::Deployment& wanted) const {
  std::vector<Member> members;
  for (std::size_t g = 0; g < wanted.gpus.size(); ++g) {
    for (const serve::ServingInstance& instance : wanted.gpus[g].instances) {
      for (const serve::Occupant& occupant : instance.occupants) {
        const int gpu = static_cast<int>(g);
        const auto before = std::ranges::find_if(members_, [&](const Member& member) {
          return member.is_continued_by(gpu, instance.placed, occupant);
        });
        Member& member = members.emplace_back(
            Member{.gpu = gpu, .placed = instance.placed, .occupant = occupant});
        if (before != members_.end()) {
          member.job = before->job;
          member.ready = before->ready;
        }
      }
    }
  }
  return members;
}

std::optional<job::JobId> ServingAdapter::free_job(const sched::ClusterView& view,
                                                   const Member& member,
                                                   std::span<const Member> members) const {
  const TenantJobs& own = jobs_[static_cast<std::size_t>(member.occupant.tenant)];
  const auto is_named = [](std::span<const Member> by, job::JobId job) {
    return std::ranges::any_of(by, [&](const Member& other) { return other.job == job; });
  };
  std::vector<job::JobId> candidates = own.replicas;
  if (member.occupant.role == serve::Role::kRetrain) {
    candidates.clear();
    if (own.retraining) {
      candidates.push_back(*own.retraining);
    }
  }
  std::optional<job::JobId> moved;
  for (const job::JobId job : candidates) {
    if (!is_usable(view, job) || is_named(members, job)) {
      continue;
    }
    if (!is_named(members_, job)) {
      return job;
    }
    moved = moved.value_or(job);
  }
  return moved;
}

void ServingAdapter::give_jobs(const sched::ClusterView& view, std::vector<Member>& members) {
  for (Member& member : members) {
    if (member.job && !is_usable(view, *member.job)) {
      member.job.reset();
      member.ready = SimTime::never();
    }
  }
  for (Member& member : members) {
    if (!member.job) {
      member.job = free_job(view, member, members);
      unplaced_count_ += member.job ? 0 : 1;
    }
  }
}

sched::GpuGoal ServingAdapter::goal_of(int gpu,
                                       const serve::GpuDeployment& wanted,
                                       std::span<const Member> members) {
  sched::GpuGoal goal;
  std::vector<gpu::PlacedProfile> placed;
  for (const serve::ServingInstance& instance : wanted.instances) {
    if (instance.placed) {
      placed.push_back(*instance.placed);
    } else {
      goal.mode = sched::GpuGoal::Mode::kWholeGpu;
    }
  }
  gpu::canonicalise(placed);
  for (const gpu::PlacedProfile& instance : placed) {
    goal.instances.push_back(instance);
  }
  for (const Member& member : members) {
    if (member.gpu != gpu || !member.job) {
      continue;
    }
    sched::Slot slot{.job = *member.job, .atp = member.occupant.share};
    if (member.placed) {
      slot.instance = static_cast<int>(std::ranges::find(placed, *member.placed) - placed.begin());
    }
    goal.add(slot);
  }
  return goal;
}

void ServingAdapter::carry_out(const sched::ClusterView& view,
                               const serve::Deployment& wanted,
                               sched::Decisions& out) {
  if (std::ssize(wanted.gpus) != view.gpu_count()) {
    return;
  }
  std::vector<Member> members = members_of(wanted);
  give_jobs(view, members);
  for (std::size_t g = 0; g < wanted.gpus.size(); ++g) {
    const GpuId id(static_cast<int>(g));
    const sched::GpuGoal goal = goal_of(id.value(), wanted.gpus[g], members);
    if (!(goal == view.gpu(id).goal)) {
      out.goals.push_back({.gpu = id, .goal = goal, .reason = "serving"});
    }
  }
  members_ = std::move(members);
  current_ = wanted;
  has_decided_ = true;
}

}  // namespace septule::control
