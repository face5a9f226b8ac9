#include "serve/plan_value.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "serve/label_alphabet.hpp"
#include "serve/step_terms.hpp"

namespace septule::serve {

namespace {

// Ages of instances in force before the window: ready, free to leave.
constexpr int kSettled = kGoodputStepsMax * 4;
constexpr double kWorkTolerance = 1e-9;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// Who is at a placement, and for how many steps.
struct Seat {
  int label = -1;
  int age = 0;
  int handed = -1;  ///< label that goes on until this one is ready; -1 = none
};
using Seats = std::array<Seat, 32>;

class Valuer {
 public:
  explicit Valuer(const GoodputProblem& problem)
      : problem_(problem),
        step_s_(problem.step.to_seconds()),
        progress_s_(problem.tenants.size(), 0.0) {
    value_.retrained_from.assign(problem.tenants.size(), std::nullopt);
    for (const LabelledInstance& instance : problem.initial) {
      seats_[at(instance.placement)] = {instance.label, kSettled};
    }
  }

  PlanValue value(const std::vector<LabelledLayout>& layouts) {
    for (int t = 0; t < problem_.step_count; ++t) {
      move_to(layouts[at(t)]);
      terms_ = make_terms(t);
      const double served = value_of(terms_, capacity(Ready::kNow), step_s_);
      value_.is_feasible = value_.is_feasible && served >= 0;
      value_.goodput += served >= 0 ? served : 0.0;
      retrain(t);
    }
    value_.objective = value_.goodput;
    if (problem_.terminal_steps > 0) {
      terms_ = make_terms(problem_.step_count);
      std::ranges::fill(terms_.floor_rps, 0.0);
      const double served = value_of(terms_, capacity(Ready::kSoon), step_s_);
      value_.objective += problem_.terminal_steps * served;
    }
    return value_;
  }

 private:
  enum class Ready { kNow, kSoon };

  void move_to(const LabelledLayout& layout) {
    Seats next{};
    int created = 0;
    for (const LabelledInstance& instance : layout) {
      const Seat& before = seats_[at(instance.placement)];
      const bool is_kept = before.label == instance.label;
      next[at(instance.placement)] = {instance.label,
                                      is_kept ? std::min(before.age + 1, kSettled) : 0,
                                      is_kept ? before.handed : handed_over(before, instance)};
      created += is_kept ? 0 : 1;
      value_.goodput -= is_kept ? 0.0 : problem_.labels[at(instance.label)].creation_cost;
    }
    for (std::size_t p = 0; p < seats_.size(); ++p) {
      const bool has_left = seats_[p].label >= 0 && next[p].label != seats_[p].label;
      const bool is_frozen = (problem_.frozen >> p & 1U) != 0;
      if (has_left && (is_frozen || seats_[p].age + 1 < problem_.dwell_steps)) {
        value_.is_feasible = false;
      }
    }
    if (created > problem_.changes_per_step_max.value_or(created)) {
      value_.is_feasible = false;
    }
    seats_ = next;
  }

  /// The label that goes on at the placement of a new instance; -1 = none.
  int handed_over(const Seat& before, const LabelledInstance& instance) const {
    if (before.label < 0) {
      return -1;
    }
    const bool was_ready = before.age + 1 >= problem_.labels[at(before.label)].warm_up_steps;
    const int from = was_ready ? before.label : before.handed;
    const int size = problem_.lattice->placements()[at(instance.placement)].size;
    // What comes back while it is still going on is handed over to itself.
    const bool goes_on =
        from >= 0 && (from == instance.label || hands_over(problem_, from, instance.label, size));
    return goes_on ? from : -1;
  }

  StepTerms make_terms(int t) const {
    const int step = std::min(t, problem_.step_count - 1);
    StepTerms terms;
    for (std::size_t m = 0; m < problem_.tenants.size(); ++m) {
      const GoodputTenant& tenant = problem_.tenants[m];
      const std::optional<int>& from = value_.retrained_from[m];
      const bool is_retrained = from.has_value() && *from <= t;
      terms.worth.push_back(tenant.weight *
                            (is_retrained ? tenant.accuracy_after : tenant.accuracy));
      terms.arrived_rps.push_back(tenant.rate_rps[at(step)]);
      terms.base_rps.push_back(0.0);
      terms.floor_rps.push_back(tenant.floor_share * tenant.rate_rps[at(step)] * (1 - 1e-9));
    }
    return terms;
  }

  bool is_ready(const Seat& seat) const {
    return seat.age >= problem_.labels[at(seat.label)].warm_up_steps;
  }

  std::vector<double> capacity(Ready ready) const {
    std::vector<double> rps(problem_.tenants.size(), 0.0);
    for (std::size_t p = 0; p < seats_.size(); ++p) {
      const bool is_up = ready == Ready::kSoon || seats_[p].label < 0 || is_ready(seats_[p]);
      const int label = is_up ? seats_[p].label : seats_[p].handed;
      if (label < 0) {
        continue;
      }
      const auto size = at(problem_.lattice->placements()[p].size);
      for (const Label::Output& output : problem_.labels[at(label)].serves) {
        rps[at(output.tenant)] += output.rate_rps[size];
      }
    }
    return rps;
  }

  void retrain(int t) {
    for (std::size_t p = 0; p < seats_.size(); ++p) {
      if (seats_[p].label < 0 || !is_ready(seats_[p])) {
        continue;
      }
      const Label& label = problem_.labels[at(seats_[p].label)];
      if (!label.retrains.has_value()) {
        continue;
      }
      const std::size_t m = at(*label.retrains);
      const std::optional<RetrainingNeed>& need = problem_.tenants[m].retraining;
      const bool is_counted =
          need.has_value() && t >= need->release_step && t < need->deadline_step;
      if (!is_counted || value_.retrained_from[m].has_value()) {
        continue;
      }
      progress_s_[m] += label.speed[at(problem_.lattice->placements()[p].size)] * step_s_;
      if (progress_s_[m] >= need->work_s * (1 - kWorkTolerance)) {
        value_.retrained_from[m] = t + 1;
      }
    }
  }

  const GoodputProblem& problem_;
  double step_s_;
  Seats seats_{};
  StepTerms terms_;
  std::vector<double> progress_s_;
  PlanValue value_;
};

}  // namespace

PlanValue value_plan(const GoodputProblem& problem, const std::vector<LabelledLayout>& layouts) {
  return Valuer(problem).value(layouts);
}

}  // namespace septule::serve
