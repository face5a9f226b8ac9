#include "predict/co_run_views.hpp"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "predict/co_run_support.hpp"

namespace septule::predict {
namespace {

using test::client;
using test::instance;
using test::rates;
using test::whole_gpu;

std::unique_ptr<LawCoRunModel> any_model(std::size_t count) {
  Rng rng(4);
  std::vector<LawJob> jobs;
  for (std::size_t i = 0; i < count; ++i) {
    jobs.push_back(test::any_law(rng));
  }
  auto made = LawCoRunModel::make(test::a100_80(), jobs, {});
  SEPTULE_CHECK(made.has_value(), "the jobs are valid");
  return std::move(made).value();
}

TEST(SelectedCoRun, Window_HasTheJobsOfThePool) {
  // Aim: jobs are those chosen, in the order chosen.
  const auto base = any_model(6);
  const std::vector<std::size_t> chosen{5, 0, 3};
  const SelectedCoRun window(*base, chosen);
  EXPECT_EQ(window.job_count(), 3U);
  EXPECT_TRUE(window.only_slows());
  EXPECT_EQ(rates(window, instance("3g.40gb"), {client(0), client(2)}),
            rates(*base, instance("3g.40gb"), {client(5), client(3)}));
}

TEST(NoisyCoRun, EqualQuestions_EqualAnswers) {
  // Aim: whatever the order of the clients and the numbers of equal compute instances; another
  // seed, place, percentage or company gives another error.
  const auto base = any_model(4);
  const NoisyCoRun noisy(*base, {.seed = 1});
  const auto place = instance("7g.80gb", {2, 2, 3});
  const auto one = rates(noisy, place, {client(0, 0), client(1, 0), client(2, 1)});
  EXPECT_EQ(one, rates(noisy, place, {client(0, 0), client(1, 0), client(2, 1)}));
  const auto turned = rates(noisy, place, {client(2, 0), client(1, 1), client(0, 1)});
  EXPECT_NEAR(turned[0], one[2], 1e-12);
  EXPECT_NEAR(turned[1], one[1], 1e-12);
  EXPECT_NEAR(turned[2], one[0], 1e-12);
  const NoisyCoRun other(*base, {.seed = 2});
  EXPECT_NE(rates(other, instance("3g.40gb"), {client(0)}),
            rates(noisy, instance("3g.40gb"), {client(0)}));
  const auto factor = [&](const char* name, int atp) {
    const auto at = instance(name);
    return rates(noisy, at, {client(0, 0, atp)})[0] / rates(*base, at, {client(0, 0, atp)})[0];
  };
  EXPECT_NE(factor("3g.40gb", 0), factor("4g.40gb", 0));
  EXPECT_NE(factor("3g.40gb", 0), factor("3g.40gb", 50));
}

TEST(NoisyCoRun, Errors_HaveTheirSize_AndLimits) {
  // Aim: the whole GPU alone is exact; alone elsewhere ln(rate) is off by solo_sd, slowdowns by
  // co_run_sd, over many seeds; nobody is faster in company than alone.
  const auto base = any_model(3);
  const auto place = instance("4g.40gb");
  const double alone = rates(*base, place, {client(0)})[0];
  const double together = rates(*base, place, {client(0), client(1)})[0];
  constexpr int kSeeds = 4000;
  double square_alone = 0;
  double square_together = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const NoisyCoRun noisy(*base, {.seed = static_cast<std::uint64_t>(seed)});
    EXPECT_EQ(rates(noisy, whole_gpu(), {client(0)}), std::vector<double>{1});
    const double noisy_alone = rates(noisy, place, {client(0)})[0];
    const double noisy_together = rates(noisy, place, {client(0), client(1)})[0];
    EXPECT_LE(noisy_together, noisy_alone * (1 + 1e-12));
    square_alone += std::pow(std::log(noisy_alone / alone), 2);
    square_together +=
        std::pow(std::log(noisy_together / noisy_alone) - std::log(together / alone), 2);
  }
  EXPECT_NEAR(std::sqrt(square_alone / kSeeds), 0.02, 0.001);
  EXPECT_NEAR(std::sqrt(square_together / kSeeds), 0.10, 0.005);
}

TEST(NoisyCoRun, Unknown_StaysUnknown) {
  // Aim: 0 is not noise.
  std::vector<LawJob> jobs(2);
  auto base = LawCoRunModel::make(test::a100_80(), jobs, {});
  ASSERT_TRUE(base.has_value());
  const NoisyCoRun noisy(**base, {});
  EXPECT_EQ(rates(noisy, whole_gpu(), {client(0), client(1)}), (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace septule::predict
