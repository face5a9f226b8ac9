#include "predict/speed_book.hpp"

#include <cmath>
#include <fstream>
#include <limits>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "base/text.hpp"
#include "predict/predict_support.hpp"
#include "support/node_builder.hpp"
#include "support/shared_data.hpp"

namespace septule::predict {
namespace {

using job::Bound;
using job::PerfSignature;
using job::SignatureIndex;
using test::a100;
using test::amdahl;
using test::make_book;
using test::measured;
using test::model;
using test::profile;
using test::slice_ms;
using test::synthetic;
using testing::HasSubstr;

/// The message with which one signature is refused; empty = it is not.
std::string refusal(const gpu::Geometry& geometry, const PerfSignature& signature) {
  const Result<SpeedBook> book = SpeedBook::make(geometry, std::vector{signature});
  if (book) {
    return "";
  }
  EXPECT_EQ(book.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(book.error().message.find('\n'), std::string::npos);
  return book.error().message;
}

TEST(SpeedBook, Measured_OnItsModel_GivesRatiosOfSteps) {
  // Aim: measured figures are whole step / profile's step, and fits are the measured profiles.
  const SpeedBook book = make_book(a100(), {measured()});
  const SignatureIndex first(0);
  EXPECT_EQ(book.size(), 1U);
  EXPECT_TRUE(book.is_measured(first));
  EXPECT_EQ(book.speed(first, profile(a100(), "7g.40gb")), 1);
  EXPECT_EQ(book.speed(first, profile(a100(), "4g.20gb")), 0.625);
  EXPECT_EQ(book.speed(first, profile(a100(), "3g.20gb")), 0.625);
  EXPECT_EQ(book.speed(first, profile(a100(), "2g.10gb")), 0.4);
  EXPECT_EQ(book.speed(first, profile(a100(), "1g.5gb")), 0);
  EXPECT_EQ(book.speed(first, profile(a100(), "1g.10gb")), 0);
  EXPECT_EQ(book.smallest(first), profile(a100(), "2g.10gb"));
  EXPECT_EQ(book.need(first), Bytes::mebibytes(9856));
  EXPECT_EQ(book.whole_step(first), Duration::milliseconds(100));
  EXPECT_EQ(book.whole_profile(), profile(a100(), "7g.40gb"));
  ASSERT_NE(book.slice_time(first, profile(a100(), "2g.10gb")), nullptr);
  EXPECT_EQ(book.slice_time(first, profile(a100(), "2g.10gb"))->step, Duration::milliseconds(250));
  EXPECT_EQ(book.slice_time(first, profile(a100(), "1g.5gb")), nullptr);
}

TEST(SpeedBook, PlainProfiles_EveryModel_AscendUpToTheWholeGpu) {
  // Aim: on every model with a table a synthetic job gets along, the whole profile comes last.
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  for (const gpu::Geometry& geometry : catalogue.geometries()) {
    const Result<SpeedBook> book =
        SpeedBook::make(geometry, std::vector{synthetic(0.5, Bound::kCompute, 1)});
    ASSERT_EQ(book.has_value(), geometry.has_profile_table()) << geometry.key();
    if (!book) {
      EXPECT_EQ(book.error().code, ErrorCode::kInvalidInput);
      EXPECT_THAT(book.error().message, HasSubstr(geometry.key()));
      continue;
    }
    ComputeSlices before;
    for (const ProfileIndex index : book->plain_profiles()) {
      EXPECT_LT(before, geometry.profile(index).slices);
      before = geometry.profile(index).slices;
      EXPECT_EQ(geometry.profile(index).variant, gpu::ProfileVariant::kPlain);
    }
    EXPECT_EQ(book->plain_profiles().back(), book->whole_profile());
    EXPECT_EQ(before, geometry.compute_slices());
  }
}

TEST(SpeedBook, Miso_PublishedFigures_EqualTheMeasurements) {
  // Aim: the built-in 32 jobs on the A100 are the published step times, fits included.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/profiles.csv");
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::map<std::string, std::map<std::string, double>> steps;
  while (std::getline(file, line)) {
    const std::vector<std::string_view> cells = split_outside_brackets(line, ',');
    if (cells[3] == "1") {
      steps[fmt::format("{}:{}", cells[0], cells[1])][std::string(cells[2])] =
          checked_value(parse_number(cells[7]), "a step time is a number");
    }
  }
  const std::vector<PerfSignature> signatures = job::builtin_signatures();
  const SpeedBook book = make_book(a100(), signatures);
  ASSERT_EQ(book.size(), 32U);
  for (int i = 0; i < 32; ++i) {
    const std::string& name = book.signature(SignatureIndex(i)).name;
    ASSERT_TRUE(steps.contains(name)) << name;
    for (const ProfileIndex index : book.plain_profiles()) {
      const std::string& slice = a100().profile(index).name;
      const double expected =
          steps[name].contains(slice) ? steps[name]["7g.40gb"] / steps[name][slice] : 0;
      EXPECT_NEAR(book.speed(SignatureIndex(i), index), expected, 1e-9) << name << " " << slice;
    }
  }
}

TEST(SpeedBook, Miso_Fits_ElevenFourNone) {
  // Aim: 11 of the 32 jobs do not fit 1g, 4 not 2g, all fit 3g (miso.md 2.1).
  const SpeedBook book = make_book(a100(), job::builtin_signatures());
  std::map<std::string, int> unfit;
  for (int i = 0; i < static_cast<int>(book.size()); ++i) {
    for (const ProfileIndex index : book.plain_profiles()) {
      unfit[a100().profile(index).name] += book.speed(SignatureIndex(i), index) > 0 ? 0 : 1;
    }
  }
  EXPECT_EQ(book.size(), 32U);
  EXPECT_EQ(unfit["1g.5gb"], 11);
  EXPECT_EQ(unfit["2g.10gb"], 4);
  EXPECT_EQ(unfit["3g.20gb"], 0);
  EXPECT_EQ(unfit["4g.20gb"], 0);
  EXPECT_EQ(unfit["7g.40gb"], 0);
}

TEST(SpeedBook, Fit_OfAnAmdahlJob_FindsItsParts) {
  // Aim: a job that obeys the law gives back its serial and parallel part, scaled to sum 1.
  for (const auto& [serial, parallel] :
       std::vector<std::pair<int, int>>{{30, 70}, {0, 84}, {100, 100}, {420, 42}}) {
    const SpeedBook book = make_book(a100(), {amdahl("a", serial, parallel)});
    const ScalingFit& fit = book.scaling(SignatureIndex(0));
    EXPECT_NEAR(fit.serial, static_cast<double>(serial) / (serial + parallel), 1e-6);
    EXPECT_NEAR(fit.parallel, static_cast<double>(parallel) / (serial + parallel), 1e-6);
  }
}

TEST(SpeedBook, Fit_OddJobs_StaysInBounds) {
  // Aim: super-linear jobs, jobs faster on less, and jobs with one time get parts in 0..1.
  PerfSignature super = measured();
  super.times = {slice_ms("7g.40gb", 100), slice_ms("3g.20gb", 400), slice_ms("1g.5gb", 9000)};
  PerfSignature inverse = measured();
  inverse.times = {slice_ms("7g.40gb", 100), slice_ms("3g.20gb", 90)};
  PerfSignature lonely = measured();
  lonely.times = {slice_ms("7g.40gb", 100)};
  const SpeedBook book = make_book(a100(), {super, inverse, lonely});
  EXPECT_EQ(book.scaling(SignatureIndex(0)).serial, 0);
  EXPECT_EQ(book.scaling(SignatureIndex(0)).parallel, 1);
  EXPECT_EQ(book.scaling(SignatureIndex(1)).serial, 1);
  EXPECT_EQ(book.scaling(SignatureIndex(1)).parallel, 0);
  EXPECT_EQ(book.scaling(SignatureIndex(2)).parallel, 1);
  EXPECT_DOUBLE_EQ(book.speed_at(SignatureIndex(2), 0.25), 0.25);
  EXPECT_EQ(book.smallest(SignatureIndex(2)), book.whole_profile());
}

TEST(SpeedBook, SpeedAt_ByHand_InterpolatesAndFits) {
  // Aim: measured points are met, between them the line holds, below them the fit through the last.
  const SpeedBook book = make_book(a100(), {measured(), amdahl("a", 30, 70)});
  const SignatureIndex first(0);
  EXPECT_DOUBLE_EQ(book.speed_at(first, 1), 1);
  EXPECT_DOUBLE_EQ(book.speed_at(first, 2.0 / 7), 0.4);
  EXPECT_DOUBLE_EQ(book.speed_at(first, 2.5 / 7), 0.5125);
  EXPECT_DOUBLE_EQ(book.speed_at(first, 3.5 / 7), 0.625);
  EXPECT_DOUBLE_EQ(book.speed_at(first, 5.5 / 7), 0.8125);
  const ScalingFit& fit = book.scaling(first);
  EXPECT_DOUBLE_EQ(book.speed_at(first, 1.0 / 7),
                   0.4 * fit.speed_at(1.0 / 7) / fit.speed_at(2.0 / 7));
  EXPECT_NEAR(book.speed_at(SignatureIndex(1), 1.0 / 14), 1 / (0.3 + 0.7 * 14), 1e-7);
}

RC_GTEST_PROP(SpeedBook, SpeedAt_MonotoneTimes_IsMonotoneAndPositive, ()) {
  // Aim: jobs that are no slower on more are so on every share in between; no jump at the points.
  std::vector<int> steps;
  int step = 50;
  for (int i = 0; i < 5; ++i) {
    steps.push_back(step);
    step += *rc::gen::inRange(0, 300);
  }
  const int count = *rc::gen::inRange(1, 6);
  const std::vector<std::string> names{"7g.40gb", "4g.20gb", "3g.20gb", "2g.10gb", "1g.5gb"};
  PerfSignature signature = measured();
  signature.times.clear();
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    signature.times.push_back(slice_ms(names[i], steps[i]));
  }
  const SpeedBook book = make_book(a100(), {signature});
  double before = 0;
  for (int i = 1; i <= 1400; ++i) {
    const double speed = book.speed_at(SignatureIndex(0), i / 1400.0);
    RC_ASSERT(speed > 0);
    RC_ASSERT(speed >= before - 1e-12);
    RC_ASSERT(speed <= 1);
    // Close to share 0 the law itself may be steep.
    RC_ASSERT(i < 100 || speed - before < 0.05);
    before = speed;
  }
}

TEST(SpeedBook, Synthetic_ByHand_FollowsTheFormula) {
  // Aim: compute-bound jobs go by compute slices, memory-bound ones by memory slices; memory fits.
  const SpeedBook book = make_book(a100(),
                                   {synthetic(0.5, Bound::kCompute, 4864),
                                    synthetic(0.5, Bound::kMemory, 4865),
                                    synthetic(1, Bound::kCompute, 40193)});
  const auto speed = [&book](int signature, const char* name) {
    return book.speed(SignatureIndex(signature), profile(a100(), name));
  };
  EXPECT_DOUBLE_EQ(speed(0, "1g.5gb"), 0.97 * 2 / 7);
  EXPECT_DOUBLE_EQ(speed(0, "3g.20gb"), 0.97 * 6 / 7);
  EXPECT_DOUBLE_EQ(speed(0, "4g.20gb"), 0.97);
  EXPECT_DOUBLE_EQ(speed(0, "7g.40gb"), 0.97);
  EXPECT_EQ(speed(1, "1g.5gb"), 0);
  EXPECT_EQ(speed(1, "1g.10gb"), 0);
  EXPECT_DOUBLE_EQ(speed(1, "2g.10gb"), 0.97 * 0.5);
  EXPECT_DOUBLE_EQ(speed(1, "3g.20gb"), 0.97);
  EXPECT_EQ(book.need(SignatureIndex(1)), Bytes::mebibytes(9856));
  EXPECT_EQ(speed(2, "7g.40gb"), 0);
  EXPECT_FALSE(book.smallest(SignatureIndex(2)).has_value());
  EXPECT_EQ(book.need(SignatureIndex(2)), Bytes::mebibytes(40193));
  EXPECT_FALSE(book.is_measured(SignatureIndex(0)));
  EXPECT_EQ(book.whole_step(SignatureIndex(0)), kSyntheticStep);
  EXPECT_EQ(book.slice_time(SignatureIndex(0), book.whole_profile()), nullptr);
  EXPECT_DOUBLE_EQ(book.speed_at(SignatureIndex(1), 1.0 / 7), 0.97 * 0.25);
}

TEST(SpeedBook, Foreign_OnOtherModels_IsPredicted) {
  // Aim: figures of the A100-40GB on an A30 and an H100 are the fit's, fits go by memory.
  for (const auto& [key, names] : std::vector<std::pair<const char*, std::vector<const char*>>>{
           {"A30-24GB", {"1g.6gb", "2g.12gb", "4g.24gb"}},
           {"H100-80GB-SXM", {"1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}}}) {
    const gpu::Geometry& geometry = model(key);
    const SpeedBook book = make_book(geometry, {amdahl("a", 30, 70)});
    const SignatureIndex first(0);
    EXPECT_FALSE(book.is_measured(first));
    for (const char* name : names) {
      const double share =
          static_cast<double>(geometry.profile(profile(geometry, name)).slices.value()) /
          geometry.compute_slices().value();
      EXPECT_NEAR(book.speed(first, profile(geometry, name)), 1 / (0.3 + 0.7 / share), 1e-6);
      EXPECT_DOUBLE_EQ(book.speed_at(first, share), book.speed(first, profile(geometry, name)));
      EXPECT_EQ(book.slice_time(first, profile(geometry, name)), nullptr);
    }
    EXPECT_DOUBLE_EQ(book.speed(first, book.whole_profile()), 1);
    EXPECT_EQ(book.smallest(first), profile(geometry, names[0]));
    EXPECT_EQ(book.whole_step(first), Duration::milliseconds(100));
  }
}

TEST(SpeedBook, Foreign_Fits_FollowTheMemory) {
  // Aim: what needs 10 or 20 GB on the A100-40GB takes the first profile with so much elsewhere,
  // sister parts' few percent forgiven; what needs more than there is fits nowhere.
  PerfSignature twenty = measured();
  twenty.times = {slice_ms("7g.40gb", 100), slice_ms("4g.20gb", 160), slice_ms("3g.20gb", 160)};
  PerfSignature forty = measured();
  forty.times = {slice_ms("7g.40gb", 100)};
  const std::vector<PerfSignature> signatures{measured(), twenty, forty};
  const auto smallest = [&signatures](const char* key, int signature) -> std::string {
    const SpeedBook book = make_book(model(key), signatures);
    const std::optional<ProfileIndex> found = book.smallest(SignatureIndex(signature));
    return found.has_value() ? model(key).profile(*found).name : "nowhere";
  };
  EXPECT_EQ(smallest("A30-24GB", 0), "2g.12gb");
  EXPECT_EQ(smallest("A30-24GB", 1), "4g.24gb");
  EXPECT_EQ(smallest("A30-24GB", 2), "nowhere");
  EXPECT_EQ(smallest("A100-80GB", 0), "1g.10gb");
  EXPECT_EQ(smallest("A100-80GB", 1), "2g.20gb");
  EXPECT_EQ(smallest("A100-80GB", 2), "3g.40gb");
  EXPECT_EQ(smallest("H100-80GB-SXM", 0), "1g.10gb");
  EXPECT_EQ(smallest("H100-80GB-SXM", 2), "3g.40gb");
  // No memory published: the slices' share of the board's, less 5 %.
  EXPECT_EQ(smallest("H100-64GB", 0), "2g.16gb");
  EXPECT_EQ(usable_memory(model("H100-64GB"), *model("H100-64GB").find_profile("7g.64gb")),
            Bytes::mebibytes(62259));
  const SpeedBook nowhere = make_book(model("A30-24GB"), {forty});
  EXPECT_EQ(nowhere.need(SignatureIndex(0)), Bytes::mebibytes(40192));
}

TEST(SpeedBook, FitsOnce_FitsEverythingLarger) {
  // Aim: on every model with profiles, and for measurements with gaps, a job that fits a profile
  // has a speed on every one with more memory slices: policies rely on it.
  PerfSignature gap = measured();
  std::erase_if(gap.times, [](const job::SliceTime& time) {
    return time.profile != "7g.40gb" && time.profile != "1g.5gb" && time.profile != "2g.10gb";
  });
  std::vector<PerfSignature> signatures = job::builtin_signatures();
  signatures.push_back(gap);
  signatures.push_back(synthetic(0.3, Bound::kMemory, 20000));
  for (const gpu::Geometry& geometry : septule::test::catalogue().geometries()) {
    if (!geometry.has_profile_table()) {
      continue;
    }
    const Result<SpeedBook> book = SpeedBook::make(geometry, signatures);
    if (!book) {
      continue;  // no profile of the whole GPU
    }
    for (std::size_t i = 0; i < signatures.size(); ++i) {
      const SignatureIndex signature(static_cast<int>(i));
      const std::optional<ProfileIndex> smallest = book->smallest(signature);
      for (const ProfileIndex index : book->plain_profiles()) {
        const bool is_larger = smallest.has_value() &&
                               geometry.profile(index).size() > geometry.profile(*smallest).size();
        EXPECT_TRUE(!is_larger || book->speed(signature, index) > 0)
            << geometry.key() << " " << signatures[i].name << " " << geometry.profile(index).name;
      }
    }
  }
}

TEST(SpeedBook, Need_OfASignature_IsWhatCountsWhereMemoryIsShared) {
  // Aim: a stated need replaces the memory of the smallest profile, and moves no fit.
  std::vector<job::PerfSignature> signatures = job::builtin_signatures();
  const SpeedBook before = *SpeedBook::make(model("A100-40GB"), signatures);
  signatures[0].need = Bytes::mebibytes(1234);
  const SpeedBook after = *SpeedBook::make(model("A100-40GB"), signatures);
  const job::SignatureIndex first(0);
  EXPECT_EQ(after.need(first), Bytes::mebibytes(1234));
  EXPECT_EQ(after.smallest(first), before.smallest(first));
  EXPECT_EQ(after.row(first).speed, before.row(first).speed);
  EXPECT_EQ(after.need(job::SignatureIndex(1)), before.need(job::SignatureIndex(1)));
}

TEST(SpeedCurve, ThroughARow_MeetsItsSpeeds) {
  // Aim: a curve through a book's own row says on every share what the book says; a row without a
  // speed on the whole GPU has no curve.
  const SpeedBook book = *SpeedBook::make(model("A100-40GB"), job::builtin_signatures());
  for (int i = 0; i < static_cast<int>(book.size()); ++i) {
    const job::SignatureIndex signature(i);
    const auto curve = curve_through(book.geometry(), book.row(signature));
    ASSERT_TRUE(curve.has_value());
    for (const ProfileIndex profile : book.plain_profiles()) {
      const double share = book.geometry().profile(profile).slices.value() / 7.0;
      if (book.speed(signature, profile) > 0) {
        EXPECT_NEAR(curve->at(share), book.speed(signature, profile), 1e-12);
      }
    }
    EXPECT_GT(curve->at(0.01), 0);
  }
  EXPECT_FALSE(curve_through(book.geometry(), SpeedRow{}).has_value());
}

TEST(SpeedBook, Invalid_Signatures_AreRefusedByName) {
  // Aim: every fault of a signature is refused, and the message names signature and value.
  const auto changed = [](auto&& change) {
    PerfSignature signature = measured();
    change(signature);
    return refusal(a100(), signature);
  };
  EXPECT_EQ(refusal(a100(), measured()), "");
  EXPECT_THAT(changed([](auto& s) { s.times.erase(s.times.begin()); }),
              AllOf(HasSubstr("measured:1"), HasSubstr("7g.40gb")));
  EXPECT_THAT(changed([](auto& s) { s.times.clear(); }), HasSubstr("either"));
  EXPECT_THAT(changed([](auto& s) { s.synthetic = job::SyntheticResponse{}; }),
              HasSubstr("either"));
  EXPECT_THAT(changed([](auto& s) { s.times[1].profile = "5g.20gb"; }), HasSubstr("5g.20gb"));
  EXPECT_THAT(changed([](auto& s) { s.times[1].profile = "1g.10gb"; }), HasSubstr("plain"));
  EXPECT_THAT(changed([](auto& s) { s.times[1].profile = "3g.20gb"; }), HasSubstr("two times"));
  EXPECT_THAT(changed([](auto& s) { s.times[1].step = Duration(); }), HasSubstr("0 ns"));
  EXPECT_THAT(changed([](auto& s) { s.times[1].step = Duration::milliseconds(-1); }),
              HasSubstr("-1000000 ns"));
  EXPECT_THAT(changed([](auto& s) { s.times[1].first_step = Duration::milliseconds(-1); }),
              HasSubstr("-1000000 ns"));
  EXPECT_THAT(changed([](auto& s) { s.gpu_key = "A101"; }), HasSubstr("A101"));
  EXPECT_THAT(changed([](auto& s) { s.gpu_key = ""; }), HasSubstr("measured:1"));
  EXPECT_THAT(changed([](auto& s) { s.gpu_key = "Thor-iGPU"; }), HasSubstr("Thor-iGPU"));
  EXPECT_THAT(changed([](auto& s) { s.gpu_key = "A30-24GB"; }), HasSubstr("A30-24GB"));
}

TEST(SpeedBook, Invalid_SyntheticOnes_AreRefused) {
  // Aim: saturation must be in (0, 1], memory must be known.
  for (const double saturation :
       {0.0, -0.5, 1.01, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(refusal(a100(), synthetic(saturation, Bound::kCompute, 100)),
                HasSubstr("saturation"));
  }
  PerfSignature unknown = synthetic(0.5, Bound::kCompute, 100);
  unknown.memory.reset();
  EXPECT_THAT(refusal(a100(), unknown), HasSubstr("memory"));
}

TEST(SpeedBook, BoardName_AsKey_MeansTheSameModel) {
  // Aim: a signature that names the board was measured on this model all the same.
  PerfSignature board = measured();
  board.gpu_key = "NVIDIA A100-SXM4-40GB";
  EXPECT_TRUE(make_book(a100(), {board}).is_measured(SignatureIndex(0)));
}

}  // namespace
}  // namespace septule::predict
