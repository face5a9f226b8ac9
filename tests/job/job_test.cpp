#include "job/job.hpp"

#include <array>
#include <set>

#include <gtest/gtest.h>

namespace septule::job {
namespace {

// Rows: from; columns: to; in the order of JobState.
constexpr std::array<std::string_view, kJobStateCount> kLegal{
    // UWSCRPTDJ
    ".1......1",  // unsubmitted
    "..1.....1",  // waiting
    ".1.1111..",  // starting
    "..1.11.1.",  // characterising
    "...1.1.1.",  // running
    "......11.",  // stopping
    ".11......",  // stopped
    ".........",  // done
    ".........",  // rejected
};

TEST(JobMoves_AllPairs, AreLegalExactlyAsTheTableSays) {
  // The life cycle written down a second time: 9 x 9 pairs.
  for (int from = 0; from < kJobStateCount; ++from) {
    for (int to = 0; to < kJobStateCount; ++to) {
      EXPECT_EQ(is_legal_move(static_cast<JobState>(from), static_cast<JobState>(to)),
                kLegal.at(static_cast<std::size_t>(from)).at(static_cast<std::size_t>(to)) == '1')
          << job_state_name(static_cast<JobState>(from)) << " -> "
          << job_state_name(static_cast<JobState>(to));
    }
  }
}

TEST(JobMoves_EveryState, IsReachedAndCanEnd) {
  // From "unsubmitted" everything is reached, and from everything "done" or "rejected" is.
  const auto reached_from = [](int start) {
    std::set<int> reached{start};
    for (int round = 0; round < kJobStateCount; ++round) {
      for (int from = 0; from < kJobStateCount; ++from) {
        for (int to = 0; to < kJobStateCount; ++to) {
          if (reached.contains(from) &&
              is_legal_move(static_cast<JobState>(from), static_cast<JobState>(to))) {
            reached.insert(to);
          }
        }
      }
    }
    return reached;
  };
  EXPECT_EQ(reached_from(0).size(), static_cast<std::size_t>(kJobStateCount));
  for (int state = 0; state < kJobStateCount; ++state) {
    const std::set<int> reached = reached_from(state);
    EXPECT_TRUE(reached.contains(static_cast<int>(JobState::kDone)) ||
                reached.contains(static_cast<int>(JobState::kRejected)));
  }
}

TEST(TimeKindOf_EachState, HasAKindWhileItsClockRuns) {
  // The four kinds cover exactly the six states in between.
  using enum JobState;
  for (const JobState state : {kUnsubmitted, kDone, kRejected}) {
    EXPECT_FALSE(time_kind_of(state).has_value()) << job_state_name(state);
  }
  EXPECT_EQ(time_kind_of(kWaiting), TimeKind::kWaiting);
  EXPECT_EQ(time_kind_of(kCharacterising), TimeKind::kCharacterisation);
  EXPECT_EQ(time_kind_of(kRunning), TimeKind::kRunning);
  for (const JobState state : {kStarting, kStopping, kStopped}) {
    EXPECT_EQ(time_kind_of(state), TimeKind::kReconfiguration) << job_state_name(state);
  }
}

TEST(JobNames_StatesAndKinds, AreAllDifferent) {
  // Names are keys of files.
  std::set<std::string_view> names;
  for (int state = 0; state < kJobStateCount; ++state) {
    names.insert(job_state_name(static_cast<JobState>(state)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kJobStateCount));
  std::set<std::string_view> kinds;
  for (int kind = 0; kind < kTimeKindCount; ++kind) {
    kinds.insert(time_kind_name(static_cast<TimeKind>(kind)));
  }
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(kTimeKindCount));
}

}  // namespace
}  // namespace septule::job
