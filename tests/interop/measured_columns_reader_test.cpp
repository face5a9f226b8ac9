#include "interop/measured_columns_reader.hpp"

#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/read_file.hpp"
#include "support/shared_data.hpp"

namespace septule::interop {
namespace {

using ::testing::HasSubstr;

/// A .npy file of float32 as NumPy writes it.
std::string npy(const std::string& shape, const std::vector<float>& values) {
  std::string heading = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
  while ((10 + heading.size() + 1) % 64 != 0) {
    heading += ' ';
  }
  heading += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(heading.size() & 0xFFU);
  bytes += static_cast<char>(heading.size() >> 8U);
  bytes += heading;
  for (const float value : values) {
    std::uint32_t bits = 0;
    static_assert(sizeof(bits) == sizeof(value));
    std::memcpy(&bits, &value, sizeof(bits));
    for (unsigned shift = 0; shift < 32; shift += 8) {
      bytes += static_cast<char>(bits >> shift & 0xFFU);
    }
  }
  return bytes;
}

struct Files {
  std::string steps;
  std::string rows =
      "row,n_active,measurement,mix,val5,c0,c1,c2,c3,c4,c5,c6\n"
      "0,1,0,0,3,0,2,2,2,2,2,2\n"
      "1,2,1,1,0,1,0,2,2,2,2,2\n";
  std::string classes = "class_id,model,batch\n0,resnet,64\n1,gnn,128\n2,dummy,32\n";

  Files() {
    std::vector<float> values(2 * 3 * 7, 0.5F);
    values[0] = 0.25F;           // row 0, 100 %, column 0
    values[21 + 7 + 1] = 0.75F;  // row 1, 50 %, column 1
    steps = npy("2, 3, 7", values);
  }
  Result<predict::MeasuredColumns> read(std::string_view part) const {
    return read_measured_columns(
        {{steps, "unet_input.npy"}, {rows, "unet_rows.csv"}, {classes, "unet_classes.csv"}}, part);
  }
};

TEST(MeasuredColumnsReader, Fold_HasItsRealColumnsOnly) {
  // Aim: fold 0 is row 1, whose two real jobs become columns of two co-runners; no filler.
  const auto columns = Files().read("0");
  ASSERT_TRUE(columns.has_value()) << columns.error().message;
  ASSERT_EQ(columns->columns.size(), 2U);
  EXPECT_EQ(columns->columns[0].job, "gnn:128");
  EXPECT_EQ(columns->columns[1].job, "resnet:64");
  EXPECT_EQ(columns->columns[1].co_runners, 2);
  EXPECT_EQ(columns->columns[1].step[1], 0.75);
  EXPECT_EQ(columns->levels[2], ActiveThreadPercentage(14));
  EXPECT_EQ(columns->text, "fold 0 (1 of 2 rows)");
}

TEST(MeasuredColumnsReader, Family_HasAllMixesWithIt) {
  // Aim: the rows that a predictor trained without the family has not seen.
  const auto all = Files().read("resnet");
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->columns.size(), 3U);
  EXPECT_EQ(all->find("resnet:64", 1)[0].step[0], 0.25);
  const auto some = Files().read("gnn");
  ASSERT_TRUE(some.has_value());
  EXPECT_EQ(some->columns.size(), 2U);
}

TEST(MeasuredColumnsReader, UnknownPart_IsNotFound_NamingWhatThereIs) {
  // Aim: neither fold nor family, a fold written oddly; the filler is no family.
  for (const char* part : {"5", "-1", "00", "01", "-0", "dummy", "", "resnets"}) {
    const auto columns = Files().read(part);
    ASSERT_FALSE(columns.has_value()) << part;
    EXPECT_EQ(columns.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(columns.error().message, HasSubstr("0 to 4, gnn and resnet"));
  }
}

TEST(MeasuredColumnsReader, InvalidFiles_AreRefusedNamingThePlace) {
  // Aim: every kind of damage says file, row and column.
  const auto message = [](const Files& files, std::string_view part = "0") {
    const auto columns = files.read(part);
    return columns.has_value() ? std::string("accepted") : columns.error().message;
  };
  Files files;
  files.steps = npy("1, 3, 7", std::vector<float>(21, 0.5F));
  EXPECT_THAT(message(files), HasSubstr("unet_input.npy: has not the shape 2 x 3 x 7"));
  for (const float bad : {0.0F, -1.0F, 1.5F, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> values(42, 0.5F);
    values[21] = bad;
    files.steps = npy("2, 3, 7", values);
    EXPECT_THAT(message(files), HasSubstr("unet_input.npy: row 1, level 0, column 0"));
  }
  files = Files();
  files.rows = "row,n_active,measurement,mix,val5,c0\n0,1,0,0,0,0\n";
  EXPECT_THAT(message(files), HasSubstr("unet_rows.csv:1: has no column \"c1\""));
  files = Files();
  files.rows.replace(files.rows.find("0,1,0,0,3"), 9, "0,8,0,0,3");
  EXPECT_THAT(message(files), HasSubstr("unet_rows.csv:2: n_active: \"8\" is not valid"));
  files = Files();
  files.classes = "class_id,model,batch\n1,resnet,64\n";
  EXPECT_THAT(message(files), HasSubstr("unet_classes.csv:2: class_id"));
  files = Files();
  files.rows.clear();
  EXPECT_THAT(message(files), HasSubstr("unet_rows.csv"));
}

TEST(MeasuredColumnsReader, RowsThatContradict_AreRefused) {
  // Aim: rows that cannot be those of the array, so that no job gets another's measurements.
  const std::string heading = "row,n_active,measurement,mix,val5,c0,c1,c2,c3,c4,c5,c6\n";
  const auto message = [&](std::string_view rows) {
    Files files;
    files.rows = heading + std::string(rows);
    const auto columns = files.read("0");
    return columns.has_value() ? std::string("accepted") : columns.error().message;
  };
  EXPECT_THAT(message("1,2,1,1,0,1,0,2,2,2,2,2\n0,1,0,0,3,0,2,2,2,2,2,2\n"),
              HasSubstr("unet_rows.csv:2: row: is 1; expected 0 (in order)"));
  EXPECT_THAT(message("0,1,0,0,3,0,2,2,2,2,2,2\n1,3,1,1,0,1,0,2,2,2,2,2\n"),
              HasSubstr("unet_rows.csv:3: n_active: is 3; the classes name 2 jobs"));
  EXPECT_THAT(message("0,1,0,0,3,0,2,2,2,2,2,2\n1,1,1,0,0,2,0,2,2,2,2,2\n"),
              HasSubstr("unet_rows.csv:3: val5: is 0; mix 0 was in fold 3 before"));
  EXPECT_THAT(message("0,1,0,0,3,0,2,2,2,2,2\n"), HasSubstr("has 11 cells; the heading has 12"));
  EXPECT_THAT(message(""), HasSubstr("unet_rows.csv: no rows"));
}

TEST(MeasuredColumnsReader, PublishedData_Folds_PartTheRealColumns) {
  // Aim: MISO's data: the five folds together are all real columns, and all 32 jobs are in each.
  SEPTULE_REQUIRE_SHARED(steps_path, "data/miso/unet_input.npy");
  Files files;
  files.steps = test::read_file(steps_path);
  files.rows = test::read_file(steps_path.parent_path() / "unet_rows.csv");
  files.classes = test::read_file(steps_path.parent_path() / "unet_classes.csv");
  std::size_t total = 0;
  for (const char* part : {"0", "1", "2", "3", "4"}) {
    const auto columns = files.read(part);
    ASSERT_TRUE(columns.has_value()) << columns.error().message;
    total += columns->columns.size();
    std::set<std::string> jobs;
    for (const predict::MeasuredColumn& column : columns->columns) {
      jobs.insert(column.job);
    }
    EXPECT_EQ(jobs.size(), 32U);
  }
  EXPECT_EQ(total, 78400U - 34365U);
}

}  // namespace
}  // namespace septule::interop
