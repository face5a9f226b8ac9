#include "serve/goodput_problem.hpp"

#include <functional>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "serve/goodput_support.hpp"

namespace septule::serve {
namespace {

using test::a30;
using test::draw_problem;

GoodputProblem good_problem() {
  return draw_problem(a30(), 4, {.steps = 3, .has_initial = false, .retrains = true});
}

TEST(ValidateGoodputProblem_Good, DrawnProblems_AreValid) {
  // What the other tests draw passes.
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const GoodputProblem problem = draw_problem(a30(), seed, {.retrains = true});
    const Status status = validate(problem);
    EXPECT_TRUE(status.is_ok()) << (status.is_ok() ? "" : status.error().message);
  }
}

TEST(ValidateGoodputProblem_Bad, EveryBrokenField_IsNamed) {
  // One field broken at a time: the message names where, and is one line.
  struct Broken {
    std::string named;
    std::function<void(GoodputProblem&)> how;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Broken> cases = {
      {"window", [](auto& p) { p.lattice = nullptr; }},
      {"step", [](auto& p) { p.step = Duration(); }},
      {"steps", [](auto& p) { p.step_count = 0; }},
      {"steps", [](auto& p) { p.step_count = kGoodputStepsMax + 1; }},
      {"tenants", [](auto& p) { p.tenants.clear(); }},
      {"labels", [](auto& p) { p.labels.clear(); }},
      {"terminal_steps", [](auto& p) { p.terminal_steps = -1; }},
      {"dwell_steps", [](auto& p) { p.dwell_steps = -1; }},
      {"changes_per_step_max", [](auto& p) { p.changes_per_step_max = -1; }},
      {"tenant0", [=](auto& p) { p.tenants[0].weight = nan; }},
      {"tenant0", [](auto& p) { p.tenants[0].accuracy = 1.1; }},
      {"tenant1", [](auto& p) { p.tenants[1].accuracy_after = -0.1; }},
      {"tenant1", [](auto& p) { p.tenants[1].floor_share = 2; }},
      {"tenant0", [](auto& p) { p.tenants[0].rate_rps.pop_back(); }},
      {"step 1", [](auto& p) { p.tenants[0].rate_rps[1] = -1; }},
      {"tenant0", [](auto& p) { p.tenants[0].retraining->work_s = 0; }},
      {"release_step", [](auto& p) { p.tenants[0].retraining->release_step = -1; }},
      {"deadline_step", [](auto& p) { p.tenants[0].retraining->deadline_step = -1; }},
      {"label 'tenant0'", [](auto& p) { p.labels[0].serves[0].tenant = 7; }},
      {"twice", [](auto& p) { p.labels[0].serves.push_back(p.labels[0].serves[0]); }},
      {"rate", [=](auto& p) { p.labels[0].serves[0].rate_rps[1] = nan; }},
      {"retrains tenant", [](auto& p) { p.labels[1].retrains = -1; }},
      {"one of both", [](auto& p) { p.labels[0].retrains = 0; }},
      {"speed", [](auto& p) { p.labels[1].speed[0] = -1; }},
      {"warm_up_steps", [](auto& p) { p.labels[0].warm_up_steps = -1; }},
      {"creation_cost", [](auto& p) { p.labels[0].creation_cost = -1; }},
      {"placement 99", [](auto& p) { p.initial = {{99, 0}}; }},
      {"ascending", [](auto& p) { p.initial = {{1, 0}, {1, 0}}; }},
      {"label 9", [](auto& p) { p.initial = {{0, 9}}; }},
      {"two instances retrain", [](auto& p) { p.initial = {{0, 1}, {6, 1}}; }},
      {"fit",
       [](auto& p) {
         p.initial.clear();
         for (int i = 0; i < static_cast<int>(a30().placements().size()); ++i) {
           p.initial.push_back({i, 0});
         }
       }},
      {"frozen", [](auto& p) { p.frozen = 1; }},
  };
  ASSERT_TRUE(validate(good_problem()).is_ok());
  ASSERT_EQ(good_problem().labels[1].retrains, 0);
  for (const Broken& broken : cases) {
    GoodputProblem problem = good_problem();
    broken.how(problem);
    const Status status = validate(problem);
    ASSERT_FALSE(status.is_ok()) << broken.named;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(status.error().message.find(broken.named), std::string::npos)
        << broken.named << ": " << status.error().message;
    gpu::test::expect_one_line(status.error());
  }
}

}  // namespace
}  // namespace septule::serve
