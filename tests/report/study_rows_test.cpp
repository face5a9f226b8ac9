#include "report/study_rows.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace septule::report {
namespace {

/// An entry of a study; a gap below 0 is none.
PolicyReport entry(const std::string& policy, const std::string& cluster, int gap_s) {
  PolicyReport made;
  made.name = policy + cluster;
  made.policy = policy;
  made.cluster = cluster;
  if (gap_s >= 0) {
    made.gap = seconds_to_duration(gap_s);
  }
  return made;
}

TEST(StudyRows, SweepOfClusters_IsTakenApart) {
  // Colours go by policy; rows of the first gap, by cluster, in order of occurrence.
  StudyReport study;
  for (const char* const cluster : {"b", "a"}) {
    for (const int gap_s : {30, 5}) {
      study.policies.push_back(entry("nopart", cluster, gap_s));
      study.policies.push_back(entry("miso", cluster, gap_s));
    }
  }
  EXPECT_TRUE(is_sweep(study));
  EXPECT_EQ(policy_count(study), 2);
  EXPECT_EQ(colour_index(study, study.policies[7]), 1);
  EXPECT_EQ(gaps_of(study),
            (std::vector<Duration>{seconds_to_duration(30), seconds_to_duration(5)}));
  EXPECT_EQ(first_gap_rows(study), (std::vector<std::size_t>{0, 1, 4, 5}));
  EXPECT_EQ(rows_by_cluster(study, first_gap_rows(study)),
            (std::vector<std::vector<std::size_t>>{{0, 1}, {4, 5}}));
}

TEST(StudyRows, PlainStudies_AreTheirOwnRows) {
  // Without clusters and gaps every entry is a policy of its own, by its name if need be.
  StudyReport study;
  EXPECT_FALSE(is_sweep(study));
  EXPECT_TRUE(first_gap_rows(study).empty());
  EXPECT_TRUE(rows_by_cluster(study, {}).empty());
  study.policies = {entry("nopart", "", -1), entry("", "miso", -1)};
  EXPECT_FALSE(is_sweep(study));
  EXPECT_EQ(policy_key(study.policies[1]), "miso");
  EXPECT_EQ(policy_count(study), 2);
  EXPECT_TRUE(gaps_of(study).empty());
  EXPECT_EQ(first_gap_rows(study), (std::vector<std::size_t>{0, 1}));
}

}  // namespace
}  // namespace septule::report
