#include "sched/policies/window_planner.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "gpu/partition.hpp"

namespace septule::sched {

namespace {

/// Companies as a window's co-run model.
class PoolCoRun final : public predict::CoRunModel {
 public:
  PoolCoRun(const CompanyValue& value, std::span<const CompanyJob> jobs)
      : value_(&value), jobs_(jobs) {}

  std::size_t job_count() const override { return jobs_.size(); }
  void rates(const predict::CoRunPlace& place,
             std::span<const predict::CoRunClient> clients,
             std::span<double> out) const override {
    std::ranges::fill(out, 0.0);
    if (!place.profile.has_value() || place.compute.size() != 1 || clients.size() > kClientsMax) {
      return;
    }
    InlineVector<CompanySeat, kClientsMax> seats;
    for (const predict::CoRunClient& client : clients) {
      seats.push_back({.job = client.job, .atp = client.atp});
    }
    value_->rates(jobs_, *place.profile, {seats.begin(), seats.size()}, out);
  }

 private:
  const CompanyValue* value_;
  std::span<const CompanyJob> jobs_;
};

double speed_on(const gpu::Geometry& geometry, const predict::SpeedRow& row, int slices) {
  const std::optional<ProfileIndex> profile = geometry.plain_profile(ComputeSlices(slices));
  return profile.has_value() ? row.on(*profile) : 0;
}

}  // namespace

WindowPlanner::WindowPlanner(const gpu::Geometry& geometry,
                             const CompanyValue& value,
                             const WindowSettings& settings,
                             const optimize::WindowOptimizer& optimizer)
    : geometry_(&geometry),
      value_(&value),
      optimizer_(&optimizer),
      costs_(settings.costs),
      window_(
          static_cast<std::size_t>(std::clamp(settings.window, 1, static_cast<int>(kWindowMax)))) {
  gpu::SharingOptions options;
  options.families = {gpu::SharingFamily::kMigPrivate, gpu::SharingFamily::kMigMpsPrivate};
  auto made = gpu::make_sharing_catalogue(geometry, options);
  if (made) {
    catalogue_ = *std::move(made);
  }
}

std::optional<Company> WindowPlanner::next(std::span<const CompanyJob> pool,
                                           std::span<const std::size_t> due) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const std::optional<Company> company = seated(groups_[i], pool, due);
      if (company.has_value()) {
        groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(i));
        return company;
      }
    }
    if (attempt == 0) {
      plan(pool, due);
    }
  }
  return std::nullopt;
}

std::optional<Company> WindowPlanner::seated(const Group& group,
                                             std::span<const CompanyJob> pool,
                                             std::span<const std::size_t> due) const {
  Company company;
  for (const Seat& seat : group) {
    const auto job =
        std::ranges::find_if(due, [&](std::size_t index) { return pool[index].id == seat.job; });
    if (job == due.end()) {
      return std::nullopt;
    }
    auto* instance = std::ranges::find(company.instances, seat.placed, &CompanyInstance::placed);
    if (instance == company.instances.end()) {
      company.instances.push_back({.placed = seat.placed, .seats = {}});
      instance = company.instances.end() - 1;
    }
    instance->seats.push_back({.job = *job, .atp = seat.atp});
  }
  std::ranges::sort(company.instances, {}, [](const CompanyInstance& one) {
    return std::pair(one.placed.start, one.placed.profile);
  });
  for (CompanyInstance& instance : company.instances) {
    const std::optional<double> value =
        value_->of(pool, instance.placed.profile, {instance.seats.begin(), instance.seats.size()});
    if (!value.has_value()) {
      return std::nullopt;
    }
    instance.value = *value;
    company.value += *value;
  }
  return company;
}

predict::JobTraits WindowPlanner::traits_of(const CompanyJob& job) const {
  predict::JobTraits traits;
  traits.solo = kSolo;
  traits.memory = job.need;
  const auto relative = [&](int slices) -> std::optional<double> {
    const double whole = speed_on(*geometry_, job.row, geometry_->compute_slices().value());
    const double here = speed_on(*geometry_, job.row, slices);
    return whole > 0 && here > 0 ? std::optional(here / whole) : std::nullopt;
  };
  traits.job_class =
      predict::job_class_of({.on_1g = relative(1), .on_3g = relative(3), .on_4g = relative(4)});
  if (job.curve.has_value()) {
    traits.serial_share = job.curve->fit.serial;
  }
  if (job.kernels.has_value()) {
    traits.kernel = Duration::nanoseconds(
        std::max<std::int64_t>(1, job.kernels->step.to_nanoseconds() / job.kernels->count));
  }
  return traits;
}

void WindowPlanner::plan(std::span<const CompanyJob> pool, std::span<const std::size_t> due) {
  groups_.clear();
  if (!catalogue_.has_value() || due.empty()) {
    return;
  }
  std::vector<CompanyJob> jobs;
  std::vector<plan::WindowJob> window;
  std::vector<predict::JobTraits> traits;
  std::vector<job::JobId> ids;
  for (const std::size_t index : due.first(std::min(due.size(), window_))) {
    jobs.push_back(pool[index]);
    window.push_back(pool[index].window);
    window.back().name = fmt::format("{}", pool[index].id.value());
    window.back().solo = kSolo;
    traits.push_back(traits_of(pool[index]));
    ids.push_back(pool[index].id);
  }
  const PoolCoRun model(*value_, jobs);
  const optimize::WindowProblem problem{.jobs = window,
                                        .model = &model,
                                        .catalogue = &*catalogue_,
                                        .traits = traits,
                                        .rules = value_->rules(),
                                        .clock = optimize::GroupClock::kSteadyState,
                                        .costs = costs_,
                                        .initial = gpu::Partition{}};
  WorkBudget budget(kUnitsMax);
  const auto answer = optimizer_->optimize(problem, budget);
  if (answer) {
    take_groups(answer->schedule, ids);
  }
}

/// Groups of the schedule; where it has none (a timeline), those who run at its begin.
void WindowPlanner::take_groups(const plan::Schedule& schedule, std::span<const job::JobId> ids) {
  const auto seat_of = [&](const plan::ScheduledRun& run) {
    const plan::ScheduledInstance& instance = schedule.instances[run.instance];
    return Seat{.job = ids[run.job],
                .placed = checked_value(instance.placed, "the catalogue has instances only"),
                .atp = run.atp};
  };
  if (schedule.groups.empty()) {
    Group first;
    for (const plan::ScheduledRun& run : schedule.runs) {
      const bool is_first = std::ranges::none_of(
          schedule.runs, [&](const auto& other) { return other.end() <= run.begin(); });
      if (is_first) {
        first.push_back(seat_of(run));
      }
    }
    groups_.push_back(std::move(first));
    return;
  }
  for (const plan::ScheduledGroup& group : schedule.groups) {
    Group seats;
    for (const plan::ScheduledRun& run : schedule.runs) {
      if (std::ranges::binary_search(group.jobs, run.job)) {
        seats.push_back(seat_of(run));
      }
    }
    groups_.push_back(std::move(seats));
  }
  // That of the job due first comes first, and so on: no two groups share a job.
  const auto most_urgent = [&](const Group& group) {
    std::ptrdiff_t first = std::ssize(ids);
    for (const Seat& seat : group) {
      first = std::min(first, std::ranges::find(ids, seat.job) - ids.begin());
    }
    return first;
  };
  std::ranges::sort(groups_, {}, most_urgent);
}

}  // namespace septule::sched
