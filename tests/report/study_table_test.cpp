#include "report/study_table.hpp"

#include <gtest/gtest.h>

#include "support/study_builder.hpp"

namespace septule::report {
namespace {

/// A study of runs whose figures are easy to check by head.
StudyReport small_study(int seeds) {
  StudyReport study;
  study.cluster = "2 x A100-40GB";
  study.trace = "miso-100";
  for (const double factor : {1.0, 0.5}) {
    PolicyReport policy;
    policy.name = factor == 1 ? "nopart" : "miso";
    for (int seed = 1; seed <= seeds; ++seed) {
      job::RunFigures run;
      run.mean_jct_s = factor * 1000 * seed;
      run.makespan_s = 5000;
      run.stp_per_gpu = 0.75 / factor;
      run.mean_wait_s = factor * 10;
      run.slowdown_p90 = 4 * factor;
      run.reconfigurations = 3;
      run.jobs_done = 100;
      policy.runs.push_back(run);
      policy.seeds.push_back(static_cast<std::uint64_t>(seed));
    }
    study.policies.push_back(policy);
  }
  return study;
}

TEST(StudyTable, TwoPolicies_AreShownAndCompared) {
  // Seeds 1 and 2: 1000 and 2000, mean 1500, t(1) = 12.7062 times 500; the ratio is always 1/2.
  EXPECT_EQ(study_table(small_study(2)),
            "2 x A100-40GB; miso-100; seeds 1, 2\n"
            "\n"
            "policy  mean JCT s      95 % interval  makespan s  STP/GPU  wait s  slowdown p90  "
            "re-cuts\n"
            "nopart      1500.0  [-4853.1, 7853.1]        5000    0.750    10.0          4.00      "
            "3.0\n"
            "miso         750.0  [-2426.6, 3926.6]        5000    1.500     5.0          2.00      "
            "3.0\n"
            "\n"
            "against nopart  mean JCT     95 % interval  makespan  95 % interval   STP/GPU       "
            "95 % interval\n"
            "miso             -50.0 %  [-50.0, -50.0] %     0.0 %   [0.0, 0.0] %  +100.0 %  "
            "[+100.0, +100.0] %\n"
            "\n"
            "Means over seeds; intervals are 95 % (Student t), comparisons paired by seed.\n");
}

TEST(StudyTable, RejectedJobs_GetAColumn) {
  // Only when there are any, of any policy; means over the seeds.
  StudyReport study = small_study(2);
  EXPECT_EQ(study_table(study).find("rejected"), std::string::npos);
  study.policies[1].runs[0].jobs_done = 97;
  study.policies[1].runs[0].jobs_rejected = 3;
  const std::string table = study_table(study);
  EXPECT_NE(table.find("re-cuts  done / rejected\n"), std::string::npos) << table;
  EXPECT_NE(table.find("3.0          100 / 0\n"), std::string::npos) << table;
  EXPECT_NE(table.find("3.0       98.5 / 1.5\n"), std::string::npos) << table;
}

TEST(StudyTable, OneSeed_HasNoIntervals) {
  // They are not known, which is not the same as being narrow.
  const std::string table = study_table(small_study(1));
  EXPECT_NE(table.find("seed 1\n"), std::string::npos);
  EXPECT_NE(table.find("nopart      1000.0            N/A"), std::string::npos) << table;
  EXPECT_EQ(table.find('['), std::string::npos) << table;
}

TEST(StudyTable, OnePolicy_IsComparedWithNothing) {
  // There is no second table then.
  StudyReport study = small_study(3);
  study.policies.pop_back();
  EXPECT_EQ(study_table(study).find("against"), std::string::npos);
}

TEST(StudyTable, EmptyStudies_SaySo) {
  // No policy at all, and a policy without a run.
  StudyReport study;
  EXPECT_NE(study_table(study).find("No policy was run."), std::string::npos);
  study.policies.resize(2);
  study.policies[0].name = "none";
  const std::string table = study_table(study);
  EXPECT_NE(table.find("none           N/A"), std::string::npos) << table;
  EXPECT_NE(table.find("no seed"), std::string::npos);
}

TEST(StudyTable, HostileNames_StayOnTheirLine) {
  // A policy's name may come from a file.
  StudyReport study = small_study(2);
  study.policies[0].name = "a\nb\x1b[2J";
  study.policies[1].name = std::string(500, 'x');
  study.trace = "t\r\n";
  const std::string table = study_table(study);
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
  EXPECT_EQ(table.find('\r'), std::string::npos);
  EXPECT_EQ(std::ranges::count(table, '\n'), 10);
  EXPECT_LT(table.size(), 2000U);
}

}  // namespace
}  // namespace septule::report
