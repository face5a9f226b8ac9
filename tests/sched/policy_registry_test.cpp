#include "sched/policy_registry.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "support/policy_loop.hpp"

namespace septule {
namespace {

class PolicyRegistryTest : public test::PolicyTest {};

TEST_F(PolicyRegistryTest, Variants_Each_IsNamedOnceDescribedAndMakesItsPolicy) {
  // Aim: every row has a name of its own, a summary, and a factory whose policy bears the name.
  std::set<std::string_view> names;
  for (const sched::PolicyVariant& variant : sched::policy_variants()) {
    EXPECT_TRUE(names.insert(variant.name).second) << variant.name;
    EXPECT_FALSE(variant.summary.empty()) << variant.name;
    ASSERT_NE(variant.make, nullptr) << variant.name;
    EXPECT_EQ(variant.make(setup(2))->name(), variant.name);
    const auto found = sched::find_policy(variant.name);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(*found, &variant);
  }
  for (const std::string_view name :
       {"nopart", "optsta", "optsta-promote", "optsta-on-trace", "mps-only", "mps-only-pack"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST_F(PolicyRegistryTest, Variants_NeedsLayout_ExactlyThoseOfOptsta) {
  // Aim: whoever runs a study knows for which policies to search a layout.
  for (const sched::PolicyVariant& variant : sched::policy_variants()) {
    EXPECT_EQ(variant.needs_layout, variant.name.starts_with("optsta")) << variant.name;
  }
}

TEST_F(PolicyRegistryTest, Find_UnknownName_NamesNearOnes) {
  // Aim: a misspelt name is answered with the near ones, nonsense with all of them.
  const auto near = sched::find_policy("optstat");
  ASSERT_FALSE(near.has_value());
  EXPECT_EQ(near.error().code, ErrorCode::kNotFound);
  EXPECT_NE(near.error().message.find("\"optstat\""), std::string::npos) << near.error().message;
  EXPECT_NE(near.error().message.find("optsta"), std::string::npos);
  const auto far = sched::find_policy("zzzzzzzzzzzzzzzz\n");
  ASSERT_FALSE(far.has_value());
  EXPECT_NE(far.error().message.find("there are nopart, optsta"), std::string::npos)
      << far.error().message;
  EXPECT_EQ(far.error().message.find('\n'), std::string::npos);
  EXPECT_FALSE(sched::find_policy("").has_value());
  EXPECT_FALSE(sched::find_policy("NoPart").has_value());
}

TEST_F(PolicyRegistryTest, DefaultCharacterisation_EachSetting_IsTheSpecified) {
  // Aim: paper 100, 50, 14 % for 10 s each from the first step; artifact 50 % for 30 s from launch.
  const auto paper = sched::default_characterisation(sched::Setting::kPaper);
  ASSERT_EQ(paper.levels.size(), 3U);
  EXPECT_EQ(paper.levels[0].value(), 100);
  EXPECT_EQ(paper.levels[1].value(), 50);
  EXPECT_EQ(paper.levels[2].value(), 14);
  EXPECT_EQ(paper.per_level, Duration::milliseconds(10000));
  EXPECT_EQ(paper.from, sched::LevelsFrom::kFirstStep);
  const auto artifact = sched::default_characterisation(sched::Setting::kArtifact);
  ASSERT_EQ(artifact.levels.size(), 1U);
  EXPECT_EQ(artifact.levels[0].value(), 50);
  EXPECT_EQ(artifact.per_level, Duration::milliseconds(30000));
  EXPECT_EQ(artifact.from, sched::LevelsFrom::kLaunch);
}

}  // namespace
}  // namespace septule
