#include "serve/pair_labels.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "serve/lattice_support.hpp"

namespace septule::serve {
namespace {

using test::a100;

/// A tenant measured at batch 1 and 8 on every size: `per_slice` requests per second per slice.
Tenant measured(const std::string& name, double per_slice, std::int64_t slo_ms) {
  Tenant tenant;
  tenant.name = name;
  tenant.rate.values = {50};
  tenant.slo = Duration::milliseconds(slo_ms);
  for (const int slices : {1, 2, 3, 4, 7}) {
    for (const int batch : {1, 8}) {
      ProfileRow row;
      row.slices = ComputeSlices(slices);
      row.batch = batch;
      row.throughput_rps = per_slice * slices * (batch == 1 ? 0.5 : 1.0);
      row.latency =
          Duration::nanoseconds(static_cast<std::int64_t>(1e9 * batch / row.throughput_rps));
      row.memory = Bytes::mebibytes(6000);
      tenant.profile.rows.push_back(row);
    }
  }
  return tenant;
}

std::vector<AdmittedTenant> admitted(const std::vector<Tenant>& tenants) {
  return admit(tenants, a100(), AdmissionRule()).admitted;
}

TEST(PairLabels, TwoTenantsOfOneGroup_OneLabelPerSplit) {
  // Both outputs are what the share model leaves of each tenant's own throughput.
  const auto tenants = admitted({measured("a", 40, 2000), measured("b", 80, 2000)});
  const auto pairs = pair_labels(tenants, a100(), {}, {});
  ASSERT_EQ(pairs.size(), 3U);
  bool is_seen = false;
  for (const PairLabel& pair : pairs) {
    if (pair.label.name != "a 50 % + b 50 %") {
      continue;
    }
    is_seen = true;
    const double factor = MpsShareModel::kept(ActiveThreadPercentage(50), 8) * 0.68;
    const int last = static_cast<int>(a100().sizes().size()) - 1;
    const auto whole = static_cast<std::size_t>(last);
    EXPECT_DOUBLE_EQ(pair.label.serves[0].rate_rps[whole], 40.0 * 7 * factor);
    EXPECT_DOUBLE_EQ(pair.label.serves[1].rate_rps[whole], 80.0 * 7 * factor);
    ASSERT_TRUE(pair.occupants[whole].has_value());
    EXPECT_EQ(pair.occupants[whole].value_or(std::array<Occupant, 2>{})[1].tenant, 1);
    EXPECT_EQ(pair.occupants[whole].value_or(std::array<Occupant, 2>{})[0].share.value(), 50);
  }
  EXPECT_TRUE(is_seen);
}

TEST(PairLabels, DifferentTrustGroups_NoLabels) {
  // An MPS server is one fault domain: strangers never share one.
  std::vector<Tenant> tenants{measured("a", 40, 2000), measured("b", 80, 2000)};
  tenants[1].trust_group = "other";
  EXPECT_TRUE(pair_labels(admitted(tenants), a100(), {}, {}).empty());
}

TEST(PairLabels, SloHardlyMetAlone_NoLabelWhereThinnedLatencyIsTooLong) {
  // Latency grows as throughput shrinks; a tenant that just meets its SLO alone has no partner.
  std::vector<Tenant> tenants{measured("a", 40, 2000), measured("b", 80, 2000)};
  tenants[0].slo = Duration::milliseconds(1000 / (20 * 7) + 1000 / (20 * 7) * 3 / 2);
  const auto alone = admitted(tenants);
  ASSERT_EQ(alone.size(), 2U);
  EXPECT_TRUE(pair_labels(alone, a100(), {}, {}).empty());
}

TEST(PairLabels, MemoryOfBothTooLarge_SizeIsLeftOut) {
  // 6000 MiB each fit into 10 GB alone, together only from 2g on.
  const auto tenants = admitted({measured("a", 40, 20000), measured("b", 80, 20000)});
  for (const PairLabel& pair : pair_labels(tenants, a100(), {}, {})) {
    EXPECT_EQ(pair.label.serves[0].rate_rps[0], 0) << pair.label.name;
    EXPECT_FALSE(pair.occupants[0].has_value());
  }
}

TEST(PairLabels, MoreThanAsked_TheBestAreKept) {
  // Every label multiplies the states of a plan, so that their number is limited.
  const auto tenants =
      admitted({measured("a", 40, 2000), measured("b", 80, 2000), measured("c", 60, 2000)});
  PairRule rule;
  rule.labels_max = 100;
  const auto all = pair_labels(tenants, a100(), {}, rule);
  rule.labels_max = 2;
  const auto best = pair_labels(tenants, a100(), {}, rule);
  ASSERT_EQ(best.size(), 2U);
  ASSERT_GT(all.size(), 2U);
  EXPECT_EQ(best[0].label.name, all[0].label.name);
  EXPECT_EQ(best[1].label.name, all[1].label.name);
}

RC_GTEST_PROP(PairLabels, AnyTwoTenants_OutputsNeverExceedTheThroughputAlone, ()) {
  // What shares an instance gets less than who has it alone, and both outputs stand or fall
  // together.
  const double first = *rc::gen::inRange(5, 200);
  const double second = *rc::gen::inRange(5, 200);
  const auto tenants = admitted({measured("a", first, *rc::gen::inRange(50, 3000)),
                                 measured("b", second, *rc::gen::inRange(50, 3000))});
  RC_PRE(tenants.size() == 2U);
  for (const PairLabel& pair : pair_labels(tenants, a100(), {}, {})) {
    for (std::size_t s = 0; s < a100().sizes().size(); ++s) {
      const double x = pair.label.serves[0].rate_rps[s];
      const double y = pair.label.serves[1].rate_rps[s];
      RC_ASSERT((x > 0) == (y > 0));
      RC_ASSERT((x > 0) == pair.occupants[s].has_value());
      RC_ASSERT(x <= tenants[0].throughput_rps(static_cast<int>(s)));
      RC_ASSERT(y <= tenants[1].throughput_rps(static_cast<int>(s)));
    }
  }
}

}  // namespace
}  // namespace septule::serve
