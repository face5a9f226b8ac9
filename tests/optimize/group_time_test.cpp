#include "optimize/group_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "optimize/group_support.hpp"

namespace septule::optimize {
namespace {

using test::divided;
using test::domain;
using test::PlainCoRun;
using test::window_job;

enum Domain : std::size_t {
  kWhole,
  kWholePair,
  kWholeTrio,
  kWholeSplit,
  kPair4g,
  kOne1g,
  kCut7g,
  kCutPairs7g,
  kDomains
};

class GroupTimeTest : public ::testing::Test {
 protected:
  GroupTimeTest() {
    sharing_.geometry = &gpu_;
    const ProfileIndex whole = *gpu_.find_profile("7g.80gb");
    sharing_.domains = {
        domain(gpu_, std::nullopt, {0}),
        domain(gpu_, std::nullopt, {0, 0}),
        domain(gpu_, std::nullopt, {0, 0, 0}),
        domain(gpu_, std::nullopt, {75, 25}),
        domain(gpu_, "4g.40gb", {0, 0}),
        domain(gpu_, "1g.10gb", {0}),
        divided(whole, {{.size = 4, .seats = 1}, {.size = 3, .seats = 1}}),
        divided(whole,
                {{.size = 2, .seats = 2}, {.size = 2, .seats = 2}, {.size = 3, .seats = 1}})};
  }

  GroupTimer timer(const std::vector<plan::WindowJob>& jobs,
                   const predict::CoRunModel& model,
                   GroupClock clock,
                   plan::SharingRules rules = {}) const {
    WindowProblem problem;
    problem.jobs = jobs;
    problem.model = &model;
    problem.catalogue = &sharing_;
    problem.rules = rules;
    problem.clock = clock;
    return GroupTimer(problem);
  }

  const gpu::Catalogue catalogue_ = gpu::load_builtin_catalogue();
  const gpu::Geometry& gpu_ = **catalogue_.find("A100-80GB");
  gpu::SharingCatalogue sharing_;
};

std::vector<std::size_t> seats(std::initializer_list<std::size_t> jobs) {
  return jobs;
}

TEST_F(GroupTimeTest, PairByHand_EachClock) {
  // Aim: two jobs of 10 s and 20 s that halve each other, by each clock.
  const std::vector<plan::WindowJob> jobs{window_job("a", 10), window_job("b", 20)};
  const PlainCoRun model({{.rate = 1, .pressure = 1}, {.rate = 1, .pressure = 1}});
  const auto idle = timer(jobs, model, GroupClock::kIdle).time(kWholePair, seats({0, 1}));
  ASSERT_TRUE(idle.has_value());
  EXPECT_EQ(idle->ends[0], seconds_to_duration(20));
  EXPECT_EQ(idle->ends[1], seconds_to_duration(40));
  EXPECT_EQ(idle->time, seconds_to_duration(40));
  // a ends at 20 s; b has done 10 of 20 by then and is alone for the rest.
  const auto up = timer(jobs, model, GroupClock::kSpeedUp).time(kWholePair, seats({1, 0}));
  ASSERT_TRUE(up.has_value());
  EXPECT_EQ(up->ends[0], seconds_to_duration(30));
  EXPECT_EQ(up->ends[1], seconds_to_duration(20));
  EXPECT_EQ(up->time, seconds_to_duration(30));
  const auto steady = timer(jobs, model, GroupClock::kSteadyState).time(kWholePair, seats({0, 1}));
  ASSERT_TRUE(steady.has_value());
  EXPECT_EQ(steady->time, seconds_to_duration(30));  // (10 + 20) / (0.5 + 0.5)
  EXPECT_EQ(steady->rate_sum, 1);
}

TEST_F(GroupTimeTest, Runs_DoTheWork_WithoutGaps) {
  // Aim: the pieces of each run begin where the group does, have no gaps, end at the job's end, and
  // rates times lengths are its solo time (each stretch is rounded by half a nanosecond).
  const auto check = [this](std::uint64_t seed, GroupClock clock) {
    Rng rng(seed);
    std::vector<plan::WindowJob> jobs;
    std::vector<PlainCoRun::Job> rates;
    for (int i = 0; i < 5; ++i) {
      jobs.push_back(window_job(std::string(1, static_cast<char>('a' + i)), 1 + rng.uniform()));
      rates.push_back({.rate = 0.1 + 0.9 * rng.uniform(), .pressure = rng.uniform()});
    }
    const PlainCoRun model(rates);
    const GroupTimer timed = timer(jobs, model, clock);
    const SimTime begin = SimTime::nanoseconds(777);
    std::array<RunPieces, 5> runs;
    const auto order = seats({3, 1, 4, 0, 2});
    const auto found = timed.runs(kCutPairs7g, order, begin, runs);
    ASSERT_TRUE(found.has_value());
    for (std::size_t seat = 0; seat < order.size(); ++seat) {
      const RunPieces& run = runs[seat];
      ASSERT_FALSE(run.empty());
      SimTime at = begin;
      double work = 0;
      for (const plan::RatePiece& piece : run) {
        EXPECT_EQ(piece.from, at);
        EXPECT_LT(piece.from, piece.until);
        EXPECT_GT(piece.rate, 0);
        work += piece.rate * static_cast<double>((piece.until - piece.from).to_nanoseconds());
        at = piece.until;
      }
      EXPECT_EQ(at, begin + found->ends[seat]);
      EXPECT_NEAR(work, static_cast<double>(jobs[order[seat]].solo.to_nanoseconds()), 1);
    }
    EXPECT_EQ(timed.time(kCutPairs7g, order)->ends, found->ends);
  };
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    for (const GroupClock clock :
         {GroupClock::kIdle, GroupClock::kSpeedUp, GroupClock::kSteadyState, GroupClock::kRefill}) {
      check(seed, clock);
    }
  }
}

/// Survivors speed up, worked out anew with plain numbers: ends in seconds.
std::vector<double> ends_anew(const gpu::MemoryDomain& of,
                              const predict::CoRunModel& model,
                              const std::vector<std::size_t>& jobs,
                              std::vector<double> left) {
  std::vector<double> ends(jobs.size(), 0);
  double now = 0;
  for (;;) {
    std::vector<predict::CoRunClient> clients;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (left[i] > 1e-9) {
        clients.push_back({.job = jobs[i], .compute = of.seats[i].compute, .atp = of.seats[i].atp});
        who.push_back(i);
      }
    }
    if (who.empty()) {
      return ends;
    }
    std::vector<double> rates(who.size());
    model.rates(
        {.profile = of.profile, .compute = {of.compute.begin(), of.compute.end()}}, clients, rates);
    double next = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < who.size(); ++k) {
      next = std::min(next, left[who[k]] / rates[k]);
    }
    now += next;
    for (std::size_t k = 0; k < who.size(); ++k) {
      left[who[k]] -= rates[k] * next;
      ends[who[k]] = now;
    }
  }
}

TEST_F(GroupTimeTest, SpeedUp_EqualsPlainSimulation) {
  // Aim: ends are those of an independent simulation in seconds, for every domain.
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    std::vector<plan::WindowJob> jobs;
    std::vector<PlainCoRun::Job> rates;
    for (int i = 0; i < 5; ++i) {
      // Few lengths, so that some end together.
      jobs.push_back(window_job(std::string(1, static_cast<char>('a' + i)),
                                static_cast<double>(1 + rng.below(3))));
      rates.push_back({.rate = rng.below(2) == 0 ? 1 : 0.5, .pressure = rng.uniform()});
    }
    const PlainCoRun model(rates);
    const GroupTimer timed = timer(jobs, model, GroupClock::kSpeedUp);
    for (std::size_t at = 0; at < kDomains; ++at) {
      const gpu::MemoryDomain& of = sharing_.domains[at];
      std::vector<std::size_t> order;
      std::vector<double> left;
      for (std::size_t i = 0; i < of.seats.size(); ++i) {
        order.push_back(i);
        left.push_back(jobs[i].solo.to_seconds());
      }
      const auto found = timed.time(at, order);
      ASSERT_TRUE(found.has_value());
      const std::vector<double> ends = ends_anew(of, model, order, left);
      for (std::size_t i = 0; i < ends.size(); ++i) {
        EXPECT_NEAR(found->ends[i].to_seconds(), ends[i], 1e-8) << seed << " " << at;
      }
    }
  }
}

TEST_F(GroupTimeTest, AlikeSeats_OrderDoesNotMatter) {
  // Aim: to the nanosecond and the last bit of the sum of rates.
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Rng rng(seed);
    std::vector<plan::WindowJob> jobs;
    std::vector<PlainCoRun::Job> rates;
    for (int i = 0; i < 3; ++i) {
      jobs.push_back(window_job(std::string(1, static_cast<char>('a' + i)), 1 + rng.uniform()));
      rates.push_back({.rate = rng.uniform() + 0.01, .pressure = rng.uniform()});
    }
    const PlainCoRun model(rates);
    const GroupTimer timed = timer(jobs, model, GroupClock::kSpeedUp);
    std::vector<std::size_t> order = seats({0, 1, 2});
    const auto first = timed.time(kWholeTrio, order);
    ASSERT_TRUE(first.has_value());
    do {
      const auto again = timed.time(kWholeTrio, order);
      ASSERT_TRUE(again.has_value());
      EXPECT_EQ(again->time, first->time);
      EXPECT_EQ(again->rate_sum, first->rate_sum);
      for (std::size_t seat = 0; seat < 3; ++seat) {
        EXPECT_EQ(again->ends[seat], first->ends[order[seat]]);
      }
    } while (std::ranges::next_permutation(order).found);
  }
}

TEST_F(GroupTimeTest, EmptySeats_AreAllowed) {
  // Aim: a job with an empty seat beside it runs as if it were alone; its ends stand at its seat.
  const std::vector<plan::WindowJob> jobs{window_job("a", 10), window_job("b", 20)};
  const PlainCoRun model({{.pressure = 1}, {.pressure = 1}});
  const auto found = timer(jobs, model, GroupClock::kSpeedUp).time(kWholePair, seats({kNoJob, 1}));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->ends[0], Duration());
  EXPECT_EQ(found->ends[1], seconds_to_duration(20));
  EXPECT_EQ(found->solo_sum, seconds_to_duration(20));
}

TEST_F(GroupTimeTest, Impossible_IsNothing) {
  // Aim: no rate, memory beyond the domain, memory not known in company, times beyond all time.
  std::vector<plan::WindowJob> jobs{
      window_job("a", 10, 30), window_job("b", 10, 10), window_job("c", 10, 1)};
  PlainCoRun model({{}, {}, {.can_share = false}});
  const GroupTimer timed = timer(jobs, model, GroupClock::kIdle);
  EXPECT_TRUE(timed.time(kWhole, seats({2})).has_value());
  EXPECT_FALSE(timed.time(kWholePair, seats({0, 2})).has_value());
  EXPECT_TRUE(timed.time(kWholePair, seats({0, 1})).has_value());
  EXPECT_FALSE(timed.time(kPair4g, seats({0, 1})).has_value()) << "40 GiB in a 4g.40gb";
  EXPECT_FALSE(timed.may_sit(kPair4g, seats({0, 1})));
  EXPECT_FALSE(timed.time(kOne1g, seats({1})).has_value()) << "10 GiB in a 1g.10gb";
  jobs[0].memory.reset();
  const GroupTimer unknown = timer(jobs, model, GroupClock::kIdle);
  EXPECT_TRUE(unknown.time(kWhole, seats({0})).has_value());
  EXPECT_TRUE(unknown.time(kOne1g, seats({0})).has_value()) << "the model has a rate";
  EXPECT_FALSE(unknown.time(kWholePair, seats({0, 1})).has_value());
  const PlainCoRun slow({{.rate = 1e-12}, {}, {}});
  for (const GroupClock clock : {GroupClock::kIdle, GroupClock::kSpeedUp}) {
    EXPECT_FALSE(timer(jobs, slow, clock).time(kWhole, seats({0})).has_value());
  }
}

TEST_F(GroupTimeTest, Memory_ExactlyAll_Fits) {
  // Aim: the limit itself is allowed, one byte more is not; the whole GPU has the largest
  // profile's.
  const Bytes all = *gpu_.profile(*gpu_.find_profile("7g.80gb")).memory;
  std::vector<plan::WindowJob> jobs{window_job("a", 1), window_job("b", 1)};
  jobs[0].memory = Bytes(all.value() - jobs[1].memory->value());
  const PlainCoRun model({{}, {}});
  EXPECT_TRUE(timer(jobs, model, GroupClock::kIdle).time(kWholePair, seats({0, 1})).has_value());
  jobs[0].memory = Bytes(jobs[0].memory->value() + 1);
  EXPECT_FALSE(timer(jobs, model, GroupClock::kIdle).time(kWholePair, seats({0, 1})).has_value());
}

TEST_F(GroupTimeTest, Rules_CountForMpsServersOnly) {
  // Aim: other users and other fault domains may not share a compute instance, but may have two of
  // one GPU instance.
  std::vector<plan::WindowJob> jobs{window_job("a", 1), window_job("b", 1)};
  const PlainCoRun model({{}, {}});
  jobs[1].user = "v";
  using Users = plan::SharingRules::Users;
  const auto possible = [&](Domain at, Users users) {
    return timer(jobs, model, GroupClock::kIdle, {.mps_users = users, .fairness = 0})
        .time(at, seats({0, 1}))
        .has_value();
  };
  EXPECT_FALSE(possible(kWholePair, Users::kSameUserOnly));
  EXPECT_FALSE(possible(kPair4g, Users::kSameUserOnly));
  EXPECT_TRUE(possible(kCut7g, Users::kSameUserOnly));
  EXPECT_TRUE(possible(kWholePair, Users::kAnyUsers));
  jobs[1].trust = "other";
  EXPECT_FALSE(possible(kWholePair, Users::kAnyUsers));
  EXPECT_TRUE(possible(kCut7g, Users::kAnyUsers));
}

TEST_F(GroupTimeTest, Fairness_IsOfTheWholeRun) {
  // Aim: b runs at a half, then alone: 20 s of work in 30 s; the floor counts 2/3, not the half.
  const std::vector<plan::WindowJob> jobs{window_job("a", 10), window_job("b", 20)};
  const PlainCoRun model({{.pressure = 1}, {.pressure = 1}});
  const auto possible = [&](GroupClock clock, double floor) {
    plan::SharingRules rules;
    rules.fairness = floor;
    return timer(jobs, model, clock, rules).time(kWholePair, seats({0, 1})).has_value();
  };
  EXPECT_TRUE(possible(GroupClock::kSpeedUp, 0.5));  // a: 10 s in 20 s
  EXPECT_FALSE(possible(GroupClock::kSpeedUp, 0.51));
  EXPECT_TRUE(possible(GroupClock::kIdle, 0.5));
  EXPECT_TRUE(possible(GroupClock::kSteadyState, 0.5));
  EXPECT_FALSE(possible(GroupClock::kSteadyState, 0.51));
}

TEST_F(GroupTimeTest, Orders_AreThoseThatDiffer) {
  // Aim: by hand: alike seats and alike compute instances count once.
  const std::vector<plan::WindowJob> jobs{window_job("a", 10)};
  const PlainCoRun model(std::vector<PlainCoRun::Job>(1));
  const GroupTimer timed = timer(jobs, model, GroupClock::kIdle);
  EXPECT_EQ(timed.orders(kWhole).size(), 1U);
  EXPECT_EQ(timed.orders(kWholeTrio).size(), 1U);
  EXPECT_EQ(timed.orders(kWholeSplit).size(), 2U);
  EXPECT_EQ(timed.orders(kCut7g).size(), 2U);
  // 5 jobs: one in 3c (5), the other four in two alike pairs (3).
  EXPECT_EQ(timed.orders(kCutPairs7g).size(), 15U);
}

TEST_F(GroupTimeTest, Best_IsBestOfAllPermutations) {
  // Aim: no permutation of the jobs beats best(), for each clock; it is one of them; also where a
  // job makes others faster; and with a limit it is the same or, at the limit, nothing.
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    std::vector<plan::WindowJob> jobs;
    std::vector<PlainCoRun::Job> rates;
    for (int i = 0; i < 5; ++i) {
      jobs.push_back(window_job(std::string(1, static_cast<char>('a' + i)), 1 + rng.uniform()));
      rates.push_back({.rate = 0.2 + 0.8 * rng.uniform(), .pressure = rng.uniform()});
    }
    if (seed % 2 == 0) {
      rates[2].pressure = -0.3;
    }
    const PlainCoRun model(rates);
    for (const GroupClock clock :
         {GroupClock::kSteadyState, GroupClock::kIdle, GroupClock::kSpeedUp}) {
      const GroupTimer timed = timer(jobs, model, clock);
      for (const Domain at : {kWholeSplit, kCutPairs7g}) {
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < sharing_.domains[at].seats.size(); ++i) {
          order.push_back(i);
        }
        const auto best = timed.best(at, order);
        ASSERT_TRUE(best.has_value());
        do {
          const auto other = timed.time(at, order);
          ASSERT_TRUE(other.has_value());
          EXPECT_GE(other->time, best->time.time);
        } while (std::ranges::next_permutation(order).found);
        std::vector<std::size_t> seated;
        for (const std::uint8_t index : best->order) {
          seated.push_back(index);
        }
        EXPECT_EQ(timed.time(at, seated)->time, best->time.time);
        if (clock != GroupClock::kSteadyState) {
          const Duration time = best->time.time;
          const auto again = timed.best(at, seated, time + Duration::nanoseconds(1));
          ASSERT_TRUE(again.has_value());
          EXPECT_EQ(again->time.time, time);
          EXPECT_FALSE(timed.best(at, seated, time).has_value());
        }
      }
    }
  }
}

TEST_F(GroupTimeTest, GroupTime_CombinesDomains) {
  // Aim: the longest domain; in the steady state all solo times over all rates.
  const std::array<DomainTime, 2> both{DomainTime{.time = seconds_to_duration(10),
                                                  .ends = {},
                                                  .rate_sum = 0.5,
                                                  .solo_sum = seconds_to_duration(5)},
                                       DomainTime{.time = seconds_to_duration(30),
                                                  .ends = {},
                                                  .rate_sum = 1.5,
                                                  .solo_sum = seconds_to_duration(45)}};
  EXPECT_EQ(group_time(GroupClock::kIdle, both), seconds_to_duration(30));
  EXPECT_EQ(group_time(GroupClock::kSpeedUp, both), seconds_to_duration(30));
  EXPECT_EQ(group_time(GroupClock::kSteadyState, both), seconds_to_duration(25));
}

}  // namespace
}  // namespace septule::optimize
