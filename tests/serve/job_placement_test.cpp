#include "serve/job_placement.hpp"

#include <bit>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "serve/lattice_support.hpp"
#include "serve/serving_tenants.hpp"

namespace septule::serve {
namespace {

using test::a100;
using test::admitted_tenant;

constexpr int kSteps = 40;

/// One GPU of tenants with constant rates; the first one has a job.
struct World {
  std::vector<AdmittedTenant> tenants;
  std::vector<TenantState> states;
  std::vector<std::vector<double>> rates;
  std::vector<int> indices;
  GpuHoldings holdings;

  void add(double rate_rps, double work_s) {
    tenants.push_back(admitted_tenant({.per_slice_rps = 10, .warm_up_s = 5}, a100()));
    tenants.back().tenant.retraining = test::retraining_job(30, 0.95, 200);
    indices.push_back(static_cast<int>(indices.size()));
    rates.emplace_back(kSteps, rate_rps);
    states.push_back({.retraining_left_s = work_s});
  }
  HoldingContext context() const { return {.lattice = &a100(), .tenants = tenants}; }
  std::vector<JobRun> place(SimTime now = SimTime()) const {
    CapacityBook book(context(), indices);
    const JobPlacementInput input{.now = now,
                                  .step = Duration::milliseconds(5000),
                                  .tenants = indices,
                                  .rates_rps = rates,
                                  .states = states,
                                  .holdings = &holdings};
    return place_jobs(context(), input, book);
  }
};

TEST(JobPlacement, Place_RoomToSpare_RunsAtOnceOnALargeInstance) {
  // Aim: where nothing is lost the fastest size that leaves enough is taken at step 0.
  World world;
  world.add(18, 30);
  const std::vector<JobRun> runs = world.place();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].begin, 0);
  // Warm-up, driver and 30 s at 0.75 (4 slices) or faster; of equals the smaller size.
  EXPECT_EQ(a100().sizes()[static_cast<std::size_t>(runs[0].size)].slices.value(), 3);
  EXPECT_EQ(runs[0].end, 10);
  EXPECT_GT(runs[0].net, 0);
}

TEST(JobPlacement, Place_LoadFallsLater_WaitsForIt) {
  // Aim: a full GPU is left alone until the load falls.
  World world;
  world.add(70, 30);
  std::fill(world.rates[0].begin() + 15, world.rates[0].end(), 10.0);
  const std::vector<JobRun> runs = world.place();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_GE(runs[0].begin, 13);
  EXPECT_LE(runs[0].begin, 15);
}

TEST(JobPlacement, Place_NotWorthIt_RunsNothing) {
  // Aim: no run where the others would lose more, where it cannot end in time, or is not released.
  World full;
  full.add(70, 30);
  full.tenants[0].tenant.retraining->accuracy_after = 0.81;
  EXPECT_TRUE(full.place().empty());
  World late;
  late.add(10, 30);
  late.states[0].retraining_deadline = SimTime() + Duration::milliseconds(25000);
  EXPECT_TRUE(late.place().empty());
  World early;
  early.add(10, 30);
  early.states[0].retraining_release = SimTime() + Duration::milliseconds(50000);
  ASSERT_EQ(early.place().size(), 1U);
  EXPECT_EQ(early.place()[0].begin, 9);  // warm by the release
  World done;
  done.add(10, 0);
  EXPECT_TRUE(done.place().empty());
}

TEST(JobPlacement, Place_TwoJobs_FitBesideEachOther) {
  // Aim: the sizes of runs that overlap fit on one GPU; a running job keeps its size.
  World world;
  world.add(8, 30);
  world.add(8, 30);
  const std::vector<JobRun> runs = world.place();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_NE(runs[0].tenant, runs[1].tenant);
  if (runs[0].begin < runs[1].end && runs[1].begin < runs[0].end) {
    const auto choices = CapacityChoices::make(
        world.context(), world.indices, std::vector<int>{runs[0].size, runs[1].size});
    ASSERT_TRUE(choices.has_value());
    EXPECT_TRUE(choices->is_possible());
  }
  world.holdings = {{.placement = 0, .tenant = 0, .role = Role::kRetrain}};
  for (const JobRun& run : world.place()) {
    EXPECT_EQ(run.tenant, 1);
  }
}

TEST(JobPlacement, Place_SeveralJobs_NoneGainsByAnotherPlaceAndAllBeatOneByOne) {
  // Aim: jobs are placed together: three that are worth the same all run although the best run of
  // one alone would take the slices of the others, and every net is a gain.
  World world;
  for (int m = 0; m < 3; ++m) {
    world.add(14, 24);
  }
  const std::vector<JobRun> runs = world.place();
  ASSERT_EQ(runs.size(), 3U);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_GT(runs[i].net, 0);
    EXPECT_LE(runs[i].end, kSteps);
    EXPECT_TRUE(i == 0 || runs[i].size <= runs[i - 1].size);
  }
}

TEST(JobPlacement, Place_MoreCaution_RunsNoMore) {
  // Aim: what others lose is weighed by `caution`: with a great deal of it nothing runs on a full
  // GPU.
  World world;
  world.add(68, 30);
  CapacityBook book(world.context(), world.indices);
  JobPlacementInput input{.now = SimTime(),
                          .step = Duration::milliseconds(5000),
                          .tenants = world.indices,
                          .rates_rps = world.rates,
                          .states = world.states,
                          .holdings = &world.holdings};
  const std::size_t bold = place_jobs(world.context(), input, book).size();
  input.caution = 100;
  EXPECT_TRUE(place_jobs(world.context(), input, book).empty());
  EXPECT_EQ(bold, 1U);
}

TEST(JobPlacementProperty, WithJob_AnyHoldings_IsLegalAndKeepsWhatIsFixed) {
  // Aim: over seeds the result is a legal layout with the job, and everything fixed.
  World world;
  world.add(10, 30);
  world.add(10, 30);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const auto sets = a100().placed_sets();
    const std::uint32_t bits = sets[static_cast<std::size_t>(rng.below(sets.size()))].placements;
    GpuHoldings holdings;
    std::uint32_t fixed = 0;
    for (int p = 0; p < static_cast<int>(a100().placements().size()); ++p) {
      if ((bits >> static_cast<unsigned>(p) & 1U) != 0) {
        holdings.push_back({.placement = p, .tenant = static_cast<int>(rng.below(2))});
        fixed |= rng.chance(1, 4) ? std::uint32_t{1} << static_cast<unsigned>(p) : 0;
      }
    }
    const int size = static_cast<int>(rng.below(a100().sizes().size()));
    const auto with =
        with_job(world.context(), holdings, {.tenant = 1, .size = size}, fixed, SimTime());
    if (!with) {
      EXPECT_NE(fixed, 0U);
      continue;
    }
    EXPECT_TRUE(a100().is_legal(placement_bits(*with)));
    EXPECT_EQ(placement_bits(*with) & fixed, fixed);
    int jobs = 0;
    for (const Holding& holding : *with) {
      jobs += holding.role == Role::kRetrain ? 1 : 0;
      if (holding.role == Role::kRetrain) {
        EXPECT_EQ(world.context().size_of(holding), size);
      }
    }
    EXPECT_EQ(jobs, 1);
  }
}

}  // namespace
}  // namespace septule::serve
