#include "control/serving_adapter.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "control/controller_support.hpp"

namespace septule::control::test {
namespace {

using serve::Deployment;
using serve::Occupant;
using serve::Role;
using serve::ServingInstance;
using serve::ServingView;

/// Wants what the test says at a second.
class ScriptedServing final : public serve::ServingPolicy {
 public:
  std::string_view name() const override { return "scripted-serving"; }
  serve::DispatchRule dispatch() const override { return serve::DispatchRule::kSlack; }
  std::optional<Deployment> decide(const ServingView& view) override {
    const int second = static_cast<int>(view.now.to_seconds());
    seconds.push_back(second);
    arrived.clear();
    for (const serve::TenantState& state : view.tenants) {
      arrived.emplace_back(state.arrived.begin(), state.arrived.end());
    }
    ready_count = 0;
    for (const serve::InstanceState& instance : view.instances) {
      ready_count +=
          std::ranges::count_if(instance.ready, [&](SimTime ready) { return ready <= view.now; });
    }
    const auto found = script.find(second);
    return found == script.end() ? std::nullopt : std::optional(found->second);
  }
  std::map<int, Deployment> script;
  std::vector<int> seconds;
  std::vector<std::vector<double>> arrived;
  std::int64_t ready_count = 0;
};

class CountingMeter final : public TenantMeter {
 public:
  TenantReading read(int tenant, SimTime second_end) override {
    return {.arrived = 100 * tenant + second_end.to_seconds()};
  }
};

/// Processes that start one second after they are told to, and stop at once.
class PromptRunner final : public port::JobRunner, public port::TimerTarget {
 public:
  explicit PromptRunner(port::Env& env) : env_(env) {}
  void start(GpuId gpu,
             std::span<const port::JobStart> jobs,
             port::RunPurpose /*purpose*/,
             std::uint64_t token) override {
    for (const port::JobStart& start : jobs) {
      EXPECT_FALSE(running.contains(start.job.value())) << "launched twice";
      running[start.job.value()] = start.place;
      ++starts[start.job.value()];
    }
    answers_.push_back([this, gpu, token] { agent->on_started(gpu, token); });
    env_.call_at(env_.now() + Duration::milliseconds(1000),
                 port::TimerClass::kWorld,
                 *this,
                 answers_.size() - 1);
  }
  void stop(GpuId gpu, std::span<const job::JobId> jobs, std::uint64_t token) override {
    for (const job::JobId job : jobs) {
      running.erase(job.value());
    }
    answers_.push_back([this, gpu, token] { agent->on_stopped(gpu, token); });
    env_.call_at(env_.now(), port::TimerClass::kWorld, *this, answers_.size() - 1);
  }
  void on_timer(std::uint64_t payload) override { answers_[payload](); }
  void set_atp(GpuId /*gpu*/, ActiveThreadPercentage /*atp*/) override {}
  void end_characterisation(GpuId /*gpu*/) override {}
  std::optional<Duration> observed_step(job::JobId /*job*/) const override { return {}; }
  job::SignatureIndex current_signature(job::JobId /*job*/) const override { return {}; }

  Agent* agent = nullptr;
  std::map<int, port::JobPlace> running;
  std::map<int, int> starts;

 private:
  port::Env& env_;
  std::deque<std::function<void()>> answers_;
};

/// Orders and reports are calls.
class DirectLink final : public AgentLink, public ControllerLink {
 public:
  void send(const GpuOrder& order) override { agent->take(order); }
  void report(const AgentReport& report) override { controller->report(report); }
  Agent* agent = nullptr;
  Controller* controller = nullptr;
};

Occupant serving(int tenant) {
  return {.tenant = tenant, .role = Role::kServe, .batch = 4};
}

class ServingAdapterTest : public testing::Test {
 protected:
  static constexpr int kGpuCount = 2;

  ServingAdapterTest()
      : device_({.initial_mig_mode = port::MigMode::kEnabled}, kGpuCount),
        runner_(env_),
        agent_({env_, device_, link_}, a100(), GpuId(0), {}),
        adapter_(policy_,
                 meter_,
                 {{.replicas = {JobId(0), JobId(1), JobId(2)}, .retraining = JobId(6)},
                  {.replicas = {JobId(3), JobId(4), JobId(5)}}}),
        view_(a100(), kGpuCount, 7),
        controller_({env_, view_, adapter_, predictor_, link_, costs_, nullptr}, {}) {
    link_.agent = &agent_;
    link_.controller = &controller_;
    runner_.agent = &agent_;
    agent_.set_runner(runner_);
    for (int i = 0; i < 7; ++i) {
      specs_.push_back(
          {.id = JobId(i), .name = fmt::format("job-{}", i), .work = Duration::milliseconds(1000)});
      controller_.submit(specs_.back());
    }
    controller_.start();
  }

  static Deployment deployment(std::vector<ServingInstance> first,
                               std::vector<ServingInstance> second = {}) {
    return {.gpus = {{.instances = std::move(first)}, {.instances = std::move(second)}}};
  }
  std::optional<gpu::PlacedProfile> place_of(int job) const {
    const auto found = runner_.running.find(job);
    return found == runner_.running.end() ? std::nullopt : found->second.instance;
  }

  ManualEnv env_;
  ScriptedDevice device_;
  PromptRunner runner_;
  DirectLink link_;
  Agent agent_;
  ScriptedServing policy_;
  CountingMeter meter_;
  ServingAdapter adapter_;
  sched::ClusterView view_;
  StatedPredictor predictor_;
  job::CostModel costs_;
  Controller controller_;
  std::deque<job::JobSpec> specs_;
};

TEST_F(ServingAdapterTest, Decide_DeploymentWanted_IsReachedOnTheDevices) {
  // Aim: the emulated boards are cut as the serving policy wants, each occupant's job runs there.
  policy_.script[1] =
      deployment({{placed("3g.20gb", 0), {serving(0)}}, {placed("3g.20gb", 4), {serving(1)}}},
                 {{placed("7g.40gb", 0), {serving(0)}}});
  env_.run_until(20);
  EXPECT_EQ(controller_.refusal(), "");
  EXPECT_EQ(device_.state(0).instances.size(), 2U);
  EXPECT_EQ(device_.state(1).instances.size(), 1U);
  EXPECT_EQ(place_of(0), placed("3g.20gb", 0));
  EXPECT_EQ(place_of(3), placed("3g.20gb", 4));
  EXPECT_EQ(place_of(1), placed("7g.40gb", 0));
  EXPECT_EQ(policy_.ready_count, 3);
  EXPECT_EQ(adapter_.unplaced_count(), 0);
}

TEST_F(ServingAdapterTest, Decide_OneInstanceChanges_LeavesTheOthersAlone) {
  // Aim: occupants that stay keep their jobs, which are started once; the changed one moves.
  policy_.script[1] = deployment({{placed("2g.10gb", 0), {serving(0)}},
                                  {placed("2g.10gb", 2), {serving(1)}},
                                  {placed("3g.20gb", 4), {serving(0)}}});
  policy_.script[10] = deployment({{placed("2g.10gb", 0), {serving(0)}},
                                   {placed("1g.5gb", 2), {serving(1)}},
                                   {placed("1g.5gb", 3), {{.tenant = 0, .role = Role::kRetrain}}},
                                   {placed("3g.20gb", 4), {serving(0)}}});
  env_.run_until(30);
  EXPECT_EQ(controller_.refusal(), "");
  EXPECT_EQ(runner_.starts[0], 1);
  EXPECT_EQ(runner_.starts[1], 1);
  EXPECT_EQ(place_of(0), placed("2g.10gb", 0));
  EXPECT_EQ(place_of(1), placed("3g.20gb", 4));
  EXPECT_EQ(place_of(3), std::nullopt);
  EXPECT_EQ(place_of(4), placed("1g.5gb", 2));  // another process, while job 3 was being stopped
  EXPECT_EQ(place_of(6), placed("1g.5gb", 3));
}

TEST_F(ServingAdapterTest, Decide_SharedInstance_HasOneSlotForEachOccupant) {
  // Aim: occupants of one instance become jobs of it with their shares.
  policy_.script[1] = deployment({{placed("7g.40gb", 0),
                                   {{.tenant = 0, .share = ActiveThreadPercentage(60)},
                                    {.tenant = 1, .share = ActiveThreadPercentage(40)}}}});
  env_.run_until(10);
  EXPECT_EQ(controller_.refusal(), "");
  EXPECT_EQ(runner_.running.at(0).atp, ActiveThreadPercentage(60));
  EXPECT_EQ(runner_.running.at(3).atp, ActiveThreadPercentage(40));
}

TEST_F(ServingAdapterTest, Decide_WholeGpu_TurnsMigOff) {
  // Aim: a whole-GPU instance is a goal without MIG; going back works too.
  policy_.script[1] = deployment({{std::nullopt, {serving(1)}}});
  policy_.script[20] = deployment({{placed("7g.40gb", 0), {serving(1)}}});
  env_.run_until(15);
  EXPECT_EQ(device_.state(0).mig_mode, port::MigMode::kDisabled);
  EXPECT_EQ(runner_.running.size(), 1U);
  env_.run_until(50);
  EXPECT_EQ(device_.state(0).mig_mode, port::MigMode::kEnabled);
  EXPECT_EQ(runner_.running.size(), 1U);
}

TEST_F(ServingAdapterTest, Decide_NoJobLeft_LeavesTheInstanceIdleUntilOneIs) {
  // Aim: more instances than jobs: cut, counted, idle; a service that ends is replaced.
  policy_.script[1] = deployment({{placed("1g.5gb", 0), {serving(0)}},
                                  {placed("1g.5gb", 1), {serving(0)}},
                                  {placed("1g.5gb", 2), {serving(0)}},
                                  {placed("1g.5gb", 3), {serving(0)}}});
  env_.run_until(10);
  EXPECT_EQ(device_.state(0).instances.size(), 4U);
  EXPECT_EQ(runner_.running.size(), 3U);
  EXPECT_EQ(adapter_.unplaced_count(), 1);
  policy_.script[12] = deployment({{placed("1g.5gb", 0), {serving(0)}}});
  env_.run_until(20);
  runner_.running.erase(0);
  agent_.on_job_ended(GpuId(0), JobId(0));
  env_.run_until(30);
  EXPECT_EQ(place_of(1), placed("1g.5gb", 0));
  EXPECT_EQ(controller_.refusal(), "");
}

TEST_F(ServingAdapterTest, Decide_EverySecond_HandsOverWhatWasCounted) {
  // Aim: asked once a second, with one count for each second that is over.
  env_.run_until(5);
  EXPECT_EQ(policy_.seconds, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  ASSERT_EQ(policy_.arrived.size(), 2U);
  EXPECT_EQ(policy_.arrived[0], (std::vector<double>{1, 2, 3, 4, 5}));
  EXPECT_EQ(policy_.arrived[1], (std::vector<double>{101, 102, 103, 104, 105}));
}

}  // namespace
}  // namespace septule::control::test
