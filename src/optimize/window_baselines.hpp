#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/window_optimizer.hpp"

namespace septule::optimize {

/// Which templates a baseline may use.
enum class Baseline {
  kTimeSharing,    ///< one job at a time on the whole GPU
  kMpsOnly,        ///< the whole GPU, MIG off, MPS
  kMigOnly,        ///< GPU instances or compute instances, one job in each
  kMigMpsDefault,  ///< all, without percentages
};
std::string_view baseline_name(Baseline baseline);

/// The templates of a catalogue that a baseline may use, in the same order (the domains stay). Time
/// sharing is part of each, so that none is worse than it.
gpu::SharingCatalogue baseline_catalogue(const gpu::SharingCatalogue& all, Baseline baseline);

/// Methods `time-sharing`, `mps-only`, `mig-only`, `mig-mps-default`: the best that can be done
/// with a part of the templates. Up to kTableJobsMax jobs: the exact method on that part, so
/// kOptimal among its schedules; beyond, the exact method piece by piece (optimize_in_pieces()), no
/// proof. Fails as WindowDp does (its limit aside). Cost: that of WindowDp.
class BaselineOptimizer final : public WindowOptimizer {
 public:
  explicit BaselineOptimizer(Baseline baseline) : baseline_(baseline) {}
  std::string_view name() const override { return baseline_name(baseline_); }
  Result<WindowAnswer> optimize(const WindowProblem& problem, WorkBudget& budget) const override;

 private:
  Baseline baseline_;
};

}  // namespace septule::optimize
