#include "plan/plan_checker.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"
#include "gpu/partition_checker.hpp"

namespace septule::plan {
namespace {

/// Collects the violations of one plan. Lives for one call of check_plan.
class PlanChecker {
 public:
  PlanChecker(const Plan& plan,
              std::span<const JobSpeeds> jobs,
              std::span<const FrozenInstance> frozen)
      : plan_(plan), jobs_(jobs), frozen_(frozen) {}

  std::vector<PlanViolation> run() {
    if (!check_form()) {
      return std::move(found_);
    }
    check_partitions();
    check_sharing();
    for (std::size_t j = 0; j < plan_.slots.size(); ++j) {
      check_slot(j);
    }
    check_objective();
    check_frozen();
    return std::move(found_);
  }

 private:
  void report(PlanViolationKind kind, std::string message) {
    // By kind, in order of discovery within one. (std::stable_sort draws a deprecation warning from
    // clang with this standard library.)
    const auto at = std::ranges::upper_bound(found_, kind, {}, &PlanViolation::kind);
    found_.insert(at, {.kind = kind, .message = std::move(message)});
  }

  const gpu::GpuInstance& instance_of(const JobSlot& slot) const {
    return plan_.gpus[slot.gpu].partition.instances[slot.instance];
  }

  std::string job_text(std::size_t job) const {
    return fmt::format("job {} ({})", job, quoted_for_message(jobs_[job].name));
  }

  /// False if the rest cannot be looked at without reading past an end.
  bool check_form() {
    const std::size_t before = found_.size();
    for (std::size_t g = 0; g < plan_.gpus.size(); ++g) {
      if (plan_.gpus[g].geometry == nullptr) {
        report(PlanViolationKind::kMalformed, fmt::format("GPU {} of the plan has no geometry", g));
      }
    }
    if (!plan_.is_feasible) {
      if (!plan_.slots.empty() || plan_.objective_value.has_value()) {
        report(PlanViolationKind::kMalformed, "an infeasible plan has slots or an objective value");
      }
      if (plan_.infeasible_reason.empty()) {
        report(PlanViolationKind::kMalformed, "an infeasible plan gives no reason");
      }
      return found_.size() == before;
    }
    if (plan_.slots.size() != jobs_.size()) {
      report(PlanViolationKind::kMalformed,
             fmt::format("{} jobs, but {} slots", jobs_.size(), plan_.slots.size()));
    }
    if (!plan_.objective_value.has_value()) {
      report(PlanViolationKind::kMalformed, "a feasible plan has no objective value");
    }
    for (std::size_t j = 0; j < plan_.slots.size(); ++j) {
      const JobSlot& slot = plan_.slots[j];
      if (slot.gpu >= plan_.gpus.size()) {
        report(PlanViolationKind::kMalformed,
               fmt::format("slot {} names GPU {} of {}", j, slot.gpu, plan_.gpus.size()));
      } else if (slot.instance >= plan_.gpus[slot.gpu].partition.instances.size()) {
        report(PlanViolationKind::kMalformed,
               fmt::format("slot {} names instance {}, which does not exist", j, slot.instance));
      }
    }
    return found_.size() == before;
  }

  void check_partitions() {
    for (const GpuPlan& gpu_plan : plan_.gpus) {
      for (const gpu::Violation& violation :
           gpu::check_partition(*gpu_plan.geometry, gpu_plan.partition)) {
        report(PlanViolationKind::kPartition,
               fmt::format("GPU {}: {}", gpu_plan.gpu.value(), violation.message));
      }
    }
  }

  void check_sharing() {
    for (std::size_t a = 0; a < plan_.slots.size(); ++a) {
      for (std::size_t b = a + 1; b < plan_.slots.size(); ++b) {
        if (plan_.slots[a].gpu == plan_.slots[b].gpu &&
            plan_.slots[a].instance == plan_.slots[b].instance) {
          report(PlanViolationKind::kSharedInstance,
                 fmt::format("{} and {} share instance {} of GPU {}",
                             job_text(a),
                             job_text(b),
                             plan_.slots[a].instance,
                             plan_.gpus[plan_.slots[a].gpu].gpu.value()));
        }
      }
    }
  }

  void check_slot(std::size_t j) {
    const JobSlot& slot = plan_.slots[j];
    const JobSpeeds& job = jobs_[j];
    const gpu::Geometry& geometry = *plan_.gpus[slot.gpu].geometry;
    const gpu::GpuInstance& instance = instance_of(slot);
    const int index = instance.placed.profile.value();
    if (index < 0 || static_cast<std::size_t>(index) >= geometry.profiles().size()) {
      return;  // check_partitions has said so
    }
    const gpu::GpuInstanceProfile& profile = geometry.profiles()[static_cast<std::size_t>(index)];
    if (instance.compute_instances.size() != 1) {
      report(PlanViolationKind::kComputeInstance,
             fmt::format("{}: its {} holds {} compute instances instead of a full one",
                         job_text(j),
                         profile.name,
                         instance.compute_instances.size()));
    } else if (instance.compute_instances.front().placement.size != profile.slices) {
      report(
          PlanViolationKind::kComputeInstance,
          fmt::format("{}: its compute instance does not fill its {}", job_text(j), profile.name));
    }
    if (job.memory.has_value() && (!profile.memory.has_value() || *profile.memory < *job.memory)) {
      report(PlanViolationKind::kMemory,
             fmt::format("{}: {} MiB cannot be shown to fit in {}",
                         job_text(j),
                         job.memory->whole_mebibytes(),
                         profile.name));
    }
    if (static_cast<std::size_t>(index) >= job.speed.size()) {
      report(PlanViolationKind::kSpeed,
             fmt::format("{}: no speed is known on {}", job_text(j), profile.name));
      return;
    }
    const double speed = job.speed[static_cast<std::size_t>(index)];
    // Not-greater rather than less: also catches NaN.
    if (!(speed > 0.0) || slot.rate != speed) {
      report(PlanViolationKind::kSpeed,
             fmt::format("{}: rate {} on {}, where its speed is {}",
                         job_text(j),
                         slot.rate,
                         profile.name,
                         speed));
    }
  }

  double expected_objective() const {
    double sum = 0;
    double lowest = 0;
    for (std::size_t j = 0; j < plan_.slots.size(); ++j) {
      const double rate = plan_.slots[j].rate;
      lowest = j == 0 ? rate : std::min(lowest, rate);
      switch (plan_.objective) {
        case ObjectiveKind::kMeanSlowdown:
          sum += 1.0 / rate;
          break;
        case ObjectiveKind::kWeightedSum:
          sum += jobs_[j].weight * rate;
          break;
        case ObjectiveKind::kSumOfSpeeds:
        case ObjectiveKind::kMaxMin:
          sum += rate;
          break;
      }
    }
    if (plan_.objective == ObjectiveKind::kMaxMin) {
      return lowest;
    }
    return plan_.objective == ObjectiveKind::kMeanSlowdown && !plan_.slots.empty()
               ? sum / static_cast<double>(plan_.slots.size())
               : sum;
  }

  void check_objective() {
    if (!plan_.is_feasible || !plan_.objective_value.has_value()) {
      return;
    }
    const double stated = *plan_.objective_value;
    const double expected = expected_objective();
    if (!(std::abs(stated - expected) <= 1e-9 * std::max(1.0, std::abs(expected)))) {
      report(PlanViolationKind::kObjective,
             fmt::format("objective {} is stated as {}, but the rates give {}",
                         objective_name(plan_.objective),
                         stated,
                         expected));
    }
  }

  void check_frozen() {
    if (!plan_.is_feasible) {
      return;
    }
    for (const FrozenInstance& frozen : frozen_) {
      if (frozen.gpu >= plan_.gpus.size()) {
        report(PlanViolationKind::kFrozen,
               fmt::format("a frozen instance is on GPU {}, which the plan lacks", frozen.gpu));
        continue;
      }
      const auto& instances = plan_.gpus[frozen.gpu].partition.instances;
      const auto at = std::ranges::find(instances, frozen.placed, &gpu::GpuInstance::placed);
      if (at == instances.end()) {
        report(PlanViolationKind::kFrozen,
               fmt::format("the frozen instance {} is gone", frozen_text(frozen)));
        continue;
      }
      check_frozen_use(frozen, static_cast<std::size_t>(at - instances.begin()));
    }
  }

  void check_frozen_use(const FrozenInstance& frozen, std::size_t instance) {
    bool is_job_there = false;
    for (std::size_t j = 0; j < plan_.slots.size(); ++j) {
      if (plan_.slots[j].gpu != frozen.gpu || plan_.slots[j].instance != instance) {
        continue;
      }
      is_job_there = is_job_there || j == frozen.job;
      if (frozen.use == FrozenInstance::Use::kNobody ||
          (frozen.use == FrozenInstance::Use::kOneJob && j != frozen.job)) {
        report(PlanViolationKind::kFrozen,
               fmt::format(
                   "{} was put into the frozen instance {}", job_text(j), frozen_text(frozen)));
      }
    }
    if (frozen.use == FrozenInstance::Use::kOneJob && !is_job_there) {
      report(PlanViolationKind::kFrozen,
             fmt::format("job {} was taken out of {}", frozen.job, frozen_text(frozen)));
    }
  }

  std::string frozen_text(const FrozenInstance& frozen) const {
    return fmt::format("profile {} at memory slice {} of GPU {}",
                       frozen.placed.profile.value(),
                       frozen.placed.start.value(),
                       plan_.gpus[frozen.gpu].gpu.value());
  }

  const Plan& plan_;
  std::span<const JobSpeeds> jobs_;
  std::span<const FrozenInstance> frozen_;
  std::vector<PlanViolation> found_;
};

}  // namespace

std::string_view plan_violation_name(PlanViolationKind kind) {
  switch (kind) {
    case PlanViolationKind::kMalformed:
      return "malformed plan";
    case PlanViolationKind::kPartition:
      return "illegal partition";
    case PlanViolationKind::kSharedInstance:
      return "shared instance";
    case PlanViolationKind::kComputeInstance:
      return "compute instance";
    case PlanViolationKind::kMemory:
      return "memory";
    case PlanViolationKind::kSpeed:
      return "speed";
    case PlanViolationKind::kObjective:
      return "objective";
    case PlanViolationKind::kFrozen:
      return "frozen instance";
  }
  return "";
}

std::vector<PlanViolation> check_plan(const Plan& plan,
                                      std::span<const JobSpeeds> jobs,
                                      std::span<const FrozenInstance> frozen) {
  return PlanChecker(plan, jobs, frozen).run();
}

}  // namespace septule::plan
