#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "serve/layout_lattice.hpp"

namespace septule::serve {

// One GPU over a window of steps: what to plan and what a plan is (serving.md 2.3). Planners:
// layout_dp.hpp (exact), retraining_search.hpp, window_milp.hpp; goodput_checker.hpp judges their
// plans and shares no code with them.

/// What an instance may be used for. Most labels serve one tenant; a pair label serves two under
/// MPS; a retraining label serves nobody.
struct Label {
  struct Output {
    int tenant = 0;
    SizeTable<double> rate_rps{};  ///< within the SLO; 0 = not on this size
  };
  std::string name;             ///< "bert", "bert retrains", "bert+vgg19 60/40"
  std::vector<Output> serves;   ///< empty for retraining
  std::optional<int> retrains;  ///< tenant
  SizeTable<double> speed{};    ///< of retraining, relative to the whole GPU; 0 = does not fit
  int warm_up_steps = 1;        ///< steps after creation in which it yields nothing, >= 0
  double creation_cost = 0;     ///< goodput lost per creation (wear, disturbance), >= 0
  int group = 0;                ///< labels of one group may share an MPS server (HandOver)
  SizeTable<double> memory{};   ///< of an instance of the size: the share it takes; 0 = unknown
};

/// What becomes of the use of an instance that stays and gets another label.
enum class HandOver {
  kNone,     ///< it stops at once
  kRelabel,  ///< where it serves, it goes on until the new one is ready
};

struct RetrainingNeed {
  double work_s = 0;      ///< left at the begin of the window
  int release_step = 0;   ///< no work before
  int deadline_step = 0;  ///< work counts in steps < this
};

struct GoodputTenant {
  std::string name;
  double weight = 1;
  double accuracy = 1;           ///< of the model that answers
  double accuracy_after = 1;     ///< once retrained
  std::vector<double> rate_rps;  ///< by step
  double floor_share = 0;        ///< of the arrivals, in every step
  std::optional<RetrainingNeed> retraining;
};

/// An instance with its use; `placement` indexes LayoutLattice::placements().
struct LabelledInstance {
  int placement = 0;
  int label = 0;
  friend constexpr auto operator<=>(const LabelledInstance&, const LabelledInstance&) = default;
};
/// By placement.
using LabelledLayout = std::vector<LabelledInstance>;

/// Steps 0 .. step_count-1. `initial` is in force, and ready, before step 0; the layout of step -1.
/// - An instance of the layout of step t that was not in the layout of t-1 with the same label is
///   created at the begin of t and yields nothing in the steps t .. t + warm_up_steps - 1. One that
///   leaves and comes back is created anew.
/// - With HandOver::kRelabel, where the placement of an instance created at t was in the layout of
///   t-1 with another label, that label hands over to the new one: what it yields goes on in the
///   steps t .. t + warm_up_steps - 1 of the new one, as long as that is there. It must serve, be
///   of the new one's group, fit beside it (`memory` of both at most 1, to 1e-9) and be ready in
///   step t. One that is not ready, and has something handed over to it, passes that on under the
///   same conditions, to the very label it came from under none. Creation cost, limit on changes
///   and dwell are as ever.
/// - A tenant serves in a step its arrivals or the sum of the rates of its ready instances, and of
///   what is handed over, if that is less.
/// - A layout has at most one instance that retrains a tenant, warming up or not. Retraining
///   advances by speed * step of the ready one, in the steps release_step .. deadline_step - 1
///   only; it may be interrupted and moved, which loses no work done. It is complete once the sum
///   is work_s (to 1e-9 of it); the retrained model answers from the next step on.
/// - Goodput = sum of weight * accuracy * requests served - creation costs (serving.md 2.3).
/// - Terminal value = terminal_steps times what a step with the rates of the last one would give
///   with every instance of the last layout ready and the models that answer after the last step.
/// - Floors are hard: in every step a tenant serves at least floor_share of its arrivals. So are
///   `frozen`, the limit on created instances in a step, and the dwell: an instance created at t is
///   in the layouts t .. t + dwell_steps - 1 as far as the window goes (those of `initial` may
///   leave at once).
struct GoodputProblem {
  const LayoutLattice* lattice = nullptr;
  Duration step = Duration::milliseconds(1000);
  int step_count = 0;
  std::vector<GoodputTenant> tenants;
  std::vector<Label> labels;
  LabelledLayout initial;
  std::uint32_t frozen = 0;                 ///< placements of `initial` that must stay as they are
  int terminal_steps = 0;                   ///< the last layout is valued for so many more steps
  std::optional<int> changes_per_step_max;  ///< created instances
  int dwell_steps = 0;                      ///< an instance stays at least so long
  HandOver hand_over = HandOver::kNone;
};

/// Limits of a problem.
inline constexpr int kGoodputStepsMax = 100'000;
inline constexpr int kGoodputTenantsMax = 64;
inline constexpr int kGoodputLabelsMax = 256;

/// Sizes agree, indices exist, numbers are finite and within range; kInvalidInput otherwise, naming
/// tenant, label or instance. Every planner asks this first.
Status validate(const GoodputProblem& problem);

enum class GoodputProof {
  kNone,     ///< feasible; `bound` says how good
  kOptimal,  ///< no plan of the problem is better
};

/// A plan with what is known of how good it is.
struct GoodputPlan {
  std::vector<LabelledLayout> layouts;             ///< by step: what is owned in it
  std::vector<std::optional<int>> retrained_from;  ///< by tenant: first step the new model
                                                   ///< answers, step_count if after the window
  double goodput = 0;    ///< of the plan, creation costs taken off; without terminal value
  double objective = 0;  ///< goodput plus terminal value: what was maximised
  double bound = 0;      ///< no plan's objective is above this
  GoodputProof proof = GoodputProof::kNone;
  std::string_view method;        ///< "layout-dp", ...; static lifetime
  std::string_view bound_method;  ///< "layout-dp", "multisets", "joint-multisets", "arrivals", ...
  std::int64_t units_spent = 0;
};

}  // namespace septule::serve
