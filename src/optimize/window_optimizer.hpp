#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "base/work_budget.hpp"
#include "gpu/layout.hpp"
#include "gpu/sharing_template.hpp"
#include "plan/plan.hpp"
#include "plan/schedule.hpp"
#include "plan/window.hpp"
#include "predict/co_run_model.hpp"
#include "predict/job_traits.hpp"

namespace septule::optimize {

/// What the time of a group is when its jobs do not end together: each a metric with a name.
enum class GroupClock {
  kSteadyState,  ///< sum of solo times / sum of rates: as if every job were replaced by its like
  kIdle,         ///< the last job's end; what ended jobs had lies idle (the paper)
  kSpeedUp,      ///< the last job's end; survivors speed up where the hardware lets them: the rest
                 ///< of the domain's clients, percentages unchanged
  kRefill,       ///< no barrier: the next job takes the seat that got free (ours)
};
std::string_view group_clock_name(GroupClock clock);
std::optional<GroupClock> parse_group_clock(std::string_view text);

/// How long the driver takes to change a GPU, serialised. Empty vectors = nothing costs anything.
struct SwitchCosts {
  std::vector<Duration> create;   ///< GPU instance with compute instance, by ProfileIndex
  std::vector<Duration> destroy;  ///< by ProfileIndex
  Duration compute_create;        ///< one more compute instance
  Duration compute_destroy;
  Duration mig_toggle;  ///< MIG on or off
};

/// How a GPU is cut: its instances with their compute instances. Nothing = MIG off.
using GpuCut = std::optional<gpu::Partition>;

/// A window of jobs for one GPU. Borrowed pointers outlive the call. Plain value.
struct WindowProblem {
  std::span<const plan::WindowJob> jobs;
  const predict::CoRunModel* model = nullptr;        ///< its jobs are those of `jobs`
  const gpu::SharingCatalogue* catalogue = nullptr;  ///< its geometry is the GPU's
  std::span<const predict::JobTraits> traits;        ///< as many as jobs; for learned methods
  plan::SharingRules rules;
  GroupClock clock = GroupClock::kSpeedUp;
  const SwitchCosts* costs = nullptr;  ///< null = switching costs nothing
  GpuCut initial;                      ///< how the GPU is cut at the begin
};

/// What an optimizer proves of its answer.
struct WindowCertificate {
  plan::Proof proof = plan::Proof::kNone;
  /// Optimal among which schedules, half a sentence: "schedules of full groups with barriers".
  /// Static lifetime; empty without proof.
  std::string_view scope;
  /// No schedule whatever takes less, with or without barriers; nothing = not worked out.
  std::optional<Duration> lower_bound;
};

/// A window's answer. `time` is what the problem's clock says; the schedule's makespan unless the
/// clock is kSteadyState (then each run is laid out over its group's time).
struct WindowAnswer {
  plan::Schedule schedule;
  Duration time;
  std::string_view method;  ///< "exact"; static lifetime
  WindowCertificate certificate;
  std::int64_t units_spent = 0;
};

/// Search for a schedule of a window. Implementations are immutable; any thread. Equal problems
/// give equal answers.
class WindowOptimizer {
 public:
  WindowOptimizer() = default;
  WindowOptimizer(const WindowOptimizer&) = delete;
  WindowOptimizer& operator=(const WindowOptimizer&) = delete;
  virtual ~WindowOptimizer() = default;

  /// As `septule window --method` lists it.
  virtual std::string_view name() const = 0;
  /// An empty window gives an empty schedule. Fails with kBlocked, naming the job, where a job fits
  /// no template alone (memory, no known speed anywhere, below the fairness floor everywhere); with
  /// kInvalidInput for a window beyond what the method takes, naming the limit and a method that
  /// takes it; with kTimedOut where the budget ends before any answer is found.
  virtual Result<WindowAnswer> optimize(const WindowProblem& problem, WorkBudget& budget) const = 0;
};

/// kInvalidInput for what no caller may hand over: missing pointers, counts that differ, solo times
/// not positive or together beyond kWindowTimeMax, names twice, fairness outside [0, 1].
Status check_window_problem(const WindowProblem& problem);

}  // namespace septule::optimize
