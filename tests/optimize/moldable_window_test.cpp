#include "optimize/moldable_window.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "optimize/group_support.hpp"
#include "optimize/switch_costs.hpp"
#include "support/window_faults.hpp"

namespace septule::optimize {
namespace {

using ::testing::HasSubstr;

/// A window on one GPU: rates fall with an instance's share of the compute slices.
class SliceRates final : public predict::CoRunModel {
 public:
  SliceRates(const gpu::Geometry& geometry, std::vector<double> serial)
      : geometry_(geometry), serial_(std::move(serial)) {}

  std::size_t job_count() const override { return serial_.size(); }
  void rates(const predict::CoRunPlace& place,
             std::span<const predict::CoRunClient> clients,
             std::span<double> out) const override {
    for (std::size_t i = 0; i < clients.size(); ++i) {
      const double part =
          place.profile.has_value()
              ? static_cast<double>(geometry_.profile(*place.profile).slices.value()) /
                    geometry_.compute_slices().value()
              : 1;
      const double serial = serial_[clients[i].job];
      out[i] = 1 / (serial + (1 - serial) / part);
    }
  }

 private:
  const gpu::Geometry& geometry_;
  std::vector<double> serial_;
};

class MoldableWindowTest : public ::testing::Test {
 protected:
  MoldableWindowTest()
      : catalogue_(gpu::load_builtin_catalogue()),
        geometry_(**catalogue_.find("A100-40GB")),
        sharing_(*gpu::make_sharing_catalogue(geometry_, {})),
        costs_(make_switch_costs(geometry_, gpu::load_builtin_latencies())) {}

  void draw(std::uint64_t seed, std::size_t count) {
    Rng rng(seed);
    jobs_.clear();
    std::vector<double> serial;
    for (std::size_t job = 0; job < count; ++job) {
      jobs_.push_back(test::window_job(
          "j" + std::to_string(job), 1 + 30 * rng.uniform(), static_cast<int>(1 + rng.below(30))));
      serial.push_back(rng.uniform());
    }
    model_ = std::make_unique<SliceRates>(geometry_, serial);
    problem_ = {.jobs = jobs_, .model = model_.get(), .catalogue = &sharing_, .costs = &costs_};
  }

  WindowAnswer answered(MoldableMethod method) const {
    WorkBudget budget(100000);
    const Result<WindowAnswer> answer = MoldableWindow(method).optimize(problem_, budget);
    SEPTULE_CHECK(answer.has_value(), "the test's window has an answer");
    return *answer;
  }

  gpu::Catalogue catalogue_;
  const gpu::Geometry& geometry_;
  gpu::SharingCatalogue sharing_;
  SwitchCosts costs_;
  std::vector<plan::WindowJob> jobs_;
  std::unique_ptr<SliceRates> model_;
  WindowProblem problem_;
};

TEST_F(MoldableWindowTest, Optimize_RandomWindows_HoldBeforeTheChecker) {
  // From MIG off, from an empty cut, from instances that fit the tree and from such that do not:
  // the schedule checker has nothing to say, and "moldable" is never worse than the others.
  const gpu::Partition halves = gpu::partition_with_full_instances(
      geometry_,
      {{*geometry_.plain_profile(ComputeSlices(4)), MemorySlices(0)},
       {*geometry_.plain_profile(ComputeSlices(3)), MemorySlices(4)}});
  gpu::Partition shared = gpu::partition_with_full_instances(
      geometry_, {{*geometry_.plain_profile(ComputeSlices(7)), MemorySlices(0)}});
  shared.instances.front().compute_instances = {{{ComputeSlices(0), ComputeSlices(4)}},
                                                {{ComputeSlices(4), ComputeSlices(3)}}};
  const std::vector<GpuCut> cuts = {std::nullopt, gpu::Partition{}, halves, shared};
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    draw(seed, 1 + seed * 3);
    for (const GpuCut& cut : cuts) {
      problem_.initial = cut;
      const WindowAnswer ours = answered(MoldableMethod::kMoldable);
      EXPECT_EQ(septule::test::wrong_with(problem_, ours), "") << seed;
      for (const MoldableMethod method : {MoldableMethod::kFar, MoldableMethod::kStatic}) {
        const WindowAnswer other = answered(method);
        EXPECT_EQ(septule::test::wrong_with(problem_, other), "") << seed;
        EXPECT_LE(ours.time, other.time) << seed;
        EXPECT_EQ(other.method, moldable_method_name(method));
      }
    }
  }
}

TEST_F(MoldableWindowTest, Optimize_NoJobs_IsEmpty) {
  // An empty window gives an empty schedule.
  draw(1, 0);
  for (const MoldableMethod method :
       {MoldableMethod::kFar, MoldableMethod::kStatic, MoldableMethod::kMoldable}) {
    EXPECT_EQ(answered(method).time, Duration());
  }
}

TEST_F(MoldableWindowTest, Optimize_JobTooLarge_IsBlockedByName) {
  // More memory than the GPU has, or a floor that no instance reaches.
  draw(1, 3);
  jobs_[1].memory = Bytes::mebibytes(1024 * 100);
  WorkBudget budget(100000);
  const MoldableWindow far(MoldableMethod::kFar);
  const Result<WindowAnswer> answer = far.optimize(problem_, budget);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::kBlocked);
  EXPECT_THAT(answer.error().message, HasSubstr("j1"));
}

TEST_F(MoldableWindowTest, Optimize_FairnessFloor_KeepsJobsOffSmallInstances) {
  // At a floor of 0.9 a job without serial part may have the whole GPU only.
  draw(1, 4);
  model_ = std::make_unique<SliceRates>(geometry_, std::vector<double>(4, 0.0));
  problem_.model = model_.get();
  problem_.rules.fairness = 0.9;
  const WindowAnswer answer = answered(MoldableMethod::kMoldable);
  EXPECT_EQ(septule::test::wrong_with(problem_, answer), "");
  EXPECT_EQ(answer.schedule.instances.size(), 1U);
}

TEST_F(MoldableWindowTest, Optimize_SteadyState_IsRefused) {
  // A timeline without groups has no steady-state time.
  draw(1, 3);
  problem_.clock = GroupClock::kSteadyState;
  WorkBudget budget(100000);
  const MoldableWindow far(MoldableMethod::kFar);
  EXPECT_EQ(far.optimize(problem_, budget).error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace septule::optimize
