#include "serve/policies/baseline_parts.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "serve/lattice_support.hpp"

namespace septule::serve {
namespace {

SizeWish wish(int size, int tenant, Role role = Role::kServe) {
  return {size, {.tenant = tenant, .role = role}};
}

TEST(BaselineParts, PlaceWishes_KeepsWhoStays) {
  // Aim: an instance of the same tenant and size is found wherever it stands.
  const LayoutLattice& lattice = test::a100();
  const std::vector<SizeWish> before{wish(0, 0), wish(2, 1)};
  const auto placed = place_wishes(lattice, before, {});
  ASSERT_TRUE(placed.has_value());
  const std::vector<SizeWish> after{wish(0, 2), wish(2, 1), wish(0, 0)};
  const auto changed = place_wishes(lattice, after, *placed);
  ASSERT_TRUE(changed.has_value());
  EXPECT_EQ(changed->instances.size(), 3U);
  for (const ServingInstance& instance : placed->instances) {
    EXPECT_EQ(std::ranges::count(changed->instances, instance), 1);
  }
}

TEST(BaselineParts, PlaceWishes_AllMultisetsAreLegal) {
  // Aim: exhaustive: every multiset of the lattice can be placed, and is then legal.
  const LayoutLattice& lattice = test::a100();
  for (const LayoutLattice::Multiset& multiset : lattice.multisets()) {
    std::vector<SizeWish> wishes;
    for (int size = 0; size < 5; ++size) {
      for (int i = 0; i < multiset.counts[static_cast<std::size_t>(size)]; ++i) {
        wishes.push_back(wish(size, i));
      }
    }
    const auto gpu = place_wishes(lattice, wishes, {});
    ASSERT_TRUE(gpu.has_value());
    std::uint32_t bits = 0;
    for (const ServingInstance& instance : gpu->instances) {
      bits |= std::uint32_t{1} << static_cast<unsigned>(
                  checked_value(lattice.find_placement(*instance.placed), "a known place"));
    }
    EXPECT_TRUE(lattice.is_legal(bits));
  }
}

TEST(BaselineParts, PlaceWishes_TooMuch_IsNothing) {
  // Aim: sizes that are no legal layout.
  const std::vector<SizeWish> wishes{wish(4, 0), wish(0, 1)};
  EXPECT_FALSE(place_wishes(test::a100(), wishes, {}).has_value());
}

TEST(BaselineParts, PendingRetraining_IsReleasedUndoneAndInTime) {
  // Aim: each of the conditions by itself.
  const SimTime now = SimTime::nanoseconds(10);
  TenantState state{.retraining_left_s = 1,
                    .retraining_release = SimTime::nanoseconds(10),
                    .retraining_deadline = SimTime::nanoseconds(11)};
  EXPECT_TRUE(is_retraining_pending(state, now));
  EXPECT_FALSE(is_retraining_pending(state, SimTime::nanoseconds(9)));
  EXPECT_FALSE(is_retraining_pending(state, SimTime::nanoseconds(11)));
  state.is_retrained = true;
  EXPECT_FALSE(is_retraining_pending(state, now));
  state.is_retrained = false;
  state.retraining_left_s = 0;
  EXPECT_FALSE(is_retraining_pending(state, now));
  EXPECT_FALSE(is_retraining_pending({}, now));
}

TEST(BaselineParts, BestSharePoint_RespectsTheSloAtTheShare) {
  // Aim: less of the GPU makes batches slower, so that smaller ones are left: at half the threads a
  // batch of 8 keeps 0.87 x 0.76 of its rate, and takes 1 / 0.6612 as long.
  Tenant tenant;
  tenant.slo = Duration::milliseconds(100);
  tenant.profile.rows = {{.slices = ComputeSlices(7),
                          .batch = 1,
                          .throughput_rps = 100,
                          .latency = Duration::milliseconds(10)},
                         {.slices = ComputeSlices(7),
                          .batch = 8,
                          .throughput_rps = 200,
                          .latency = Duration::milliseconds(40)}};
  const MpsShareModel model;
  const auto whole = best_share_point(
      tenant, model, {.gpu_slices = ComputeSlices(7), .company = MpsCompany::kAlone});
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->batch, 8);
  const auto half = best_share_point(
      tenant, model, {.gpu_slices = ComputeSlices(7), .share = ActiveThreadPercentage(50)});
  ASSERT_TRUE(half.has_value());
  EXPECT_EQ(half->batch, 1);
  EXPECT_NEAR(half->yield.throughput_rps, 100 * 0.92 * 0.76, 1e-9);
  tenant.slo = Duration::milliseconds(1);
  EXPECT_FALSE(best_share_point(tenant, model, {.gpu_slices = ComputeSlices(7)}).has_value());
}

TEST(BaselineParts, SharedGpu_IsInCanonicalOrder) {
  // Aim: by tenant, serving before retraining; nothing on an empty GPU.
  const GpuDeployment gpu = shared_gpu({{.tenant = 1, .role = Role::kRetrain},
                                        {.tenant = 1, .role = Role::kServe},
                                        {.tenant = 0, .role = Role::kRetrain}});
  ASSERT_EQ(gpu.instances.size(), 1U);
  EXPECT_FALSE(gpu.instances[0].placed.has_value());
  EXPECT_EQ(gpu.instances[0].occupants[0].tenant, 0);
  EXPECT_EQ(gpu.instances[0].occupants[1].role, Role::kServe);
  EXPECT_TRUE(shared_gpu({}).instances.empty());
}

}  // namespace
}  // namespace septule::serve
