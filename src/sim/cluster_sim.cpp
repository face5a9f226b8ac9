#include "sim/cluster_sim.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "base/check.hpp"
#include "optimize/switch_costs.hpp"
#include "predict/table_predictor.hpp"
#include "sim/forecast_log.hpp"
#include "sim/sim_env.hpp"

namespace septule::sim {

namespace {

/// A job's step time is looked at so long after its GPU has settled: some hundred steps of most
/// jobs [D].
constexpr Duration kObserveAfter = Duration::milliseconds(20000);

/// Everything of one run, wired together. The links have no delay: an order or report is a call.
class ClusterSim final : public control::AgentLink,
                         public control::ControllerLink,
                         public control::ControlObserver,
                         public port::JobRunnerClient,
                         public port::TimerTarget {
 public:
  ClusterSim(const SimSetup& setup, const SimObservers& observers)
      : setup_(setup),
        observers_(observers),
        jobs_(env_,
              SimJobs::Truth{*setup.workload,
                             *setup.book,
                             setup.mps,
                             setup.costs,
                             setup.whole_instance_speed,
                             setup.neighbour_loss},
              setup.gpu_count),
        view_(*setup.geometry, setup.gpu_count, job_count()) {
    jobs_.set_client(*this);
    jobs_.set_observer(observers.jobs);
  }

  Status build();
  Result<job::RunRecord> run();

  void send(const control::GpuOrder& order) override { agent_of(order.gpu).take(order); }
  void report(const control::AgentReport& report) override;
  void on_timer(std::uint64_t payload) override;

  void on_stopped(GpuId gpu, std::uint64_t token) override { agent_of(gpu).on_stopped(gpu, token); }
  void on_started(GpuId gpu, std::uint64_t token) override { agent_of(gpu).on_started(gpu, token); }
  void on_job_ended(GpuId gpu, job::JobId job) override { agent_of(gpu).on_job_ended(gpu, job); }
  void on_speed_changed(GpuId gpu, job::JobId job, double factor) override {
    agent_of(gpu).on_speed_changed(gpu, job, factor);
  }

  void on_event(SimTime time, const sched::Event& event) override;
  void on_goal(SimTime time, const sched::SetGoal& decision) override;
  void on_order(SimTime time, const control::GpuOrder& order) override;
  void on_refusal(SimTime time, const std::string& why) override;
  void on_requeue(SimTime time, job::JobId job) override;
  void on_reject(SimTime time, job::JobId job) override;

 private:
  int job_count() const { return static_cast<int>(setup_.workload->jobs.size()); }
  control::Agent& agent_of(GpuId gpu) {
    return *agents_[static_cast<std::size_t>(gpu.value() / setup_.gpus_per_node)];
  }
  Status make_predictor();
  void arm_next_arrival();
  Error stuck() const;
  job::RunRecord record();

  const SimSetup& setup_;
  SimObservers observers_;
  SimEnv env_;
  SimJobs jobs_;
  sched::ClusterView view_;
  std::unique_ptr<predict::Predictor> predictor_;
  std::optional<ForecastLog> forecasts_;  ///< of a learned predictor
  job::MeasurementCounts measurements_;
  std::uint64_t measured_count_ = 0;
  std::uint64_t observed_count_ = 0;
  control::AgentReport measured_;  ///< a report with what instruments say
  optimize::SwitchCosts switch_costs_;
  std::unique_ptr<sched::Policy> policy_;
  std::vector<std::unique_ptr<device::EmulatedDevice>> devices_;
  std::vector<std::unique_ptr<control::Agent>> agents_;
  std::unique_ptr<control::Controller> controller_;
  std::size_t next_arrival_ = 0;
};

Status ClusterSim::make_predictor() {
  if (setup_.predictors == nullptr || !setup_.policy->has_error) {
    predictor_ = std::make_unique<predict::TablePredictor>(
        *setup_.book,
        predict::TablePredictor::Options{
            setup_.policy->knowledge,
            setup_.policy->has_error ? setup_.error : predict::TableError(),
            setup_.seed});
    return {};
  }
  SEPTULE_CHECK(setup_.measurements != nullptr, "a learned predictor needs instruments");
  SEPTULE_TRY(predictor_, setup_.predictors->make(*setup_.book, *setup_.policy, setup_.seed));
  forecasts_.emplace(*setup_.geometry, observers_.jobs);
  jobs_.set_observer(&*forecasts_);
  return {};
}

Status ClusterSim::build() {
  SEPTULE_TRY_STATUS(make_predictor());
  device::EmulatedDeviceOptions options = setup_.device;
  options.initial_mig_mode =
      setup_.policy->begins_whole ? port::MigMode::kDisabled : port::MigMode::kEnabled;
  if (setup_.policy->is_free) {
    options.full_reset = Duration();
    options.mps_start = Duration();
    options.mps_stop = Duration();
  }
  control::AgentWaits waits = setup_.policy->is_free ? control::AgentWaits() : setup_.waits;
  waits.stops = setup_.controller.pace == control::Controller::Options::Pace::kSerialStops
                    ? control::AgentWaits::Stops::kReported
                    : control::AgentWaits::Stops::kSilent;
  waits.observe_after =
      predictor_->wants_observations() ? std::optional(kObserveAfter) : std::nullopt;
  for (int first = 0; first < setup_.gpu_count; first += setup_.gpus_per_node) {
    const int count = std::min(setup_.gpus_per_node, setup_.gpu_count - first);
    const std::vector<const gpu::Geometry*> boards(static_cast<std::size_t>(count),
                                                   setup_.geometry);
    options.faults.seed = setup_.seed * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(first);
    SEPTULE_TRY(std::unique_ptr<device::EmulatedDevice> device,
                device::EmulatedDevice::make(boards, *setup_.latencies, options));
    devices_.push_back(std::move(device));
    agents_.push_back(
        std::make_unique<control::Agent>(control::Agent::Parts{env_, *devices_.back(), *this},
                                         *setup_.geometry,
                                         GpuId(first),
                                         waits));
    agents_.back()->set_runner(jobs_);
  }
  sched::PolicySetup policy_setup = setup_.policy_setup;
  policy_setup.geometry = setup_.geometry;
  policy_setup.gpu_count = setup_.gpu_count;
  policy_setup.jobs_max = job_count();
  if (setup_.controller.pace != control::Controller::Options::Pace::kOverlapped) {
    policy_setup.pass = sched::Pass::kOneByOne;
  }
  switch_costs_ = optimize::make_switch_costs(*setup_.geometry, *setup_.latencies);
  policy_setup.windows.costs = &switch_costs_;
  policy_ = setup_.policy->make(policy_setup);
  controller_ = std::make_unique<control::Controller>(
      control::Controller::Parts{env_, view_, *policy_, *predictor_, *this, setup_.costs, this},
      setup_.controller);
  return {};
}

void ClusterSim::report(const control::AgentReport& report) {
  if (observers_.devices != nullptr && report.kind == control::AgentReport::Kind::kReady) {
    const int node = report.gpu.value() / setup_.gpus_per_node;
    const auto state = devices_[static_cast<std::size_t>(node)]->inspect(
        GpuIndex(report.gpu.value() - node * setup_.gpus_per_node));
    if (state) {
      observers_.devices->on_device(env_.now(), report.gpu, *state);
    }
  }
  const bool has_times = report.kind == control::AgentReport::Kind::kCharacterised ||
                         report.kind == control::AgentReport::Kind::kObserved;
  if (!forecasts_.has_value() || !has_times) {
    controller_->report(report);
    return;
  }
  measured_ = report;
  const auto at = [&](std::uint64_t index) {
    return Measurement{*setup_.book, setup_.seed, index};
  };
  if (!measured_.samples.empty()) {
    const job::MeasurementCounts counts =
        setup_.measurements->measure(at(measured_count_++), measured_.samples);
    measurements_.drawn += counts.drawn;
    measurements_.nearest += counts.nearest;
    measurements_.modelled += counts.modelled;
    measurements_.unmeasured +=
        std::ranges::count_if(measured_.samples, [](const predict::MpsSample& sample) {
          return std::ranges::none_of(sample.levels,
                                      [](const auto& level) { return level.step.has_value(); });
        });
  }
  for (predict::SliceObservation& observation : measured_.observations) {
    setup_.measurements->observe(at(observed_count_++), observation);
  }
  controller_->report(measured_);
}

void ClusterSim::arm_next_arrival() {
  if (next_arrival_ < setup_.workload->jobs.size()) {
    env_.call_at(setup_.workload->jobs[next_arrival_].submit,
                 port::TimerClass::kWorld,
                 *this,
                 next_arrival_);
  }
}

void ClusterSim::on_timer(std::uint64_t payload) {
  const job::JobSpec& spec = setup_.workload->jobs[payload];
  jobs_.submitted(spec.id);
  controller_->submit(spec);
  ++next_arrival_;
  arm_next_arrival();
}

void ClusterSim::on_event(SimTime time, const sched::Event& event) {
  const auto* changed = std::get_if<sched::JobSpeedChanged>(&event);
  if (changed != nullptr && setup_.policy->knowledge == predict::Knowledge::kEverything) {
    // An oracle knows the new behaviour as it knew the old one.
    predictor_->characterised_alone({changed->job, {}, jobs_.current_signature(changed->job)});
  }
  if (observers_.control != nullptr) {
    observers_.control->on_event(time, event);
  }
}

void ClusterSim::on_goal(SimTime time, const sched::SetGoal& decision) {
  for (const sched::Slot& slot : decision.goal.slots) {
    jobs_.placed(slot.job);
  }
  if (forecasts_.has_value()) {
    forecasts_->decided(time, decision, *predictor_);
  }
  if (observers_.control != nullptr) {
    observers_.control->on_goal(time, decision);
  }
}

void ClusterSim::on_order(SimTime time, const control::GpuOrder& order) {
  if (observers_.control != nullptr) {
    observers_.control->on_order(time, order);
  }
}

void ClusterSim::on_refusal(SimTime time, const std::string& why) {
  if (observers_.control != nullptr) {
    observers_.control->on_refusal(time, why);
  }
}

void ClusterSim::on_requeue(SimTime time, job::JobId job) {
  jobs_.requeued(job);
  if (observers_.control != nullptr) {
    observers_.control->on_requeue(time, job);
  }
}

void ClusterSim::on_reject(SimTime time, job::JobId job) {
  jobs_.rejected(job);
  if (observers_.control != nullptr) {
    observers_.control->on_reject(time, job);
  }
}

Error ClusterSim::stuck() const {
  std::string why;
  if (!controller_->lost_gpus().empty()) {
    why = fmt::format(" (GPU {} is lost, and nothing brings its jobs elsewhere)",
                      controller_->lost_gpus().front().value());
  }
  for (const sched::ClusterView::QueueKey& key : view_.queue()) {
    return Error{ErrorCode::kFailed,
                 fmt::format("policy {}: job {} waits for ever: nothing more happens at {} s{}",
                             setup_.policy->name,
                             view_.job(key.job).spec->name,
                             env_.now().to_seconds(),
                             why)};
  }
  return Error{ErrorCode::kFailed,
               fmt::format("policy {}: {} {}: nothing more happens at {} s{}",
                           setup_.policy->name,
                           jobs_.left_count(),
                           jobs_.left_count() == 1 ? "job never ends" : "jobs never end",
                           env_.now().to_seconds(),
                           why)};
}

Result<job::RunRecord> ClusterSim::run() {
  const std::int64_t events_max = kEventsPerJobMax * (job_count() + 1);
  arm_next_arrival();
  controller_->start();
  while (jobs_.left_count() > 0) {
    if (const auto job = jobs_.beyond_horizon()) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("policy {}: job {} would end more than {:.0f} years after the start "
                               "of the trace; such times cannot be simulated",
                               setup_.policy->name,
                               setup_.workload->jobs[static_cast<std::size_t>(job->value())].name,
                               SimJobs::kHorizonNs / 1e9 / 86400 / 365)};
    }
    if (!env_.fire_next()) {
      return stuck();
    }
    if (!controller_->refusal().empty()) {
      return Error{ErrorCode::kFailed,
                   fmt::format("policy {}: a decision was refused at {} s: {}",
                               setup_.policy->name,
                               env_.now().to_seconds(),
                               controller_->refusal())};
    }
    if (env_.fired_count() > events_max) {
      return Error{ErrorCode::kTimedOut,
                   fmt::format("policy {}: more than {} events for {} jobs; the run was given up "
                               "at {} s",
                               setup_.policy->name,
                               events_max,
                               job_count(),
                               env_.now().to_seconds())};
    }
  }
  return record();
}

job::RunRecord ClusterSim::record() {
  job::RunRecord run;
  jobs_.record(run);
  run.policy = setup_.policy->name;
  run.cluster = setup_.cluster_name;
  run.seed = setup_.seed;
  run.events = env_.fired_count();
  run.decisions = controller_->decision_count();
  for (const auto& agent : agents_) {
    run.reconfigurations += agent->recut_count();
    run.characterisations += agent->characterisation_count();
  }
  if (forecasts_.has_value()) {
    run.forecasts = forecasts_->take();
    run.measurements = measurements_;
  }
  Digest digest;
  digest.add(env_.digest());
  for (const job::JobOutcome& outcome : run.jobs) {
    digest.add(static_cast<std::uint64_t>(outcome.finish.value_or(SimTime()).to_nanoseconds()));
    for (const Duration time : outcome.times) {
      digest.add(static_cast<std::uint64_t>(time.to_nanoseconds()));
    }
  }
  run.digest = digest.value();
  return run;
}

}  // namespace

Result<job::RunRecord> simulate(const SimSetup& setup, const SimObservers& observers) {
  SimSetup own = setup;
  own.costs.is_free = own.costs.is_free || setup.policy->is_free;
  ClusterSim run(own, observers);
  SEPTULE_TRY_STATUS(run.build());
  return run.run();
}

}  // namespace septule::sim
