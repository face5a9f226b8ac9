// Runs with learned predictors: who is asked, what is recorded, what it costs.
#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "sim/forecast_log.hpp"
#include "sim/learned_support.hpp"
#include "sim/study.hpp"
#include "sim/study_text.hpp"

namespace septule::sim {
namespace {

using test::TellingFactory;
using test::TellingInstruments;

job::Workload arrived(int seed) {
  const job::Workload jobs = job::miso_workload("miso-100").value();
  job::ArrivalOptions options;
  options.gap = test::seconds(60);
  const auto drawn = job::draw_arrivals(
      static_cast<int>(jobs.jobs.size()), options, static_cast<std::uint64_t>(seed));
  return job::with_arrivals(jobs, drawn.value());
}

/// The measured mix on the paper's testbed.
SimSetup testbed(const job::Workload& workload,
                 const predict::SpeedBook& book,
                 std::string_view policy) {
  SimSetup setup = common_setup(sched::Setting::kPaper);
  setup.geometry = &test::model("A100-40GB");
  setup.latencies = &test::latencies();
  setup.workload = &workload;
  setup.book = &book;
  setup.policy = sched::find_policy(policy).value();
  return setup;
}

double mean_jct_s(const job::RunRecord& run) {
  return job::figures_of(run).mean_jct_s;
}

predict::SpeedBook book_of(const job::Workload& workload) {
  auto made = predict::SpeedBook::make(test::model("A100-40GB"), workload.signatures);
  SEPTULE_CHECK(made.has_value(), "the built-in signatures are valid");
  return std::move(made).value();
}

TEST(LearnedSim, GoodPredictor_MisoAndSeptule_LoseAtMostTwoPerCent) {
  // Aim: truth plus 5 % of error costs less than 2 % of mean JCT against the exact table, checkers
  // on.
  const TellingFactory factory(0.05);
  const TellingInstruments instruments;
  for (const std::string_view policy : {"miso", "septule"}) {
    double exact = 0;
    double learned = 0;
    for (int seed = 1; seed <= 6; ++seed) {
      const job::Workload workload = arrived(seed);
      const predict::SpeedBook book = book_of(workload);
      SimSetup setup = testbed(workload, book, policy);
      setup.error = {};
      exact += mean_jct_s(test::checked_run(setup, "table"));
      setup.predictors = &factory;
      setup.measurements = &instruments;
      learned += mean_jct_s(test::checked_run(setup, "learned"));
    }
    EXPECT_LE(learned / exact, 1.02) << policy;
  }
}

TEST(LearnedSim, PoliciesThatPredictNothing_KeepTheirTable) {
  // Aim: oracles, nopart and optsta run the same with and without a factory, and record nothing.
  const TellingFactory factory(0.3);
  const TellingInstruments instruments;
  const job::Workload workload = arrived(1);
  const predict::SpeedBook book = book_of(workload);
  for (const std::string_view policy : {"nopart", "oracle", "mps-only"}) {
    SimSetup setup = testbed(workload, book, policy);
    const job::RunRecord plain = test::checked_run(setup, "plain");
    setup.predictors = &factory;
    setup.measurements = &instruments;
    const job::RunRecord other = test::checked_run(setup, "with a factory");
    EXPECT_EQ(plain.digest, other.digest) << policy;
    EXPECT_TRUE(other.forecasts.empty()) << policy;
    EXPECT_EQ(other.measurements, job::MeasurementCounts()) << policy;
  }
}

TEST(LearnedSim, EqualRuns_AreEqual_AndTheTablesAreUntouched) {
  // Aim: digests repeat; a table's run does not depend on instruments; forecasts are none of its.
  const TellingFactory factory(0.1);
  const TellingInstruments instruments;
  const job::Workload workload = arrived(2);
  const predict::SpeedBook book = book_of(workload);
  SimSetup setup = testbed(workload, book, "septule");
  const std::uint64_t table = test::checked_run(setup, "table").digest;
  setup.measurements = &instruments;
  const job::RunRecord same = test::checked_run(setup, "table with instruments");
  EXPECT_EQ(same.digest, table);
  EXPECT_TRUE(same.forecasts.empty());
  setup.predictors = &factory;
  const job::RunRecord first = test::checked_run(setup, "learned");
  EXPECT_EQ(first.digest, test::checked_run(setup, "learned again").digest);
  EXPECT_NE(first.digest, table);
}

TEST(LearnedSim, Forecasts_AreStaysWithTheTrueSpeed) {
  // Aim: actual is the book's speed on that slice; believed is off by the model's error for MISO,
  // and closer to the truth for Septule, whose observations correct it.
  const TellingFactory factory(0.15);
  const TellingInstruments instruments;
  const job::Workload workload = arrived(3);
  const predict::SpeedBook book = book_of(workload);
  std::map<std::string_view, double> late_error;
  for (const std::string_view policy : {"miso", "septule"}) {
    SimSetup setup = testbed(workload, book, policy);
    setup.predictors = &factory;
    setup.measurements = &instruments;
    const job::RunRecord run = test::checked_run(setup, "learned");
    ASSERT_GT(run.forecasts.size(), 50U);
    EXPECT_EQ(run.measurements.modelled, 0);
    EXPECT_GT(run.measurements.drawn, 10);
    double error = 0;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < run.forecasts.size(); ++i) {
      const job::SpeedForecast& forecast = run.forecasts[i];
      const job::JobSpec& job = workload.jobs[static_cast<std::size_t>(forecast.job.value())];
      const auto profile = book.geometry().plain_profile(forecast.slices);
      EXPECT_EQ(forecast.actual, book.speed(job.signature, profile.value()));
      EXPECT_LE(forecast.decided, forecast.begin);
      EXPECT_GT(forecast.believed, 0);
      if (i > run.forecasts.size() / 2 && forecast.slices != ComputeSlices(7)) {
        error += std::abs(std::log(forecast.believed / forecast.actual));
        ++count;
      }
    }
    late_error[policy] = error / static_cast<double>(count);
  }
  EXPECT_GT(late_error["miso"], 0.06);
  EXPECT_LT(late_error["septule"], 0.8 * late_error["miso"]);
}

TEST(LearnedSim, OddWorkloads_EveryRuleHolds) {
  // Aim: gangs, phases, stated memory and jobs of microseconds under a learned predictor.
  const TellingFactory factory(0.2);
  const TellingInstruments instruments;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const job::Workload workload = test::odd_workload(seed, 40);
    for (const std::string_view policy : {"miso", "miso-wide", "septule", "septule-fair"}) {
      test::Case wanted;
      wanted.policy = policy;
      wanted.seed = seed;
      SimSetup setup = test::setup_of(wanted, workload);
      setup.predictors = &factory;
      setup.measurements = &instruments;
      test::checked_run(setup, wanted.text());
    }
  }
}

TEST(LearnedSim, NoSevenSlices_Run_IsRefused) {
  // Aim: the factory's error is the run's error.
  const TellingFactory factory(0.1);
  const TellingInstruments instruments;
  const job::Workload workload = test::odd_workload(1, 5);
  test::Case wanted;
  wanted.model = "A30-24GB";
  SimSetup setup = test::setup_of(wanted, workload);
  setup.predictors = &factory;
  setup.measurements = &instruments;
  const auto run = simulate(setup);
  ASSERT_FALSE(run.has_value());
  EXPECT_EQ(run.error().code, ErrorCode::kInvalidInput);
}

TEST(LearnedSim, Study_Trial_SumsItsForecastsBySlice) {
  // Aim: TrialResult has as many stays as the record, the most slices first.
  const TellingFactory factory(0.1);
  const TellingInstruments instruments;
  const job::Workload workload = job::miso_workload("miso-100").value();
  StudySpec spec;
  spec.clusters = {{&test::model("A100-40GB"), 8}};
  spec.workload = &workload;
  spec.gaps = {test::seconds(60)};
  spec.policies = parse_policies("septule").value();
  spec.seeds = {1};
  spec.common = common_setup(sched::Setting::kPaper);
  spec.common.latencies = &test::latencies();
  spec.common.predictors = &factory;
  spec.common.measurements = &instruments;
  auto study = Study::make(std::move(spec));
  ASSERT_TRUE(study.has_value());
  study->choose_layouts({});
  RunRecording recording;
  const auto result = study->run_trial(study->trials()[0], &recording);
  ASSERT_TRUE(result.has_value());
  std::int64_t stays = 0;
  int last = 8;
  for (const job::ForecastSums& sums : result->forecasts) {
    stays += sums.count;
    EXPECT_LT(sums.slices.value(), last);
    last = sums.slices.value();
    EXPECT_GE(sums.error_abs, std::abs(sums.error));
  }
  EXPECT_EQ(stays, static_cast<std::int64_t>(recording.run.forecasts.size()));
}

/// Instruments that see no step of any job.
class BlindInstruments final : public MpsMeasurementSource {
 public:
  std::string text() const override { return "blind"; }
  job::MeasurementCounts measure(const Measurement& /*at*/,
                                 std::span<predict::MpsSample> samples) const override {
    for (predict::MpsSample& sample : samples) {
      for (predict::MpsSample::Level& level : sample.levels) {
        level.step.reset();
      }
    }
    return {.modelled = static_cast<std::int64_t>(samples.size())};
  }
  void observe(const Measurement& /*at*/,
               predict::SliceObservation& /*observation*/) const override {}
};

TEST(LearnedSim, NothingMeasured_Run_GoesOnByGuessesAndCountsThem) {
  // Aim: jobs of which runs see nothing are placed all the same, and every such column is counted.
  const TellingFactory factory(0.1);
  const BlindInstruments instruments;
  const job::Workload workload = arrived(1);
  const predict::SpeedBook book = book_of(workload);
  for (const std::string_view policy : {"miso", "septule"}) {
    SimSetup setup = testbed(workload, book, policy);
    setup.predictors = &factory;
    setup.measurements = &instruments;
    const job::RunRecord run = test::checked_run(setup, "blind");
    EXPECT_GT(run.measurements.unmeasured, 0) << policy;
    EXPECT_EQ(run.measurements.unmeasured, run.measurements.modelled) << policy;
  }
}

// ---- ForecastLog alone

struct SegmentCounter final : JobObserver {
  void on_segment(const JobSegment& /*segment*/) override { ++segments; }
  void on_end(job::JobId /*job*/, SimTime /*time*/) override { ++ends; }
  int segments = 0;
  int ends = 0;
};

TEST(ForecastLog, SharedLimitedOrUnknown_NoEntry_AloneOnce) {
  // Aim: only stays alone count, once each, and everything is passed on.
  const gpu::Geometry& a100 = test::model("A100-40GB");
  const job::Workload workload = job::miso_workload("miso-100").value();
  const predict::SpeedBook book = book_of(workload);
  predict::TablePredictor known(book, {.knowledge = predict::Knowledge::kEverything});
  predict::TablePredictor unknown(book, {.knowledge = predict::Knowledge::kPerJob});
  for (int id = 0; id < 4; ++id) {
    known.submitted(workload.jobs[static_cast<std::size_t>(id)]);
    unknown.submitted(workload.jobs[static_cast<std::size_t>(id)]);
  }
  SegmentCounter counter;
  ForecastLog log(a100, &counter);
  const gpu::PlacedProfile two{a100.find_profile("2g.10gb").value(), MemorySlices(0)};
  const gpu::PlacedProfile three{a100.find_profile("3g.20gb").value(), MemorySlices(4)};
  sched::SetGoal decision;
  decision.gpu = GpuId(0);
  decision.goal.instances.push_back(two);
  decision.goal.instances.push_back(three);
  decision.goal.add({job::JobId(0), 0, ActiveThreadPercentage(100)});
  decision.goal.add({job::JobId(1), 1, ActiveThreadPercentage(100)});
  decision.goal.add({job::JobId(2), 1, ActiveThreadPercentage(50)});
  const auto runs = [&](int job, const gpu::PlacedProfile& where, double from_s) {
    log.on_segment({job::JobId(job),
                    job::JobState::kRunning,
                    port::JobPlace{GpuId(0), where, ActiveThreadPercentage(100)},
                    test::at_s(from_s),
                    test::at_s(from_s + 1),
                    0.5});
  };
  log.decided(test::at_s(1), decision, unknown);
  runs(0, two, 2);
  log.decided(test::at_s(3), decision, known);  // it runs there already
  runs(0, two, 3);
  runs(1, three, 3);
  runs(2, three, 3);
  EXPECT_TRUE(log.take().empty());
  // Another place is another stay.
  decision.goal.remove(job::JobId(0));
  decision.goal.remove(job::JobId(1));
  decision.goal.remove(job::JobId(2));
  decision.goal.add({job::JobId(0), 1, ActiveThreadPercentage(100)});
  log.decided(test::at_s(4), decision, known);
  runs(0, two, 4);  // still where it was
  runs(0, three, 5);
  runs(0, three, 6);
  log.on_end(job::JobId(0), test::at_s(7));
  const auto forecasts = log.take();
  ASSERT_EQ(forecasts.size(), 1U);
  EXPECT_EQ(forecasts[0].decided, test::at_s(4));
  EXPECT_EQ(forecasts[0].begin, test::at_s(5));
  EXPECT_EQ(forecasts[0].slices, ComputeSlices(3));
  EXPECT_EQ(forecasts[0].actual, 0.5);
  EXPECT_EQ(forecasts[0].believed, known.speeds(job::JobId(0))->on(three.profile));
  EXPECT_EQ(counter.segments, 7);
  EXPECT_EQ(counter.ends, 1);
}

}  // namespace
}  // namespace septule::sim
