#include "report/table.hpp"

#include <string>

#include <gtest/gtest.h>

namespace septule::report {
namespace {

TEST(Table, Columns_AreTwoSpacesApartWithoutTrailingBlanks) {
  // The widest cell of a column, title included, gives its width.
  Table table({{"name", Align::kLeft}, {"n", Align::kRight}, {"last", Align::kLeft}});
  table.add_row({"a", "100", "x"});
  table.add_row({"longer", "7", ""});
  EXPECT_EQ(table.text(),
            "name      n  last\n"
            "a       100  x\n"
            "longer    7\n");
}

TEST(Table, Width_IsCountedInCodePoints) {
  // Two bytes of UTF-8 stand in one column.
  Table table({{"a"}, {"b"}});
  table.add_row({"\xc3\xa9\xc3\xa9", "1"});
  table.add_row({"xxx", "2"});
  EXPECT_EQ(table.text(), "a    b\n\xc3\xa9\xc3\xa9   1\nxxx  2\n");
}

TEST(Table, Empty_HasItsHeaderOnly) {
  // A row of empty cells is still a row.
  Table table({{"a"}, {"b"}});
  EXPECT_TRUE(table.is_empty());
  EXPECT_EQ(table.text(), "a  b\n");
  table.add_row({"", ""});
  EXPECT_FALSE(table.is_empty());
  EXPECT_EQ(table.text(), "a  b\n\n");
}

TEST(TableDeathTest, WrongNumberOfCells_IsAProgrammerError) {
  // A row has one cell per column, and there are columns.
  Table table({{"a"}, {"b"}});
  EXPECT_DEATH(table.add_row({"1"}), "one cell per column");
  EXPECT_DEATH((void)Table({}), "a table has columns");
}

}  // namespace
}  // namespace septule::report
