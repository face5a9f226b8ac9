#include "job/cost_model.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace septule::job {
namespace {

constexpr Bytes kGibibyte = Bytes::mebibytes(1024);

PerfSignature signature() {
  PerfSignature made;
  made.name = "made";
  made.start = Duration::milliseconds(9000);
  made.memory = Bytes::mebibytes(10240);
  made.times = {{.profile = "7g.40gb",
                 .step = Duration::milliseconds(30),
                 .first_step = Duration::milliseconds(5700)},
                {.profile = "1g.5gb", .step = Duration::milliseconds(60), .first_step = {}}};
  return made;
}

TEST(StartTime_Nominal, StartAndRunAddUpToTheReference) {
  // start + n steps = constant + first step + (n - 1) mean steps (miso.md 2.5).
  const PerfSignature made = signature();
  const Duration start = start_time(CostModel(), made, made.times.data(), {}, StartKind::kFirst);
  const std::int64_t steps = 1000;
  const std::int64_t step = made.times[0].step.to_nanoseconds();
  EXPECT_EQ(start.to_nanoseconds() + steps * step, 9000000000 + 5700000000 + (steps - 1) * step);
}

TEST(StartTime_FirstStepNotKnown, ChargesTheConstantAlone) {
  // No measurement of the slice, or none of its first step.
  const PerfSignature made = signature();
  EXPECT_EQ(start_time(CostModel(), made, nullptr, {}, StartKind::kFirst),
            Duration::milliseconds(9000));
  EXPECT_EQ(start_time(CostModel(), made, &made.times[1], {}, StartKind::kFirst),
            Duration::milliseconds(9000));
}

TEST(StartTime_Restart, LoadsTheFootprint) {
  // 4 GiB at 2 GiB/s are 2 s more than a first start, with both kinds of costs.
  const PerfSignature made = signature();
  for (const CostKind kind : {CostKind::kNominal, CostKind::kCalibrated}) {
    CostModel costs;
    costs.kind = kind;
    const Bytes four(4 * kGibibyte.value());
    const auto* slice = made.times.data();
    EXPECT_EQ(start_time(costs, made, slice, four, StartKind::kRestart) -
                  start_time(costs, made, slice, four, StartKind::kFirst),
              Duration::milliseconds(2000));
  }
}

TEST(StartTime_Calibrated, IsTwentyFiveSeconds) {
  // Whatever the family and the first step; steps take 1.16 times as long.
  CostModel costs;
  costs.kind = CostKind::kCalibrated;
  const PerfSignature made = signature();
  EXPECT_EQ(start_time(costs, made, made.times.data(), {}, StartKind::kFirst),
            Duration::milliseconds(25000));
  EXPECT_EQ(costs.step_factor(), 1.16);
  EXPECT_EQ(CostModel().step_factor(), 1);
}

TEST(StartTime_Extra, IsAddedToEveryStart) {
  // Sensitivity studies: first starts and restarts alike.
  const PerfSignature made = signature();
  CostModel extra;
  extra.start_extra = Duration::milliseconds(7000);
  for (const StartKind kind : {StartKind::kFirst, StartKind::kRestart}) {
    EXPECT_EQ(start_time(extra, made, made.times.data(), kGibibyte, kind) -
                  start_time(CostModel(), made, made.times.data(), kGibibyte, kind),
              Duration::milliseconds(7000));
  }
}

TEST(CostModel_Free, RestartsAndCheckpointsCostNothingButFirstStartsDo) {
  // The oracle without overheads still starts its jobs.
  CostModel costs;
  costs.is_free = true;
  const PerfSignature made = signature();
  EXPECT_EQ(start_time(costs, made, made.times.data(), kGibibyte, StartKind::kRestart), Duration());
  EXPECT_EQ(checkpoint_time(costs, kGibibyte), Duration());
  EXPECT_EQ(start_time(costs, made, made.times.data(), kGibibyte, StartKind::kFirst),
            start_time(CostModel(), made, made.times.data(), kGibibyte, StartKind::kFirst));
}

TEST(StartTime_FirstStepShorterThanTheMean, IsNotNegative) {
  // A table may say so; time does not run backwards.
  PerfSignature made = signature();
  made.start = Duration();
  made.times[0].first_step = Duration::milliseconds(1);
  EXPECT_EQ(start_time(CostModel(), made, made.times.data(), {}, StartKind::kFirst), Duration());
}

TEST(CheckpointTime_Default, IsHalfASecondAndTheFootprint) {
  // (base + footprint / rate) x factor; an infinite rate makes the footprint free.
  CostModel costs;
  EXPECT_EQ(checkpoint_time(costs, {}), Duration::milliseconds(500));
  EXPECT_EQ(checkpoint_time(costs, Bytes(3 * kGibibyte.value())), Duration::milliseconds(2000));
  costs.checkpoint_factor = 2;
  EXPECT_EQ(checkpoint_time(costs, Bytes(3 * kGibibyte.value())), Duration::milliseconds(4000));
  costs.checkpoint_bytes_per_s = std::numeric_limits<double>::infinity();
  EXPECT_EQ(checkpoint_time(costs, Bytes(3 * kGibibyte.value())), Duration::milliseconds(1000));
}

TEST(Footprint_ReadingAndSmallestProfile, IsTheSmaller) {
  // Frameworks reserve more than they use; what is not known does not count.
  PerfSignature made = signature();
  EXPECT_EQ(footprint(made, Bytes::mebibytes(4864)), Bytes::mebibytes(4864));
  EXPECT_EQ(footprint(made, Bytes::mebibytes(20480)), Bytes::mebibytes(10240));
  EXPECT_EQ(footprint(made, std::nullopt), Bytes::mebibytes(10240));
  made.memory.reset();
  EXPECT_EQ(footprint(made, Bytes::mebibytes(4864)), Bytes::mebibytes(4864));
  EXPECT_EQ(footprint(made, std::nullopt), Bytes());
}

TEST(CostKind_Names, GoBothWays) {
  // What the command line says.
  for (const CostKind kind : {CostKind::kNominal, CostKind::kCalibrated}) {
    EXPECT_EQ(parse_cost_kind(cost_kind_name(kind)), kind);
  }
  EXPECT_FALSE(parse_cost_kind("Nominal").has_value());
  EXPECT_FALSE(parse_cost_kind("").has_value());
}

TEST(CostModelDeathTest_RateOfNothing, StopsTheProgram) {
  // Options are checked before.
  CostModel costs;
  costs.checkpoint_bytes_per_s = 0;
  EXPECT_DEATH(checkpoint_time(costs, kGibibyte), "rate is positive");
}

}  // namespace
}  // namespace septule::job
