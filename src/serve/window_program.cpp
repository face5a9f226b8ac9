#include "serve/window_program.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "base/check.hpp"
#include "gpu/layout.hpp"
#include "serve/indices.hpp"

namespace septule::serve {

namespace {

using port::kMilpUnlimited;
using port::MilpColumn;
using port::MilpEntry;
using port::MilpRow;

/// Since when an instance is there, where it is not a step of the window.
constexpr int kAbsent = -2;
constexpr int kInForce = -1;

/// Memory slices that a placement covers.
std::uint64_t slices_of(const LayoutLattice& lattice, int placement) {
  const gpu::PlacedProfile& placed = lattice.placements()[at(placement)].placed;
  const gpu::Placement where = gpu::placement_of(lattice.geometry(), placed);
  std::uint64_t mask = 0;
  for (int slice = where.start.value(); slice < where.end().value(); ++slice) {
    mask |= std::uint64_t{1} << static_cast<unsigned>(slice);
  }
  return mask;
}

bool is_least_illegal(const LayoutLattice& lattice, std::uint32_t placements) {
  if (lattice.is_legal(placements)) {
    return false;
  }
  for (std::uint32_t left = placements; left != 0; left &= left - 1) {
    if (!lattice.is_legal(placements & ~(left & (~left + 1)))) {
      return false;
    }
  }
  return true;
}

bool has_job(const GoodputProblem& problem, int tenant) {
  if (!problem.tenants[at(tenant)].retraining) {
    return false;
  }
  return std::ranges::any_of(problem.labels,
                             [&](const Label& label) { return label.retrains == tenant; });
}

}  // namespace

WindowProgram::WindowProgram(const GoodputProblem& problem)
    : problem_(&problem),
      placements_(static_cast<int>(problem.lattice->placements().size())),
      labels_(static_cast<int>(problem.labels.size())),
      tenants_(static_cast<int>(problem.tenants.size())),
      steps_(problem.step_count),
      served_steps_(problem.step_count + (problem.terminal_steps > 0 ? 1 : 0)),
      has_retraining_(false),
      in_force_(at(placements_ * labels_), 0) {
  for (int tenant = 0; tenant < tenants_; ++tenant) {
    has_retraining_ = has_retraining_ || has_job(problem, tenant);
  }
  for (const LabelledInstance& instance : problem.initial) {
    in_force_[at(instance.label * placements_ + instance.placement)] = 1;
  }
  find_illegal_sets();
  milp_.goal = port::MilpGoal::kMaximise;
  add_instance_columns();
  add_tenant_columns();
  for (int step = 0; step < served_steps_; ++step) {
    if (step < steps_) {
      add_placement_rows(step);
      add_creation_rows(step);
      add_readiness_rows(step);
      add_single_retraining_rows(step);
      add_option_rows(step);
    }
    add_capability_rows(step);
    add_retraining_rows(step);
  }
}

/// Slots rule on the known GPUs; engines and maxima of profiles may forbid more.
void WindowProgram::find_illegal_sets() {
  const LayoutLattice& lattice = *problem_->lattice;
  std::set<std::uint32_t> found;
  for (const LayoutLattice::PlacedSet& set : lattice.placed_sets()) {
    std::uint64_t slices = 0;
    for (int placement = 0; placement < placements_; ++placement) {
      slices |= (set.placements & bit(placement)) != 0 ? slices_of(lattice, placement) : 0;
    }
    for (int placement = 0; placement < placements_; ++placement) {
      const std::uint32_t grown = set.placements | bit(placement);
      if ((slices & slices_of(lattice, placement)) == 0 && is_least_illegal(lattice, grown)) {
        found.insert(grown);
      }
    }
  }
  for (const std::uint32_t placements : found) {
    std::vector<int>& members = illegal_sets_.emplace_back();
    for (int placement = 0; placement < placements_; ++placement) {
      if ((placements & bit(placement)) != 0) {
        members.push_back(placement);
      }
    }
  }
}

int WindowProgram::column(Part part, const Instance& where) const {
  const int block = static_cast<int>(part);
  return ((block * steps_ + where.step) * labels_ + where.label) * placements_ + where.placement;
}

int WindowProgram::column(Served part, int tenant, int step) const {
  const int first = 3 * steps_ * labels_ * placements_;
  return first + (static_cast<int>(part) * tenants_ + tenant) * served_steps_ + step;
}

bool WindowProgram::is_initial(const Instance& where) const {
  return in_force_[at(where.label * placements_ + where.placement)] != 0;
}

bool WindowProgram::is_useful(const Instance& where) const {
  const Label& label = problem_->labels[at(where.label)];
  const std::size_t size = at(problem_->lattice->placements()[at(where.placement)].size);
  return label.speed[size] > 0 ||
         std::ranges::any_of(label.serves, [size](const Label::Output& output) {
           return output.rate_rps[size] > 0;
         });
}

void WindowProgram::for_each_instance(int step, const auto& visit) const {
  for (int label = 0; label < labels_; ++label) {
    for (int placement = 0; placement < placements_; ++placement) {
      visit(Instance{placement, label, step});
    }
  }
}

/// What counts as created: in step 0 there is no column for it, as what was in force is known.
std::vector<MilpEntry> WindowProgram::creation(const Instance& where) const {
  if (where.step > 0) {
    return {{column(Part::kCreated, where), 1}};
  }
  if (is_initial(where)) {
    return {};
  }
  return {{column(Part::kOwned, where), 1}};
}

void WindowProgram::add_instance_columns() {
  for (const Part part : {Part::kOwned, Part::kCreated, Part::kReady}) {
    for (int step = 0; step < steps_; ++step) {
      for_each_instance(step, [&](const Instance& where) {
        const Label& label = problem_->labels[at(where.label)];
        MilpColumn added{.lower = 0, .upper = 1, .is_integer = part == Part::kOwned};
        const bool is_frozen = is_initial(where) && (problem_->frozen & bit(where.placement)) != 0;
        if (part == Part::kOwned) {
          added.lower = is_frozen ? 1 : 0;
          added.upper = is_useful(where) || is_initial(where) ? 1 : 0;
          added.cost = step == 0 && !is_initial(where) ? -label.creation_cost : 0;
        } else if (part == Part::kCreated) {
          added.upper = step == 0 ? 0 : 1;
          added.cost = step == 0 ? 0 : -label.creation_cost;
        } else if (step < label.warm_up_steps && !is_initial(where)) {
          added.upper = 0;
        }
        SEPTULE_CHECK(std::cmp_equal(milp_.columns.size(), column(part, where)),
                      "columns are numbered in order");
        milp_.columns.push_back(added);
      });
    }
  }
}

void WindowProgram::add_tenant_columns() {
  const double step_s = problem_->step.to_seconds();
  for (const Served part : {Served::kOld, Served::kNew, Served::kWork, Served::kRetrained}) {
    if (part != Served::kOld && !has_retraining_) {
      break;
    }
    for (int tenant = 0; tenant < tenants_; ++tenant) {
      const GoodputTenant& who = problem_->tenants[at(tenant)];
      for (int step = 0; step < served_steps_; ++step) {
        const double arrived = step_s * who.rate_rps[at(std::min(step, steps_ - 1))];
        const double times = who.weight * (step < steps_ ? 1 : problem_->terminal_steps);
        const bool retrains = has_job(*problem_, tenant);
        MilpColumn added{.lower = 0, .upper = arrived, .is_integer = false};
        if (part == Served::kOld) {
          added.cost = times * who.accuracy;
          added.lower = !has_retraining_ && step < steps_ ? who.floor_share * arrived : 0;
        } else if (part == Served::kNew) {
          added.cost = times * who.accuracy_after;
          added.upper = retrains ? arrived : 0;
        } else if (part == Served::kWork) {
          added.upper = retrains ? kMilpUnlimited : 0;
        } else {
          added.upper = retrains ? 1 : 0;
          added.is_integer = true;
        }
        milp_.columns.push_back(added);
      }
    }
  }
}

/// Each memory slice is covered once; least illegal sets are not whole.
void WindowProgram::add_placement_rows(int step) {
  const LayoutLattice& lattice = *problem_->lattice;
  const int slices = lattice.geometry().memory_slices().value();
  for (int slice = 0; slice < slices; ++slice) {
    MilpRow row{.upper = 1, .entries = {}};
    for_each_instance(step, [&](const Instance& where) {
      if ((slices_of(lattice, where.placement) >> static_cast<unsigned>(slice) & 1U) != 0) {
        row.entries.push_back({column(Part::kOwned, where), 1});
      }
    });
    milp_.rows.push_back(std::move(row));
  }
  for (const std::vector<int>& members : illegal_sets_) {
    MilpRow row{.upper = static_cast<double>(members.size()) - 1, .entries = {}};
    for (const int placement : members) {
      for (int label = 0; label < labels_; ++label) {
        row.entries.push_back({column(Part::kOwned, {placement, label, step}), 1});
      }
    }
    milp_.rows.push_back(std::move(row));
  }
}

/// created >= owned - owned before.
void WindowProgram::add_creation_rows(int step) {
  if (step == 0) {
    return;
  }
  for_each_instance(step, [&](const Instance& where) {
    milp_.rows.push_back(
        {.lower = 0,
         .entries = {{column(Part::kCreated, where), 1},
                     {column(Part::kOwned, where), -1},
                     {column(Part::kOwned, {where.placement, where.label, step - 1}), 1}}});
  });
}

/// ready <= owned, in this step and in as many before it as it warms up.
void WindowProgram::add_readiness_rows(int step) {
  for_each_instance(step, [&](const Instance& where) {
    const int warm_up = problem_->labels[at(where.label)].warm_up_steps;
    for (int back = 0; back <= std::min(warm_up, step); ++back) {
      milp_.rows.push_back(
          {.lower = 0,
           .entries = {{column(Part::kOwned, {where.placement, where.label, step - back}), 1},
                       {column(Part::kReady, where), -1}}});
    }
  });
}

/// served <= what ready instances can do in the step; in the terminal one all that is owned can.
void WindowProgram::add_capability_rows(int step) {
  const double step_s = problem_->step.to_seconds();
  const bool is_terminal = step >= steps_;
  for (int tenant = 0; tenant < tenants_; ++tenant) {
    MilpRow row{.lower = 0, .entries = {{column(Served::kOld, tenant, step), -1}}};
    if (has_retraining_) {
      row.entries.push_back({column(Served::kNew, tenant, step), -1});
    }
    for_each_instance(is_terminal ? steps_ - 1 : step, [&](const Instance& where) {
      const std::size_t size = at(problem_->lattice->placements()[at(where.placement)].size);
      for (const Label::Output& output : problem_->labels[at(where.label)].serves) {
        if (output.tenant == tenant && output.rate_rps[size] > 0) {
          row.entries.push_back({column(is_terminal ? Part::kOwned : Part::kReady, where),
                                 step_s * output.rate_rps[size]});
        }
      }
    });
    milp_.rows.push_back(std::move(row));
  }
}

void WindowProgram::add_retraining_rows(int step) {
  const double step_s = problem_->step.to_seconds();
  for (int tenant = 0; has_retraining_ && tenant < tenants_; ++tenant) {
    const GoodputTenant& who = problem_->tenants[at(tenant)];
    const double arrived = step_s * who.rate_rps[at(std::min(step, steps_ - 1))];
    const int by_old = column(Served::kOld, tenant, step);
    const int by_new = column(Served::kNew, tenant, step);
    const double floor = step < steps_ ? who.floor_share * arrived : 0;
    milp_.rows.push_back({.lower = floor, .upper = arrived, .entries = {{by_old, 1}, {by_new, 1}}});
    if (!has_job(*problem_, tenant)) {
      continue;
    }
    const RetrainingNeed need = checked_value(who.retraining, "a job is there");
    const int work = column(Served::kWork, tenant, step);
    const int retrained = column(Served::kRetrained, tenant, step);
    milp_.rows.push_back({.lower = 0, .entries = {{retrained, arrived}, {by_new, -1}}});
    MilpRow done{.lower = 0, .entries = {{retrained, -need.work_s}}};
    if (step > 0) {
      done.entries.push_back({column(Served::kWork, tenant, step - 1), 1});
      milp_.rows.push_back(
          {.lower = 0,
           .entries = {{retrained, 1}, {column(Served::kRetrained, tenant, step - 1), -1}}});
    }
    milp_.rows.push_back(std::move(done));
    MilpRow progress{.lower = 0, .upper = 0, .entries = {{work, -1}}};
    if (step > 0) {
      progress.entries.push_back({column(Served::kWork, tenant, step - 1), 1});
    }
    if (step >= need.release_step && step < std::min(need.deadline_step, steps_)) {
      for_each_instance(step, [&](const Instance& where) {
        const Label& label = problem_->labels[at(where.label)];
        const std::size_t size = at(problem_->lattice->placements()[at(where.placement)].size);
        if (label.retrains == tenant && label.speed[size] > 0) {
          progress.entries.push_back({column(Part::kReady, where), step_s * label.speed[size]});
        }
      });
    }
    milp_.rows.push_back(std::move(progress));
  }
}

void WindowProgram::add_single_retraining_rows(int step) {
  for (int tenant = 0; tenant < tenants_; ++tenant) {
    MilpRow row{.upper = 1, .entries = {}};
    for_each_instance(step, [&](const Instance& where) {
      if (problem_->labels[at(where.label)].retrains == tenant) {
        row.entries.push_back({column(Part::kOwned, where), 1});
      }
    });
    if (!row.entries.empty()) {
      milp_.rows.push_back(std::move(row));
    }
  }
}

/// At most so many creations; what was created in the last steps is still there.
void WindowProgram::add_option_rows(int step) {
  if (problem_->changes_per_step_max) {
    MilpRow row{.upper = static_cast<double>(*problem_->changes_per_step_max), .entries = {}};
    for_each_instance(step, [&](const Instance& where) {
      const std::vector<MilpEntry> created = creation(where);
      row.entries.insert(row.entries.end(), created.begin(), created.end());
    });
    milp_.rows.push_back(std::move(row));
  }
  if (problem_->dwell_steps < 2 || step == 0) {
    return;
  }
  for_each_instance(step, [&](const Instance& where) {
    MilpRow row{.lower = 0, .entries = {{column(Part::kOwned, where), 1}}};
    for (int back = 0; back < problem_->dwell_steps && back <= step; ++back) {
      for (const MilpEntry& created : creation({where.placement, where.label, step - back})) {
        row.entries.push_back({created.column, -created.coefficient});
      }
    }
    milp_.rows.push_back(std::move(row));
  });
}

WindowProgramSizes WindowProgram::sizes() const {
  WindowProgramSizes sizes;
  sizes.columns = static_cast<int>(milp_.columns.size());
  sizes.rows = static_cast<int>(milp_.rows.size());
  sizes.integers = static_cast<int>(std::ranges::count_if(
      milp_.columns, [](const MilpColumn& column) { return column.is_integer; }));
  return sizes;
}

std::vector<LabelledLayout> WindowProgram::layouts(const std::vector<double>& values) const {
  std::vector<LabelledLayout> layouts(at(steps_));
  for (int step = 0; step < steps_; ++step) {
    for_each_instance(step, [&](const Instance& where) {
      if (values[at(column(Part::kOwned, where))] > 0.5) {
        layouts[at(step)].push_back({where.placement, where.label});
      }
    });
    std::ranges::sort(layouts[at(step)]);
  }
  return layouts;
}

void WindowProgram::value_instances(const GoodputPlan& plan, std::vector<double>& values) const {
  // Since when each instance of the last step is there; what was in force is ready.
  std::vector<int> since(in_force_.size(), kAbsent);
  for (std::size_t index = 0; index < since.size(); ++index) {
    since[index] = in_force_[index] != 0 ? kInForce : kAbsent;
  }
  for (int step = 0; step < steps_; ++step) {
    std::vector<int> now(since.size(), kAbsent);
    for (const LabelledInstance& instance : plan.layouts[at(step)]) {
      const Instance where{instance.placement, instance.label, step};
      const std::size_t index = at(instance.label * placements_ + instance.placement);
      const bool is_new = since[index] == kAbsent;
      now[index] = is_new ? step : since[index];
      const int warm_up = problem_->labels[at(instance.label)].warm_up_steps;
      const bool is_ready = now[index] == kInForce || step - now[index] >= warm_up;
      values[at(column(Part::kOwned, where))] = 1;
      values[at(column(Part::kCreated, where))] = is_new && step > 0 ? 1 : 0;
      values[at(column(Part::kReady, where))] = is_ready ? 1 : 0;
    }
    since = std::move(now);
  }
}

/// Requests and work that follow from the instances' values.
void WindowProgram::value_tenants(std::vector<double>& values) const {
  constexpr double kComplete = 1 - 1e-9;  // as goodput_problem.hpp has it
  const double step_s = problem_->step.to_seconds();
  for (int tenant = 0; tenant < tenants_; ++tenant) {
    const GoodputTenant& who = problem_->tenants[at(tenant)];
    const bool retrains = has_job(*problem_, tenant);
    double work = 0;
    bool is_retrained = false;
    for (int step = 0; step < served_steps_; ++step) {
      const bool is_terminal = step == steps_;
      double served = 0;
      double gained = 0;
      for_each_instance(is_terminal ? step - 1 : step, [&](const Instance& where) {
        const double there = values[at(column(is_terminal ? Part::kOwned : Part::kReady, where))];
        const Label& label = problem_->labels[at(where.label)];
        const std::size_t size = at(problem_->lattice->placements()[at(where.placement)].size);
        for (const Label::Output& output : label.serves) {
          served += output.tenant == tenant ? there * step_s * output.rate_rps[size] : 0;
        }
        gained += label.retrains == tenant ? there * step_s * label.speed[size] : 0;
      });
      const double arrived = step_s * who.rate_rps[at(std::min(step, steps_ - 1))];
      values[at(column(is_retrained ? Served::kNew : Served::kOld, tenant, step))] =
          std::min(served, arrived);
      if (!retrains) {
        continue;
      }
      const RetrainingNeed need = checked_value(who.retraining, "a job is there");
      work += step >= need.release_step && step < std::min(need.deadline_step, steps_) ? gained : 0;
      values[at(column(Served::kWork, tenant, step))] = work;
      values[at(column(Served::kRetrained, tenant, step))] = is_retrained ? 1 : 0;
      is_retrained = work >= need.work_s * kComplete;
    }
  }
}

std::vector<double> WindowProgram::values(const GoodputPlan& plan) const {
  SEPTULE_CHECK(std::cmp_equal(plan.layouts.size(), steps_), "a plan has a layout for each step");
  std::vector<double> values(milp_.columns.size(), 0);
  value_instances(plan, values);
  value_tenants(values);
  return values;
}

}  // namespace septule::serve
