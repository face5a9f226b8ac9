#include "base/digest.hpp"

#include <gtest/gtest.h>

namespace septule {
namespace {

TEST(Digest_KnownInputs, GiveKnownValues) {
  // FNV-1a, worked out by another program; a text is followed by its length.
  EXPECT_EQ(Digest().text(), "cbf29ce484222325");
  Digest digest;
  digest.add("abc");
  EXPECT_EQ(digest.value(), 0xE5F49FAFDCDF1048ULL);
  EXPECT_EQ(digest.text(), "e5f49fafdcdf1048");
}

TEST(Digest_SameBytesCutDifferently, Differ) {
  // The length keeps "ab" + "c" apart from "a" + "bc".
  Digest one;
  one.add("ab");
  one.add("c");
  Digest other;
  other.add("a");
  other.add("bc");
  EXPECT_NE(one.value(), other.value());
}

TEST(Digest_OrderOfNumbers, Counts) {
  // Two runs with the same events in another order are two runs.
  Digest one;
  one.add(1);
  one.add(2);
  Digest other;
  other.add(2);
  other.add(1);
  EXPECT_NE(one.value(), other.value());
}

TEST(Digest_AnyValue, HasSixteenDigits) {
  // Always sixteen digits, so that columns of digests line up.
  for (std::uint64_t i = 0; i < 4096; ++i) {
    Digest digest;
    digest.add(i);
    ASSERT_EQ(digest.text().size(), 16U);
  }
}

}  // namespace
}  // namespace septule
