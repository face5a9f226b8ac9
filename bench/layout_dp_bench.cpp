// One GPU over a window of serving (docs/benchmarks.md): the exact program over labelled layouts,
// the multiset bound. Cases: tests/serve/window_cases.hpp; arrivals of the Twitter day with
// SEPTULE_SHARED, made up without.
#include <cstdint>

#include <benchmark/benchmark.h>

#include "base/check.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "serve/goodput_checker.hpp"
#include "serve/layout_dp.hpp"
#include "serve/retraining_search.hpp"
#include "serve/window_cases.hpp"

namespace septule {
namespace {

using serve::test::CaseArrivals;
using serve::test::CaseOptions;

constexpr std::int64_t kUnits = 100'000'000'000;

const serve::LayoutLattice& lattice() {
  static const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  static const auto made =
      serve::LayoutLattice::make(**catalogue.find("A100-80GB"), gpu::ProfileSet::kPlain);
  SEPTULE_CHECK(made.has_value(), "the A100 has layouts");
  return *made;
}

void report(benchmark::State& state,
            const serve::GoodputProblem& problem,
            const serve::GoodputPlan& plan) {
  SEPTULE_CHECK(serve::check_goodput_plan(problem, plan).violations.empty(), "plans are sound");
  state.counters["goodput"] = plan.goodput;
  state.counters["bound"] = plan.bound;
  state.counters["gap_percent"] = 100 * (plan.bound / plan.objective - 1);
}

// Exact plans of 200 x 1 s. Arguments: tenants, whether instances are handed over.
void bm_layout_dp(benchmark::State& state) {
  const CaseOptions options{.tenants = static_cast<int>(state.range(0)),
                            .arrivals = CaseArrivals::kTrace};
  serve::GoodputProblem problem = make_case(lattice(), options);
  problem.hand_over = state.range(1) != 0 ? serve::HandOver::kRelabel : serve::HandOver::kNone;
  serve::GoodputPlan plan;
  for (auto _ : state) {
    WorkBudget budget(kUnits);
    auto made = plan_layouts(problem, budget);
    SEPTULE_CHECK(made.has_value(), "the window has a plan");
    plan = *std::move(made);
  }
  SEPTULE_CHECK(plan.proof == serve::GoodputProof::kOptimal, "the program is exact");
  report(state, problem, plan);
}
BENCHMARK(bm_layout_dp)->ArgsProduct({{2, 3, 4}, {0, 1}})->Unit(benchmark::kMillisecond);

// The multiset relaxation of the same windows. Argument: tenants.
void bm_multiset_bound(benchmark::State& state) {
  const CaseOptions options{.tenants = static_cast<int>(state.range(0)),
                            .arrivals = CaseArrivals::kTrace};
  const serve::GoodputProblem problem = make_case(lattice(), options);
  double bound = 0;
  for (auto _ : state) {
    WorkBudget budget(kUnits);
    bound = *multiset_bound(problem, budget);
  }
  state.counters["bound"] = bound;
}
BENCHMARK(bm_multiset_bound)->Arg(2)->Arg(3)->Arg(4)->Unit(benchmark::kMillisecond);

// Retraining over 40 x 5 s. Arguments: tenants, work of each in seconds on the whole GPU.
void bm_retraining(benchmark::State& state) {
  const CaseOptions options{.tenants = static_cast<int>(state.range(0)),
                            .steps = 40,
                            .step_s = 5,
                            .work_s = static_cast<double>(state.range(1)),
                            .arrivals = CaseArrivals::kTrace};
  const serve::GoodputProblem problem = make_case(lattice(), options);
  serve::GoodputPlan plan;
  for (auto _ : state) {
    WorkBudget budget(kUnits);
    auto made = plan_window(problem, budget);
    SEPTULE_CHECK(made.has_value(), "the window has a plan");
    plan = *std::move(made);
  }
  state.SetLabel(std::string(plan.method) + ", bound: " + std::string(plan.bound_method));
  report(state, problem, plan);
}
BENCHMARK(bm_retraining)->ArgsProduct({{2, 3, 4}, {10, 20, 30}})->Unit(benchmark::kMillisecond);

// The same two tenants by the exact joint program over placed layouts and work levels: the
// yardstick of the search above. Argument: work.
void bm_retraining_exact(benchmark::State& state) {
  const CaseOptions options{.tenants = 2,
                            .steps = 40,
                            .step_s = 5,
                            .work_s = static_cast<double>(state.range(0)),
                            .arrivals = CaseArrivals::kTrace};
  const serve::GoodputProblem problem = make_case(lattice(), options);
  serve::GoodputPlan plan;
  for (auto _ : state) {
    WorkBudget budget(kUnits);
    auto made = plan_window(problem, budget, {.exact_units_max = kUnits});
    SEPTULE_CHECK(made.has_value(), "the window has a plan");
    plan = *std::move(made);
  }
  state.SetLabel(std::string(plan.method));
  report(state, problem, plan);
}
BENCHMARK(bm_retraining_exact)->Arg(10)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace septule
