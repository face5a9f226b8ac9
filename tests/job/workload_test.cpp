#include "job/workload.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "job/csv_rows.hpp"
#include "support/shared_data.hpp"

namespace septule::job {
namespace {

double total_work_s(const Workload& workload) {
  double sum = 0;
  for (const JobSpec& job : workload.jobs) {
    sum += job.work.to_seconds();
  }
  return sum;
}

const PerfSignature& signature_of(const Workload& workload, const JobSpec& job) {
  return workload.signatures.at(static_cast<std::size_t>(job.signature.value()));
}

TEST(MisoWorkload_Hundred, HasThePublishedMix) {
  // Models, useful seconds and the total of 76,033 s; five families in the published numbers.
  const Workload workload = *miso_workload("miso-100");
  EXPECT_TRUE(check_workload(workload).is_ok());
  EXPECT_EQ(workload.jobs.size(), 100U);
  EXPECT_NEAR(total_work_s(workload), 76033, 1);
  std::map<std::string, int> families;
  for (const JobSpec& job : workload.jobs) {
    ++families[signature_of(workload, job).family];
  }
  EXPECT_EQ(
      families,
      (std::map<std::string, int>{
          {"transformer", 26}, {"embedding", 22}, {"gnn", 21}, {"resnet", 18}, {"mobilenet", 13}}));
}

TEST(MisoWorkload_EachJob, EqualsThePublishedTrace) {
  // Model and batch of each job, and its work to the decimal published.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/trace_jobs.csv");
  const Workload workload = *miso_workload("miso-100");
  const auto rows = test::csv_rows(path);
  ASSERT_EQ(rows.size(), workload.jobs.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const JobSpec& job = workload.jobs[i];
    EXPECT_EQ(job.name, fmt::format("miso-{}", rows[i].at("job")));
    EXPECT_EQ(signature_of(workload, job).name,
              fmt::format("{}:{}", rows[i].at("model"), rows[i].at("batch")));
    EXPECT_NEAR(job.work.to_seconds(), test::number_of(rows[i], "iters_x_step_s"), 0.1);
    EXPECT_NEAR(job.work.to_seconds() + 10, test::number_of(rows[i], "trace_100_s"), 0.5);
  }
}

TEST(MisoWorkload_Thousand, IsTheHundredTenTimes) {
  // Job i is job i mod 100 under a name of its own.
  const Workload hundred = *miso_workload("miso-100");
  const Workload thousand = *miso_workload("miso-1000");
  EXPECT_TRUE(check_workload(thousand).is_ok());
  ASSERT_EQ(thousand.jobs.size(), 1000U);
  EXPECT_NEAR(total_work_s(thousand), 10 * total_work_s(hundred), 1e-6);
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(thousand.jobs[i].work, hundred.jobs[i % 100].work);
    EXPECT_EQ(thousand.jobs[i].signature, hundred.jobs[i % 100].signature);
  }
}

TEST(MisoWorkload_OtherName, IsNotFound) {
  // The message names the two there are.
  const auto refused = miso_workload("miso-10");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(refused.error().message,
            "no built-in workload is named \"miso-10\"; there are miso-100 and miso-1000");
}

TEST(WithArrivals_DrawnOrder, RenumbersInOrderOfSubmission) {
  // Ids are dense, names stay, nothing is lost; equal times keep the order given.
  const Workload base = *miso_workload("miso-100");
  const Workload arrived = with_arrivals(base, *artifact_arrivals(100, 1));
  EXPECT_TRUE(check_workload(arrived).is_ok());
  EXPECT_EQ(arrived.jobs.size(), 100U);
  EXPECT_EQ(arrived.jobs[0].name, "miso-17");
  EXPECT_EQ(arrived.jobs[0].submit.to_seconds(), 29);
  EXPECT_NEAR(total_work_s(arrived), total_work_s(base), 1e-6);
  const std::vector<Arrival> equal = {{.job = 4, .submit = SimTime::nanoseconds(9)},
                                      {.job = 2, .submit = SimTime::nanoseconds(9)},
                                      {.job = 3, .submit = SimTime::nanoseconds(1)}};
  const Workload three = with_arrivals(base, equal);
  ASSERT_EQ(three.jobs.size(), 3U);
  EXPECT_EQ(three.jobs[0].name, "miso-3");
  EXPECT_EQ(three.jobs[1].name, "miso-4");
  EXPECT_EQ(three.jobs[2].name, "miso-2");
}

TEST(CheckWorkload_BrokenInvariants, AreNamed) {
  // One change to a sound workload each; the message names workload, job and value.
  const auto message = [](const std::function<void(Workload&)>& change) {
    Workload workload = *miso_workload("miso-100");
    change(workload);
    const Status status = check_workload(workload);
    return status.is_ok() ? std::string() : status.error().message;
  };
  const std::string head = "workload \"miso-100\": job \"miso-7\": ";
  EXPECT_EQ(message([](Workload&) {}), "");
  EXPECT_EQ(message([](Workload& w) { w.jobs[7].id = JobId(8); }),
            head + "id 8; expected 7, its place in the workload");
  EXPECT_EQ(message([](Workload& w) { w.jobs[7].work = Duration(); }),
            head + "work of 0 s; expected more than 0 s");
  EXPECT_EQ(message([](Workload& w) { w.jobs[7].gpus = 0; }), head + "0 GPUs; expected at least 1");
  EXPECT_EQ(message([](Workload& w) { w.jobs[7].memory = Bytes(); }),
            head + "memory of 0 bytes; expected more, or none stated");
  EXPECT_EQ(message([](Workload& w) { w.jobs[7].signature = SignatureIndex(32); }),
            head + "signature 32; expected one of the 32 of the workload");
  EXPECT_EQ(message([](Workload& w) { w.jobs[7].signature = SignatureIndex(-1); }),
            head + "signature -1; expected one of the 32 of the workload");
  EXPECT_EQ(message([](Workload& w) { w.jobs[0].submit = SimTime::nanoseconds(-1); }),
            "workload \"miso-100\": job \"miso-0\": submitted at -1e-09 s; expected a time from 0 "
            "on");
  EXPECT_EQ(message([](Workload& w) { w.jobs[6].submit = SimTime::nanoseconds(1); }),
            head + "submitted at 0 s, before the job above it; expected ascending times");
  EXPECT_EQ(message([](Workload& w) { w.jobs[7].name.clear(); }),
            "workload \"miso-100\": job \"\": no name; expected one");
  EXPECT_EQ(message([](Workload& w) { w.jobs[9].name = "miso-7"; }),
            head + "the name stands twice; expected each name once");
}

TEST(CheckWorkload_Phases, AscendWithinTheWork) {
  // Fractions in (0, 1), ascending, of known signatures.
  const auto is_sound = [](std::vector<JobPhase> phases) {
    Workload workload = *miso_workload("miso-100");
    workload.jobs[7].phases = std::move(phases);
    return check_workload(workload).is_ok();
  };
  EXPECT_TRUE(is_sound({{.begins_at = 0.5, .signature = SignatureIndex(3)}}));
  EXPECT_TRUE(is_sound({{.begins_at = 0.2, .signature = SignatureIndex(3)},
                        {.begins_at = 0.9, .signature = SignatureIndex(0)}}));
  EXPECT_FALSE(is_sound({{.begins_at = 0, .signature = SignatureIndex(3)}}));
  EXPECT_FALSE(is_sound({{.begins_at = 1, .signature = SignatureIndex(3)}}));
  EXPECT_FALSE(is_sound({{.begins_at = 0.5, .signature = SignatureIndex(32)}}));
  EXPECT_FALSE(is_sound({{.begins_at = 0.5, .signature = SignatureIndex(3)},
                         {.begins_at = 0.5, .signature = SignatureIndex(3)}}));
}

}  // namespace
}  // namespace septule::job
