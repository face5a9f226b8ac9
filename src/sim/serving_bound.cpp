#include "sim/serving_bound.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.hpp"
#include "serve/goodput_problem.hpp"
#include "serve/layout_dp.hpp"
#include "serve/step_bound.hpp"
#include "serve/window_problem.hpp"

namespace septule::sim {

namespace {

constexpr std::int64_t kSecondNs = 1000000000;

double best_accuracy(const serve::Tenant& tenant) {
  return tenant.retraining ? std::max(tenant.accuracy, tenant.retraining->accuracy_after)
                           : tenant.accuracy;
}

double all_answered(const job::ServingRecord& run, std::span<const serve::AdmittedTenant> tenants) {
  double sum = 0;
  for (std::size_t m = 0; m < tenants.size(); ++m) {
    const serve::Tenant& tenant = tenants[m].tenant;
    sum += tenant.weight * best_accuracy(tenant) * run.tenants[m].arrived;
  }
  return sum;
}

/// Whether every tenant's series has a point for each second of the run.
bool has_seconds(const job::ServingRecord& run) {
  const std::int64_t seconds = run.span.to_nanoseconds() / kSecondNs;
  return seconds <= serve::kGoodputStepsMax &&
         std::ranges::all_of(run.tenants, [&](const job::ServingTenantRecord& tenant) {
           return static_cast<std::int64_t>(tenant.series.size()) == seconds;
         });
}

/// The run as a window whose rates are the requests that came. Instances serve at once:
/// how long warm-ups took is not known here, and less is no mistake in a bound.
std::optional<serve::GoodputProblem> problem_of(const job::ServingRecord& run,
                                                const ServingBoundInput& input) {
  const int seconds = static_cast<int>(run.span.to_nanoseconds() / kSecondNs);
  Result<serve::GoodputProblem> made = serve::make_window_problem(
      *input.lattice, input.tenants, {.begin = {}, .step_count = seconds, .warm_up_steps = 0});
  if (!made) {
    return std::nullopt;
  }
  serve::GoodputProblem problem = std::move(made).value();
  for (std::size_t m = 0; m < problem.tenants.size(); ++m) {
    serve::GoodputTenant& tenant = problem.tenants[m];
    tenant.floor_share = 0;
    for (std::size_t second = 0; second < tenant.rate_rps.size(); ++second) {
      tenant.rate_rps[second] = run.tenants[m].series[second].arrived;
    }
    const auto& job = input.tenants[m].tenant.retraining;
    if (job && job->period && *job->period < run.span) {
      // Several jobs: the better model from the first second on is more than any of them gives.
      tenant.accuracy = best_accuracy(input.tenants[m].tenant);
      tenant.accuracy_after = tenant.accuracy;
    }
  }
  return problem;
}

}  // namespace

double ServingBounds::of(const job::ServingRecord& run) const {
  constexpr double kRounding = 1e-9;
  if (!relaxed || run.weighted_goodput > *relaxed * (1 + kRounding)) {
    return answered;
  }
  return std::max(*relaxed, run.weighted_goodput);
}

ServingBounds serving_bounds(const job::ServingRecord& run,
                             const ServingBoundInput& input,
                             WorkBudget& budget) {
  SEPTULE_CHECK(input.lattice != nullptr, "a bound is for a GPU model");
  SEPTULE_CHECK(run.tenants.size() == input.tenants.size(), "a run is of the tenants given");
  ServingBounds bounds{.answered = all_answered(run, input.tenants), .relaxed = std::nullopt};
  if (run.mode != "fluid" || !has_seconds(run)) {
    return bounds;
  }
  const std::optional<serve::GoodputProblem> problem = problem_of(run, input);
  if (!problem || (run.gpu_count > 1 && problem->step_count > kBoundStepsMax)) {
    return bounds;
  }
  const Result<double> relaxed = run.gpu_count == 1
                                     ? serve::multiset_bound(*problem, budget)
                                     : serve::step_bound(*problem, run.gpu_count, budget);
  if (relaxed && std::isfinite(*relaxed) && *relaxed < bounds.answered) {
    bounds.relaxed = *relaxed;
  }
  return bounds;
}

}  // namespace septule::sim
