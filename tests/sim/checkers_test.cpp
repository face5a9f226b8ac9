// The checkers are checked: what a real run showed passes, and each forgery of it is found.
#include "sim/checkers.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/sim_support.hpp"

namespace septule::sim {
namespace {

using job::JobId;
using job::JobState;
using test::seconds;

/// Everything a run showed, to be changed and shown again.
struct Tape final : public JobObserver, public control::ControlObserver, public DeviceObserver {
  struct End {
    JobId job;
    SimTime time;
  };
  struct Device {
    GpuId gpu;
    port::DeviceState state;
  };
  std::vector<JobSegment> segments;
  std::vector<End> ends;
  std::vector<control::GpuOrder> orders;
  std::vector<Device> devices;
  std::vector<std::string> refusals;
  std::vector<JobId> rejects;
  job::RunRecord record;

  void on_segment(const JobSegment& segment) override { segments.push_back(segment); }
  void on_end(JobId job, SimTime time) override { ends.push_back({job, time}); }
  void on_event(SimTime /*time*/, const sched::Event& /*event*/) override {}
  void on_goal(SimTime /*time*/, const sched::SetGoal& /*decision*/) override {}
  void on_order(SimTime /*time*/, const control::GpuOrder& order) override {
    orders.push_back(order);
  }
  void on_refusal(SimTime /*time*/, const std::string& why) override { refusals.push_back(why); }
  void on_requeue(SimTime /*time*/, JobId /*job*/) override {}
  void on_reject(SimTime /*time*/, JobId job) override { rejects.push_back(job); }
  void on_device(SimTime /*time*/, GpuId gpu, const port::DeviceState& state) override {
    devices.push_back({gpu, state});
  }

  std::vector<std::string> judged(const SimSetup& setup) const {
    RunChecker checker(setup);
    for (const JobSegment& segment : segments) {
      checker.on_segment(segment);
    }
    for (const End& end : ends) {
      checker.on_end(end.job, end.time);
    }
    for (const control::GpuOrder& order : orders) {
      checker.on_order(SimTime(), order);
    }
    for (const Device& device : devices) {
      checker.on_device(SimTime(), device.gpu, device.state);
    }
    for (const std::string& why : refusals) {
      checker.on_refusal(SimTime(), why);
    }
    for (const JobId job : rejects) {
      checker.on_reject(SimTime(), job);
    }
    return checker.finish(record);
  }
};

/// A run of miso in which instances are shared, re-cut and left; one job is rejected.
class CheckersTest : public ::testing::Test {
 protected:
  CheckersTest() {
    job::GenerateOptions options;
    options.jobs = 24;
    options.seed = 3;
    options.duration_max = seconds(600);
    options.arrivals.gap = seconds(20);
    workload_ = *job::generate_workload(options);
    workload_.signatures = test::signatures();
    workload_.jobs[20].memory = Bytes::mebibytes(50000);
    setup_ = test::setup_of({.gpus = 2}, workload_);
    Result<job::RunRecord> run = simulate(setup_, {&tape_, &tape_, &tape_});
    SEPTULE_CHECK(run.has_value(), "the run that is forged is sound");
    tape_.record = *std::move(run);
  }

  /// The first segment of the job in this state that lasts, from `from` on.
  JobSegment& segment(JobState state, int job = -1) {
    for (JobSegment& segment : tape_.segments) {
      if (segment.state == state && segment.end > segment.begin &&
          (job < 0 || segment.job.value() == job)) {
        return segment;
      }
    }
    SEPTULE_CHECK(false, "the run has such a segment");
    return tape_.segments.front();
  }
  void erase(const JobSegment& wanted) {
    tape_.segments.erase(tape_.segments.begin() + (&wanted - tape_.segments.data()));
  }
  void expect_found(const std::string& what) {
    const std::vector<std::string> found = tape_.judged(setup_);
    EXPECT_TRUE(std::ranges::any_of(
        found,
        [&](const std::string& violation) { return violation.find(what) != std::string::npos; }))
        << what << " is not in: " << (found.empty() ? "nothing" : found.front());
  }
  gpu::PlacedProfile placed(std::string_view profile, int start) const {
    return {*setup_.geometry->find_profile(profile), MemorySlices(start)};
  }

  job::Workload workload_;
  SimSetup setup_;
  Tape tape_;
};

TEST_F(CheckersTest, RealRun_PassesAndIsWorthForging) {
  // Unchanged, nothing is found; and it has what the forgeries need.
  EXPECT_EQ(tape_.judged(setup_), std::vector<std::string>());
  EXPECT_EQ(tape_.rejects.size(), 1U);
  EXPECT_GT(tape_.record.checkpoints, 3);
  EXPECT_GT(tape_.record.characterisations, 3);
  EXPECT_GT(tape_.devices.size(), 10U);
}

TEST_F(CheckersTest, Rule1_GapInALife_IsFound) {
  // A segment left out.
  erase(segment(JobState::kStopping));
  expect_found("follows one that ended at");
}

TEST_F(CheckersTest, Rule1_Overlap_IsFound) {
  // A segment that begins before the one before has ended.
  JobSegment& running = segment(JobState::kRunning);
  running.begin = running.begin + Duration::nanoseconds(-1);
  expect_found("follows one that ended at");
}

TEST_F(CheckersTest, Rule1_LifeThatBeginsLate_IsFound) {
  // From the submission on.
  workload_.jobs[0].submit = workload_.jobs[0].submit + Duration::nanoseconds(-1);
  expect_found("follows one that ended at");
}

TEST_F(CheckersTest, Rule1_IllegalMove_IsFound) {
  // From waiting to running without a start.
  segment(JobState::kStarting).state = JobState::kRunning;
  expect_found("from waiting to running");
}

TEST_F(CheckersTest, Rule1_SecondEnd_IsFound) {
  // A job ends once.
  tape_.ends.push_back(tape_.ends.front());
  expect_found("ends a second time");
}

TEST_F(CheckersTest, Rule1_JobWithoutEnd_IsFound) {
  // Nobody is forgotten.
  tape_.ends.pop_back();
  expect_found("was lost");
}

TEST_F(CheckersTest, Rule1_RejectedJobThatRan_IsFound) {
  // Rejected is rejected.
  tape_.rejects.push_back(JobId(0));
  expect_found("was rejected but ran");
}

TEST_F(CheckersTest, Rule2_RecordedTimeOffByANanosecond_IsFound) {
  // Each of the four times.
  for (std::size_t kind = 0; kind < job::kTimeKindCount; ++kind) {
    Tape before;
    before.record = tape_.record;
    tape_.record.jobs[3].times[kind] += Duration::nanoseconds(1);
    expect_found("in the record");
    tape_.record = before.record;
  }
}

TEST_F(CheckersTest, Rule2_FinishThatDiffers_IsFound) {
  // The record's end is the one seen.
  tape_.record.jobs[2].finish = *tape_.record.jobs[2].finish + Duration::nanoseconds(1);
  expect_found("was lost");
}

TEST_F(CheckersTest, Rule2_RecordOfAnotherJob_IsFound) {
  // Ids and submissions agree; nobody is missing.
  std::swap(tape_.record.jobs[0].id, tape_.record.jobs[1].id);
  expect_found("of another job or submission");
  tape_.record.jobs.pop_back();
  expect_found("the record has 23 jobs of 24");
}

TEST_F(CheckersTest, Rule3_ProgressThatDoesNotAddUp_IsFound) {
  // A job that ran slower than it must have, and one that was given more.
  JobSegment& running = segment(JobState::kRunning);
  const double rate = running.rate;
  running.rate = rate * 0.99;
  expect_found("made progress of");
  running.rate = rate * 1.01;
  expect_found("made progress of");
}

TEST_F(CheckersTest, Rule4_JobsInOneMemorySlice_AreFound) {
  // A second instance that covers the place of a running job.
  JobSegment& running = segment(JobState::kRunning);
  JobSegment forged = running;
  running.place->instance = placed("2g.10gb", 2);
  forged.place->instance = placed("1g.5gb", 3);
  for (JobSegment& other : tape_.segments) {
    if (other.job != forged.job && other.place && other.place->gpu == forged.place->gpu &&
        other.begin < forged.end && forged.begin < other.end) {
      other.place->instance = forged.place->instance;
      expect_found("own one memory slice");
      return;
    }
  }
  FAIL() << "nobody runs at the same time";
}

TEST_F(CheckersTest, Rule4_JobOnTheWholeGpuBesideAnInstance_IsFound) {
  // MIG off and on at the same time.
  for (JobSegment& one : tape_.segments) {
    for (const JobSegment& other : tape_.segments) {
      if (other.job != one.job && other.place && one.place && other.place->gpu == one.place->gpu &&
          other.state == JobState::kRunning && one.state == JobState::kRunning &&
          other.begin < one.end && one.begin < other.end) {
        one.place->instance.reset();
        expect_found("own one memory slice");
        return;
      }
    }
  }
  FAIL() << "nobody runs at the same time";
}

TEST_F(CheckersTest, Rule4_InstanceTooSmallForItsJob_IsFound) {
  // A job that needs 3g in 1g, alone.
  for (JobSegment& running : tape_.segments) {
    const auto id = static_cast<std::size_t>(running.job.value());
    if (running.state == JobState::kRunning && running.end > running.begin &&
        setup_.book->need(workload_.jobs[id].signature) > Bytes::mebibytes(9000)) {
      running.place->instance = placed("1g.5gb", 0);
      expect_found("MiB for");
      return;
    }
  }
  FAIL() << "no job needs 2g or more";
}

TEST_F(CheckersTest, Rule4_SharedInstanceWithoutTheMemory_IsFound) {
  // Jobs that are characterised together, if each of them is said to need half of the GPU and more.
  for (job::JobSpec& job : workload_.jobs) {
    if (job.id != JobId(20)) {
      job.memory = Bytes::mebibytes(20500);
    }
  }
  expect_found("MiB for 41000 MiB");
}

TEST_F(CheckersTest, Rule4_IsNotJudgedWhereMemoryIsIgnored) {
  // The artifact's MPS-only looks at no memory: then nobody complains of it.
  for (job::JobSpec& job : workload_.jobs) {
    job.memory = Bytes::mebibytes(20500);
  }
  tape_.rejects.clear();
  setup_.controller.memory_rule = sched::MemoryRule::kIgnored;
  for (const std::string& violation : tape_.judged(setup_)) {
    EXPECT_EQ(violation.find("MiB for"), std::string::npos) << violation;
  }
}

TEST_F(CheckersTest, Rule5_IllegalPartition_IsFound) {
  // 4g beside 3g.20gb@2: one memory slice has two owners.
  port::DeviceState& state = tape_.devices.front().state;
  state.instances.clear();
  for (const gpu::PlacedProfile& where : {placed("4g.20gb", 0), placed("3g.20gb", 2)}) {
    state.instances.push_back({.id = GpuInstanceId(1), .placed = where});
  }
  expect_found("GPU 0 at");
}

TEST_F(CheckersTest, Rule5_InstancesWithMigOff_AreFound) {
  // What no driver shows.
  for (Tape::Device& device : tape_.devices) {
    if (!device.state.instances.empty()) {
      device.state.mig_mode = port::MigMode::kDisabled;
      expect_found("has instances with MIG off");
      return;
    }
  }
}

TEST_F(CheckersTest, Rule6_OrderThatIsNotNewer_IsFound) {
  // The same epoch twice.
  tape_.orders.push_back(tape_.orders.back());
  expect_found("got an order of epoch");
}

TEST_F(CheckersTest, Rule6_Refusal_IsFound) {
  // With its reason.
  tape_.refusals.emplace_back("because of this");
  expect_found("a decision was refused at 0 s: because of this");
}

TEST_F(CheckersTest, Rule7_RateOutsideItsRange_IsFound) {
  // Zero, negative, faster than anything, and no number.
  for (const double rate : {0.0, -0.5, 2.0, std::nan("")}) {
    JobSegment& running = segment(JobState::kRunning);
    const double before = running.rate;
    running.rate = rate;
    expect_found("runs at rate");
    running.rate = before;
  }
}

TEST_F(CheckersTest, ManyViolations_AreCutAndCounted) {
  // The list has a limit, and says how many more there are.
  for (std::size_t i = 0; i < RunChecker::kViolationsMax + 5; ++i) {
    tape_.refusals.emplace_back("again");
  }
  const std::vector<std::string> found = tape_.judged(setup_);
  EXPECT_EQ(found.size(), RunChecker::kViolationsMax + 1);
  EXPECT_EQ(found.back(), "and 5 more");
}

}  // namespace
}  // namespace septule::sim
