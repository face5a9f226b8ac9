#include "sim/study_text.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
// clang-format off: needs the names of GoogleTest
#include <rapidcheck/gtest.h>
// clang-format on

#include "sim/sim_support.hpp"

namespace septule::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const gpu::Catalogue& catalogue() {
  static const gpu::Catalogue loaded = gpu::load_builtin_catalogue();
  return loaded;
}

TEST(StudyText, Seeds_RangesAndListsKeepTheirOrder) {
  // Order matters: the first seed stands for its policy in pictures.
  const auto seeds = parse_seeds("7, 1-3,10");
  ASSERT_TRUE(seeds);
  EXPECT_THAT(*seeds, ElementsAre(7U, 1U, 2U, 3U, 10U));
}

TEST(StudyText, Seeds_FaultsAreRefused) {
  // Nothing is guessed about seeds.
  for (const char* text : {"",
                           "x",
                           "-1",
                           "1-",
                           "-",
                           "3-1",
                           "1,1",
                           "1-3,2",
                           "1.5",
                           "0-10000",
                           "5-2000000000",
                           "1--2"}) {
    EXPECT_FALSE(parse_seeds(text)) << text;
  }
}

RC_GTEST_PROP(StudyText, Seeds_AnyTextIsReadOrRefused, (const std::string& text)) {
  // No text stops the program, and what is read has each seed once.
  if (auto seeds = parse_seeds(text)) {
    std::ranges::sort(*seeds);
    RC_ASSERT(std::ranges::adjacent_find(*seeds) == seeds->end());
  }
}

TEST(StudyText, Clusters_CountAndModel) {
  // Counts may be joined to the model or not; a model alone is one GPU.
  const auto clusters = parse_clusters(catalogue(), "8xA100-40GB, 40 x H100-94GB,A30-24GB");
  ASSERT_TRUE(clusters) << clusters.error().message;
  ASSERT_EQ(clusters->size(), 3U);
  EXPECT_EQ((*clusters)[0].name(), "8xA100-40GB");
  EXPECT_EQ((*clusters)[1].name(), "40xH100-94GB");
  EXPECT_EQ((*clusters)[2].gpu_count, 1);
}

TEST(StudyText, Clusters_RelativeSpeedsAreRead) {
  // A factor behind @ belongs to its cluster and its name; 1 is not written.
  const auto clusters = parse_clusters(catalogue(), "8xH100-80GB-SXM@2.2,2xA100-40GB @ 1");
  ASSERT_TRUE(clusters) << clusters.error().message;
  EXPECT_EQ((*clusters)[0].speed, 2.2);
  EXPECT_EQ((*clusters)[0].name(), "8xH100-80GB-SXM@2.2");
  EXPECT_EQ((*clusters)[1].name(), "2xA100-40GB");
  for (const char* text : {"A100-40GB@",
                           "A100-40GB@0",
                           "A100-40GB@-1",
                           "A100-40GB@1001",
                           "A100-40GB@nan",
                           "A100-40GB@2@2",
                           "@2"}) {
    EXPECT_FALSE(parse_clusters(catalogue(), text)) << text;
  }
}

TEST(StudyText, Clusters_OtherFormsAreExplained) {
  // A count without x, or two models in one cluster, is no unknown model.
  for (const char* text :
       {"4A30-24GB", "4xA30-24GB+2xA100-40GB", "A30-24GB+A100-40GB", "4 A30-24GB"}) {
    const auto clusters = parse_clusters(catalogue(), text);
    ASSERT_FALSE(clusters) << text;
    EXPECT_THAT(clusters.error().message, HasSubstr("one cluster has one model")) << text;
  }
}

TEST(StudyText, Clusters_FaultsAreRefused) {
  // Unknown models come with near ones, counts with their range.
  EXPECT_THAT(parse_clusters(catalogue(), "8xA100-40G").error().message, HasSubstr("A100-40GB"));
  for (const char* text : {"",
                           "0xA100-40GB",
                           "100001xA100-40GB",
                           "8x",
                           "x",
                           "8xA100-40GB,",
                           "99999999999999999999xA100-40GB"}) {
    EXPECT_FALSE(parse_clusters(catalogue(), text)) << text;
  }
}

TEST(StudyText, GapsLevelsPolicies_AreReadInOrder) {
  // The lists of numbers and names.
  const auto gaps = parse_gaps("5, 0.5,60");
  ASSERT_TRUE(gaps);
  EXPECT_THAT(*gaps, ElementsAre(test::seconds(5), test::seconds(0.5), test::seconds(60)));
  const auto levels = parse_levels("100,50,14");
  ASSERT_TRUE(levels);
  EXPECT_EQ(levels->size(), 3U);
  const auto policies = parse_policies("miso,nopart");
  ASSERT_TRUE(policies);
  EXPECT_EQ(policies->front()->name, "miso");
  EXPECT_EQ(parse_policies("all")->size(), sched::policy_variants().size());
}

TEST(StudyText, GapsLevelsPolicies_FaultsAreRefused) {
  // Ranges and doubles.
  for (const char* text : {"", "0", "-1", "nan", "86401", "1,,2"}) {
    EXPECT_FALSE(parse_gaps(text)) << text;
  }
  for (const char* text : {"", "0", "101", "50.5", "1,2,3,4,5"}) {
    EXPECT_FALSE(parse_levels(text)) << text;
  }
  for (const char* text : {"", "misso", "miso,miso", "miso,all"}) {
    EXPECT_FALSE(parse_policies(text)) << text;
  }
}

}  // namespace
}  // namespace septule::sim
