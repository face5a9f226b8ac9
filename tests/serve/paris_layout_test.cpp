#include "serve/policies/paris_layout.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "serve/lattice_support.hpp"

namespace septule::serve {
namespace {

/// Sizes of the A100: 1g, 2g, 3g, 4g, 7g.
SizeTable<BatchCurve> hand_made_curves() {
  SizeTable<BatchCurve> curves;
  curves[0] = {{1, 50}, {2, 90}, {4, 100}, {8, 101}};
  curves[1] = {{1, 60}, {2, 120}, {4, 180}, {8, 200}};
  curves[2] = {{1, 60}, {2, 120}, {4, 200}, {8, 290}, {16, 300}};
  curves[4] = {{1, 60}, {2, 120}, {4, 240}, {8, 480}, {16, 700}};
  return curves;
}

ProfileRow row(int slices, int batch, double rps, int latency_ms) {
  return {.slices = ComputeSlices(slices),
          .batch = batch,
          .throughput_rps = rps,
          .latency = Duration::milliseconds(latency_ms)};
}

TEST(ParisLayout, BatchCurves_HoldTheBestAdmissibleRows) {
  // Aim: the margin, suspect rows and the best number of processes.
  Tenant tenant;
  tenant.slo = Duration::milliseconds(100);
  tenant.profile.rows = {
      row(1, 1, 10, 20), row(1, 2, 15, 45), row(1, 4, 30, 46), row(2, 1, 22, 10)};
  tenant.profile.rows.push_back(row(1, 1, 14, 30));
  tenant.profile.rows.back().processes = 2;
  tenant.profile.rows.push_back(row(1, 1, 99, 1));
  tenant.profile.rows.back().is_suspect = true;
  const SizeTable<BatchCurve> curves = batch_curves(test::a100(), tenant, {});
  EXPECT_EQ(curves[0], (BatchCurve{{1, 14}, {2, 15}}));
  EXPECT_EQ(curves[1], (BatchCurve{{1, 22}}));
  EXPECT_TRUE(curves[2].empty());
  AdmissionRule strict;
  strict.comparison = SloComparison::kStrictlyBelow;
  strict.processes_max = 1;
  EXPECT_EQ(batch_curves(test::a100(), tenant, strict)[0], (BatchCurve{{1, 10}}));
}

TEST(ParisLayout, Knees_AreTheLeastBatchesNearTheBestAndDoNotFall) {
  // Aim: 1g: 91 of 101 needs batch 4; 2g: 180 of 200 is batch 4; 3g: 270 needs 8; 7g: 16.
  EXPECT_EQ(knee_batches(hand_made_curves(), 0.9), (SizeTable<int>{4, 4, 8, 0, 16}));
  SizeTable<BatchCurve> curves = hand_made_curves();
  curves[1] = {{1, 100}, {4, 100}};
  EXPECT_EQ(knee_batches(curves, 0.9)[1], 4) << "not below the knee of 1g";
}

TEST(ParisLayout, BatchLoad_AddsUpAndIsAPointWithoutTime) {
  // Aim: no forming time means single requests; the rates sum to the mean of the steps.
  const std::vector<double> rates{10, 30, 0};
  const BatchLoad single = batch_load(rates, 0, 8);
  ASSERT_EQ(single.size(), 1U);
  EXPECT_EQ(single[0].first, 1);
  EXPECT_NEAR(single[0].second, 40.0 / 3, 1e-12);
  for (const int batch_max : {1, 4, 64}) {
    double sum = 0;
    for (const auto& [batch, rate] : batch_load(rates, 0.2, batch_max)) {
      EXPECT_LE(batch, batch_max);
      sum += rate;
    }
    EXPECT_NEAR(sum, 40.0 / 3, 1e-9);
  }
  const std::vector<double> large{20000};
  EXPECT_EQ(batch_load(large, 1, 128).front().first, 128) << "no underflow at large means";
}

TEST(ParisLayout, BatchLoad_HasThePoissonMean) {
  // Aim: requests over batches: a mean batch of 1 + rate x forming time.
  const std::vector<double> rates{50};
  double batches = 0;
  double requests = 0;
  for (const auto& [batch, rate] : batch_load(rates, 0.1, 1000)) {
    batches += rate / batch;
    requests += rate;
  }
  EXPECT_NEAR(requests / batches, 6, 1e-6);
}

TEST(ParisLayout, SegmentCounts_GoByTheKnees) {
  // Aim: worked by hand: batch 2 belongs to 1g (knee 4), 8 to 3g, 16 and above to 7g.
  const SizeTable<BatchCurve> curves = hand_made_curves();
  const BatchLoad load{{2, 45}, {8, 29}, {16, 350}, {32, 70}};
  const SizeTable<double> need = segment_counts(curves, knee_batches(curves, 0.9), load);
  EXPECT_DOUBLE_EQ(need[0], 0.5);
  EXPECT_DOUBLE_EQ(need[1], 0);
  EXPECT_DOUBLE_EQ(need[2], 0.1);
  EXPECT_DOUBLE_EQ(need[4], 0.6);
}

std::vector<SizeTable<int>> undominated() {
  std::vector<SizeTable<int>> multisets;
  for (const LayoutLattice::Multiset& multiset : test::a100().multisets()) {
    if (multiset.is_undominated) {
      multisets.push_back(multiset.counts);
    }
  }
  return multisets;
}

TEST(ParisLayout, OneTenant_GetsTheLayoutOfGreatestMinimum) {
  // Aim: PARIS's rounding: twice as many 1g as 2g and 3g is 3+2+1+1 exactly.
  const ParisTenant tenant{
      .need = {0.5, 0.25, 0.25}, .rate_rps = {10, 20, 30, 40, 70}, .expected_rps = 10};
  const ParisLayout found = choose_paris_layout(test::a100(), undominated(), {{tenant}});
  ASSERT_EQ(found.counts.size(), 1U);
  EXPECT_EQ(found.counts[0], (SizeTable<int>{2, 1, 1}));
}

TEST(ParisLayout, TwoTenants_AreCoveredBeforeSegmentsAreMatched) {
  // Aim: the second tenant needs 4g in size but three quarters of the GPU in load; nobody starves.
  const ParisTenant small{.need = {0.5}, .rate_rps = {10, 20, 30, 40, 70}, .expected_rps = 8};
  const ParisTenant large{
      .need = {0, 0, 0, 1.2}, .rate_rps = {10, 20, 30, 40, 70}, .expected_rps = 55};
  const std::vector<ParisTenant> tenants{small, large};
  const ParisLayout found = choose_paris_layout(test::a100(), undominated(), tenants);
  EXPECT_GE(found.covered, 1);
  EXPECT_GE(found.counts[1][3], 1);
  int gpcs = 0;
  for (const SizeTable<int>& counts : found.counts) {
    gpcs += counts[0] + 2 * counts[1] + 3 * counts[2] + 4 * counts[3] + 7 * counts[4];
  }
  EXPECT_LE(gpcs, 7);
}

}  // namespace
}  // namespace septule::serve
