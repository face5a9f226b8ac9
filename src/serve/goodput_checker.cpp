#include "serve/goodput_checker.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "gpu/partition_checker.hpp"

namespace septule::serve {

namespace {

constexpr double kFiguresTolerance = 1e-6;
constexpr double kWorkTolerance = 1e-9;
constexpr double kMemoryTolerance = 1e-9;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

double tolerance_of(double value) {
  return kFiguresTolerance * std::max(1.0, std::abs(value));
}

/// Walks the plan once. Every instance that is there has the step in which it was created; -1 with
/// `is_old` for those in force before.
class Judge {
 public:
  Judge(const GoodputProblem& problem, const GoodputPlan& plan)
      : problem_(problem),
        plan_(plan),
        step_s_(problem.step.to_seconds()),
        progress_(problem.tenants.size(), 0.0) {
    out_.served.assign(problem.tenants.size(), {});
    out_.retrained_from.assign(problem.tenants.size(), std::nullopt);
    for (const LabelledInstance& instance : problem.initial) {
      created_[{instance.placement, instance.label}] = kBefore;
    }
  }

  GoodputJudgement judge() {
    if (!check_shape()) {
      return std::move(out_);
    }
    for (int t = 0; t < problem_.step_count; ++t) {
      check_layout(t);
      change(t);
      serve(t);
      retrain(t);
    }
    add_terminal();
    check_figures();
    return std::move(out_);
  }

 private:
  static constexpr int kBefore = -1;
  using Key = std::pair<int, int>;  // placement, label

  void fault(GoodputFault fault, std::string message) {
    out_.violations.push_back({fault, std::move(message)});
  }

  const Label& label(int index) const { return problem_.labels[at(index)]; }

  std::string text(const LabelledInstance& instance) const {
    const SizePlacement& place = problem_.lattice->placements()[at(instance.placement)];
    return fmt::format("{} ({})",
                       gpu::placed_text(problem_.lattice->geometry(), place.placed),
                       label(instance.label).name);
  }

  int size_of(int placement) const { return problem_.lattice->placements()[at(placement)].size; }

  bool check_shape() {
    if (std::ssize(plan_.layouts) != problem_.step_count) {
      fault(GoodputFault::kShape,
            fmt::format("{} layouts for {} steps, must be one for each",
                        plan_.layouts.size(),
                        problem_.step_count));
      return false;
    }
    for (std::size_t t = 0; t < plan_.layouts.size(); ++t) {
      int last = -1;
      for (const LabelledInstance& instance : plan_.layouts[t]) {
        const bool is_known = instance.placement > last &&
                              instance.placement < std::ssize(problem_.lattice->placements()) &&
                              instance.label >= 0 && instance.label < std::ssize(problem_.labels);
        if (!is_known) {
          fault(GoodputFault::kShape,
                fmt::format("step {}: placement {} with label {} is unknown or out of order",
                            t,
                            instance.placement,
                            instance.label));
          return false;
        }
        last = instance.placement;
      }
    }
    return true;
  }

  void check_layout(int t) {
    const LabelledLayout& layout = plan_.layouts[at(t)];
    gpu::Layout placed;
    std::set<int> retrained;
    for (const LabelledInstance& instance : layout) {
      placed.push_back(problem_.lattice->placements()[at(instance.placement)].placed);
      const auto& retrains = label(instance.label).retrains;
      if (retrains.has_value() && !retrained.insert(*retrains).second) {
        fault(GoodputFault::kRetraining,
              fmt::format("step {}: more than one instance retrains tenant '{}'",
                          t,
                          problem_.tenants[at(*retrains)].name));
      }
    }
    gpu::canonicalise(placed);
    const gpu::Geometry& geometry = problem_.lattice->geometry();
    for (const gpu::Violation& violation :
         gpu::check_partition(geometry, gpu::partition_with_full_instances(geometry, placed))) {
      fault(GoodputFault::kLayout, fmt::format("step {}: {}", t, violation.message));
    }
    for (const LabelledInstance& instance : problem_.initial) {
      const bool is_frozen =
          (problem_.frozen >> static_cast<unsigned>(instance.placement) & 1U) != 0;
      if (is_frozen && std::ranges::find(layout, instance) == layout.end()) {
        fault(GoodputFault::kFrozen,
              fmt::format("step {}: {} is frozen and not there", t, text(instance)));
      }
    }
  }

  void change(int t) {
    std::map<Key, int> now;
    std::map<int, int> handed;
    int created = 0;
    for (const LabelledInstance& instance : plan_.layouts[at(t)]) {
      const Key key{instance.placement, instance.label};
      const auto before = created_.find(key);
      if (before != created_.end()) {
        now[key] = before->second;
        if (const auto going_on = handed_.find(key.first); going_on != handed_.end()) {
          handed.insert(*going_on);
        }
        continue;
      }
      if (const std::optional<int> from = predecessor_of(instance, t); from.has_value()) {
        handed[key.first] = *from;
      }
      now[key] = t;
      ++created;
      out_.goodput -= label(instance.label).creation_cost;
    }
    for (const auto& [key, since] : created_) {
      if (since != kBefore && t - since < problem_.dwell_steps && !now.contains(key)) {
        fault(GoodputFault::kDwell,
              fmt::format("step {}: {} leaves after {} steps, must stay {}",
                          t,
                          text({key.first, key.second}),
                          t - since,
                          problem_.dwell_steps));
      }
    }
    if (const int most = problem_.changes_per_step_max.value_or(created); created > most) {
      fault(GoodputFault::kChanges,
            fmt::format("step {}: {} instances created, at most {} may be", t, created, most));
    }
    out_.creations += created;
    created_ = std::move(now);
    handed_ = std::move(handed);
  }

  /// The label that goes on at the placement of an instance that is created at t.
  std::optional<int> predecessor_of(const LabelledInstance& instance, int t) const {
    if (problem_.hand_over != HandOver::kRelabel) {
      return std::nullopt;
    }
    const auto old = created_.lower_bound({instance.placement, 0});
    if (old == created_.end() || old->first.first != instance.placement) {
      return std::nullopt;
    }
    int from = old->first.second;
    if (!is_ready(old->first, old->second, t)) {
      const auto going_on = handed_.find(instance.placement);
      if (going_on == handed_.end()) {
        return std::nullopt;
      }
      from = going_on->second;
    }
    if (from == instance.label) {
      return from;
    }
    const Label& before = label(from);
    const Label& after = label(instance.label);
    const std::size_t size = at(size_of(instance.placement));
    const bool fits = before.memory[size] + after.memory[size] <= 1 + kMemoryTolerance;
    const bool may = !before.serves.empty() && before.group == after.group && fits;
    return may ? std::optional(from) : std::nullopt;
  }

  bool is_ready(const Key& key, int since, int t) const {
    return since == kBefore || t - since >= label(key.second).warm_up_steps;
  }

  /// The label whose output the instance gives in a step.
  std::optional<int> serving_at(const Key& key, int since, int t) const {
    if (is_ready(key, since, t)) {
      return key.second;
    }
    const auto going_on = handed_.find(key.first);
    return going_on == handed_.end() ? std::nullopt : std::optional(going_on->second);
  }

  double accuracy(int tenant, int t) const {
    const std::optional<int>& from = out_.retrained_from[at(tenant)];
    const GoodputTenant& who = problem_.tenants[at(tenant)];
    return from.has_value() && *from <= t ? who.accuracy_after : who.accuracy;
  }

  void serve(int t) {
    for (int m = 0; m < std::ssize(problem_.tenants); ++m) {
      const GoodputTenant& tenant = problem_.tenants[at(m)];
      double capacity = 0;
      for (const auto& [key, since] : created_) {
        const std::optional<int> up = serving_at(key, since, t);
        if (!up.has_value()) {
          continue;
        }
        for (const Label::Output& output : label(*up).serves) {
          if (output.tenant == m) {
            capacity += output.rate_rps[at(size_of(key.first))] * step_s_;
          }
        }
      }
      const double arrived = tenant.rate_rps[at(t)] * step_s_;
      const double served = std::min(arrived, capacity);
      out_.served[at(m)].push_back(served);
      out_.goodput += tenant.weight * accuracy(m, t) * served;
      if (served < tenant.floor_share * arrived - tolerance_of(arrived)) {
        fault(GoodputFault::kFloor,
              fmt::format("step {}: tenant '{}' gets {} of {} requests served, must be at least {}",
                          t,
                          tenant.name,
                          served,
                          arrived,
                          tenant.floor_share * arrived));
      }
    }
  }

  void retrain(int t) {
    for (const auto& [key, since] : created_) {
      const auto& retrains = label(key.second).retrains;
      if (!retrains.has_value() || !is_ready(key, since, t)) {
        continue;
      }
      const std::optional<RetrainingNeed>& need = problem_.tenants[at(*retrains)].retraining;
      const bool is_counted =
          need.has_value() && t >= need->release_step && t < need->deadline_step;
      if (!is_counted || out_.retrained_from[at(*retrains)].has_value()) {
        continue;
      }
      progress_[at(*retrains)] += label(key.second).speed[at(size_of(key.first))] * step_s_;
      if (progress_[at(*retrains)] >= need->work_s * (1 - kWorkTolerance)) {
        out_.retrained_from[at(*retrains)] = t + 1;
      }
    }
  }

  void add_terminal() {
    const int last = problem_.step_count - 1;
    for (int m = 0; m < std::ssize(problem_.tenants); ++m) {
      const GoodputTenant& tenant = problem_.tenants[at(m)];
      double rate = 0;
      for (const LabelledInstance& instance : plan_.layouts[at(last)]) {
        for (const Label::Output& output : label(instance.label).serves) {
          rate += output.tenant == m ? output.rate_rps[at(size_of(instance.placement))] : 0.0;
        }
      }
      const double served = std::min(rate, tenant.rate_rps[at(last)]) * step_s_;
      out_.terminal += problem_.terminal_steps * tenant.weight * accuracy(m, last + 1) * served;
    }
  }

  void check_figures() {
    const double objective = out_.goodput + out_.terminal;
    const double slack = tolerance_of(objective);
    if (std::abs(plan_.goodput - out_.goodput) > tolerance_of(out_.goodput)) {
      fault(GoodputFault::kFigures,
            fmt::format("the plan says a goodput of {}, it has {}", plan_.goodput, out_.goodput));
    }
    if (std::abs(plan_.objective - objective) > slack) {
      fault(GoodputFault::kFigures,
            fmt::format("the plan says an objective of {}, it has {}", plan_.objective, objective));
    }
    if (!(plan_.bound >= objective - slack)) {
      fault(GoodputFault::kFigures,
            fmt::format("the bound {} is below the objective {}", plan_.bound, objective));
    }
    if (plan_.proof == GoodputProof::kOptimal && plan_.bound > objective + slack) {
      fault(GoodputFault::kFigures,
            fmt::format("called optimal, but the bound {} is above the objective {}",
                        plan_.bound,
                        objective));
    }
    if (plan_.retrained_from != out_.retrained_from) {
      fault(GoodputFault::kRetraining,
            "the steps from which retrained models answer are not those that come out");
    }
  }

  const GoodputProblem& problem_;
  const GoodputPlan& plan_;
  double step_s_;
  std::map<Key, int> created_;
  std::map<int, int> handed_;  // by placement: label that goes on until the new one is ready
  std::vector<double> progress_;
  GoodputJudgement out_;
};

}  // namespace

std::string_view goodput_fault_name(GoodputFault fault) {
  switch (fault) {
    case GoodputFault::kShape:
      return "shape";
    case GoodputFault::kLayout:
      return "layout";
    case GoodputFault::kFrozen:
      return "frozen";
    case GoodputFault::kChanges:
      return "changes";
    case GoodputFault::kDwell:
      return "dwell";
    case GoodputFault::kRetraining:
      return "retraining";
    case GoodputFault::kFloor:
      return "floor";
    case GoodputFault::kFigures:
      return "figures";
  }
  return "";
}

GoodputJudgement check_goodput_plan(const GoodputProblem& problem, const GoodputPlan& plan) {
  return Judge(problem, plan).judge();
}

}  // namespace septule::serve
