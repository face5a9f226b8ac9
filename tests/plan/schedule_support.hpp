#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "plan/schedule_checker.hpp"
#include "support/schedule_maker.hpp"

// What the tests of the schedule checker have in common.
namespace septule::test {

using Kind = plan::ScheduleViolationKind;

inline const gpu::SharingCatalogue& templates_of(std::string_view key) {
  static const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  static std::map<std::string, gpu::SharingCatalogue, std::less<>> made;
  const auto at = made.find(key);
  if (at != made.end()) {
    return at->second;
  }
  const gpu::Geometry& geometry = **catalogue.find(key);
  return made.emplace(key, *gpu::make_sharing_catalogue(geometry, {.concurrency_max = 7}))
      .first->second;
}

inline std::set<Kind> kinds(const CheckedSchedule& one) {
  std::set<Kind> found;
  for (const plan::ScheduleViolation& violation : one.violations()) {
    found.insert(violation.kind);
  }
  return found;
}

inline std::string text(const CheckedSchedule& one) {
  std::string lines = plan::schedule_text(one.schedule, one.jobs);
  for (const plan::ScheduleViolation& violation : one.violations()) {
    lines += std::string(plan::schedule_violation_name(violation.kind)) + ": " + violation.message +
             "\n";
  }
  return lines;
}

/// Jobs 0 and 1 by MPS in a 4g, 2 in a 3g; 3 and 4 by MPS on the whole GPU; 5 and 6 by MPS in the
/// 4c of a 7g, 7 in its 3c; 8 alone.
inline CheckedSchedule schedule_example() {
  const std::vector<std::string_view> names = {"4g(50,50)+3g", "mps{2}", "7g[4c{2}+3c]", "full"};
  return legal_schedule(templates_of("A100-80GB"), names);
}

inline plan::ScheduledInstance& instance_of(CheckedSchedule& one, std::size_t job) {
  return one.schedule.instances[one.schedule.runs[job].instance];
}

inline Duration ms(int count) {
  return Duration::milliseconds(count);
}

inline SimTime earlier(SimTime time, Duration by) {
  return SimTime() + (time - SimTime() - by);
}

/// A change of schedule_example() and the one kind that must be reported of it.
struct Mutation {
  std::string_view what;
  Kind kind;
  std::function<void(CheckedSchedule& one)> apply;
};

inline void expect_exactly(const std::vector<Mutation>& mutations) {
  for (const Mutation& mutation : mutations) {
    CheckedSchedule one = schedule_example();
    mutation.apply(one);
    EXPECT_EQ(kinds(one), std::set<Kind>{mutation.kind}) << mutation.what << "\n" << text(one);
    for (const plan::ScheduleViolation& violation : one.violations()) {
      EXPECT_FALSE(violation.message.empty()) << mutation.what;
      EXPECT_EQ(violation.message.find('\n'), std::string::npos) << violation.message;
    }
  }
}

}  // namespace septule::test
