#include "report/job_story.hpp"

#include <gtest/gtest.h>

#include "support/study_builder.hpp"

namespace septule::report {
namespace {

job::JobOutcome finished_job() {
  job::JobOutcome outcome;
  outcome.id = job::JobId(17);
  outcome.submit = test::at_seconds(120);
  outcome.first_start = test::at_seconds(132);
  outcome.finish = test::at_seconds(220);
  outcome.times = {Duration::milliseconds(12000),
                   Duration::milliseconds(30000),
                   Duration::milliseconds(8000),
                   Duration::milliseconds(50000)};
  outcome.ideal = Duration::milliseconds(40000);
  outcome.checkpoints = 1;
  return outcome;
}

TEST(JobStory, FinishedJob_IsToldFromItsSubmissionOn) {
  // Times relative to submission, in order of time, and four kinds that add up to the JCT.
  const std::vector<StoryLine> lines = {
      {test::at_seconds(132), "placed on GPU 3"},
      {test::at_seconds(120), "submitted"},
      {test::at_seconds(132), "starts"},
  };
  EXPECT_EQ(job_story(finished_job(), "resnet:64", lines),
            "Job 17 (resnet:64): done, JCT 100.000 s, 2.50 times the 40.000 s alone on the whole "
            "GPU.\n"
            "Submitted 120.000 s after the start of the trace; first start +12.000 s; checkpoints "
            "1, characterisation runs 0, changes of GPU 0.\n"
            "\n"
            "after submission  what\n"
            "        +0.000 s  submitted\n"
            "       +12.000 s  placed on GPU 3\n"
            "       +12.000 s  starts\n"
            "\n"
            "time              seconds    share\n"
            "waiting            12.000   12.0 %\n"
            "characterisation   30.000   30.0 %\n"
            "reconfiguration     8.000    8.0 %\n"
            "running            50.000   50.0 %\n"
            "sum               100.000  100.0 %\n");
}

TEST(JobStory, Nanoseconds_AreNotRoundedAwayInTheSum) {
  // Three times of a third of a second add up to the nanosecond.
  job::JobOutcome outcome = finished_job();
  outcome.times = {Duration::nanoseconds(333333333),
                   Duration::nanoseconds(333333333),
                   Duration::nanoseconds(333333333),
                   Duration::nanoseconds(1)};
  const std::string story = job_story(outcome, "", {});
  EXPECT_NE(story.find("waiting           0.333333333"), std::string::npos) << story;
  EXPECT_NE(story.find("sum               1.000000000  100.0 %"), std::string::npos) << story;
  EXPECT_EQ(story.find("Job 17:"), 0U) << story;
}

TEST(JobStory, RejectedAndUnfinishedJobs_HaveNoJct) {
  // What did not happen is said, not counted as 0.
  job::JobOutcome outcome = finished_job();
  outcome.state = job::JobState::kRejected;
  outcome.first_start.reset();
  outcome.finish.reset();
  outcome.times = {};
  const std::string rejected = job_story(outcome, "big", {});
  EXPECT_NE(rejected.find("rejected: it fits no GPU of the cluster"), std::string::npos);
  EXPECT_NE(rejected.find("never started"), std::string::npos);
  EXPECT_NE(rejected.find("Nothing else is known of it."), std::string::npos);
  EXPECT_NE(rejected.find("N/A"), std::string::npos);
  outcome.state = job::JobState::kRunning;
  EXPECT_NE(job_story(outcome, "big", {}).find("did not finish"), std::string::npos);
}

TEST(JobStory, HostileTexts_StayOnTheirLines) {
  // Line ends and terminal codes of a trace's names are written, not carried out.
  const std::vector<StoryLine> lines = {{test::at_seconds(100), "a\x1b[2Jb\nc"}};
  const std::string story = job_story(finished_job(), "n\n\xff", lines);
  EXPECT_EQ(story.find('\x1b'), std::string::npos);
  EXPECT_EQ(story.find('\xff'), std::string::npos);
  EXPECT_NE(story.find("-20.000 s"), std::string::npos) << story;
  EXPECT_EQ(std::ranges::count(story, '\n'), 12);
}

}  // namespace
}  // namespace septule::report
