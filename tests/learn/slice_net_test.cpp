// learn::SliceNet against its description, computed once more by plain loops in double.
#include "learn/slice_net.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "learn/learn_support.hpp"
#include "learn/plain_slice_net.hpp"

namespace septule::learn {
namespace {

using predict::MpsMatrix;
using predict::SlicePrediction;
using predict::SlicePredictions;
using Fillers = SliceNet::Fillers;
using test::PlainEstimate;
using test::PlainNet;

constexpr std::array<int, 3> kMeasured = {100, 50, 14};
constexpr std::size_t kSure = 3;  ///< the class that SureBelief believes in
constexpr SliceNetForm kSmall = {.width = 8, .layers = 3, .classes = 6, .members = 2};

void expect_plain(const PlainNet& net,
                  const SlicePrediction& prediction,
                  const std::vector<double>& belief) {
  const double floor = net.setting("sd_floor");
  const double part = net.setting("time_median_part");
  for (std::size_t slice = 0; slice < 3; ++slice) {
    const PlainEstimate time = test::estimate_of(net, "class.time", 3, slice, belief);
    const double expected = part * time.median() + (1 - part) * time.mean();
    EXPECT_NEAR(prediction.time[slice], expected, 2e-6);
    EXPECT_NEAR(prediction.time_sd[slice], time.sd(expected, floor), 2e-6);
  }
  EXPECT_EQ(prediction.speed[0], 1);
  EXPECT_EQ(prediction.speed_sd[0], 0);
  for (std::size_t slice = 1; slice < 5; ++slice) {
    const PlainEstimate speed = test::estimate_of(net, "class.speed", 5, slice, belief);
    const double loss = test::mean_loss_of(net, slice, belief);
    const double expected = std::clamp(
        prediction.speed[slice - 1] - loss, speed.points.front().first, speed.points.back().first);
    EXPECT_NEAR(prediction.speed[slice], expected, 2e-6);
    EXPECT_NEAR(prediction.speed_sd[slice], speed.sd(expected, floor), 2e-6);
  }
}

std::unique_ptr<SliceNet> net_of(const NetworkWeights& weights) {
  auto net = SliceNet::make(weights);
  EXPECT_TRUE(net.has_value()) << net.error().message;
  return std::move(net).value();
}

bool same(const SlicePrediction& a, const SlicePrediction& b) {
  return a.speed == b.speed && a.speed_sd == b.speed_sd && a.time == b.time &&
         a.time_sd == b.time_sd;
}

void expect_refused(const Result<SlicePredictions>& result, std::string_view what) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(result.error().message.find(what), std::string::npos) << result.error().message;
}

TEST(SliceNet_Prediction, EqualsPlainLoops) {
  // Every form, number of jobs and set of levels gives what the definition gives.
  const std::vector<std::vector<int>> sets = {
      {100, 50, 14}, {14, 100}, {50, 100}, {14, 50}, {100}, {50}, {14}};
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const SliceNetForm form = {
        .width = seed % 2 == 0 ? 8 : 64,
        .layers = static_cast<int>(1 + seed % 4),
        .classes = seed % 3 == 0 ? 33 : static_cast<int>(3 + seed),
        .members = static_cast<int>(1 + seed % 3),
        .counters = seed < 6 ? SliceNetForm::Counters::kNone : SliceNetForm::Counters::kUsed};
    const NetworkWeights weights = test::drawn_slice_net(seed, form);
    const auto net = net_of(weights);
    const PlainNet plain(weights);
    Rng rng(seed);
    for (std::size_t jobs = 1; jobs <= 7; ++jobs) {
      MpsMatrix matrix = test::drawn_matrix(sets[(seed + jobs) % sets.size()], jobs, &rng);
      for (std::size_t column = 0; column < seed; ++column) {  // more and more are declared
        matrix.smallest[column % 7] = ComputeSlices(predict::kSliceComputeSlices[rng.below(5)]);
      }
      for (const Fillers fillers : {Fillers::kExcluded, Fillers::kPossible}) {
        const auto predicted = net->predict_with(matrix, fillers);
        ASSERT_TRUE(predicted.has_value()) << predicted.error().message;
        auto belief = plain.belief(test::features_of(matrix, seed < 6 ? 10 : 15), fillers);
        std::size_t at = 0;
        for (std::size_t column = 0; column < 7; ++column) {
          ASSERT_EQ((*predicted)[column].has_value(), matrix.is_present(column));
          if (matrix.is_present(column)) {
            test::conditioned(plain, matrix.smallest[column], &belief[at]);
            SCOPED_TRACE(fmt::format("{} {} {}", seed, jobs, fillers == Fillers::kPossible));
            expect_plain(plain, *(*predicted)[column], belief[at++]);
          }
        }
      }
    }
  }
}

TEST(SliceNet_PermutedColumns, PermuteTheAnswerExactly) {
  // To the last bit, and equal columns get equal answers.
  const auto net = net_of(test::drawn_slice_net(1, {.counters = SliceNetForm::Counters::kUsed}));
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    MpsMatrix matrix = test::drawn_matrix(kMeasured, 1 + rng.below(7), &rng);
    if (rng.below(3) == 0) {  // a twin
      for (MpsMatrix::Level& level : matrix.levels) {
        level.step[0] = level.step[3] = 1.0 + level.atp.value();
      }
      matrix.counters[0] = matrix.counters[3];
    }
    ASSERT_GT(matrix.present_count(), 0U);
    std::array<std::size_t, 7> to{0, 1, 2, 3, 4, 5, 6};
    rng.shuffle(std::span<std::size_t>(to));
    MpsMatrix permuted = matrix;
    for (std::size_t level = 0; level < 3; ++level) {
      for (std::size_t column = 0; column < 7; ++column) {
        permuted.levels[level].step[to[column]] = matrix.levels[level].step[column];
      }
    }
    for (std::size_t column = 0; column < 7; ++column) {
      permuted.counters[to[column]] = matrix.counters[column];
    }
    const auto first = net->predict(matrix);
    const auto second = net->predict(permuted);
    ASSERT_TRUE(first.has_value() && second.has_value());
    for (std::size_t column = 0; column < 7; ++column) {
      const auto& a = (*first)[column];
      const auto& b = (*second)[to[column]];
      ASSERT_EQ(a.has_value(), b.has_value());
      EXPECT_TRUE(!a.has_value() || same(*a, *b)) << seed;
    }
    if ((*first)[0].has_value() && matrix.levels[0].step[0] == matrix.levels[0].step[3]) {
      EXPECT_TRUE(same(*(*first)[0], *(*first)[3]));
    }
  }
}

TEST(SliceNet_OtherLevels, CountAsTheLevelsBetweenThem) {
  // Times on a straight line of logarithms give the same answer wherever they were measured, and a
  // level outside the measured range counts as not measured.
  const auto net = net_of(test::drawn_slice_net(2, {}));
  const auto matrix_at = [](const std::vector<int>& percentages) {
    MpsMatrix matrix;
    for (const int percentage : percentages) {
      matrix.levels.push_back({.atp = ActiveThreadPercentage(percentage), .step = {}});
      matrix.levels.back().step[1] = 2 * std::pow(percentage, -0.5);
      matrix.levels.back().step[5] = 7 * std::pow(percentage, -0.9);
    }
    return matrix;
  };
  const auto expect_near = [&](const std::vector<int>& a, const std::vector<int>& b) {
    const auto first = net->predict(matrix_at(a));
    const auto second = net->predict(matrix_at(b));
    ASSERT_TRUE(first.has_value() && second.has_value());
    for (const std::size_t column : {1U, 5U}) {
      for (std::size_t slice = 0; slice < 5; ++slice) {
        EXPECT_NEAR((*first)[column]->speed[slice], (*second)[column]->speed[slice], 1e-5);
      }
    }
  };
  expect_near({100, 50, 14}, {14, 50, 100});
  expect_near({100, 14}, {100, 10});
  expect_near({100, 50, 14}, {100, 80, 30, 14});
  expect_near({50, 14}, {99, 20, 10});
  expect_near({50}, {99, 30});
}

TEST(SliceNet_WithoutAKnownLevel, IsRefused) {
  // A column that was measured on one side of the three levels only says nothing of them.
  const auto net = net_of(test::drawn_slice_net(3, kSmall));
  Rng rng(1);
  expect_refused(net->predict(test::drawn_matrix(std::array{90, 60}, 7, &rng)),
                 "column 1 has no step time at 100, 50 or 14 %");
  MpsMatrix matrix = test::drawn_matrix(std::array{100, 60}, 7, &rng);
  matrix.levels[0].step[4].reset();
  expect_refused(net->predict(matrix), "column 5 has no step time");
  expect_refused(net->predict(MpsMatrix{}), "there are 0 levels");
  matrix.levels[0].step[4] = std::numeric_limits<double>::quiet_NaN();
  expect_refused(net->predict(matrix), "the step time at 100 % of column 5 is nan");
}

TEST(SliceNet_ExtremeTimes, GiveFiniteAnswers) {
  // Ratios beyond anything measured still end within what classes have.
  const NetworkWeights weights = test::drawn_slice_net(4, {});
  const auto net = net_of(weights);
  for (const double step : {1e-300, 1e-30, 1.0, 1e30, 1e300}) {
    for (const double other : {1e-300, 1e-3, 1e300}) {
      MpsMatrix matrix;
      for (const int percentage : kMeasured) {
        matrix.levels.push_back({.atp = ActiveThreadPercentage(percentage), .step = {}});
        matrix.levels.back().step[0] = percentage == 50 ? other : step;
      }
      const auto predicted = net->predict(matrix);
      ASSERT_TRUE(predicted.has_value());
      for (std::size_t slice = 1; slice < 5; ++slice) {
        EXPECT_GE((*predicted)[0]->speed[slice], 0.05);
        EXPECT_LE((*predicted)[0]->speed[slice], 0.95);
        EXPECT_GE((*predicted)[0]->speed_sd[slice], 0.005);
        EXPECT_LE((*predicted)[0]->speed_sd[slice], 1);
      }
    }
  }
}

TEST(SliceNet_Fillers, ArePossibleOnlyWhereTheMatrixSaysSo) {
  // Seven jobs are seven jobs: no column is taken for a filler unless the matrix allows it.
  const auto net = net_of(test::drawn_slice_net(8, {}));
  for (std::size_t jobs = 1; jobs <= 7; ++jobs) {
    Rng rng(jobs);
    MpsMatrix matrix = test::drawn_matrix(kMeasured, jobs, &rng);
    const auto plain = net->predict(matrix);
    const auto excluded = net->predict_with(matrix, Fillers::kExcluded);
    const auto possible = net->predict_with(matrix, Fillers::kPossible);
    matrix.fillers = MpsMatrix::Fillers::kPossible;
    const auto said = net->predict(matrix);
    for (std::size_t column = 0; column < 7; ++column) {
      if (matrix.is_present(column)) {
        EXPECT_TRUE(same(*(*plain)[column], *(*excluded)[column])) << jobs;
        EXPECT_TRUE(same(*(*said)[column], *(*possible)[column])) << jobs;
        EXPECT_FALSE(same(*(*possible)[column], *(*excluded)[column]));
      }
    }
  }
}

TEST(SliceNet_SureBelief, GivesThatClass) {
  // Where all weight lies on one class, its values come out, and the floor is the error.
  NetworkWeights weights = test::drawn_slice_net(5, kSmall);
  for (Tensor& tensor : weights.tensors) {
    if (tensor.name.ends_with("classes.bias")) {
      tensor.data = {0, 2000, 0, 1000, 0, 0};  // 1 is the filler
    }
  }
  const auto net = net_of(weights);
  Rng rng(6);
  const MpsMatrix matrix = test::drawn_matrix(kMeasured, 7, &rng);
  const auto jobs = net->predict_with(matrix, Fillers::kExcluded);
  const auto columns = net->predict_with(matrix, Fillers::kPossible);
  ASSERT_TRUE(jobs.has_value() && columns.has_value());
  for (std::size_t column = 0; column < 7; ++column) {
    for (std::size_t slice = 0; slice < 3; ++slice) {
      const std::vector<float>& time = weights.find("class.time")->data;
      EXPECT_NEAR(
          (*jobs)[column]->time[slice], static_cast<double>(time[kSure * 3 + slice]), 1e-12);
      EXPECT_NEAR((*jobs)[column]->time_sd[slice], 0.005, 1e-6);
      EXPECT_NEAR((*columns)[column]->time[slice], static_cast<double>(time[3 + slice]), 1e-12);
    }
    for (std::size_t slice = 1; slice < 5; ++slice) {
      const auto speed = static_cast<double>(weights.find("class.speed")->data[kSure * 5 + slice]);
      if (speed > 0) {
        EXPECT_NEAR((*jobs)[column]->speed[slice], speed, 1e-12);
      } else {  // it does not fit there: what the others have, none of which is believed
        EXPECT_GT((*jobs)[column]->speed[slice], 0);
      }
    }
  }
}

TEST(SliceNet_WrongWeights, AreRefusedByName) {
  // Every setting and tensor is asked for; none may be missing, different or unknown.
  const NetworkWeights weights = test::drawn_slice_net(7, kSmall);
  for (const auto& setting : weights.settings) {
    NetworkWeights wrong = weights;
    wrong.settings.erase(setting.first);
    ASSERT_FALSE(SliceNet::make(wrong).has_value());
    EXPECT_NE(SliceNet::make(wrong).error().message.find("lack the setting \"" + setting.first),
              std::string::npos);
    wrong.settings[setting.first] = -1;
    ASSERT_FALSE(SliceNet::make(wrong).has_value());
    EXPECT_NE(SliceNet::make(wrong).error().message.find("\"" + setting.first + "\" is -1"),
              std::string::npos);
  }
  for (std::size_t index = 0; index < weights.tensors.size(); ++index) {
    NetworkWeights wrong = weights;
    wrong.tensors[index].shape.push_back(1);
    ASSERT_FALSE(SliceNet::make(wrong).has_value());
    EXPECT_NE(SliceNet::make(wrong).error().message.find("the shape of tensor \"" +
                                                         weights.tensors[index].name),
              std::string::npos);
    wrong.tensors.erase(wrong.tensors.begin() + static_cast<std::ptrdiff_t>(index));
    ASSERT_FALSE(SliceNet::make(wrong).has_value());
    EXPECT_NE(SliceNet::make(wrong).error().message.find("lack the tensor \"" +
                                                         weights.tensors[index].name),
              std::string::npos);
  }
  NetworkWeights more = weights;
  more.settings["depth"] = 1;
  ASSERT_FALSE(SliceNet::make(more).has_value());
  EXPECT_NE(SliceNet::make(more).error().message.find("no setting \"depth\""), std::string::npos);
  more = weights;
  more.tensors.push_back({.name = "member2.input.bias", .shape = {1}, .data = {0}});
  ASSERT_FALSE(SliceNet::make(more).has_value());
  EXPECT_NE(SliceNet::make(more).error().message.find("no tensor \"member2.input.bias\""),
            std::string::npos);
}

TEST(SliceNet_Counters, CountOnlyWhereTheNetworkHasThem) {
  // Without counters in its form a network answers the same with and without; with them, a column
  // of which one is unknown answers as if none was known.
  for (const SliceNetForm::Counters counters :
       {SliceNetForm::Counters::kNone, SliceNetForm::Counters::kUsed}) {
    const bool is_used = counters == SliceNetForm::Counters::kUsed;
    const auto net = net_of(test::drawn_slice_net(13, {.counters = counters}));
    Rng rng(14);
    MpsMatrix matrix = test::drawn_matrix(kMeasured, 7, &rng);
    matrix.counters = {};
    const auto without = net->predict(matrix);
    matrix.counters[2] = {
        .sm_percent = 50, .memory_percent = 20, .power_watts = 100, .footprint_mib = 2000};
    const auto with = net->predict(matrix);
    matrix.counters[2].footprint_mib.reset();
    const auto partly = net->predict(matrix);
    ASSERT_TRUE(without.has_value() && with.has_value() && partly.has_value());
    EXPECT_EQ(same(*(*without)[2], *(*with)[2]), !is_used);
    EXPECT_TRUE(same(*(*without)[2], *(*partly)[2]));
    matrix.counters[2].sm_percent = 101;
    expect_refused(net->predict(matrix), "sm_percent of column 3");
  }
  NetworkWeights wrong = test::drawn_slice_net(15, {.counters = SliceNetForm::Counters::kUsed});
  wrong.tensors.back().data[2] = 0;
  ASSERT_FALSE(SliceNet::make(wrong).has_value());
  EXPECT_NE(SliceNet::make(wrong).error().message.find("counter.sd"), std::string::npos);
  wrong.settings["counters"] = 0;
  ASSERT_FALSE(SliceNet::make(wrong).has_value());
  EXPECT_NE(SliceNet::make(wrong).error().message.find("no tensor \"counter.mean\""),
            std::string::npos);
}

TEST(SliceNet_DeclaredFit, NarrowsTheBelief) {
  // Only classes with the same smallest slice count; where there is none, all do as before.
  const NetworkWeights weights = test::drawn_slice_net(16, {});
  const auto net = net_of(weights);
  Rng rng(17);
  MpsMatrix matrix = test::drawn_matrix(kMeasured, 7, &rng);
  const auto before = net->predict(matrix);
  matrix.smallest[1] = ComputeSlices(7);  // no class: all of them run on 3g
  matrix.smallest[2] = ComputeSlices(1);
  const auto after = net->predict(matrix);
  ASSERT_TRUE(before.has_value() && after.has_value());
  EXPECT_TRUE(same(*(*before)[0], *(*after)[0]));
  EXPECT_FALSE(same(*(*before)[2], *(*after)[2]));
  for (std::size_t slice = 1; slice < 5; ++slice) {
    EXPECT_NEAR((*before)[1]->speed[slice], (*after)[1]->speed[slice], 1e-6);
  }
}

TEST(SliceNet_HugeWeights, AreRefusedWhenAsked) {
  // Finite weights can still overflow; the answer is an error then, never a NaN.
  for (const float huge : {1e38F, -1e38F}) {
    NetworkWeights weights = test::drawn_slice_net(10, kSmall);
    for (Tensor& tensor : weights.tensors) {
      if (tensor.name.ends_with("mean.weight") || tensor.name.ends_with("classes.weight")) {
        std::ranges::fill(tensor.data, huge);
      }
    }
    Rng rng(11);
    const auto predicted = net_of(weights)->predict(test::drawn_matrix(kMeasured, 7, &rng));
    if (!predicted.has_value()) {
      expect_refused(predicted, "sums overflow");
    } else {
      EXPECT_TRUE(std::isfinite((*predicted)[0]->speed[4]));
    }
  }
}

}  // namespace
}  // namespace septule::learn
