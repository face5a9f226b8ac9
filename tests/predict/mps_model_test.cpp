#include "predict/mps_model.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "predict/predict_support.hpp"

namespace septule::predict {
namespace {

using job::PerfSignature;
using job::SignatureIndex;
using test::a100;
using test::amdahl;
using test::make_book;
using test::measured;
using test::profile;

PerfSignature with_kernels(PerfSignature signature, int count) {
  signature.kernel_count = count;
  return signature;
}

MpsClient client(int signature, int atp = 100) {
  return {.signature = SignatureIndex(signature), .atp = ActiveThreadPercentage(atp)};
}

std::vector<double> speeds(const SpeedBook& book,
                           ProfileIndex shared,
                           const std::vector<MpsClient>& clients,
                           const MpsModel& mps = {}) {
  std::vector<double> out(clients.size());
  mps.speeds(book, shared, clients, out);
  return out;
}

TEST(MpsModel, OneClient_OnEachProfile_RunsAsAlone) {
  // Aim: a job alone under MPS without a limit has its speed on the instance, in both models.
  for (const int kernels : {0, 100}) {
    PerfSignature signature = amdahl("a", 30, 70);
    if (kernels > 0) {
      signature.kernel_count = kernels;
    }
    const SpeedBook book = make_book(a100(), {signature});
    for (const ProfileIndex index : book.plain_profiles()) {
      EXPECT_DOUBLE_EQ(speeds(book, index, {client(0)})[0], book.speed(SignatureIndex(0), index));
    }
  }
}

TEST(MpsModel, Default_ByHand_DividesSharesAndInterferes) {
  // Aim: s(min(atp, 1/n) x share) / (1 + 0.15 (n - 1)) with numbers worked out by hand.
  const SpeedBook book = make_book(a100(), {amdahl("a", 0, 70), amdahl("b", 70, 0), measured()});
  const ProfileIndex whole = book.whole_profile();
  // Two share the GPU: halves, slowed by 1.15. The first is linear, the second does not care.
  const std::vector<double> pair = speeds(book, whole, {client(0), client(1)});
  EXPECT_NEAR(pair[0], 0.5 / 1.15, 1e-8);
  EXPECT_NEAR(pair[1], 1 / 1.15, 1e-8);
  // Limits below 1/n count, those above do not.
  const std::vector<double> limited = speeds(book, whole, {client(0, 14), client(0, 50)});
  EXPECT_NEAR(limited[0], 0.14 / 1.15, 1e-3);
  EXPECT_NEAR(limited[1], 0.5 / 1.15, 1e-8);
  // Three in a 3g.20gb: a seventh each.
  const std::vector<double> three =
      speeds(book, profile(a100(), "3g.20gb"), {client(0), client(1), client(0, 33)});
  EXPECT_NEAR(three[0], 1.0 / 7 / 1.3, 1e-8);
  EXPECT_NEAR(three[1], 1 / 1.3, 1e-8);
  EXPECT_NEAR(three[2], 0.33 * 3 / 7 / 1.3, 1e-3);
  // Measured points: one of two on the 4g has 2/7 of the GPU, where its speed is 0.4.
  EXPECT_NEAR(
      speeds(book, profile(a100(), "4g.20gb"), {client(2), client(2)})[0], 0.4 / 1.15, 1e-12);
}

TEST(MpsModel, Interference_AsOption_Counts) {
  // Aim: the constant is an option; with 0 linear jobs lose nothing together.
  const SpeedBook book = make_book(a100(), {amdahl("a", 0, 70)});
  const MpsModel none{.interference = 0};
  const std::vector<double> out = speeds(book, book.whole_profile(), {client(0), client(0)}, none);
  EXPECT_NEAR(out[0] + out[1], 1, 1e-6);
}

TEST(MpsModel, OneWithoutKernels_AmongOthers_MakesItTheDefault) {
  // Aim: the kernel model needs the count of every client.
  const SpeedBook book =
      make_book(a100(), {with_kernels(amdahl("a", 0, 70), 10), amdahl("b", 70, 0)});
  EXPECT_NEAR(speeds(book, book.whole_profile(), {client(0), client(1)})[0], 0.5 / 1.15, 1e-8);
}

TEST(MpsModel, Kernels_ByHand_TakeTurnsByLength) {
  // Aim: two jobs without serial part split the GPU by kernel length to the power; steps of 70 ms
  // and 80 ms, kernels of 70/100 ms and 80/25 ms.
  const SpeedBook book = make_book(
      a100(), {with_kernels(amdahl("a", 0, 70), 100), with_kernels(amdahl("b", 0, 80), 25)});
  const double first = std::pow(0.7, kKernelExponent);
  const double second = std::pow(3.2, kKernelExponent);
  const std::vector<double> out = speeds(book, book.whole_profile(), {client(0), client(1)});
  EXPECT_NEAR(out[0], first / (first + second), 1e-7);
  EXPECT_NEAR(out[1], second / (first + second), 1e-7);
  // On 3g both are 7/3 times as long, so their ratio stays.
  const std::vector<double> slice =
      speeds(book, profile(a100(), "3g.20gb"), {client(0), client(1)});
  EXPECT_NEAR(slice[0], out[0] * 3 / 7, 1e-7);
}

TEST(MpsModel, Kernels_SerialParts_LeaveRoomAndAreNotSlowed) {
  // Aim: hardly parallel jobs run nearly at full speed together, whatever their kernels.
  const SpeedBook book = make_book(a100(),
                                   {with_kernels(amdahl("long", 95, 5), 1),
                                    with_kernels(amdahl("short", 95, 5), 1000),
                                    with_kernels(amdahl("shorter", 95, 5), 16000)});
  const std::vector<double> out =
      speeds(book, book.whole_profile(), {client(0), client(1), client(2)});
  EXPECT_GT(out[0], 0.99);
  EXPECT_GT(out[1], out[2]);
  EXPECT_GT(out[2], 0.8);
  EXPECT_LT(out[2], 1);
}

TEST(MpsModel, Kernels_OddExponent_IsRaisedToIt) {
  // Aim: the exponent is an option; 0 splits evenly, whatever the kernels.
  const SpeedBook book = make_book(
      a100(), {with_kernels(amdahl("a", 0, 70), 1), with_kernels(amdahl("b", 0, 70), 1000)});
  const MpsModel even{.kernel_exponent = 0};
  const std::vector<double> out = speeds(book, book.whole_profile(), {client(0), client(1)}, even);
  EXPECT_NEAR(out[0], 0.5, 1e-7);
  EXPECT_NEAR(out[1], 0.5, 1e-7);
}

TEST(MpsModel, Kernels_WithPercentages_RunWithinTheirCaps) {
  // Aim: percentages replace the split, nobody starves; more than 100 together shrink.
  const SpeedBook book = make_book(
      a100(), {with_kernels(amdahl("a", 0, 70), 1), with_kernels(amdahl("b", 0, 70), 1000)});
  const ProfileIndex whole = book.whole_profile();
  const std::vector<double> half = speeds(book, whole, {client(0, 50), client(1, 50)});
  const double slowed = 1 + kPartContention * 0.5;
  EXPECT_NEAR(half[0], 0.5 / slowed, 1e-7);
  EXPECT_NEAR(half[1], 0.5 / slowed, 1e-7);
  const std::vector<double> crowded = speeds(book, whole, {client(0, 60), client(1, 90)});
  EXPECT_NEAR(crowded[0], 0.4 / (1 + kPartContention * 0.6), 1e-7);
  EXPECT_NEAR(crowded[1], 0.6 / (1 + kPartContention * 0.4), 1e-7);
}

RC_GTEST_PROP(MpsModel, AnyClients_BothModels_StayBelowAloneAndAboveNothing, ()) {
  // Aim: nobody is faster than alone on the instance or stands still; order is no matter.
  const bool has_kernels = *rc::gen::arbitrary<bool>();
  std::vector<PerfSignature> signatures;
  for (int i = 0; i < 4; ++i) {
    PerfSignature signature =
        amdahl("s" + std::to_string(i), *rc::gen::inRange(0, 100), *rc::gen::inRange(1, 100));
    if (has_kernels) {
      signature.kernel_count = *rc::gen::inRange(1, 500);
    }
    signatures.push_back(signature);
  }
  const SpeedBook book = make_book(a100(), signatures);
  const ProfileIndex shared = book.plain_profiles()[*rc::gen::inRange<std::size_t>(0, 5)];
  const int limit = *rc::gen::element(100, 50, 14);
  std::vector<MpsClient> clients;
  const int count = *rc::gen::inRange(1, static_cast<int>(kMpsClientsMax) + 1);
  for (int i = 0; i < count; ++i) {
    clients.push_back(client(*rc::gen::inRange(0, 4), limit));
  }
  const std::vector<double> out = speeds(book, shared, clients);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    RC_ASSERT(out[i] > 0);
    RC_ASSERT(out[i] <= book.speed(clients[i].signature, shared) * (1 + 1e-9));
  }
  std::ranges::reverse(clients);
  std::vector<double> backwards = speeds(book, shared, clients);
  std::ranges::reverse(backwards);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    RC_ASSERT(std::abs(out[i] - backwards[i]) < 1e-12);
  }
}

TEST(MpsModelDeathTest, Misuse_OfTheCaller_Stops) {
  // Aim: no clients, lengths that differ and percentages out of range are programmer errors.
  const SpeedBook book = make_book(a100(), {amdahl("a", 30, 70)});
  std::vector<double> one(1);
  const std::vector<MpsClient> nobody;
  const std::vector<MpsClient> two{client(0), client(0)};
  const std::vector<MpsClient> idle{client(0, 0)};
  const MpsModel mps;
  EXPECT_DEATH(mps.speeds(book, book.whole_profile(), nobody, one), "somebody");
  EXPECT_DEATH(mps.speeds(book, book.whole_profile(), two, one), "one speed");
  EXPECT_DEATH(mps.speeds(book, book.whole_profile(), idle, one), "percentage");
}

}  // namespace
}  // namespace septule::predict
