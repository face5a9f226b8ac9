#include "interop/slice_lines.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace septule::interop {
namespace {

TEST(SliceLines, Predictions_HaveTheStableForm) {
  // Seven columns each, null for absent jobs; sd is that of the time for 7g to 3g, else of speed.
  predict::SlicePredictions predictions;
  predictions[1] = {.speed = {1, 0.75, 0.625, 0.5, 0.25},
                    .speed_sd = {0, 0.01, 0.02, 0.03, 0.04},
                    .time = {0.625, 0.8333333333, 1},
                    .time_sd = {0.05, 0.06, 0.0000001}};
  EXPECT_EQ(write_slice_line(predictions),
            R"({"slice_time":{"7g":[null,0.625,null,null,null,null,null],)"
            R"("4g":[null,0.8333333,null,null,null,null,null],)"
            R"("3g":[null,1,null,null,null,null,null]},)"
            R"("slice_speed":{"2g":[null,0.5,null,null,null,null,null],)"
            R"("1g":[null,0.25,null,null,null,null,null]},)"
            R"("sd":{"7g":[null,0.05,null,null,null,null,null],)"
            R"("4g":[null,0.06,null,null,null,null,null],)"
            R"("3g":[null,1e-07,null,null,null,null,null],)"
            R"("2g":[null,0.03,null,null,null,null,null],)"
            R"("1g":[null,0.04,null,null,null,null,null]}})");
  EXPECT_TRUE(nlohmann::json::accept(write_slice_line(predictions)));
}

TEST(SliceLines, ErrorText_IsOneJsonObject) {
  // Whatever a message quotes, the line is valid JSON on one line.
  EXPECT_EQ(write_error_line("in:3: \"x\\\n is bad"), R"({"error":"in:3: \"x\\\n is bad"})");
  EXPECT_TRUE(nlohmann::json::accept(write_error_line("bytes \xFF\xFE")));
}

}  // namespace
}  // namespace septule::interop
