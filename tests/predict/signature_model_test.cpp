#include "predict/signature_model.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "predict/predict_support.hpp"

namespace septule::predict {
namespace {

using test::model;
using test::profile;
using ::testing::HasSubstr;

const gpu::Geometry& a100() {
  return model("A100-80GB");
}

Place slice(const char* name, const gpu::Geometry& gpu = a100()) {
  return {.gpu = &gpu, .profile = profile(gpu, name)};
}

Place whole(const gpu::Geometry& gpu = a100()) {
  return {.gpu = &gpu, .profile = std::nullopt};
}

constexpr ActiveThreadPercentage kAll{100};

Resources at(const Place& place, int atp = 100) {
  const Result<PlaceResources> found = place_resources(place, ActiveThreadPercentage(atp));
  SEPTULE_CHECK(found.has_value(), "tests name places that exist");
  return found->resources;
}

/// Measured on five slices and the whole GPU.
SignatureModel model_of(const SoloLaw& law, std::optional<int> kernels = std::nullopt) {
  std::vector<MeasuredStep> steps = {{.profile = std::nullopt, .step = law.step({})}};
  for (const char* const name : {"7g.80gb", "4g.40gb", "3g.40gb", "2g.20gb", "1g.10gb"}) {
    steps.push_back({.profile = profile(a100(), name), .step = law.step(at(slice(name)))});
  }
  Result<SignatureModel> fit =
      SignatureModel::fit(a100(), steps, {.solo = {}, .kernel_count = kernels});
  SEPTULE_CHECK(fit.has_value(), "tests measure valid steps");
  return std::move(fit).value();
}

constexpr SoloLaw kCompute{.serial = 0.1, .compute = 0.9, .memory = 0, .usable = 1};
constexpr SoloLaw kMemory{.serial = 0.1, .compute = 0.2, .memory = 0.7, .usable = 1};
constexpr SoloLaw kSerial{.serial = 0.9, .compute = 0.1, .memory = 0, .usable = 1};
constexpr SoloLaw kNarrow{.serial = 0.05, .compute = 0.35, .memory = 0, .usable = 0.4};

std::vector<ShareBelief> shared(const Place& place, const std::vector<SignatureClient>& clients) {
  const Result<std::vector<ShareBelief>> out = predict_sharing(place, clients);
  SEPTULE_CHECK(out.has_value(), "tests share valid places");
  return *out;
}

std::string message_of(const Place& place, const std::vector<SignatureClient>& clients) {
  const Result<std::vector<ShareBelief>> out = predict_sharing(place, clients);
  EXPECT_FALSE(out.has_value());
  if (out) {
    return "";
  }
  EXPECT_EQ(out.error().code, ErrorCode::kInvalidInput);
  return out.error().message;
}

double sum_of(const LimitShares& limits) {
  return std::accumulate(limits.share.begin(), limits.share.end(), 0.0);
}

TEST(PlaceResources, OfTheCatalogue_AreSmsAndMemorySlices) {
  // Aim: 14 SMs a slice of 108, three slices with four of eight memory slices, percentages times
  // it.
  EXPECT_EQ(at(whole()).compute, 1);
  EXPECT_EQ(at(whole()).bandwidth, 1);
  EXPECT_NEAR(at(slice("7g.80gb")).compute, 98.0 / 108, 1e-12);
  EXPECT_NEAR(at(slice("3g.40gb")).compute, 42.0 / 108, 1e-12);
  EXPECT_NEAR(at(slice("3g.40gb")).bandwidth, 0.5, 1e-12);
  EXPECT_NEAR(at(slice("1g.10gb"), 50).compute, 7.0 / 108, 1e-12);
  EXPECT_NEAR(at(slice("1g.10gb"), 50).bandwidth, 0.125, 1e-12);
}

TEST(PlaceResources, EveryProfileOfTheCatalogue_HasSome) {
  // Aim: no model and profile fails or exceeds the whole; unpublished SMs are marked.
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  int estimated = 0;
  for (const gpu::Geometry& gpu : catalogue.geometries()) {
    for (int i = 0; i < static_cast<int>(gpu.profiles().size()); ++i) {
      const Result<PlaceResources> found =
          place_resources({.gpu = &gpu, .profile = ProfileIndex(i)}, kAll);
      ASSERT_TRUE(found.has_value()) << gpu.key();
      EXPECT_GT(found->resources.compute, 0) << gpu.key();
      EXPECT_LE(found->resources.compute, 1) << gpu.key();
      EXPECT_GT(found->resources.bandwidth, 0) << gpu.key();
      EXPECT_LE(found->resources.bandwidth, 1) << gpu.key();
      estimated += found->is_estimated ? 1 : 0;
    }
  }
  EXPECT_GT(estimated, 0);
}

TEST(SignatureModel, MeasuredPlaces_AreAnsweredAsMeasured) {
  // Aim: fitted to noise-free slices it answers slices and percentages nearly exactly.
  for (const SoloLaw& law : {kCompute, kMemory, kSerial, kNarrow}) {
    const SignatureModel fit = model_of(law);
    for (const Place& place : {slice("4g.40gb"), slice("2g.20gb"), slice("1g.10gb"), whole()}) {
      const Result<SpeedBelief> speed = fit.speed(place, kAll, std::nullopt);
      ASSERT_TRUE(speed.has_value());
      const double expected = law.step({}) / law.step(at(place));
      EXPECT_NEAR(speed->speed, expected, 0.05 * expected);
    }
    const double expected = law.step({}) / law.step(at(whole(), 50));
    EXPECT_NEAR(fit.speed(whole(), ActiveThreadPercentage(50), std::nullopt)->speed,
                expected,
                0.1 * expected);
  }
}

TEST(SignatureModel, AnotherGpu_NeedsItsRatios) {
  // Aim: what the catalogue does not know is asked for, never guessed; ratios scale each term.
  const gpu::Geometry& h100 = model("H100-80GB-SXM");
  const SignatureModel fit = model_of(kCompute);
  const Result<SpeedBelief> unknown = fit.speed(whole(h100), kAll, std::nullopt);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(unknown.error().message, HasSubstr("measured on A100-80GB"));
  EXPECT_THAT(unknown.error().message, HasSubstr("give the ratios"));
  const GpuRatio twice{.compute = 2, .bandwidth = 2};
  const Result<SpeedBelief> fast = fit.speed(whole(h100), kAll, twice);
  ASSERT_TRUE(fast.has_value());
  EXPECT_NEAR(fast->speed, 1 / (0.1 + 0.45), 0.1);
  // A job that cannot use more SMs gains only from faster ones: here twice as many, not faster.
  const SignatureModel narrow = model_of(kNarrow);
  const GpuRatio wide{.compute = 2, .bandwidth = 1, .sm_speed = 1};
  EXPECT_NEAR(narrow.speed(whole(h100), kAll, wide)->speed, 1, 0.05);
  const GpuRatio quick{.compute = 2, .bandwidth = 1, .sm_speed = 2};
  EXPECT_GT(narrow.speed(whole(h100), kAll, quick)->speed, 1.5);
  // SMs of the catalogue: 132 against 108 at equal clocks are no faster.
  const GpuRatio clocks{.compute = 132.0 / 108, .bandwidth = 1};
  EXPECT_NEAR(fit.resources(whole(h100), kAll, clocks)->resources.sm_speed, 1, 1e-12);
}

TEST(SignatureModel, BadInput_SaysWhat) {
  // Aim: steps, percentages, profiles, kernel counts and ratios out of range.
  const auto fail = [](const std::vector<MeasuredStep>& steps, const SignatureOptions& options) {
    const Result<SignatureModel> fit = SignatureModel::fit(a100(), steps, options);
    EXPECT_FALSE(fit.has_value());
    return fit ? std::string() : fit.error().message;
  };
  const MeasuredStep good{.profile = std::nullopt, .step = 1};
  EXPECT_THAT(fail({}, {}), HasSubstr("at least one"));
  EXPECT_THAT(
      fail({good, {.profile = std::nullopt, .atp = ActiveThreadPercentage(0), .step = 1}}, {}),
      HasSubstr("step time 2: the active thread percentage is 0; valid: 1 to 100"));
  EXPECT_THAT(fail({{.profile = ProfileIndex(999), .step = 1}}, {}),
              HasSubstr("no profile number 999"));
  EXPECT_THAT(fail({{.profile = std::nullopt, .step = std::nan("")}}, {}),
              HasSubstr("step time 1 is nan"));
  EXPECT_THAT(fail({good, good}, {}), HasSubstr("step times 1 and 2 are of the same part"));
  EXPECT_THAT(fail({good}, {.solo = {}, .kernel_count = 0}), HasSubstr("number of kernels is 0"));
  const SignatureModel fit = model_of(kCompute);
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(fit.speed(whole(), kAll, GpuRatio{.compute = bad}).has_value());
    EXPECT_FALSE(fit.speed(whole(), kAll, GpuRatio{.bandwidth = bad}).has_value());
    EXPECT_FALSE(fit.speed(whole(), kAll, GpuRatio{.sm_speed = bad}).has_value());
  }
  const gpu::Geometry& h64 = model("H100-64GB");
  const Result<SpeedBelief> no_sms = fit.speed(whole(h64), kAll, GpuRatio{.compute = 1.5});
  ASSERT_FALSE(no_sms.has_value());
  EXPECT_THAT(no_sms.error().message, HasSubstr("number of SMs of H100-64GB is not published"));
  EXPECT_TRUE(fit.speed(whole(h64), kAll, GpuRatio{.compute = 1.5, .sm_speed = 1.2}).has_value());
  EXPECT_THAT(message_of(whole(), {}), HasSubstr("0 jobs"));
  EXPECT_THAT(message_of(whole(), std::vector<SignatureClient>(49, {.model = &fit})),
              HasSubstr("49 jobs"));
  EXPECT_THAT(message_of(whole(), {{.model = nullptr}}), HasSubstr("job 1 has no model"));
  EXPECT_THAT(message_of(whole(), {{.model = &fit, .atp = ActiveThreadPercentage(101)}}),
              HasSubstr("job 1: the active thread percentage is 101"));
  EXPECT_THAT(message_of({}, {{.model = &fit}}), HasSubstr("names no GPU"));
}

TEST(PredictSharing, OneAlone_IsTheSoloModel) {
  // Aim: nobody waits alone; a percentage of its own costs what the smaller part costs.
  const SignatureModel fit = model_of(kMemory);
  const std::vector<ShareBelief> alone = shared(slice("3g.40gb"), {{.model = &fit}});
  EXPECT_EQ(alone[0].rate, 1);
  EXPECT_NEAR(alone[0].together.step, fit.solo().predict(at(slice("3g.40gb"))).step, 1e-12);
  EXPECT_NEAR(sum_of(alone[0].limits), 1, 1e-9);
  EXPECT_EQ(alone[0].limits.main(), Limit::kMemory);
  const std::vector<ShareBelief> capped =
      shared(whole(), {{.model = &fit, .atp = ActiveThreadPercentage(25)}});
  EXPECT_NEAR(capped[0].together.step, fit.solo().predict(at(whole(), 25)).step, 1e-9);
  EXPECT_GT(capped[0].limits.of(Limit::kPercentage), 0.1);
  EXPECT_NEAR(sum_of(capped[0].limits), 1, 1e-9);
}

TEST(PredictSharing, Limits_NameWhatHurts) {
  // Aim: each kind of job is told its own limit, and a starved one that its kernels are short.
  const auto limit = [](const SoloLaw& law, const char* place) {
    const SignatureModel fit = model_of(law);
    return shared(slice(place), {{.model = &fit}})[0].limits.main();
  };
  EXPECT_EQ(limit(kCompute, "1g.10gb"), Limit::kCompute);
  EXPECT_EQ(limit(kMemory, "1g.10gb"), Limit::kMemory);
  EXPECT_EQ(limit(kSerial, "7g.80gb"), Limit::kSerial);
  EXPECT_EQ(limit(kNarrow, "7g.80gb"), Limit::kUnusableSms);
  const SignatureModel quick = model_of(kCompute, 10000);
  const SignatureModel slow = model_of(kCompute, 100);
  const std::vector<ShareBelief> out = shared(whole(), {{.model = &quick}, {.model = &slow}});
  EXPECT_EQ(out[0].limits.main(), Limit::kKernelLength);
  EXPECT_LT(out[0].rate, 0.12);
  EXPECT_GT(out[1].rate, 0.9);
  EXPECT_NEAR(sum_of(out[0].limits), 1, 1e-9);
  const std::vector<ShareBelief> equals =
      shared(whole(), {{.model = &slow}, {.model = &slow}, {.model = &slow}});
  EXPECT_EQ(equals[0].limits.main(), Limit::kCoRunners);
  EXPECT_NEAR(equals[0].limits.of(Limit::kKernelLength), 0, 1e-9);
  // Percentages end the starving.
  const std::vector<ShareBelief> capped =
      shared(whole(),
             {{.model = &quick, .atp = ActiveThreadPercentage(30)},
              {.model = &slow, .atp = ActiveThreadPercentage(30)}});
  EXPECT_GT(capped[0].rate, 0.2);
  EXPECT_NEAR(capped[0].rate, capped[1].rate, 1e-9);
  EXPECT_EQ(capped[0].limits.main(), Limit::kPercentage);
}

TEST(PredictSharing, UnknownKernels_AreSaidAndErrorsGrow) {
  // Aim: a missing kernel count is not made up silently: marked, and the error is larger.
  const SignatureModel known = model_of(kCompute, 100);
  const SignatureModel unknown = model_of(kCompute);
  const std::vector<ShareBelief> sure = shared(whole(), {{.model = &known}, {.model = &known}});
  const std::vector<ShareBelief> unsure = shared(whole(), {{.model = &known}, {.model = &unknown}});
  EXPECT_TRUE(sure[0].knows_kernels);
  EXPECT_FALSE(unsure[0].knows_kernels);
  EXPECT_GT(unsure[0].together.log_sd, 2 * sure[0].together.log_sd);
  EXPECT_GT(sure[0].together.log_sd, sure[0].alone.log_sd);
}

RC_GTEST_PROP(PredictSharing, AnyClients_RatesAndLimits_AreSound, ()) {
  // Aim: rates in (0, 1], limits add up to 1, order is no matter, equals alike.
  static const std::vector<SignatureModel> models = {model_of(kCompute, 40),
                                                     model_of(kMemory, 400),
                                                     model_of(kSerial, 90),
                                                     model_of(kNarrow, 900)};
  const Place place = *rc::gen::element(slice("1g.10gb"), slice("3g.40gb"), whole());
  const bool capped = *rc::gen::arbitrary<bool>();
  std::vector<SignatureClient> clients;
  const int count = *rc::gen::inRange(1, 9);
  for (int i = 0; i < count; ++i) {
    clients.push_back({.model = &models[*rc::gen::inRange<std::size_t>(0, models.size())],
                       .atp = ActiveThreadPercentage(capped ? *rc::gen::inRange(1, 101) : 100)});
  }
  clients.push_back(clients.front());
  const std::vector<ShareBelief> out = shared(place, clients);
  std::ranges::reverse(clients);
  std::vector<ShareBelief> backwards = shared(place, clients);
  std::ranges::reverse(backwards);
  RC_ASSERT(std::abs(out.front().rate - out.back().rate) < 1e-9);
  for (std::size_t i = 0; i < out.size(); ++i) {
    RC_ASSERT(out[i].rate > 0 && out[i].rate <= 1);
    RC_ASSERT(std::abs(out[i].rate - backwards[i].rate) < 1e-9);
    RC_ASSERT(std::abs(sum_of(out[i].limits) - 1) < 1e-9);
    RC_ASSERT(out[i].together.step >= out[i].alone.step * (1 - 1e-9));
    for (const double share : out[i].limits.share) {
      RC_ASSERT(share >= -1e-12);
    }
  }
}

TEST(ExplainLimits, Sentence_NamesPartsAndAdvice) {
  // Aim: the main limit first, the others by size without those below 1 %, then what helps.
  LimitShares shares;
  shares.of(Limit::kMemory) = 0.6;
  shares.of(Limit::kSerial) = 0.1;
  shares.of(Limit::kCompute) = 0.295;
  shares.of(Limit::kCoRunners) = 0.005;
  EXPECT_EQ(explain_limits(shares, {}),
            "memory bandwidth takes 60 % of its step (compute 30 %, serial part 10 %): an instance "
            "with more memory slices helps most");
  LimitShares only;
  only.of(Limit::kSerial) = 1;
  EXPECT_EQ(explain_limits(only, {.speed_least = 0.95}),
            "serial part takes 100 % of its step: no instance makes that shorter, so a small one "
            "loses little");
  for (std::size_t i = 0; i < kLimits; ++i) {
    LimitShares one;
    one.share[i] = 1;
    EXPECT_EQ(one.main(), static_cast<Limit>(i));
    EXPECT_THAT(explain_limits(one, {}), HasSubstr(std::string(limit_name(static_cast<Limit>(i)))));
  }
}

TEST(ExplainLimits, Advice_IsPossibleWhereTheJobIs) {
  // Aim: nothing larger than the whole GPU is advised, and a small slice only where the speed on it
  // allows that.
  for (std::size_t i = 0; i < kLimits; ++i) {
    LimitShares one;
    one.share[i] = 1;
    const std::string text = explain_limits(one, {.size = LimitPlace::Size::kWholeGpu});
    EXPECT_THAT(text, ::testing::Not(HasSubstr("more compute slices")));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("more memory slices")));
  }
  LimitShares serial;
  serial.of(Limit::kSerial) = 1;
  EXPECT_THAT(explain_limits(serial, {.speed_least = 0.39}),
              HasSubstr("but on its smallest slice other parts grow: speed 0.39"));
  EXPECT_THAT(explain_limits(serial, {}), ::testing::EndsWith("no instance makes that shorter"));
}

}  // namespace
}  // namespace septule::predict
