#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/window_optimizer.hpp"
#include "optimize/window_support.hpp"
#include "predict/job_generator.hpp"
#include "predict/law_co_run.hpp"
#include "support/window_faults.hpp"

namespace septule::optimize::test {

using septule::test::gpu_of;
using septule::test::RandomWindow;

/// Some of the templates of a GPU, time sharing and the whole GPU as one instance among them.
inline gpu::SharingCatalogue some_templates(const gpu::Geometry& geometry, Rng& rng, int of_ten) {
  auto catalogue = gpu::make_sharing_catalogue(geometry, {});
  SEPTULE_CHECK(catalogue.has_value(), "the GPU has templates");
  gpu::SharingCatalogue some = std::move(catalogue).value();
  std::erase_if(some.templates, [&](const gpu::SharingTemplate& one) {
    return one.concurrency > 1 && !rng.chance(static_cast<std::uint64_t>(of_ten), 10);
  });
  return some;
}

enum class ModelKind { kLaws, kChance };

struct WindowDrawing {
  std::size_t jobs = 6;
  ModelKind model = ModelKind::kLaws;
  int templates_of_ten = 3;
  bool has_costs = false;
  double fairness = 0;
  bool has_users = false;
};

/// The problem's pointers are into the window returned, which therefore stands on the heap.
inline std::unique_ptr<RandomWindow> random_window(const WindowDrawing& draw, std::uint64_t seed) {
  Rng rng(seed);
  const gpu::Geometry& geometry = gpu_of("A100-40GB");
  auto window = std::make_unique<RandomWindow>();
  window->catalogue = some_templates(geometry, rng, draw.templates_of_ten);
  const predict::JobGenerator generator(geometry, seed);
  std::vector<predict::LawJob> laws;
  for (std::size_t j = 0; j < draw.jobs; ++j) {
    const predict::GeneratedJob job = generator.job(j);
    laws.push_back(job.law);
    plan::WindowJob& own = window->jobs.emplace_back();
    own.name = job.name;
    own.user = draw.has_users ? (rng.chance(1, 2) ? "a" : "b") : "a";
    own.memory = rng.chance(1, 12) ? std::optional<Bytes>()
                                   : Bytes::mebibytes(std::uint64_t{512} << rng.below(6));
    own.solo = Duration::milliseconds(static_cast<std::int64_t>(1000 + rng.below(20000)));
  }
  if (draw.model == ModelKind::kLaws) {
    auto model = predict::LawCoRunModel::make(geometry, laws, window->catalogue.domains);
    SEPTULE_CHECK(model.has_value(), "generated jobs have valid laws");
    window->model = std::move(model).value();
  } else {
    // The whole GPU runs everybody, so that no job is blocked.
    window->model = std::make_unique<septule::test::RandomCoRun>(
        draw.jobs,
        septule::test::RandomCoRun::Kind{.seed = seed,
                                         .only_slows = false,
                                         .zero_percent = rng.chance(1, 2) ? 0U : 10U,
                                         .steps = 100000});
  }
  if (draw.has_costs) {
    for (std::size_t p = 0; p < geometry.profiles().size(); ++p) {
      window->costs.create.push_back(Duration::milliseconds(100 + 10 * static_cast<int>(p)));
      window->costs.destroy.push_back(Duration::milliseconds(150));
    }
    window->costs.compute_create = Duration::milliseconds(20);
    window->costs.compute_destroy = Duration::milliseconds(15);
    window->costs.mig_toggle = Duration::milliseconds(900);
  }
  WindowProblem& problem = window->problem;
  problem.jobs = window->jobs;
  problem.model = window->model.get();
  problem.catalogue = &window->catalogue;
  problem.rules.fairness = draw.fairness;
  problem.costs = draw.has_costs ? &window->costs : nullptr;
  return window;
}

/// The independent checker finds nothing.
inline void expect_clean(const WindowProblem& problem, const WindowAnswer& answer) {
  EXPECT_EQ(septule::test::wrong_with(problem, answer), "");
}

/// Equal problems get equal answers, to the letter of the schedule.
inline void expect_same_answer_twice(const WindowOptimizer& method,
                                     const RandomWindow& window,
                                     std::int64_t units) {
  WorkBudget one(units);
  WorkBudget two(units);
  const auto a = method.optimize(window.problem, one);
  const auto b = method.optimize(window.problem, two);
  ASSERT_TRUE(a.has_value());
  ASSERT_TRUE(b.has_value());
  EXPECT_EQ(plan::schedule_text(a->schedule, window.jobs),
            plan::schedule_text(b->schedule, window.jobs));
}

}  // namespace septule::optimize::test
