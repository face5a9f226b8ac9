#include "septule/serve_window.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "gpu/partition.hpp"

namespace septule::app {

namespace {

using serve::LabelledInstance;

SimTime time_of(const serve::GoodputProblem& problem, int step) {
  return SimTime::nanoseconds(problem.step.to_nanoseconds() * step);
}

const serve::Label& label_of(const serve::GoodputProblem& problem,
                             const LabelledInstance& instance) {
  return problem.labels[static_cast<std::size_t>(instance.label)];
}

const serve::SizePlacement& placement_of(const serve::GoodputProblem& problem,
                                         const LabelledInstance& instance) {
  return problem.lattice->placements()[static_cast<std::size_t>(instance.placement)];
}

/// Who is in the instance: the tenant served first, or the one that retrains; by the problem.
int tenant_of(const serve::Label& label) {
  return label.retrains ? *label.retrains : label.serves.front().tenant;
}

/// Since which step each instance of the layout in force exists; those of `initial` since before
/// all warm-ups.
using Ages = std::map<LabelledInstance, int>;

constexpr int kAlwaysReady = -1000000;

Ages advanced(const Ages& before, const serve::LabelledLayout& layout, int step) {
  Ages after;
  for (const LabelledInstance& instance : layout) {
    const auto known = before.find(instance);
    after[instance] = known == before.end() ? step : known->second;
  }
  return after;
}

/// Adds one GPU's plan to the record of all.
class PlanRecorder {
 public:
  PlanRecorder(const WindowPlan& plan, job::ServingRecord& record)
      : plan_(plan), problem_(plan.problem), record_(record) {}

  void run() {
    add_totals();
    Ages ages;
    for (const LabelledInstance& instance : problem_.initial) {
      ages[instance] = kAlwaysReady;
    }
    for (int step = 0; step < problem_.step_count; ++step) {
      ages = advanced(ages, plan_.plan.layouts[static_cast<std::size_t>(step)], step);
      add_step(ages, step);
    }
  }

 private:
  job::ServingTenantRecord& tenant(int index) {
    return record_
        .tenants[static_cast<std::size_t>(plan_.tenants[static_cast<std::size_t>(index)])];
  }

  void add_totals() {
    record_.moves += plan_.judgement.creations;
    for (std::size_t i = 0; i < problem_.tenants.size(); ++i) {
      const serve::GoodputTenant& own = problem_.tenants[i];
      job::ServingTenantRecord& sum = tenant(static_cast<int>(i));
      const std::optional<int> from = plan_.judgement.retrained_from[i];
      if (own.retraining) {
        sum.retrainings_done += from ? 1 : 0;
        sum.retrainings_missed += from ? 0 : 1;
      }
      if (sum.series.empty()) {
        sum.series.resize(static_cast<std::size_t>(problem_.step_count));
      }
      for (int step = 0; step < problem_.step_count; ++step) {
        const double seconds = problem_.step.to_seconds();
        const double served = plan_.judgement.served[i][static_cast<std::size_t>(step)];
        const double accuracy = from && step >= *from ? own.accuracy_after : own.accuracy;
        const double arrived = own.rate_rps[static_cast<std::size_t>(step)] * seconds;
        job::ServingPoint& point = sum.series[static_cast<std::size_t>(step)];
        point.begin = time_of(problem_, step);
        point.arrived += arrived;
        point.in_slo += served;
        point.goodput += served * accuracy;
        sum.arrived += arrived;
        sum.in_slo += served;
        sum.goodput += served * accuracy;
      }
    }
  }

  void add_step(const Ages& ages, int step) {
    job::ServingSpan span{.gpu = plan_.gpu,
                          .begin = time_of(problem_, step),
                          .end = time_of(problem_, step + 1),
                          .uses = {}};
    for (const auto& [instance, since] : ages) {
      const serve::Label& label = label_of(problem_, instance);
      const gpu::PlacedProfile& placed = placement_of(problem_, instance).placed;
      const bool is_ready = step >= since + label.warm_up_steps;
      span.uses.push_back(
          {.start = placed.start.value(),
           .size = gpu::placement_of(problem_.lattice->geometry(), placed).size.value(),
           .label = label.name,
           .tenant = plan_.tenants[static_cast<std::size_t>(tenant_of(label))],
           .is_warming_up = !is_ready});
      add_capacity(instance, label, is_ready, step);
    }
    std::ranges::sort(span.uses, {}, &job::ServingSpan::Use::start);
    record_.gpu_seconds_used += ages.empty() ? 0 : problem_.step.to_seconds();
    append(std::move(span));
  }

  void add_capacity(const LabelledInstance& instance,
                    const serve::Label& label,
                    bool is_ready,
                    int step) {
    const auto size = static_cast<std::size_t>(placement_of(problem_, instance).size);
    for (const serve::Label::Output& output : label.serves) {
      const double requests = output.rate_rps[size] * problem_.step.to_seconds();
      if (is_ready) {
        tenant(output.tenant).series[static_cast<std::size_t>(step)].capacity += requests;
      } else {
        record_.capacity_lost += requests;
      }
    }
    if (label.retrains && is_ready) {
      auto& stretches = tenant(*label.retrains).retraining;
      const SimTime begin = time_of(problem_, step);
      if (!stretches.empty() && stretches.back().second == begin) {
        stretches.back().second = time_of(problem_, step + 1);
      } else {
        stretches.emplace_back(begin, time_of(problem_, step + 1));
      }
    }
  }

  /// A step like the one before makes that one longer.
  void append(job::ServingSpan span) {
    const auto is_same = [](const job::ServingSpan::Use& a, const job::ServingSpan::Use& b) {
      return a.start == b.start && a.size == b.size && a.label == b.label &&
             a.is_warming_up == b.is_warming_up;
    };
    std::vector<job::ServingSpan>& timeline = record_.timeline;
    if (!timeline.empty() && timeline.back().gpu == span.gpu && timeline.back().end == span.begin &&
        std::ranges::equal(timeline.back().uses, span.uses, is_same)) {
      timeline.back().end = span.end;
    } else {
      timeline.push_back(std::move(span));
    }
  }

  const WindowPlan& plan_;
  const serve::GoodputProblem& problem_;
  job::ServingRecord& record_;
};

}  // namespace

double ServePlan::goodput() const {
  double sum = 0;
  for (const WindowPlan& gpu : gpus) {
    sum += gpu.plan.goodput;
  }
  return sum;
}

double ServePlan::objective() const {
  double sum = 0;
  for (const WindowPlan& gpu : gpus) {
    sum += gpu.plan.objective;
  }
  return sum;
}

double ServePlan::bound() const {
  double sum = 0;
  for (const WindowPlan& gpu : gpus) {
    sum += gpu.plan.bound;
  }
  return sum;
}

bool ServePlan::is_optimal() const {
  return std::ranges::all_of(
      gpus, [](const WindowPlan& gpu) { return gpu.plan.proof == serve::GoodputProof::kOptimal; });
}

job::ServingRecord record_of(const ServePlan& plan) {
  SEPTULE_CHECK(!plan.gpus.empty(), "a plan is for at least one GPU");
  job::ServingRecord record;
  record.policy = plan.mode;
  record.mode = "plan";
  record.gpu_count = plan.gpu_count;
  const serve::GoodputProblem& first = plan.gpus.front().problem;
  record.span = Duration::nanoseconds(first.step.to_nanoseconds() * first.step_count);
  for (const serve::AdmittedTenant& tenant : plan.input->tenants) {
    job::ServingTenantRecord& own = record.tenants.emplace_back();
    own.name = tenant.tenant.name;
    own.weight = tenant.tenant.weight;
  }
  for (const WindowPlan& gpu : plan.gpus) {
    PlanRecorder(gpu, record).run();
  }
  for (const job::ServingTenantRecord& tenant : record.tenants) {
    record.weighted_goodput += tenant.weight * tenant.goodput;
  }
  // What is weighed beyond the window is no part of what is served in it.
  const double terminal = plan.objective() - plan.goodput();
  record.bound = plan.bound() - terminal;
  return record;
}

std::string labelled_text(const serve::GoodputProblem& problem,
                          const serve::LabelledLayout& layout) {
  std::string text;
  for (const LabelledInstance& instance : layout) {
    text += fmt::format(
        "{}{} {}",
        text.empty() ? "" : ", ",
        gpu::placed_text(problem.lattice->geometry(), placement_of(problem, instance).placed),
        label_of(problem, instance).name);
  }
  return text.empty() ? "empty" : text;
}

}  // namespace septule::app
