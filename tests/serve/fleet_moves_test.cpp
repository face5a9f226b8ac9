#include "serve/fleet_moves.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "gpu/transition.hpp"
#include "serve/fleet_cases.hpp"
#include "serve/fleet_mapping.hpp"
#include "serve/fleet_moves_checker.hpp"

namespace septule::serve {
namespace {

using test::a100;
using test::draw_fleet;
using test::FleetCase;
using testing::HasSubstr;
using testing::IsEmpty;

/// A case with its goal: the plan mapped; every tenant needs what it has before and after.
struct Way {
  FleetCase drawn;
  std::vector<GpuHoldings> to;
  std::vector<double> need;

  explicit Way(FleetCase made) : drawn(std::move(made)) {
    const auto mapping = map_fleet(*drawn.lattice, drawn.plan, drawn.current);
    SEPTULE_CHECK(mapping.has_value(), "drawn plans fit");
    to = mapping->gpus;
    const std::vector<double> before = test::capacity_of(drawn, drawn.current);
    const std::vector<double> after = test::capacity_of(drawn, to);
    for (std::size_t tenant = 0; tenant < before.size(); ++tenant) {
      need.push_back(std::min(before[tenant], after[tenant]));
    }
  }
  FleetMovesProblem problem() const {
    return {.lattice = drawn.lattice,
            .throughput = drawn.throughput,
            .need_rps = need,
            .from = drawn.current,
            .to = to};
  }
};

TEST(FleetMoves, Drawn_EveryOrderHolds) {
  // Aim: whatever the case, the independent judge finds nothing: phases are legal, what may stay is
  // not touched, capacities and dips are as said.
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Way way(draw_fleet(a100(),
                             seed,
                             {.gpus = 1 + static_cast<int>(seed % 6),
                              .spare = static_cast<int>(seed % 2),
                              .tenants = 1 + static_cast<int>(seed % 5),
                              .moved = static_cast<int>(seed % 4)}));
    const auto moves = order_moves(way.problem());
    ASSERT_TRUE(moves) << moves.error().message;
    EXPECT_THAT(check_moves(way.problem(), *moves), IsEmpty()) << "seed " << seed;
  }
}

TEST(FleetMoves, SpareGpus_NobodyFallsBelowItsNeed) {
  // Aim: with a spare GPU and needs that hold before and after, capacity never falls below need.
  int dips = 0;
  constexpr int kCases = 300;
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    const Way way(draw_fleet(a100(),
                             1000 + seed,
                             {.gpus = 2 + static_cast<int>(seed % 8),
                              .spare = 1,
                              .tenants = 2 + static_cast<int>(seed % 4),
                              .moved = static_cast<int>(seed % 5)}));
    const auto moves = order_moves(way.problem());
    ASSERT_TRUE(moves) << moves.error().message;
    dips += moves->dips.empty() ? 0 : 1;
  }
  EXPECT_EQ(dips, 0) << "cases with a dip";
}

TEST(FleetMoves, FreePlace_CreatedBeforeReleased) {
  // Aim: one instance moves into a free place: warmed up first, then the old one goes.
  FleetCase drawn{
      .lattice = &a100(), .current = {}, .plan = {}, .throughput = {{10, 20, 30, 40, 70}}};
  const int first = *a100().find_placement(a100().placements()[0].placed);
  const std::vector<GpuHoldings> from = {{{.placement = first, .tenant = 0, .since = {}}}, {}};
  const std::vector<GpuHoldings> to = {{}, {{.placement = first, .tenant = 0, .since = {}}}};
  const std::vector<double> need = {10};
  const FleetMovesProblem problem{
      .lattice = &a100(), .throughput = drawn.throughput, .need_rps = need, .from = from, .to = to};
  const auto moves = order_moves(problem);
  ASSERT_TRUE(moves);
  ASSERT_EQ(moves->phases.size(), 2U);
  EXPECT_EQ(moves->phases[0].created.size(), 1U);
  EXPECT_TRUE(moves->phases[0].released.empty());
  EXPECT_EQ(moves->phases[1].released.size(), 1U);
  EXPECT_TRUE(moves->dips.empty());
  EXPECT_EQ(moves->created_in_free_place, 1);
  EXPECT_THAT(check_moves(problem, *moves), IsEmpty());
}

TEST(FleetMoves, TwoTenantsSwapWithoutRoom_DipIsNamed) {
  // Aim: two whole GPUs change tenants. Without a spare one tenant dips by all it has, and that is
  // said; with a spare nobody does, by way of a temporary instance.
  const auto whole =
      static_cast<int>(std::ranges::find(a100().placements(), 4, &SizePlacement::size) -
                       a100().placements().begin());
  const std::vector<SizeTable<double>> throughput = {{10, 20, 30, 40, 70}, {10, 20, 30, 40, 70}};
  const std::vector<double> need = {50, 60};
  std::vector<GpuHoldings> from = {{{.placement = whole, .tenant = 0, .since = {}}},
                                   {{.placement = whole, .tenant = 1, .since = {}}}};
  std::vector<GpuHoldings> to = {from[1], from[0]};
  FleetMovesProblem problem{
      .lattice = &a100(), .throughput = throughput, .need_rps = need, .from = from, .to = to};
  const auto without = order_moves(problem);
  ASSERT_TRUE(without);
  EXPECT_THAT(check_moves(problem, *without), IsEmpty());
  // Its new instance takes a phase to warm up after the one in which the other's did.
  ASSERT_EQ(without->dips.size(), 2U);
  for (const CapacityDip& dip : without->dips) {
    EXPECT_EQ(dip.tenant, 0);
    EXPECT_DOUBLE_EQ(dip.short_rps, 50);
  }

  from.emplace_back();
  to.emplace_back();
  problem.from = from;
  problem.to = to;
  const auto with = order_moves(problem);
  ASSERT_TRUE(with);
  EXPECT_THAT(check_moves(problem, *with), IsEmpty());
  EXPECT_THAT(with->dips, IsEmpty());
  EXPECT_EQ(with->temporary, 1);
}

TEST(FleetMoves, Checker_FindsWhatIsWrong) {
  // Aim: the judge notices a phase left out, a kept instance touched, a dip not said and an illegal
  // layout.
  const Way way(draw_fleet(a100(), 4, {.gpus = 4, .spare = 1, .tenants = 3, .moved = 2}));
  const FleetMovesProblem problem = way.problem();
  const auto moves = order_moves(problem);
  ASSERT_TRUE(moves);
  ASSERT_GE(moves->phases.size(), 2U);
  ASSERT_THAT(check_moves(problem, *moves), IsEmpty());
  FleetMoves wrong = *moves;
  wrong.phases.pop_back();
  EXPECT_THAT(check_moves(problem, wrong), testing::Contains(HasSubstr("not what was to be")));
  wrong = *moves;
  wrong.phases[0].ready_rps[0] += 5;
  EXPECT_THAT(check_moves(problem, wrong), testing::Contains(HasSubstr("tenant 0 has")));
  wrong = *moves;
  wrong.dips.push_back({.phase = 0, .tenant = 1, .short_rps = 3});
  EXPECT_THAT(check_moves(problem, wrong), testing::Contains(HasSubstr("short, said are 3")));
  wrong = *moves;
  for (GpuHoldings& holdings : wrong.phases[0].gpus) {
    holdings.clear();
  }
  EXPECT_THAT(check_moves(problem, wrong),
              testing::Contains(HasSubstr("an instance that may stay is not there")));
}

TEST(FleetMoves, Phases_AreGoalsOfTheTransitionPlanner) {
  // Aim: every phase can be carried out by gpu::plan_transition with all that stays in use: its
  // steps are complete and touch nothing busy.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Way way(
        draw_fleet(a100(), 300 + seed, {.gpus = 3, .spare = 1, .tenants = 3, .moved = 2}));
    const auto moves = order_moves(way.problem());
    ASSERT_TRUE(moves);
    std::vector<GpuHoldings> before = way.drawn.current;
    for (const MovePhase& phase : moves->phases) {
      gpu::Inventory inventory;
      for (std::size_t index = 0; index < before.size(); ++index) {
        gpu::ObservedGpu& observed = inventory.gpus.emplace_back();
        observed.index = GpuIndex(static_cast<int>(index));
        observed.geometry = &a100().geometry();
        observed.is_mig_enabled = true;
        for (const Holding& holding : before[index]) {
          gpu::ObservedInstance& instance = observed.instances.emplace_back();
          instance.placed = a100().placements()[static_cast<std::size_t>(holding.placement)].placed;
          const bool stays = std::ranges::any_of(
              phase.gpus[index], [&](const Holding& after) { return after.is_same_use(holding); });
          instance.hold = stays ? gpu::Hold::kBusy : gpu::Hold::kIdle;
        }
      }
      const auto transition = gpu::plan_transition(
          inventory, desired_gpus(a100(), phase.gpus), gpu::load_builtin_latencies());
      ASSERT_TRUE(transition) << transition.error().message;
      EXPECT_TRUE(transition->is_complete()) << "seed " << seed;
      before = phase.gpus;
    }
  }
}

TEST(FleetMoves, WrongInput_Named) {
  // Aim: sizes that disagree, unknown tenants and needs that are none are refused by name.
  const Way way(draw_fleet(a100(), 1, {.gpus = 2, .tenants = 2}));
  FleetMovesProblem problem = way.problem();
  const std::vector<GpuHoldings> none;
  problem.to = none;
  auto refused = order_moves(problem);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("from 2 to 0 GPUs"));
  const std::vector<GpuHoldings> strange(2, {{.placement = 0, .tenant = 9, .since = {}}});
  problem = way.problem();
  problem.to = strange;
  refused = order_moves(problem);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("GPU 0 after: placement 0 with tenant 9"));
  const std::vector<double> negative = {-1, 0};
  problem = way.problem();
  problem.need_rps = negative;
  refused = order_moves(problem);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("tenant 0 needs -1"));
}

}  // namespace
}  // namespace septule::serve
