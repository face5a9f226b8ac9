#include "optimize/answer_bound.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "optimize/group_support.hpp"
#include "optimize/random_windows.hpp"
#include "optimize/window_bound.hpp"
#include "optimize/window_methods.hpp"

namespace septule::optimize {
namespace {

/// The bound, and that no method's answer is below it.
Duration bound_below_all(const WindowProblem& problem, const std::string& label) {
  WorkBudget budget(INT64_C(1'000'000'000));
  const auto bound = bound_answers(problem, budget);
  EXPECT_TRUE(bound.has_value() && bound->has_value()) << label;
  const Duration lower = bound.has_value() ? bound->value_or(Duration()) : Duration();
  for (const WindowMethod& method : window_methods()) {
    if (!method.needs_learned) {
      const auto optimizer = make_window_method(method.name, {});
      WorkBudget own(50'000);
      const auto answer = (*optimizer)->optimize(problem, own);
      EXPECT_TRUE(!answer.has_value() || lower <= answer->time) << label << ", " << method.name;
    }
  }
  return lower;
}

TEST(AnswerBound, MoreInstancesThanConcurrency_HoldsForFarToo) {
  // Aim: jobs that are as fast on the smallest instance run seven at a time by FAR, though groups
  // have fewer; no bound says that it cannot be.
  const gpu::Geometry& geometry = test::gpu_of("A100-40GB");
  for (const int concurrency : {1, 2, 4, 7}) {
    auto catalogue = gpu::make_sharing_catalogue(
        geometry, {.concurrency_max = concurrency, .families = {gpu::SharingFamily::kMigPrivate}});
    ASSERT_TRUE(catalogue.has_value());
    const test::PlainCoRun model(std::vector<test::PlainCoRun::Job>(14));
    std::vector<plan::WindowJob> jobs;
    for (int j = 0; j < 14; ++j) {
      jobs.push_back(test::window_job("j" + std::to_string(j), 100));
    }
    WindowProblem problem;
    problem.jobs = jobs;
    problem.model = &model;
    problem.catalogue = &*catalogue;
    const Duration lower = bound_below_all(problem, std::to_string(concurrency));
    EXPECT_NEAR(lower.to_seconds(), 200, 0.001) << concurrency;
  }
}

TEST(AnswerBound, RandomWindows_HoldsForAllMethods) {
  // Aim: whatever the laws, costs and templates, no answer is below the bound.
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    const auto window = test::random_window({.jobs = 7, .has_costs = seed % 2 == 0}, seed);
    bound_below_all(window->problem, std::to_string(seed));
  }
}

}  // namespace
}  // namespace septule::optimize
