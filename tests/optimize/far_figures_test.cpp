// FAR and ours against published times and the authors' reference runs (docs/benchmarks.md,
// "Moldable tasks"); bench/far_report prints the figures.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "optimize/far_references.hpp"
#include "optimize/moldable_cases.hpp"
#include "support/shared_data.hpp"

namespace septule::optimize::test {
namespace {

constexpr int kDraws = 60;

/// FAR's makespan of Rodinia over the area bound.
struct RodiniaRun {
  double makespan = 0;
  double ratio = 0;
  double ours = 0;
  double fixed = 0;
};
RodiniaRun rodinia_run(const MoldableProblem& problem) {
  WorkBudget budget(kMoldableUnits);
  const auto answer = search_moldable(problem, budget);
  const auto bounds = moldable_bounds(problem);
  SEPTULE_CHECK(answer.has_value() && bounds.has_value(), "Rodinia can be scheduled");
  return {answer->far.to_seconds(),
          answer->far.to_seconds() / bounds->area.to_seconds(),
          answer->schedule.makespan.to_seconds(),
          answer->best_static.value_or(Duration()).to_seconds()};
}

TEST(FarFigures, Rodinia_PublishedTimes_GivePublishedRatio) {
  // 12.61 s and 1.217 over the bound on the A100, 20.20 s and 1.057 on the A30, within 1 %; ours
  // is better than FAR and the best static partition on both.
  SEPTULE_REQUIRE_SHARED(file, "data/hierarchical/far_rodinia_mig_times.csv");
  const septule::test::MoldableBench a100("A100-40GB");
  const septule::test::MoldableBench a30("A30-24GB");
  const RodiniaRun big =
      rodinia_run(rodinia_tasks(a100.gpu(), file, "A100", "mean_s_as_published"));
  EXPECT_NEAR(big.ratio / 1.217, 1, 0.01);
  EXPECT_NEAR(big.makespan / 12.61, 1, 0.01);
  const RodiniaRun small =
      rodinia_run(rodinia_tasks(a30.gpu(), file, "A30", "mean_s_as_published"));
  EXPECT_NEAR(small.ratio / 1.057, 1, 0.01);
  for (const RodiniaRun& run : {big, small}) {
    EXPECT_LT(run.ours, run.makespan);
    EXPECT_LE(run.ours, run.fixed);
  }
}

TEST(FarFigures, Rodinia_DescaledTimes_StaticBeatsFarAndOursBoth) {
  // The case in which FAR (12.68 s) loses to a static partition.
  SEPTULE_REQUIRE_SHARED(file, "data/hierarchical/far_rodinia_mig_times.csv");
  const septule::test::MoldableBench a100("A100-40GB");
  const RodiniaRun run = rodinia_run(rodinia_tasks(a100.gpu(), file, "A100", "mean_s_descaled"));
  EXPECT_NEAR(run.makespan / 12.68, 1, 0.01);
  EXPECT_LT(run.fixed, run.makespan);
  EXPECT_LE(run.ours, run.fixed);
}

TEST(FarFigures, Drawn_ReferenceRows_AreWithinThreeErrors) {
  // The authors' means of 60 draws against ours, each with its own chance: 17 of 18 rows lie within
  // three standard errors. The other one (good, 90-100 s, 10 tasks) was drawn from tasks that use
  // less area by 5 % than the generator gives on average, which all-1g over the bound shows without
  // FAR (1.67 there, 1.76 here).
  SEPTULE_REQUIRE_SHARED(file, "data/hierarchical/far_reference_runs_synthetic_a100.csv");
  const septule::test::MoldableBench a100("A100-40GB");
  int within = 0;
  int rows = 0;
  for (const FarRow& row : far_rows(file)) {
    Mean ratio;
    for_each_draw(a100.gpu(), row, kDraws, [&](const MoldableProblem& problem) {
      WorkBudget budget(kMoldableUnits);
      ratio.add(far_schedule(problem, budget)->makespan.to_seconds() /
                moldable_bounds(problem, 0)->area.to_seconds());
    });
    const double errors = std::abs(ratio.mean() - *row.ratio) / (std::sqrt(2.0) * ratio.error());
    within += errors <= 3 ? 1 : 0;
    ++rows;
    EXPECT_LE(errors, 5) << row.tasks << " " << moldable_mix_name(row.mix);
  }
  EXPECT_EQ(rows, 18);
  EXPECT_GE(within, 17);
}

TEST(FarFigures, Drawn_WhereFarStandsAbove106_OursIsThreePercentBelow) {
  // The bar of this method, on a third of the report's draws, by mix: n = 20 and 30.
  const septule::test::MoldableBench a100("A100-40GB");
  for (const std::size_t tasks : {std::size_t{20}, std::size_t{30}}) {
    for (int mix = 0; mix < kMoldableMixCount; ++mix) {
      double far = 0;
      double ours = 0;
      for (const bool is_wide : {true, false}) {
        const FarFigures figures = far_figures(
            a100.gpu(), {tasks, static_cast<MoldableMix>(mix), is_wide, {}}, kDraws / 3);
        EXPECT_EQ(figures.worse, 0);
        far += figures.far.mean() / 2;
        ours += figures.search.mean() / 2;
      }
      if (far > 1.06) {
        EXPECT_LE(ours, 0.97 * far) << tasks << " " << mix;
      }
    }
  }
}

}  // namespace
}  // namespace septule::optimize::test
