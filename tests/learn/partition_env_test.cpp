#include "learn/partition_env.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "base/work_budget.hpp"
#include "learn/window_features.hpp"
#include "learn/window_support.hpp"
#include "optimize/group_table.hpp"
#include "optimize/window_dp.hpp"

namespace septule::learn {
namespace {

/// Allowed actions of the state at hand, as observe() numbers them.
std::vector<std::size_t> allowed_actions(const Observation& seen) {
  std::vector<std::size_t> actions;
  for (std::size_t row = 0; row < kWindowRows; ++row) {
    if ((seen.may_take >> row & 1U) != 0) {
      actions.push_back(row);
    }
  }
  for (std::size_t i = 0; i < seen.choices.size(); ++i) {
    actions.push_back(kWindowRows + i);
  }
  return actions;
}

PartitionEnv::Step act(PartitionEnv& env, const Observation& seen, std::size_t action) {
  return action < kWindowRows ? env.take(action) : env.choose(seen.choices[action - kWindowRows]);
}

struct Episode {
  double reward = 0;
  std::vector<ClosedGroup> groups;
};

/// Plays with `pick`, which gets the observation and the allowed actions.
template <class Pick>
Episode play(PartitionEnv& env, Pick pick) {
  Episode episode;
  Observation seen;
  while (!env.is_over()) {
    observe(env, seen);
    const std::vector<std::size_t> actions = allowed_actions(seen);
    EXPECT_FALSE(actions.empty());
    if (actions.empty()) {
      break;
    }
    const PartitionEnv::Step step = act(env, seen, pick(seen, actions));
    episode.reward += static_cast<double>(step.reward);
    if (step.closed) {
      episode.groups.push_back(*step.closed);
    }
  }
  return episode;
}

/// The plan that looks best by its own guess: what an untrained network does.
std::size_t best_guess(const Observation& seen, const std::vector<std::size_t>& actions) {
  const auto guess = [&](std::size_t action) {
    return action < kWindowRows
               ? seen.steps[action][20] / 4 - seen.steps[action][22] / 2
               : seen.plans[action - kWindowRows][3] / 4 + seen.plans[action - kWindowRows][8] / 2;
  };
  return *std::ranges::max_element(actions, {}, guess);
}

const test::WindowGpu& a100() {
  static const test::WindowGpu gpu;
  return gpu;
}

TEST(PartitionEnv, Rewards_AddUpToTheGain) {
  // Aim: with any actions the rewards sum to 1 - T / T_ts, every row is in one group, and no group
  // is slower than one job after another.
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const test::GeneratedWindow window(a100(), seed, 1 + seed % kWindowRows);
    test::EpisodeBench bench(a100(), window.problem);
    PartitionEnv env(bench.times);
    Rng rng(seed);
    const Episode episode = play(env, [&](const Observation&, const auto& actions) {
      return actions[static_cast<std::size_t>(rng.below(actions.size()))];
    });
    double time = 0;
    unsigned seen = 0;
    for (const ClosedGroup& group : episode.groups) {
      time += static_cast<double>(group.time);
      for (const std::int8_t row : group.rows) {
        if (row != kEmptySeat) {
          EXPECT_EQ(seen >> row & 1U, 0U);
          seen |= 1U << row;
        }
      }
    }
    EXPECT_EQ(seen, bench.rows.all());
    EXPECT_NEAR(episode.reward, 1 - time / static_cast<double>(bench.rows.solo_sum()), 1e-6);
    EXPECT_GE(episode.reward, 0);
  }
}

TEST(PartitionEnv, SettledGroups_AreTheBestOfAllTemplates) {
  // Aim: every set of 2 to 4 jobs gets the time that the table of groups has for it, also where
  // memory is not known, fault domains differ or a fairness floor is set.
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    test::GeneratedWindow window(a100(), 100 + seed, 7);
    if (seed >= 2) {
      window.jobs[1].memory = std::nullopt;
      window.jobs[4].memory = std::nullopt;
    }
    if (seed >= 4) {
      window.jobs[0].trust = window.jobs[2].trust = "other";
      window.problem.rules.fairness = 0.4;
    }
    test::EpisodeBench bench(a100(), window.problem);
    const PartitionEnv env(bench.times);
    WorkBudget budget(1000000000);
    const auto table = optimize::GroupTable::make(window.problem, budget);
    ASSERT_TRUE(table.has_value()) << table.error().message;
    for (RowSet rows = 1; rows <= bench.rows.all(); ++rows) {
      if (std::popcount(rows) < 2 || std::popcount(rows) > 4) {
        continue;
      }
      optimize::JobSet jobs = 0;
      double solo = 0;
      for (std::size_t row = 0; row < bench.rows.count(); ++row) {
        if ((rows >> row & 1U) != 0) {
          jobs |= 1U << bench.rows[row].job;
          solo += static_cast<double>(bench.rows[row].solo);
        }
      }
      const std::int64_t best = std::ranges::min(table->costs().row(jobs));
      // Impossible ones run one after another, too.
      const double expected = std::min(static_cast<double>(best) / 1e9, solo);
      EXPECT_NEAR(static_cast<double>(env.settled(rows).time), expected, 1e-5 * expected) << rows;
    }
  }
}

TEST(PartitionEnv, BestGuess_ComesNearTheExactAnswer) {
  // Aim: plans and prices alone reach 95 % of the exact gain, and nothing goes beyond it.
  double sum = 0;
  constexpr int kWindows = 20;
  for (std::uint64_t seed = 0; seed < kWindows; ++seed) {
    const test::GeneratedWindow window(a100(), 200 + seed, 12);
    test::EpisodeBench bench(a100(), window.problem);
    PartitionEnv env(bench.times);
    const Episode episode = play(env, best_guess);
    WorkBudget budget(1000000000);
    const auto exact = optimize::WindowDp().optimize(window.problem, budget);
    ASSERT_TRUE(exact.has_value()) << exact.error().message;
    const double exact_gain = static_cast<double>(bench.rows.solo_sum()) / exact->time.to_seconds();
    const double share = 1 / (1 - episode.reward) / exact_gain;
    EXPECT_LE(share, 1 + 1e-5);
    sum += share;
  }
  EXPECT_GE(sum / kWindows, 0.95);
}

TEST(PartitionEnv, Restored_GoesOnAsBefore) {
  // Aim: from a state in a few bytes a new environment sees the same to the last bit.
  const test::GeneratedWindow window(a100(), 5, 12);
  test::EpisodeBench bench(a100(), window.problem);
  test::EpisodeBench other(a100(), window.problem);
  PartitionEnv env(bench.times);
  PartitionEnv copy(other.times);
  Observation seen;
  Observation again;
  Rng rng(3);
  while (!env.is_over()) {
    observe(env, seen);
    copy.restore(env.state());
    observe(copy, again);
    EXPECT_EQ(seen.steps, again.steps);
    EXPECT_EQ(seen.context, again.context);
    EXPECT_EQ(seen.plans, again.plans);
    EXPECT_EQ(seen.left_after, again.left_after);
    const auto actions = allowed_actions(seen);
    (void)act(env, seen, actions[static_cast<std::size_t>(rng.below(actions.size()))]);
  }
}

TEST(PartitionEnv, Rules_AreKept) {
  // Aim: no group of jobs of different fault domains shares an MPS server, and with a fairness
  // floor of 1 everybody runs alone.
  test::GeneratedWindow window(a100(), 9, 8);
  for (std::size_t i = 0; i < window.jobs.size(); ++i) {
    window.jobs[i].trust = i % 2 == 0 ? "a" : "b";
  }
  {
    test::EpisodeBench bench(a100(), window.problem);
    PartitionEnv env(bench.times);
    const Episode episode = play(env, best_guess);
    for (const ClosedGroup& group : episode.groups) {
      const auto seats = PartitionEnv::seats(group.form);
      for (std::size_t a = 0; a < seats.size() && group.form != 0; ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          if (seats[a].part == seats[b].part) {
            const auto trust = [&](std::size_t seat) {
              return window.jobs[bench.rows[static_cast<std::size_t>(group.rows[seat])].job].trust;
            };
            EXPECT_EQ(trust(a), trust(b));
          }
        }
      }
    }
  }
  window.problem.rules.fairness = 1;
  test::EpisodeBench bench(a100(), window.problem);
  PartitionEnv env(bench.times);
  const Episode episode = play(env, best_guess);
  EXPECT_NEAR(episode.reward, 0, 1e-6);
}

}  // namespace
}  // namespace septule::learn
