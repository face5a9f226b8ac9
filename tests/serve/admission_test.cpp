#include "serve/admission.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "serve/lattice_support.hpp"

namespace septule::serve {
namespace {

using test::a100;
using test::a30;
using ::testing::HasSubstr;

ProfileRow row(int slices, int batch, double rps, std::int64_t latency_ms) {
  return {.slices = ComputeSlices(slices),
          .batch = batch,
          .throughput_rps = rps,
          .latency = Duration::milliseconds(latency_ms),
          .meaning = LatencyMeaning::kMean};
}

Bytes gibibytes(std::uint64_t count) {
  return Bytes::mebibytes(count * 1024);
}

/// SLO 100 ms (45 ms for a batch), 500 rps.
Tenant tenant(std::vector<ProfileRow> rows) {
  Tenant out;
  out.name = "bert";
  out.profile = {.model = "bert", .gpu = "A100-80GB", .source = "test", .rows = std::move(rows)};
  out.rate.values = {500};
  out.slo = Duration::milliseconds(100);
  return out;
}

AdmissionOutcome judge(const Tenant& one, const AdmissionRule& rule = {}) {
  return admit(std::span(&one, 1), a100(), rule);
}

/// The point on so many slices, which must be the only tenant's.
std::optional<OperatingPoint> point(const AdmissionOutcome& outcome, int slices) {
  if (outcome.admitted.size() != 1) {
    return std::nullopt;
  }
  const int size = a100().size_of(ComputeSlices(slices)).value_or(-1);
  return size < 0 ? std::nullopt : outcome.admitted.front().serving[static_cast<std::size_t>(size)];
}

std::string why(const AdmissionOutcome& outcome) {
  return outcome.rejected.size() != 1
             ? "admitted"
             : outcome.rejected.front().reason + " / " + outcome.rejected.front().needed;
}

TEST(Admission, BestPoint_IsTheGreatestThroughputThatIsFastEnough) {
  // Per size: too slow rows and those of other sizes do not count.
  const AdmissionOutcome outcome =
      judge(tenant({row(1, 1, 50, 20), row(1, 4, 90, 30), row(1, 8, 120, 70), row(3, 8, 400, 30)}));
  ASSERT_EQ(outcome.admitted.size(), 1U);
  ASSERT_TRUE(point(outcome, 1).has_value());
  EXPECT_EQ(point(outcome, 1)->batch, 4);
  EXPECT_EQ(point(outcome, 3)->throughput_rps, 400);
  EXPECT_FALSE(point(outcome, 2).has_value());
  EXPECT_EQ(outcome.admitted.front().throughput_rps(0), 90);
  EXPECT_EQ(outcome.admitted.front().throughput_rps(1), 0);
}

TEST(Admission, LatencyAtTheMargin_DependsOnStrictness) {
  // 45 ms of 100 ms at 0.45: good enough for "at most", not for "below".
  const Tenant one = tenant({row(7, 1, 50, 45)});
  EXPECT_EQ(judge(one).admitted.size(), 1U);
  AdmissionRule strict;
  strict.comparison = SloComparison::kStrictlyBelow;
  EXPECT_EQ(judge(one, strict).rejected.size(), 1U);
  EXPECT_EQ(parvagpu_rule(0.45).comparison, SloComparison::kStrictlyBelow);
}

TEST(Admission, TruncatedSlo_CountsWholeMilliseconds) {
  // ParvaGPU's code reads 100.9 ms as 100 ms.
  Tenant one = tenant({row(7, 1, 50, 45)});
  one.slo = Duration::nanoseconds(100900000);
  AdmissionRule rule = parvagpu_rule(0.45);
  EXPECT_EQ(judge(one, rule).admitted.size(), 1U);
  rule.is_slo_truncated_to_ms = true;
  EXPECT_EQ(judge(one, rule).rejected.size(), 1U);
}

TEST(Admission, Ties_GoToSmallerBatchThenFewerProcesses) {
  // Equal throughput: what answers sooner and needs less.
  ProfileRow many = row(2, 4, 100, 10);
  many.processes = 3;
  ProfileRow few = many;
  few.processes = 2;
  const AdmissionOutcome outcome = judge(tenant({row(2, 8, 100, 10), many, few}));
  ASSERT_TRUE(point(outcome, 2).has_value());
  EXPECT_EQ(point(outcome, 2)->batch, 4);
  EXPECT_EQ(point(outcome, 2)->processes, 2);
}

TEST(Admission, BatchForming_ChecksThePlannedLoadOfOneInstance) {
  // 500 rps over ceil(500 / 400) = 2 instances are 250 each; 60 ms are left: 15 requests. A batch
  // of 16 waits for 15 more, one of 17 for 16.
  const Tenant full = tenant({row(7, 16, 400, 20)});
  const Tenant over = tenant({row(7, 17, 400, 20), row(7, 2, 100, 20)});
  EXPECT_EQ(point(judge(full), 7)->batch, 16);
  EXPECT_EQ(point(judge(over), 7)->batch, 2);
  AdmissionRule ignored;
  ignored.batch_forming = BatchForming::kIgnored;
  EXPECT_EQ(point(judge(over, ignored), 7)->batch, 17);
}

TEST(Admission, LowLoad_TakesASmallerBatch) {
  // At 2 rps nothing fills but a batch of one.
  Tenant one = tenant({row(7, 1, 50, 10), row(7, 8, 300, 20)});
  EXPECT_EQ(point(judge(one), 7)->batch, 8);
  one.rate.values = {2};
  EXPECT_EQ(point(judge(one), 7)->batch, 1);
  one.rate.values = {2, 500, 2};  // the peak is what capacity is planned for
  EXPECT_EQ(point(judge(one), 7)->batch, 8);
}

TEST(Admission, SuspectRowsAndProcesses_FollowTheRule) {
  // Suspect rows are dropped unless kept; rows of too many processes are.
  ProfileRow suspect = row(7, 1, 900, 10);
  suspect.is_suspect = true;
  ProfileRow many = row(7, 1, 800, 10);
  many.processes = 4;
  const Tenant one = tenant({suspect, many, row(7, 1, 100, 10)});
  EXPECT_EQ(point(judge(one), 7)->throughput_rps, 800);
  EXPECT_EQ(point(judge(one, {.suspect = SuspectRows::kKept}), 7)->throughput_rps, 900);
  EXPECT_EQ(point(judge(one, {.processes_max = 1}), 7)->throughput_rps, 100);
}

TEST(Admission, Memory_MustFitTheInstance) {
  // 30 GiB fit 3g.40gb, not 2g.20gb, although the rows say otherwise.
  std::vector<ProfileRow> rows = {row(2, 1, 100, 10), row(3, 1, 150, 10)};
  for (ProfileRow& one : rows) {
    one.memory = gibibytes(30);
  }
  const AdmissionOutcome outcome = judge(tenant(rows));
  EXPECT_FALSE(point(outcome, 2).has_value());
  ASSERT_TRUE(point(outcome, 3).has_value());
  EXPECT_EQ(point(outcome, 3)->memory, gibibytes(30));
}

TEST(Admission, Retraining_HasSpeedsWhereItFits) {
  // MISO's ratios by size, 0 where the memory is too small.
  Tenant one = tenant({row(1, 1, 100, 10)});
  one.retraining = RetrainingJob{.work_s = 30, .accuracy_after = 0.9};
  one.retraining->memory = gibibytes(15);
  const AdmissionOutcome outcome = judge(one);
  ASSERT_EQ(outcome.admitted.size(), 1U);
  const auto& speed = outcome.admitted.front().retraining_speed;
  EXPECT_EQ(speed[0], 0);
  EXPECT_EQ(speed[1], 0.51);
  EXPECT_EQ(speed[4], 1);
  EXPECT_EQ(speed[5], 0);  // no sixth size
}

TEST(Admission, A30_UsesItsOwnSizes) {
  // Rows for 7g are not for a GPU of four slices; rows for 1g, 2g and 4g are.
  const Tenant one = tenant({row(7, 1, 100, 10), row(4, 1, 60, 10)});
  const AdmissionOutcome outcome = admit(std::span(&one, 1), a30(), {});
  ASSERT_EQ(outcome.admitted.size(), 1U);
  EXPECT_EQ(outcome.admitted.front().throughput_rps(2), 60);
  const Tenant none = tenant({row(7, 1, 100, 10), row(3, 1, 60, 10)});
  EXPECT_THAT(why(admit(std::span(&none, 1), a30(), {})),
              HasSubstr("has no row for an instance of A30-24GB / rows for 1g, 2g and 4g"));
}

struct BadCase {
  const char* text;
  std::function<void(Tenant&)> spoil;
};

TEST(Admission, Rejections_SayWhyAndWhatWouldBeNeeded) {
  // Every way to be no tenant at all, with the sentence a user reads.
  const std::vector<BadCase> cases = {
      {"there is no profile of model \"bert\" / rows of that model",
       [](Tenant& t) { t.profile.rows.clear(); }},
      {"its SLO of 20 ms is too short: latency may be at most 0.45 of it, and the fastest row "
       "takes 10 ms (7g, batch 1) / an SLO of at least 22.223 ms",
       [](Tenant& t) { t.slo = Duration::milliseconds(20); }},
      {"its SLO is 0 ms / an SLO above 0 ms", [](Tenant& t) { t.slo = Duration(); }},
      {"its request rate is 0 rps / a rate above 0 rps", [](Tenant& t) { t.rate.values = {0}; }},
      {"its request rate is 0 rps in every step", [](Tenant& t) { t.rate.values = {0, 0}; }},
      {"it has no request rate / a rate", [](Tenant& t) { t.rate.values.clear(); }},
      {"its request rate is -1 rps in step 1 / finite rates of 0 rps or more",
       [](Tenant& t) { t.rate.values = {1, -1}; }},
      {"every row of its profile is marked suspect / rows that are not",
       [](Tenant& t) { t.profile.rows.front().is_suspect = true; }},
      {"every row of its profile has more than 5 processes / rows with fewer",
       [](Tenant& t) { t.profile.rows.front().processes = 6; }},
      {"its model fits no instance of A100-80GB / 100 GiB of memory (7g, batch 1)",
       [](Tenant& t) { t.profile.rows.front().memory = gibibytes(100); }},
      {"at 2 rps no batch of its profile fills in time for its SLO of 100 ms (the smallest that is "
       "fast enough: 7g, batch 32) / rows with smaller batches, or a longer SLO, or 387.5 rps",
       [](Tenant& t) {
         t.profile.rows.front().batch = 32;
         t.rate.values = {2};
       }},
      {"its profile of model \"bert\" has no row for an instance of A100-80GB / rows for 1g",
       [](Tenant& t) { t.profile.rows.front().slices = ComputeSlices(5); }},
      {"its retraining cannot finish: 90 s of work take 90 s on 7g, and from release to deadline "
       "there are 50 s / 90 s between them, or 50 s of work at most",
       [](Tenant& t) {
         t.retraining = RetrainingJob{.work_s = 90,
                                      .accuracy_after = 0.9,
                                      .release = Duration::milliseconds(10000),
                                      .deadline = Duration::milliseconds(60000)};
       }},
      {"its retraining cannot finish: 90 s of work take 120 s on 4g, and from release to the end "
       "of the period there are 100 s / 120 s between them, or 75 s of work at most",
       [](Tenant& t) {
         t.retraining = RetrainingJob{
             .work_s = 90, .accuracy_after = 0.9, .period = Duration::milliseconds(100000)};
         t.retraining->speeds = {{ComputeSlices(4), 0.75}, {ComputeSlices(7), 0.7}};
       }},
      {"its retraining fits no instance of A100-80GB, whose largest has 78.5 GiB / 100 GiB of "
       "memory",
       [](Tenant& t) {
         t.retraining = RetrainingJob{.work_s = 1, .accuracy_after = 0.9};
         t.retraining->memory = gibibytes(100);
       }},
  };
  for (const BadCase& bad : cases) {
    Tenant one = tenant({row(7, 1, 100, 10)});
    bad.spoil(one);
    EXPECT_THAT(why(judge(one)), HasSubstr(bad.text));
  }
}

TEST(Admission, SloThatIsNamed_IsEnough) {
  // Following the advice of a rejection admits the tenant.
  Tenant one = tenant({row(7, 1, 100, 10)});
  one.slo = Duration::nanoseconds(22223000);
  EXPECT_EQ(judge(one).admitted.size(), 1U);
}

TEST(AdmitAll, SeveralRejections_NamesTheFirstAndTheOthers) {
  // One error for all, of the code that means exit 3.
  std::vector<Tenant> tenants(3, tenant({row(7, 1, 100, 10)}));
  tenants[1].name = "a";
  tenants[1].rate.values = {0};
  tenants[2].name = "b";
  tenants[2].slo = Duration::milliseconds(1);
  const auto all = admit_all(tenants, a100(), {});
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(all.error().message,
            "tenant \"a\": its request rate is 0 rps; it needs a rate above 0 rps in one step at "
            "least, or to leave the tenant out (not served either: \"b\")");
  tenants.resize(1);
  const auto one = admit_all(tenants, a100(), {});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->size(), 1U);
}

/// Rows at random: batches and throughputs that need not make sense together.
std::vector<ProfileRow> any_rows() {
  std::vector<ProfileRow> rows;
  const int count = *rc::gen::inRange(1, 20);
  for (int i = 0; i < count; ++i) {
    ProfileRow one = row(*rc::gen::element(1, 2, 3, 4, 7),
                         *rc::gen::inRange(1, 64),
                         *rc::gen::inRange(1, 1000),
                         *rc::gen::inRange(1, 120));
    one.processes = *rc::gen::inRange(1, 6);
    one.is_suspect = *rc::gen::inRange(0, 4) == 0;
    rows.push_back(one);
  }
  return rows;
}

RC_GTEST_PROP(Admission, Points_AreTheBestOfTheAdmissibleRows, ()) {
  // Against a filter written out from the rule: every point is an admissible row, none is better,
  // and a size without a point has no admissible row.
  Tenant one = tenant(any_rows());
  one.rate.values = {static_cast<double>(*rc::gen::inRange(1, 3000))};
  const AdmissionOutcome outcome = judge(one);
  RC_ASSERT(outcome.admitted.size() + outcome.rejected.size() == 1U);
  for (std::size_t s = 0; s < a100().sizes().size(); ++s) {
    double best = 0;
    for (const ProfileRow& r : one.profile.rows) {
      const double latency = r.latency.to_seconds();
      const double rate = one.rate.values.front();
      const double share = rate / std::ceil(rate / r.throughput_rps);
      const bool is_good = r.slices == a100().sizes()[s].slices && !r.is_suspect &&
                           latency <= 0.45 * 0.1 + 1e-12 &&
                           r.batch - 1 <= (0.1 - 2 * latency) * share;
      best = is_good ? std::max(best, r.throughput_rps) : best;
    }
    const double found =
        outcome.admitted.empty() ? 0 : outcome.admitted.front().throughput_rps(static_cast<int>(s));
    RC_ASSERT(found == best);
  }
}

RC_GTEST_PROP(Admission, LongerSlo_NeverGivesLess, ()) {
  // Monotonicity: time costs nothing.
  Tenant one = tenant(any_rows());
  const AdmissionOutcome before = judge(one);
  one.slo = one.slo + Duration::milliseconds(*rc::gen::inRange(1, 200));
  const AdmissionOutcome after = judge(one);
  if (!before.admitted.empty()) {
    RC_ASSERT(after.admitted.size() == 1U);
    for (int s = 0; s < 5; ++s) {
      RC_ASSERT(after.admitted.front().throughput_rps(s) >=
                before.admitted.front().throughput_rps(s));
    }
  }
}

}  // namespace
}  // namespace septule::serve
