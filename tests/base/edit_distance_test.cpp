#include "base/edit_distance.hpp"

#include <string>

#include <gtest/gtest.h>

namespace septule {
namespace {

TEST(EditDistance_Samples, AreThoseByHand) {
  // Aim: nothing, each kind of edit, a known pair, and that the order of the texts does not matter.
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("abc", "abd"), 1U);
  EXPECT_EQ(edit_distance("abc", "ab"), 1U);
  EXPECT_EQ(edit_distance("abc", "xabc"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("sitting", "kitten"), 3U);
}

TEST(IsLikelyMeant_Misspellings, AreOnlyThose) {
  // Aim: a slip of the keys is recognised; another word of about the length is not.
  EXPECT_TRUE(is_likely_meant("hodl", "hold"));
  EXPECT_TRUE(is_likely_meant("3G.21gb", "3g.20gb"));
  EXPECT_TRUE(is_likely_meant("s5", "s7"));
  EXPECT_TRUE(is_likely_meant("mig", "mig-devices"));
  EXPECT_FALSE(is_likely_meant("zork", "job"));
  EXPECT_FALSE(is_likely_meant("seed", "power_w"));
  EXPECT_FALSE(is_likely_meant("x", "a"));
  EXPECT_FALSE(is_likely_meant("e", "step_time"));
  EXPECT_FALSE(is_likely_meant("", "a"));
  const std::string lengthy(100'000, 'a');
  EXPECT_FALSE(is_likely_meant(lengthy, lengthy));
}

}  // namespace
}  // namespace septule
