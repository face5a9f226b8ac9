// What is malformed, and what must hold for any input: legal at random, broken at random, garbage.
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
// clang-format off
#include <rapidcheck/gtest.h>  // needs gtest.h before it
// clang-format on

#include "base/rng.hpp"
#include "plan/schedule_checker.hpp"
#include "plan/schedule_support.hpp"

namespace septule::plan {
namespace {

using test::CheckedSchedule;
using test::earlier;
using test::expect_exactly;
using test::instance_of;
using test::Kind;
using test::kinds;
using test::ms;
using test::Mutation;
using test::templates_of;
using test::text;

TEST(ScheduleChecker_Malformed, IndicesThatNameNothing_AreReportedOnly) {
  // Aim: nothing is read past an end, and nothing else is said.
  expect_exactly({
      {"no geometry", Kind::kMalformed, [](auto& one) { one.schedule.geometry = nullptr; }},
      {"job", Kind::kMalformed, [](auto& one) { one.schedule.runs.back().job = 9; }},
      {"job max", Kind::kMalformed, [](auto& one) { one.schedule.runs.back().job = SIZE_MAX; }},
      {"order",
       Kind::kMalformed,
       [](auto& one) { std::swap(one.schedule.runs[0], one.schedule.runs[1]); }},
      {"instance", Kind::kMalformed, [](auto& one) { one.schedule.runs[0].instance = 5; }},
      {"instances", Kind::kMalformed, [](auto& one) { one.schedule.instances.clear(); }},
      {"compute", Kind::kMalformed, [](auto& one) { one.schedule.runs[5].compute = 2; }},
      {"compute < 0", Kind::kMalformed, [](auto& one) { one.schedule.runs[5].compute = -1; }},
      {"compute of whole", Kind::kMalformed, [](auto& one) { one.schedule.runs[3].compute = 1; }},
      {"whole with compute",
       Kind::kMalformed,
       [](auto& one) { instance_of(one, 3).compute = instance_of(one, 5).compute; }},
      {"instance without compute",
       Kind::kMalformed,
       [](auto& one) { instance_of(one, 5).compute.clear(); }},
      {"group's job",
       Kind::kMalformed,
       [](auto& one) { one.schedule.groups[0].jobs.push_back(9); }},
      {"group's order",
       Kind::kMalformed,
       [](auto& one) { one.schedule.groups[0].jobs = {1, 0, 2}; }},
      {"group's job twice",
       Kind::kMalformed,
       [](auto& one) { one.schedule.groups[0].jobs = {0, 1, 1, 2}; }},
  });
}

TEST(ScheduleChecker_Malformed, TimesAndRatesOutOfRange_AreReportedOnly) {
  // Aim: order of times, gaps, the ends of the range, and figures that are no numbers.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Mutation> mutations = {
      {"no pieces", Kind::kMalformed, [](auto& one) { one.schedule.runs[1].pieces.clear(); }},
      {"gap",
       Kind::kMalformed,
       [](auto& one) {
         one.schedule.runs[1].pieces.push_back(one.schedule.runs[1].pieces.back());
       }},
      {"backwards",
       Kind::kMalformed,
       [](auto& one) {
         std::swap(one.schedule.runs[1].pieces[0].from, one.schedule.runs[1].pieces[0].until);
       }},
      {"created after use",
       Kind::kMalformed,
       [](auto& one) { instance_of(one, 0).create_begin = instance_of(one, 0).gone_at; }},
      {"used after gone",
       Kind::kMalformed,
       [](auto& one) { instance_of(one, 0).usable_until = SimTime::never(); }},
      {"gone never",
       Kind::kMalformed,
       [](auto& one) { instance_of(one, 8).gone_at = SimTime::never(); }},
      {"before time",
       Kind::kMalformed,
       [](auto& one) { instance_of(one, 0).create_begin = SimTime::nanoseconds(INT64_MIN); }},
      {"piece at the end of time",
       Kind::kMalformed,
       [](auto& one) { one.schedule.runs[1].pieces.back().until = SimTime::never(); }},
      {"piece before time",
       Kind::kMalformed,
       [](auto& one) { one.schedule.runs[1].pieces[0].from = SimTime::nanoseconds(-1); }},
      {"group backwards",
       Kind::kMalformed,
       [](auto& one) { std::swap(one.schedule.groups[1].begin, one.schedule.groups[1].end); }},
      {"group before time",
       Kind::kMalformed,
       [](auto& one) { one.schedule.groups[0].begin = SimTime::nanoseconds(-1); }},
      {"no solo time", Kind::kMalformed, [](auto& one) { one.jobs[4].solo = Duration(); }},
      {"solo too long",
       Kind::kMalformed,
       [](auto& one) { one.jobs[4].solo = Duration::nanoseconds(INT64_MAX); }},
  };
  for (const double rate : {0.0, -0.5, nan, std::numeric_limits<double>::infinity()}) {
    mutations.push_back({"rate", Kind::kMalformed, [rate](auto& one) {
                           one.schedule.runs[1].pieces[0].rate = rate;
                         }});
  }
  for (const double fairness : {-0.1, 1.1, nan}) {
    mutations.push_back({"fairness", Kind::kMalformed, [fairness](auto& one) {
                           one.check.rules.fairness = fairness;
                         }});
  }
  expect_exactly(mutations);
}

CheckedSchedule random_schedule(Rng& rng) {
  constexpr std::array<std::string_view, 4> kKeys = {
      "A100-80GB", "A30-24GB", "H100-80GB-SXM", "H200-141GB"};
  const gpu::SharingCatalogue& catalogue = templates_of(kKeys[rng.below(kKeys.size())]);
  std::vector<const gpu::SharingTemplate*> chosen;
  for (std::size_t groups = 1 + rng.below(5); groups > 0; --groups) {
    chosen.push_back(&catalogue.templates[rng.below(catalogue.templates.size())]);
  }
  return test::legal_schedule(catalogue, chosen);
}

/// Breaks one thing of any schedule, at random; what must be among the findings.
Kind break_something(CheckedSchedule& one, Rng& rng) {
  const std::size_t job = rng.below(one.jobs.size());
  ScheduledRun& run = one.schedule.runs[job];
  switch (rng.below(10)) {
    case 0:
      one.jobs[job].solo += ms(1 + static_cast<int>(rng.below(1000)));
      return Kind::kWork;
    case 1:
      one.jobs[job].memory = Bytes::mebibytes(1 << 20);
      return Kind::kMemory;
    case 2:
      one.jobs.push_back(one.jobs[job]);
      return Kind::kJobs;
    case 3:
      run.atp = ActiveThreadPercentage(101 + static_cast<int>(rng.below(100)));
      return Kind::kSeat;
    case 4:
      instance_of(one, job).usable_from = run.begin() + Duration::nanoseconds(1);
      return Kind::kLifetime;
    case 5:
      one.schedule.recutting +=
          Duration::nanoseconds(static_cast<std::int64_t>(rng.next() >> 2U) + 1);
      return Kind::kTotals;
    case 6:
      one.schedule.groups[rng.below(one.schedule.groups.size())].jobs.pop_back();
      return Kind::kGroup;
    case 7:
      one.schedule.instances.push_back(instance_of(one, job));
      one.schedule.instances.back().placed.reset();
      one.schedule.instances.back().compute.clear();
      return Kind::kPartition;
    case 8:
      one.check.rules.fairness = 1;
      run.pieces.back().until = run.pieces.back().until + ms(1000000);
      return Kind::kFairness;
    default:
      one.schedule.instances.push_back(instance_of(one, job));
      one.schedule.instances.back().create_begin = earlier(run.begin(), ms(1));
      one.schedule.instances.back().usable_from = run.begin();
      one.schedule.instances.push_back(one.schedule.instances.back());
      return Kind::kRecut;
  }
}

TEST(ScheduleChecker_Random, LegalSchedulesHold_AndBrokenOnesAreFound) {
  // Aim: over seeds, no false alarm, and whatever is broken is among the findings.
  std::set<Kind> seen;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Rng rng = Rng(seed).stream("schedule");
    CheckedSchedule one = random_schedule(rng);
    ASSERT_TRUE(one.violations().empty()) << "seed " << seed << "\n" << text(one);
    const Kind kind = break_something(one, rng);
    seen.insert(kind);
    ASSERT_TRUE(kinds(one).contains(kind)) << "seed " << seed << "\n" << text(one);
  }
  EXPECT_EQ(seen.size(), 10U);
}

/// Figures at and beyond all edges.
std::int64_t odd_number(Rng& rng) {
  constexpr std::array<std::int64_t, 12> kOdd = {
      0, 1, -1, 2, 7, 100, 101, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, std::int64_t{1} << 60U};
  return kOdd[rng.below(kOdd.size())];
}

double odd_rate(Rng& rng) {
  constexpr std::array<double, 7> kOdd = {0,
                                          1,
                                          -1,
                                          1e308,
                                          5e-324,
                                          std::numeric_limits<double>::infinity(),
                                          std::numeric_limits<double>::quiet_NaN()};
  return kOdd[rng.below(kOdd.size())];
}

/// Sets one field anywhere to an odd figure.
void spoil(CheckedSchedule& one, Rng& rng) {
  const std::int64_t odd = odd_number(rng);
  const auto size = static_cast<std::size_t>(odd);
  const auto small = static_cast<int>(odd);
  const SimTime time = SimTime::nanoseconds(odd);
  ScheduledInstance& instance = one.schedule.instances[rng.below(one.schedule.instances.size())];
  ScheduledRun& run = one.schedule.runs[rng.below(one.schedule.runs.size())];
  ScheduledGroup& group = one.schedule.groups[rng.below(one.schedule.groups.size())];
  WindowJob& job = one.jobs[rng.below(one.jobs.size())];
  const std::vector<std::function<void()>> ways = {
      [&] { instance.create_begin = time; },
      [&] { instance.usable_from = time; },
      [&] { instance.usable_until = time; },
      [&] { instance.gone_at = time; },
      [&] { instance.placed = gpu::PlacedProfile{ProfileIndex(small), MemorySlices(small)}; },
      [&] { instance.placed = gpu::PlacedProfile{ProfileIndex(0), MemorySlices(small)}; },
      [&] { instance.placed.reset(); },
      [&] { instance.compute.push_back({{ComputeSlices(small), ComputeSlices(small)}}); },
      [&] { instance.compute.clear(); },
      [&] { run.job = size; },
      [&] { run.instance = size; },
      [&] { run.compute = small; },
      [&] { run.atp = ActiveThreadPercentage(small); },
      [&] { run.pieces.push_back({.from = time, .until = time, .rate = odd_rate(rng)}); },
      [&] { run.pieces.clear(); },
      [&] { run.pieces.push_back({.from = SimTime(), .until = time, .rate = odd_rate(rng)}); },
      [&] { group.begin = time; },
      [&] { group.end = time; },
      [&] { group.jobs.push_back(size); },
      [&] { group.template_name = std::string(size % 1000, '\n'); },
      [&] { one.schedule.makespan = Duration::nanoseconds(odd); },
      [&] { one.schedule.recutting = Duration::nanoseconds(odd); },
      [&] { job.solo = Duration::nanoseconds(odd); },
      [&] { job.memory = Bytes(static_cast<std::uint64_t>(odd)); },
      [&] { job.name = std::string(size % 1000, '\x01'); },
      [&] { one.check.rules.fairness = odd_rate(rng); },
  };
  ways[rng.below(ways.size())]();
}

TEST(ScheduleChecker_Random, Garbage_GetsOneLineForEachFault) {
  // Aim: no input stops the program (this test is run with sanitizers), and all findings are of
  // known kinds, in order and within their limit.
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Rng rng = Rng(seed).stream("garbage");
    CheckedSchedule one = random_schedule(rng);
    for (std::size_t spoilt = 1 + rng.below(4); spoilt > 0; --spoilt) {
      spoil(one, rng);
    }
    Kind before = Kind::kMalformed;
    const std::vector<ScheduleViolation> found = one.violations();
    EXPECT_LE(found.size(), kScheduleViolationsMax * 13);
    for (const ScheduleViolation& violation : found) {
      EXPECT_GE(violation.kind, before) << seed;
      before = violation.kind;
      EXPECT_FALSE(schedule_violation_name(violation.kind).empty()) << seed;
      EXPECT_EQ(violation.message.find_first_of("\n\x01"), std::string::npos) << seed;
    }
    EXPECT_TRUE(schedule_text(one.schedule, one.jobs).size() > 0 || one.schedule.runs.empty());
  }
}

}  // namespace
}  // namespace septule::plan
