#include "optimize/window_baselines.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "optimize/window_dp.hpp"
#include "optimize/window_pieces.hpp"

namespace septule::optimize {

namespace {

using gpu::SharingFamily;

/// Proven among the templates of the baseline only.
std::string_view scope_of(Baseline baseline) {
  switch (baseline) {
    case Baseline::kTimeSharing:
      return "schedules of one job at a time";
    case Baseline::kMpsOnly:
      return "schedules of full groups with barriers, MPS on the whole GPU only";
    case Baseline::kMigOnly:
      return "schedules of full groups with barriers, MIG without MPS";
    case Baseline::kMigMpsDefault:
      return "schedules of full groups with barriers, MPS without percentages";
  }
  SEPTULE_CHECK(false, "every Baseline has a scope");
}

bool has_percentage(const gpu::SharingCatalogue& catalogue, const gpu::SharingTemplate& sharing) {
  return std::ranges::any_of(sharing.domains, [&](std::size_t domain) {
    return std::ranges::any_of(catalogue.domains[domain].seats,
                               [](const gpu::Seat& seat) { return seat.atp.has_value(); });
  });
}

bool may_use(const gpu::SharingCatalogue& catalogue,
             const gpu::SharingTemplate& sharing,
             Baseline baseline) {
  if (sharing.family == SharingFamily::kTimeSharing) {
    return true;
  }
  switch (baseline) {
    case Baseline::kTimeSharing:
      return false;
    case Baseline::kMpsOnly:
      return sharing.family == SharingFamily::kMpsOnly;
    case Baseline::kMigOnly:
      return sharing.family == SharingFamily::kMigPrivate ||
             sharing.family == SharingFamily::kMigShared;
    case Baseline::kMigMpsDefault:
      return !has_percentage(catalogue, sharing);
  }
  SEPTULE_CHECK(false, "every Baseline has its templates");
}

}  // namespace

std::string_view baseline_name(Baseline baseline) {
  switch (baseline) {
    case Baseline::kTimeSharing:
      return "time-sharing";
    case Baseline::kMpsOnly:
      return "mps-only";
    case Baseline::kMigOnly:
      return "mig-only";
    case Baseline::kMigMpsDefault:
      return "mig-mps-default";
  }
  SEPTULE_CHECK(false, "every Baseline has a name");
}

gpu::SharingCatalogue baseline_catalogue(const gpu::SharingCatalogue& all, Baseline baseline) {
  gpu::SharingCatalogue part{.geometry = all.geometry, .domains = all.domains, .templates = {}};
  for (const gpu::SharingTemplate& sharing : all.templates) {
    if (may_use(all, sharing, baseline)) {
      part.templates.push_back(sharing);
    }
  }
  return part;
}

Result<WindowAnswer> BaselineOptimizer::optimize(const WindowProblem& problem,
                                                 WorkBudget& budget) const {
  SEPTULE_TRY_STATUS(check_window_problem(problem));
  const gpu::SharingCatalogue part = baseline_catalogue(*problem.catalogue, baseline_);
  WindowProblem narrowed = problem;
  narrowed.catalogue = &part;
  bool is_proven = false;
  const GroupMaker make = [&](const GroupTable& table, WorkBudget& left) {
    SeatedSequence best = best_sequence(table, left);
    is_proven = best.is_proven && table.costs().job_count() == problem.jobs.size();
    return best;
  };
  SEPTULE_TRY(WindowAnswer answer, optimize_in_pieces(narrowed, budget, name(), make));
  if (is_proven) {
    answer.certificate.proof = plan::Proof::kOptimal;
    answer.certificate.scope = scope_of(baseline_);
  }
  return answer;
}

}  // namespace septule::optimize
