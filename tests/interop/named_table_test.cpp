#include "interop/named_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/interop_support.hpp"

namespace septule::interop {
namespace {

using test::refusal;
using ::testing::HasSubstr;

TEST(NamedTable, Cells_AreFoundByName) {
  // Aim: text, number and whole number, in whatever order the columns are.
  const auto table = NamedTable::read({"b,a\nx,1\ny,2.5\n", "t.csv"}, 2);
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->size(), 2U);
  EXPECT_EQ(table->text(0, "b").value(), "x");
  EXPECT_EQ(table->number(1, "a").value(), 2.5);
  EXPECT_EQ(table->integer(0, "a", 1, 1).value(), 1);
}

TEST(NamedTable, Faults_NameThePlace) {
  // Aim: columns, cells and tables that are not as asked for.
  const auto table = NamedTable::read({"b,a\nx,2.5\n", "t.csv"}, 1);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(refusal(table->text(0, "c")), "t.csv:1: has no column \"c\"");
  EXPECT_EQ(refusal(table->number(0, "b")), "t.csv:2: b: \"x\" is not a number");
  EXPECT_EQ(refusal(table->integer(0, "a", 0, 9)),
            "t.csv:2: a: \"2.5\" is not valid; expected a whole number from 0 to 9");
  EXPECT_EQ(table->error(0, "a", "is odd").message, "t.csv:2: a: is odd");
  EXPECT_EQ(refusal(NamedTable::read({"a,b\n1\n", "t.csv"}, 1)),
            "t.csv:2: has 1 cells; the heading has 2");
  EXPECT_THAT(refusal(NamedTable::read({"a\n1\n2\n", "t.csv"}, 1)), HasSubstr("t.csv"));
  EXPECT_THAT(refusal(NamedTable::read({"", "t.csv"}, 1)), HasSubstr("t.csv"));
}

}  // namespace
}  // namespace septule::interop
