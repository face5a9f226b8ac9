#include "sched/policies/hierarchical.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "optimize/window_dp.hpp"

namespace septule::sched {

namespace {

constexpr double kTie = 1e-9;
/// What filling alone finds is taken only if it is worth so many times the plan's group: a group
/// has four jobs at most, which is too few where all are serial; otherwise the plan knows better,
/// for it thinks of who is left. On hpc-dl less or more changes little on one GPU; without a limit,
/// mean JCT on eight is some 4 % shorter, but a queue of serial jobs alone gets half of its
/// throughput.
constexpr double kGreedyLead = 1.25;
/// Due jobs from which seats are filled.
constexpr std::size_t kChoiceMax = 16;
/// A run for fewer unknown jobs is not worth its restarts while others are known.
constexpr std::size_t kRunJobsMin = 4;
/// The first due job is characterised at the latest when it was overtaken so often.
constexpr int kPatience = DueWindow::kOvertakesMax / 2;

bool is_held_whole(const GpuGoal& goal) {
  return goal.mode == GpuGoal::Mode::kWholeGpu && !goal.slots.empty();
}

std::optional<ActiveThreadPercentage> limit_of(const Slot& slot) {
  return slot.atp == ActiveThreadPercentage(100) ? std::nullopt : std::optional(slot.atp);
}

}  // namespace

HierarchicalPolicy::HierarchicalPolicy(std::string_view name,
                                       const PolicySetup& setup,
                                       const optimize::WindowOptimizer& optimizer)
    : SeptulePolicy({.name = name, .aim = SeptuleAim::kSpeed}, setup),
      settings_(setup.windows),
      company_value_(*setup.geometry, predict::MpsModel{}, settings_.rules),
      filler_(company_value_),
      planner_(*setup.geometry, company_value_, settings_, optimizer),
      clients_(static_cast<std::size_t>(setup.jobs_max)),
      crowds_(kSlotsMax + 1, IndexSet(static_cast<std::size_t>(setup.gpu_count))),
      crowd_of_(static_cast<std::size_t>(setup.gpu_count), -1) {}

bool HierarchicalPolicy::is_congested(const SeptuleCall& call) const {
  const double wanted = std::max(2.0, settings_.congested_per_gpu * call.view.gpu_count());
  return static_cast<double>(call.view.queue().size()) >= wanted;
}

void HierarchicalPolicy::place_characterised(const SeptuleCall& call, GpuId gpu) {
  if (is_congested(call)) {
    fresh_.push_back(gpu);
  } else {
    goals_.optimise(call, gpu);
  }
}

void HierarchicalPolicy::place_waiting(const SeptuleCall& call, std::span<const GpuId> touched) {
  is_congested_ = is_congested(call);
  for (const GpuId gpu : touched) {
    note_crowd(call, gpu);
  }
  if (!is_congested_) {
    place_queue(call);
    return;
  }
  planner_.clear();
  place_gangs(call);
  for (const GpuId gpu : touched) {
    const bool is_fresh = std::ranges::find(fresh_, gpu) != fresh_.end();
    const GpuGoal& goal = goals_.peek(call, gpu);
    const bool is_under_way = goal.purpose == GoalPurpose::kCharacterise && !goal.slots.empty();
    if (goals_.can_change(call, gpu) && !is_held_whole(goal) && (is_fresh || !is_under_way)) {
      serve(call, gpu);
      state(gpu).is_dirty = false;
    }
  }
  fresh_.clear();
  for (look_at_queue(call); has_candidates() && goals_.find_empty(call, 1, found_);
       look_at_queue(call)) {
    const GpuId gpu = found_.front();
    serve(call, gpu);
    if (goals_.peek(call, gpu).slots.empty()) {
      break;  // nobody may go there, so that nobody may go to the next one
    }
  }
}

void HierarchicalPolicy::settle(const SeptuleCall& call, GpuId gpu, QueueLength left) {
  if (is_congested_) {
    return;
  }
  if (SeptuleGoals::is_shared(goals_.peek(call, gpu))) {
    unshare(call, gpu);
    return;
  }
  SeptulePolicy::settle(call, gpu, left);
  if (left == QueueLength::kEmpty) {
    relieve(call, gpu);
  }
}

// ---- the queue

void HierarchicalPolicy::place_gangs(const SeptuleCall& call) {
  for (std::size_t i = 0; i < due_.size() && due_.may_place(i); ++i) {
    const job::JobSpec& spec = *call.view.job(due_.job(i)).spec;
    if (spec.gpus > 1 && place_gang(call, spec)) {
      due_.placed(i);
    }
  }
}

void HierarchicalPolicy::look_at_queue(const SeptuleCall& call) {
  known_.clear();
  unknown_.clear();
  for (std::size_t i = 0; i < due_.size() && due_.may_place(i); ++i) {
    const job::JobId job = due_.job(i);
    if (due_.is_placed(i) || call.view.job(job).spec->gpus > 1) {
      continue;
    }
    std::vector<std::size_t>& list = SeptuleValues::is_known(call, job) ? known_ : unknown_;
    if (list.size() < kChoiceMax) {
      list.push_back(i);
    }
  }
}

bool HierarchicalPolicy::has_candidates() const {
  return !known_.empty() || !unknown_.empty();
}

// ---- one GPU

void HierarchicalPolicy::serve(const SeptuleCall& call, GpuId gpu) {
  look_at_queue(call);
  const GpuGoal& goal = goals_.peek(call, gpu);
  const bool is_fresh = goal.purpose == GoalPurpose::kCharacterise && !goal.slots.empty();
  if (!is_fresh && must_characterise(goal)) {
    characterise(call, gpu);
    return;
  }
  make_pool(call, gpu);
  if (is_fresh) {
    planner_.clear();
    const std::optional<Company> company = planned_company(pool_.all);
    if (company.has_value()) {
      adopt(call, gpu, *company, "characterised");
    } else {
      goals_.optimise(call, gpu);
    }
    return;
  }
  if (pool_.due.empty()) {
    return;
  }
  if (pool_.own.empty()) {
    if (const std::optional<Company> company = planned_company(pool_.due); company.has_value()) {
      adopt(call, gpu, *company, "window");
    }
    return;
  }
  const std::optional<Company> refilled = refilled_company();
  if (!refilled.has_value()) {
    return;
  }
  const std::optional<Company> renewed = renewed_company(call, gpu, refilled->value);
  adopt(call, gpu, renewed.has_value() ? *renewed : *refilled, renewed ? "window" : "refill");
}

CompanyJob HierarchicalPolicy::company_job(const SeptuleCall& call, job::JobId job) const {
  const job::JobSpec& spec = *call.view.job(job).spec;
  CompanyJob made{.id = job,
                  .row = values_.row(call, job),
                  .curve = std::nullopt,
                  .kernels = std::nullopt,
                  .need = call.context.predictor.need(job),
                  .window = {},
                  .weight = 1};
  // Where it does not fit is declared, whatever is believed.
  const int smallest = values_.smallest_rank(call, job);
  for (int rank = 0; rank < smallest; ++rank) {
    made.row.speed[static_cast<std::size_t>(admission_.profile_of(rank).value())] = 0;
  }
  if (SeptuleValues::is_known(call, job)) {
    made.curve = predict::curve_through(call.view.geometry(), made.row);
    made.kernels = call.context.predictor.kernels(job);
  }
  made.window.user = fmt::format("{}", spec.user.value());
  made.window.memory = made.need;
  return made;
}

void HierarchicalPolicy::make_pool(const SeptuleCall& call, GpuId gpu) {
  pool_ = {};
  for (const Slot& slot : goals_.peek(call, gpu).slots) {
    pool_.own.push_back(pool_.jobs.size());
    pool_.jobs.push_back(company_job(call, slot.job));
  }
  pool_.all = pool_.own;
  for (const std::size_t index : known_) {
    pool_.all.push_back(pool_.jobs.size());
    pool_.due.push_back(pool_.jobs.size());
    pool_.due_at.push_back(index);
    pool_.jobs.push_back(company_job(call, due_.job(index)));
  }
  add_running(call, gpu);
}

void HierarchicalPolicy::add_running(const SeptuleCall& call, GpuId gpu) {
  const GpuGoal& goal = goals_.peek(call, gpu);
  for (std::size_t i = 0; i < goal.instances.size(); ++i) {
    CompanyInstance instance{
        .placed = goal.instances[i], .seats = {}, .is_running = true, .is_open = true};
    for (std::size_t s = 0; s < goal.slots.size(); ++s) {
      const Slot& slot = goal.slots[s];
      if (slot.instance != static_cast<int>(i) || instance.seats.is_full()) {
        continue;
      }
      instance.seats.push_back({.job = pool_.own[s], .atp = limit_of(slot)});
      const Client& client = clients_[static_cast<std::size_t>(slot.job.value())];
      instance.is_open = instance.is_open && client.is_client && client.gpu == gpu &&
                         client.placed == instance.placed;
    }
    if (instance.seats.empty()) {
      continue;
    }
    const std::optional<double> value = company_value_.of(
        pool_.jobs, instance.placed.profile, {instance.seats.begin(), instance.seats.size()});
    instance.value = value.value_or(0);
    instance.is_open = instance.is_open && value.has_value();
    pool_.running.push_back(instance);
  }
}

/// The group of a plan, filled up; what filling alone finds where that is worth much more.
std::optional<Company> HierarchicalPolicy::planned_company(std::span<const std::size_t> jobs) {
  std::optional<Company> greedy =
      filler_.fill({.pool = pool_.jobs, .running = {}, .must = {}, .may = jobs});
  std::optional<Company> group = planner_.next(pool_.jobs, jobs);
  if (!group.has_value()) {
    return greedy;
  }
  std::vector<std::size_t> others;
  for (const std::size_t job : jobs) {
    const bool is_seated = std::ranges::any_of(group->instances, [&](const auto& instance) {
      return std::ranges::find(instance.seats, job, &CompanySeat::job) != instance.seats.end();
    });
    if (!is_seated) {
      others.push_back(job);
    }
  }
  std::optional<Company> filled =
      filler_.fill({.pool = pool_.jobs,
                    .running = {group->instances.begin(), group->instances.size()},
                    .must = {},
                    .may = others});
  Company& planned = filled.has_value() ? *filled : *group;
  const bool is_beaten = greedy.has_value() && greedy->value > kGreedyLead * planned.value;
  return is_beaten ? greedy : planned;
}

std::optional<Company> HierarchicalPolicy::refilled_company() {
  return filler_.fill({.pool = pool_.jobs, .running = pool_.running, .must = {}, .may = pool_.due});
}

std::optional<Company> HierarchicalPolicy::renewed_company(const SeptuleCall& call,
                                                           GpuId gpu,
                                                           double value) {
  planner_.clear();
  std::optional<Company> company = planned_company(pool_.all);
  if (!company.has_value() || company->value - restart_costs(call, gpu, *company) <= value + kTie) {
    return std::nullopt;
  }
  return company;
}

std::array<double, kClientsMax> HierarchicalPolicy::speeds_of(
    const CompanyInstance& instance) const {
  std::array<double, kClientsMax> speeds{};
  company_value_.rates(pool_.jobs,
                       instance.placed.profile,
                       {instance.seats.begin(), instance.seats.size()},
                       std::span(speeds).first(instance.seats.size()));
  return speeds;
}

/// In speed: what the moved jobs do now, for the share of a cut's life that a move takes.
double HierarchicalPolicy::restart_costs(const SeptuleCall& call,
                                         GpuId gpu,
                                         const Company& company) const {
  const GpuGoal& goal = goals_.peek(call, gpu);
  double moved = 0;
  for (const CompanyInstance& instance : pool_.running) {
    const std::array<double, kClientsMax> speeds = speeds_of(instance);
    for (std::size_t s = 0; s < instance.seats.size(); ++s) {
      const CompanySeat& before = instance.seats[s];
      const bool stays = std::ranges::any_of(company.instances, [&](const auto& after) {
        const auto* seat = std::ranges::find(after.seats, before.job, &CompanySeat::job);
        // Alone before and with others now: it has to become a client.
        return after.placed == instance.placed && seat != after.seats.end() &&
               seat->atp == before.atp && (instance.is_open || after.seats.size() == 1);
      });
      moved += stays ? 0 : pool_.jobs[before.job].weight * speeds[s];
    }
  }
  SEPTULE_CHECK(goal.slots.size() == pool_.own.size(), "the pool is of this GPU");
  return moved * values_.tuning().move_factor * values_.loss_s() / values_.horizon_s();
}

void HierarchicalPolicy::adopt(const SeptuleCall& call,
                               GpuId gpu,
                               const Company& company,
                               std::string_view reason) {
  const GpuGoal before = goals_.peek(call, gpu);
  // Within the bound on overtaking: the most urgent first.
  std::vector<std::size_t> left_out;
  for (std::size_t i = 0; i < pool_.due.size(); ++i) {
    const bool is_seated = std::ranges::any_of(company.instances, [&](const auto& instance) {
      return std::ranges::find(instance.seats, pool_.due[i], &CompanySeat::job) !=
             instance.seats.end();
    });
    if (is_seated && due_.may_place(pool_.due_at[i])) {
      due_.placed(pool_.due_at[i]);
    } else if (is_seated) {
      left_out.push_back(pool_.due[i]);
    }
  }
  GpuGoal goal;
  for (const CompanyInstance& instance : company.instances) {
    goal.instances.push_back(instance.placed);
  }
  goals_.keep_idle_instances(before, goal);
  bool is_moving = false;
  for (const CompanyInstance& instance : company.instances) {
    const auto* at = std::ranges::find(goal.instances, instance.placed);
    const std::array<double, kClientsMax> speeds = speeds_of(instance);
    for (std::size_t s = 0; s < instance.seats.size(); ++s) {
      const CompanySeat& seat = instance.seats[s];
      if (std::ranges::find(left_out, seat.job) != left_out.end()) {
        continue;
      }
      const job::JobId job = pool_.jobs[seat.job].id;
      const Slot slot{.job = job,
                      .instance = static_cast<int>(at - goal.instances.begin()),
                      .atp = seat.atp.value_or(ActiveThreadPercentage(100))};
      const Slot* old = before.find(job);
      const bool stays =
          old != nullptr && before.purpose == GoalPurpose::kRun &&
          before.instances[static_cast<std::size_t>(old->instance)] == instance.placed &&
          old->atp == slot.atp;
      Client& client = clients_[static_cast<std::size_t>(job.value())];
      const bool is_client = instance.seats.size() > 1 || seat.atp.has_value();
      is_moving = is_moving || (old != nullptr && !stays);
      const bool was_client =
          client.is_client && client.gpu == gpu && client.placed == instance.placed;
      client = {
          .gpu = gpu, .placed = instance.placed, .is_client = is_client || (stays && was_client)};
      goal.add(slot);
      values_.run_at(call, job, speeds[s]);
    }
  }
  if (goal == before) {
    return;
  }
  goals_.set(call,
             gpu,
             goal,
             is_moving ? SeptuleGoals::Moving::kRunning : SeptuleGoals::Moving::kNobody,
             reason);
  note_crowd(call, gpu);
}

// ---- unknown jobs

bool HierarchicalPolicy::must_characterise(const GpuGoal& goal) const {
  if (unknown_.empty()) {
    return false;
  }
  if (known_.empty()) {
    return true;
  }
  const bool is_first = unknown_.front() < known_.front();
  const bool is_late = is_first && due_.overtaken(due_.job(unknown_.front())) >= kPatience;
  const std::size_t enough = static_cast<std::size_t>(settings_.window) / 2;
  return is_late ||
         (known_.size() < enough && (unknown_.size() >= kRunJobsMin || goal.slots.size() <= 1));
}

void HierarchicalPolicy::characterise(const SeptuleCall& call, GpuId gpu) {
  // Who comes in, then who can stay: later each has to find an instance of his own.
  AdmissionState held;
  GpuGoal together;
  const auto admits = [&](job::JobId job) {
    const int rank = values_.smallest_rank(call, job);
    if (admission_.bound(held) < rank || !goals_.has_memory_together(call, together, job)) {
      return false;
    }
    held = AdmissionTable::with(held, rank);
    together.add({.job = job});
    return true;
  };
  std::vector<job::JobId> coming;
  for (const std::size_t index : unknown_) {
    if (due_.may_place(index) && admits(due_.job(index))) {
      coming.push_back(due_.job(index));
      due_.placed(index);
    }
  }
  const GpuGoal before = goals_.peek(call, gpu);
  for (const Slot& slot : before.slots) {
    if (!admits(slot.job)) {
      goals_.drop(call, gpu, slot.job, "characterise");
    }
  }
  for (const job::JobId job : coming) {
    goals_.characterise(call, gpu, job);
  }
}

// ---- factories

namespace {

std::unique_ptr<Policy> make(std::string_view name,
                             const PolicySetup& setup,
                             const optimize::WindowOptimizer* optimizer) {
  static const optimize::WindowDp exact;
  return std::make_unique<HierarchicalPolicy>(
      name, setup, optimizer == nullptr ? exact : *optimizer);
}

}  // namespace

std::unique_ptr<Policy> make_hierarchical(const PolicySetup& setup) {
  return make("hierarchical", setup, setup.windows.optimizer);
}

std::unique_ptr<Policy> make_hierarchical_rl(const PolicySetup& setup) {
  return make("hierarchical-rl", setup, setup.windows.learned);
}

}  // namespace septule::sched
