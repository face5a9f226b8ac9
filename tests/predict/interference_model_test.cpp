#include "predict/interference_model.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace septule::predict {
namespace {

std::vector<double> rates(const std::vector<InterferenceClient>& clients,
                          double exponent = kKernelExponent) {
  std::vector<double> out(clients.size());
  InterferenceModel{.exponent = exponent}.rates(clients, out);
  return out;
}

std::vector<double> parted(const std::vector<PartedClient>& clients,
                           double contention = kPartContention) {
  std::vector<double> out(clients.size());
  parted_rates(clients, contention, out);
  return out;
}

InterferenceClient any_client() {
  const double serial = *rc::gen::inRange(0, 101) / 100.0;
  return {.serial = serial,
          .busy = (1 - serial) * *rc::gen::inRange(0, 101) / 100.0,
          .kernel_length = *rc::gen::inRange(1, 100000) / 1000.0};
}

std::vector<InterferenceClient> any_clients(int limit) {
  std::vector<InterferenceClient> clients;
  const int count = *rc::gen::inRange(1, limit + 1);
  for (int i = 0; i < count; ++i) {
    clients.push_back(any_client());
  }
  return clients;
}

TEST(InterferenceModel, BusyJobs_SplitByKernelLength) {
  // Aim: without serial parts and slack it is section 4.2's split; one alone is not slowed.
  EXPECT_EQ(rates({{}}), std::vector<double>{1});
  const std::vector<double> out =
      rates({{.kernel_length = 1}, {.kernel_length = 8}, {.kernel_length = 27}}, 1.0 / 3);
  EXPECT_NEAR(out[0], 1.0 / 6, 1e-12);
  EXPECT_NEAR(out[1], 2.0 / 6, 1e-12);
  EXPECT_NEAR(out[2], 3.0 / 6, 1e-12);
}

TEST(InterferenceModel, PairByHand_SerialParts_Count) {
  // Aim: the equations worked out for a job of half serial part beside a busy one: with p = 1 -
  // s/t, u = 1: x_1 = 1 + 1 = 2, t_1 = 0.5 + 0.5 x 2; x_2 = 1 + p / (1 + 1 - p).
  const std::vector<double> out = rates({{.serial = 0.5, .busy = 0.5}, {}});
  EXPECT_NEAR(out[0], 1 / 1.5, 1e-9);
  const double present = 1 - 0.5 / 1.5;
  EXPECT_NEAR(1 / out[1], 1 + present / (2 - present), 1e-9);
}

TEST(InterferenceModel, Slack_HidesWaiting) {
  // Aim: a job that is busy for a fifth of its time may wait without anyone noticing; a serial part
  // may not.
  const InterferenceClient slack{.serial = 0, .busy = 0.2};
  const std::vector<double> both = rates({slack, slack});
  EXPECT_EQ(both[0], 1);
  const InterferenceClient serial{.serial = 0.8, .busy = 0.2};
  EXPECT_LT(rates({serial, serial})[0], 1);
  EXPECT_GT(rates({serial, serial})[0], 0.9);
}

TEST(InterferenceModel, ShortKernels_BesideLongOnes_Starve) {
  // Aim: the unfairness of default MPS: a hundred times shorter kernels get less than a tenth.
  const std::vector<double> out = rates({{.kernel_length = 0.01}, {.kernel_length = 1}});
  EXPECT_LT(out[0], 0.05);
  EXPECT_GT(out[1], 0.95);
}

TEST(InterferenceModel, JobWithoutGpuWork_MattersToNobody) {
  // Aim: no work and kernels of no length are no division by nothing.
  const std::vector<double> out =
      rates({{.serial = 1, .busy = 0, .kernel_length = 0}, {.kernel_length = 2}});
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 1);
}

RC_GTEST_PROP(InterferenceModel, AnyClients_Rates_AreAboveZeroAndAtMostOne, ()) {
  // Aim: rates in (0, 1], to the largest number of clients; together no more than everybody alone.
  const std::vector<double> out = rates(any_clients(static_cast<int>(kMpsClientsMax)));
  for (const double rate : out) {
    RC_ASSERT(rate > 0 && rate <= 1);
  }
}

RC_GTEST_PROP(InterferenceModel, PermutedClients_PermutedRates, ()) {
  // Aim: the order of clients does not matter.
  std::vector<InterferenceClient> clients = any_clients(7);
  std::vector<double> out = rates(clients);
  const std::size_t turn = *rc::gen::inRange<std::size_t>(0, clients.size());
  const auto middle = static_cast<std::ptrdiff_t>(turn);
  std::rotate(clients.begin(), clients.begin() + middle, clients.end());
  std::rotate(out.begin(), out.begin() + middle, out.end());
  const std::vector<double> again = rates(clients);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    RC_ASSERT(std::abs(again[i] - out[i]) < 1e-9);
  }
}

RC_GTEST_PROP(InterferenceModel, EqualClients_HaveEqualRates, ()) {
  // Aim: equals are treated alike, also among others.
  std::vector<InterferenceClient> clients = any_clients(6);
  clients.push_back(clients.front());
  const std::vector<double> out = rates(clients);
  RC_ASSERT(std::abs(out.front() - out.back()) < 1e-9);
}

RC_GTEST_PROP(InterferenceModel, OneMoreClient_MakesNobodyFaster, ()) {
  // Aim: the least solution grows with every client.
  std::vector<InterferenceClient> clients = any_clients(6);
  const std::vector<double> before = rates(clients);
  clients.push_back(any_client());
  const std::vector<double> after = rates(clients);
  for (std::size_t i = 0; i < before.size(); ++i) {
    RC_ASSERT(after[i] <= before[i] + 1e-9);
  }
}

RC_GTEST_PROP(InterferenceModel, AnyBusyJobs_SplitByLengthToThePower, ()) {
  // Aim: without serial parts and slack rates are weights over their sum, whatever the number.
  std::vector<InterferenceClient> clients = any_clients(static_cast<int>(kMpsClientsMax));
  double sum = 0;
  for (InterferenceClient& client : clients) {
    client.serial = 0;
    client.busy = 1;
    sum += std::pow(client.kernel_length, kKernelExponent);
  }
  const std::vector<double> out = rates(clients);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const double expected = std::pow(clients[i].kernel_length, kKernelExponent) / sum;
    RC_ASSERT(std::abs(out[i] - expected) < 1e-9);
  }
}

TEST(InterferenceClientOf, Terms_BecomeParts) {
  // Aim: serial part, work and kernel length of a step; unusable SMs leave room by the exponent.
  const SoloTerms full{.serial = 2, .compute = 5, .memory = 3, .used = 1};
  const InterferenceClient plain = interference_client(full, 4);
  EXPECT_NEAR(plain.serial, 0.2, 1e-12);
  EXPECT_NEAR(plain.busy, 0.8, 1e-12);
  EXPECT_NEAR(plain.kernel_length, 2, 1e-12);
  const SoloTerms narrow{.serial = 2, .compute = 5, .memory = 3, .used = 0.25};
  EXPECT_NEAR(interference_client(narrow, 4, 0.5).busy, 0.55, 1e-12);
  EXPECT_NEAR(interference_client(narrow, 4, 0).busy, 0.8, 1e-12);
}

TEST(PartedRates, ByHand_BandwidthAndContention) {
  // Aim: bandwidth beyond the instance's stretches memory parts, others' busy SMs all but the
  // serial part; alone nothing happens.
  EXPECT_EQ(parted({{.part = 0.5, .serial = 0.1, .memory = 0.9}}), std::vector<double>{1});
  const std::vector<double> out = parted(
      {{.part = 0.6, .serial = 0.2, .memory = 0.7}, {.part = 0.4, .serial = 0, .memory = 0.5}},
      0.5);
  EXPECT_NEAR(1 / out[0], 1 + 0.7 * 0.2 + 0.8 * 0.5 * 0.4, 1e-12);
  EXPECT_NEAR(1 / out[1], 1 + 0.5 * 0.2 + 1 * 0.5 * 0.48, 1e-12);
  EXPECT_EQ(parted({{.part = 0.5}, {.part = 0.5}}, 0)[0], 1);
}

TEST(CappedPart, PartsBeyondTheWhole_Shrink) {
  // Aim: only parts that add up to more than one are scaled.
  EXPECT_EQ(capped_part(0.3, 0.9), 0.3);
  EXPECT_DOUBLE_EQ(capped_part(0.6, 1.5), 0.4);
}

RC_GTEST_PROP(PartedRates, AnyClients_KeepOrderAndRange, ()) {
  // Aim: rates in (0, 1]; order is no matter; equals alike; contention never helps.
  std::vector<PartedClient> clients;
  const int count = *rc::gen::inRange(1, static_cast<int>(kMpsClientsMax) + 1);
  for (int i = 0; i < count; ++i) {
    const double serial = *rc::gen::inRange(0, 101) / 100.0;
    clients.push_back({.part = *rc::gen::inRange(1, 101) / 100.0 / count,
                       .serial = serial,
                       .memory = (1 - serial) * *rc::gen::inRange(0, 101) / 100.0});
  }
  clients.back() = clients.front();
  const std::vector<double> out = parted(clients);
  RC_ASSERT(std::abs(out.front() - out.back()) < 1e-12);
  std::ranges::reverse(clients);
  std::vector<double> backwards = parted(clients);
  std::ranges::reverse(backwards);
  const std::vector<double> calm = parted(clients, 0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    RC_ASSERT(out[i] > 0 && out[i] <= 1);
    RC_ASSERT(std::abs(out[i] - backwards[i]) < 1e-12);
    RC_ASSERT(calm[out.size() - 1 - i] >= out[i] - 1e-12);
  }
}

TEST(InterferenceModelDeathTest, Misuse_OfTheCaller_Stops) {
  // Aim: nobody, lengths that differ and no kernels are programmer errors.
  std::vector<double> one(1);
  const std::vector<InterferenceClient> nobody;
  const std::vector<InterferenceClient> two(2);
  EXPECT_DEATH(InterferenceModel{}.rates(nobody, one), "somebody");
  EXPECT_DEATH(InterferenceModel{}.rates(two, one), "one rate");
  EXPECT_DEATH(parted_rates({}, 1, one), "somebody");
  EXPECT_DEATH(interference_client({.compute = 1}, 0), "kernels");
}

}  // namespace
}  // namespace septule::predict
