#include "serve/fleet_plan.hpp"

#include <gtest/gtest.h>

#include "serve/lattice_support.hpp"
#include "serve/parvagpu_support.hpp"
#include "support/shared_data.hpp"

namespace septule::serve {
namespace {

using test::a100;

constexpr const char* kProfiles = "data/serving/parvagpu_a100_80g_mig_mps.csv";
constexpr const char* kSets = "data/serving/parvagpu_slo_sets.csv";

/// What is known of one of ParvaGPU's sets: with all, with suspect rows kept, without MPS.
struct KnownSet {
  int set = 0;
  int gpus = 0;
  int gpcs = 0;
  int gpus_with_suspects = 0;
  int gpus_without_mps = 0;
};
// Sets 1-4: serving.md 3.4. Sets 5 and 6: proved by this planner and by CBC on the compact program.
constexpr KnownSet kKnown[] = {{1, 2, 10, 2, 2},
                               {2, 3, 20, 3, 3},
                               {3, 5, 30, 5, 5},
                               {4, 7, 44, 7, 7},
                               {5, 12, 82, 12, 13},
                               {6, 16, 104, 15, 17}};

TEST(FleetPlan, ParvagpuSets_ProvedOptimal) {
  // The fewest GPUs and compute slices for ParvaGPU's SLO sets are those of serving.md 3.4.
  SEPTULE_REQUIRE_SHARED(profiles_file, kProfiles);
  SEPTULE_REQUIRE_SHARED(sets_file, kSets);
  const auto profiles = test::read_parvagpu(profiles_file);
  for (const KnownSet& known : kKnown) {
    SCOPED_TRACE(known.set);
    const auto tenants = test::read_slo_set(sets_file, profiles, known.set);
    const auto plan_with = [&](test::Suspects suspects, int processes_max) {
      auto plan =
          plan_min_gpus(test::admit_for_fleet(a100(), tenants, suspects, processes_max), {});
      EXPECT_TRUE(plan.has_value());
      EXPECT_TRUE(plan->is_optimal);
      return std::move(plan).value();
    };
    const FleetPlan plan = plan_with(test::Suspects::kDropped, 5);
    EXPECT_EQ(plan.gpus, known.gpus);
    EXPECT_EQ(plan.gpcs, known.gpcs);
    EXPECT_EQ(plan_with(test::Suspects::kKept, 5).gpus, known.gpus_with_suspects);
    EXPECT_EQ(plan_with(test::Suspects::kDropped, 1).gpus, known.gpus_without_mps);
  }
}

}  // namespace
}  // namespace septule::serve
