// Oracle e of serving.md section 5: what a plan promises is what its replay in fluid mode yields.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.hpp"
#include "serve/goodput_checker.hpp"
#include "sim/serving_support.hpp"

namespace septule::sim {
namespace {

using serve::GoodputProblem;
using serve::LabelledInstance;
using serve::LabelledLayout;
using test::ServingBench;
using test::whole_seconds;

/// A bench and the same world as a problem of steps: label i serves tenant i, label n + i retrains
/// it.
struct Twin {
  ServingBench bench;
  GoodputProblem problem;
  int tenant_count = 0;

  Twin(Rng& rng, int steps, std::int64_t step_s, HandOver hand_over) {
    tenant_count = static_cast<int>(1 + rng.below(3));
    problem.lattice = &bench.lattice;
    problem.step = whole_seconds(step_s);
    problem.step_count = steps;
    for (int i = 0; i < tenant_count; ++i) {
      add_tenant(rng, i);
    }
    for (int i = 0; i < tenant_count; ++i) {
      add_retraining(rng, i);
    }
    bench.options.length = whole_seconds(step_s * steps);
    bench.options.warm_up_step = problem.step;
    bench.options.hand_over = hand_over;
    problem.hand_over = hand_over;
    if (hand_over == HandOver::kRelabel) {
      restrict_hand_overs(rng);
    }
  }

  /// Trust groups and memory, so that some hand over and some do not.
  void restrict_hand_overs(Rng& rng) {
    for (int i = 0; i < tenant_count; ++i) {
      const auto index = static_cast<std::size_t>(i);
      serve::AdmittedTenant& tenant = bench.tenants[index];
      const int group = rng.chance(1, 4) ? 1 : 0;
      tenant.tenant.trust_group = std::to_string(group);
      problem.labels[index].group = group;
      problem.labels[index + static_cast<std::size_t>(tenant_count)].group = group;
      const double share = rng.chance(1, 2) ? 0.25 : 0.625;
      for (std::size_t s = 0; s < bench.lattice.sizes().size(); ++s) {
        const auto there = static_cast<double>(bench.lattice.sizes()[s].memory->value());
        tenant.serving[s]->memory = Bytes(static_cast<std::uint64_t>(share * there));
        problem.labels[index].memory[s] = share;
      }
    }
  }

  void add_tenant(Rng& rng, int index) {
    bench.add("t" + std::to_string(index), 5 + 20 * rng.uniform(), 1);
    serve::AdmittedTenant& tenant = bench.tenants.back();
    const auto warm_up = static_cast<int>(rng.below(4));
    const Duration length = Duration::nanoseconds(problem.step.to_nanoseconds() * warm_up);
    tenant.tenant.warm_up = {length, length, length};
    tenant.tenant.weight = 0.5 + rng.uniform();
    tenant.tenant.accuracy = 0.4 + 0.3 * rng.uniform();
    serve::RateSeries& rate = bench.rates.back();
    rate.step = problem.step;
    rate.values.clear();
    for (int t = 0; t < problem.step_count; ++t) {
      rate.values.push_back(rng.chance(1, 5) ? 0 : 150 * rng.uniform());
    }
    problem.tenants.push_back({.name = tenant.tenant.name,
                               .weight = tenant.tenant.weight,
                               .accuracy = tenant.tenant.accuracy,
                               .accuracy_after = tenant.tenant.accuracy,
                               .rate_rps = rate.values});
    serve::Label label{.name = tenant.tenant.name, .warm_up_steps = warm_up};
    label.serves.push_back({.tenant = index});
    for (std::size_t s = 0; s < bench.lattice.sizes().size(); ++s) {
      label.serves[0].rate_rps[s] = tenant.throughput_rps(static_cast<int>(s));
    }
    problem.labels.push_back(label);
  }

  /// With steps of one second only: longer ones do not say when within one the model changes.
  void add_retraining(Rng& rng, int index) {
    serve::AdmittedTenant& tenant = bench.tenants[static_cast<std::size_t>(index)];
    serve::Label label{
        .name = tenant.tenant.name + " retrains",
        .retrains = index,
        .speed = tenant.retraining_speed,
        .warm_up_steps = problem.labels[static_cast<std::size_t>(index)].warm_up_steps};
    problem.labels.push_back(label);
    if (problem.step != whole_seconds(1)) {
      return;
    }
    const double work = 0.3 + 4 * rng.uniform();
    const auto release = static_cast<int>(rng.below(5));
    const auto deadline = release + 1 + static_cast<int>(rng.below(30));
    tenant.tenant.retraining = serve::RetrainingJob{.work_s = work,
                                                    .accuracy_after = 0.9,
                                                    .release = whole_seconds(release),
                                                    .deadline = whole_seconds(deadline)};
    serve::GoodputTenant& planned = problem.tenants[static_cast<std::size_t>(index)];
    planned.accuracy_after = 0.9;
    planned.retraining =
        serve::RetrainingNeed{.work_s = work, .release_step = release, .deadline_step = deadline};
  }

  /// A legal layout not far from `before`.
  LabelledLayout draw_layout(Rng& rng, const LabelledLayout& before) const {
    LabelledLayout layout;
    std::uint32_t bits = 0;
    std::vector<bool> retrains(static_cast<std::size_t>(tenant_count), false);
    const auto add = [&](const LabelledInstance& instance) {
      const std::uint32_t with = bits | 1U << static_cast<unsigned>(instance.placement);
      const bool is_retraining = instance.label >= tenant_count;
      const auto tenant = static_cast<std::size_t>(instance.label % tenant_count);
      if (with == bits || !bench.lattice.is_legal(with) || (is_retraining && retrains[tenant]) ||
          (is_retraining && !problem.tenants[tenant].retraining)) {
        return;
      }
      bits = with;
      retrains[tenant] = retrains[tenant] || is_retraining;
      layout.push_back(instance);
    };
    for (const LabelledInstance& instance : before) {
      if (rng.chance(1, 8)) {  // most instances that change stay where they are
        add({.placement = instance.placement,
             .label = static_cast<int>(rng.below(problem.labels.size()))});
      }
      if (!rng.chance(1, 6)) {
        add(instance);
      }
    }
    for (int tries = 0; tries < 2; ++tries) {
      add({.placement = static_cast<int>(rng.below(bench.lattice.placements().size())),
           .label = static_cast<int>(rng.below(problem.labels.size()))});
    }
    std::sort(layout.begin(), layout.end());
    return layout;
  }

  serve::Deployment deployment_of(const LabelledLayout& layout) const {
    serve::GpuDeployment gpu;
    for (const LabelledInstance& instance : layout) {
      const bool is_retraining = instance.label >= tenant_count;
      const int tenant = instance.label % tenant_count;
      gpu.instances.push_back(
          {.placed =
               bench.lattice.placements()[static_cast<std::size_t>(instance.placement)].placed,
           .occupants = {is_retraining ? test::retrains(tenant) : test::serves(tenant)}});
    }
    return {.gpus = {gpu}};
  }
};

void check_replay(std::uint64_t seed, int steps, std::int64_t step_s, HandOver hand_over) {
  Rng rng(seed);
  Twin twin(rng, steps, step_s, hand_over);
  twin.problem.initial = twin.draw_layout(rng, {});
  serve::GoodputPlan plan;
  LabelledLayout layout = twin.problem.initial;
  twin.bench.options.initial = twin.deployment_of(layout);
  for (int t = 0; t < steps; ++t) {
    layout = twin.draw_layout(rng, layout);
    plan.layouts.push_back(layout);
    twin.bench.policy.orders[t * step_s] = twin.deployment_of(layout);
  }
  const auto judged = serve::check_goodput_plan(twin.problem, plan);
  const auto run = twin.bench.run_well();
  EXPECT_NEAR(run.weighted_goodput, judged.goodput, 1e-9 * judged.goodput + 1e-9);
  if (hand_over == HandOver::kNone) {
    EXPECT_EQ(run.moves, judged.creations);
  } else {  // what is handed over and comes back has never left
    EXPECT_LE(run.moves, judged.creations);
  }
  for (std::size_t i = 0; i < run.tenants.size(); ++i) {
    for (int t = 0; t < steps; ++t) {
      double served = 0;
      for (std::int64_t second = 0; second < step_s; ++second) {
        served += run.tenants[i].series[static_cast<std::size_t>(t * step_s + second)].in_slo;
      }
      EXPECT_NEAR(served, judged.served[i][static_cast<std::size_t>(t)], 1e-6)
          << "seed " << seed << " tenant " << i << " step " << t;
    }
  }
}

TEST(ServingOracle, Replay_OfAnyPlanInSecondsYieldsWhatTheJudgeCounts) {
  // Aim: oracle e over random plans with retraining and warm-ups of 0 to 3 steps.
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    check_replay(seed, 40, 1, HandOver::kNone);
    check_replay(seed, 40, 1, HandOver::kRelabel);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(ServingOracle, Replay_OfAnyPlanInFiveSecondStepsYieldsWhatTheJudgeCounts) {
  // Aim: the same with coarser steps, rates constant within them.
  for (std::uint64_t seed = 1000; seed < 1100; ++seed) {
    check_replay(seed, 20, 5, HandOver::kNone);
    check_replay(seed, 20, 5, HandOver::kRelabel);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace septule::sim
