#include "interop/nvidia_smi_rows.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/interop_support.hpp"

namespace septule::interop {
namespace {

using test::refusal;
using ::testing::HasSubstr;

TEST(SmiRows, Row_IsTakenApart) {
  // Each number reaches its own field.
  const auto rows =
      read_smi_rows({"| GPU instances: |\n|==|\n| 63 MIG 1g.5gb+me 20 9999 6:1 |\n+--+\n"
                     "| Compute instances: |\n|==|\n| 1 2 MIG 1c.3g.20gb 3 4 5:6 |\n+--+\n",
                     "t"});
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->gpu_instances.size(), 1U);
  const SmiRow& row = rows->gpu_instances[0];
  EXPECT_EQ(row.line, 3);
  EXPECT_EQ(row.gpu, 63);
  EXPECT_EQ(row.name, "1g.5gb+me");
  EXPECT_EQ(row.profile_id, 20);
  EXPECT_EQ(row.instance_id, 9999);
  EXPECT_EQ(row.start, 6);
  EXPECT_EQ(row.size, 1);
  ASSERT_EQ(rows->compute_instances.size(), 1U);
  EXPECT_EQ(rows->compute_instances[0].gpu_instance_id, 2);
  EXPECT_EQ(rows->compute_instances[0].instance_id, 4);
}

TEST(SmiRows, NumbersOutOfRange_AreNoRow) {
  // Nothing is cut to fit.
  for (const char* row : {"| 64 MIG a 1 1 0:1 |",
                          "| 0 MIG a 10000 1 0:1 |",
                          "| 0 MIG a 1 -1 0:1 |",
                          "| 0 MIG a 1 1 0:0 |",
                          "| 0 MIG a 1 1 65:1 |",
                          "| 0 MIG a 1 1 01 |",
                          "| 0 mig a 1 1 0:1 |",
                          "| 0 MIG a 1 1 0:1 x |",
                          "||",
                          "|"}) {
    const std::string text = std::string("| GPU instances: |\n|==|\n") + row + "\n+--+\n";
    EXPECT_THAT(refusal(read_smi_rows({text, "t"})), HasSubstr("t:3: ")) << row;
  }
}

}  // namespace
}  // namespace septule::interop
