// SliceAssigner against the published MISO cases (shared reference material).
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "optimize/slice_assignment.hpp"
#include "plan/plan_support.hpp"
#include "support/shared_data.hpp"

namespace septule::optimize {
namespace {

class MisoCasesTest : public test::CatalogueTest {
 protected:
  SpeedMatrix matrix_of(const nlohmann::json& rows) const {
    constexpr std::array kSlices{7, 4, 3, 2, 1};
    SpeedMatrix matrix(static_cast<int>(rows.size()));
    for (std::size_t j = 0; j < rows.size(); ++j) {
      for (std::size_t i = 0; i < kSlices.size(); ++i) {
        const auto index = geometry("A100-40GB").plain_profile(ComputeSlices(kSlices[i]));
        EXPECT_TRUE(matrix.set_speed(static_cast<int>(j), index.value(), rows[j][i].get<double>()));
      }
    }
    return matrix;
  }
};

TEST_F(MisoCasesTest, Totals_EqualThePublishedOptima) {
  // Aim: all 70 cases, with 4g+3g and (under the old-driver rule) without it.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/optimizer_cases.jsonl");
  const auto free = SliceAssigner::make(geometry("A100-40GB"), {});
  const auto old =
      SliceAssigner::make(geometry("A100-40GB"), {.rule = LayoutRule::kForbidFourPlusThree});
  ASSERT_TRUE(free.has_value() && old.has_value());
  std::ifstream file(path);
  std::string line;
  int case_count = 0;
  int infeasible_count = 0;
  while (std::getline(file, line)) {
    const nlohmann::json record = nlohmann::json::parse(line);
    SCOPED_TRACE(record["id"].dump());
    const SpeedMatrix matrix = matrix_of(record["jobs"]);
    const auto compare = [&](const SliceAssigner& assigner, const char* field) {
      SliceAssignment answer;
      assigner.solve(matrix, plan::ObjectiveKind::kSumOfSpeeds, answer);
      const nlohmann::json& truth = record[field];
      ASSERT_EQ(answer.is_feasible(), !truth.is_null() && !truth["total"].is_null()) << field;
      if (answer.is_feasible()) {
        EXPECT_NEAR(answer.objective, truth["total"].get<double>(), 1e-6) << field;
      } else {
        ++infeasible_count;
      }
    };
    compare(*free, "opt_with_4_3");
    compare(*old, "opt_idle_allowed");
    ++case_count;
  }
  EXPECT_EQ(case_count, 70);
  EXPECT_EQ(infeasible_count, 6) << "three cases, each under both rules";
}

}  // namespace
}  // namespace septule::optimize
