#include "sim/serving_sim.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "sim/request_answers.hpp"
#include "sim/serving_answers.hpp"
#include "sim/serving_fleet.hpp"
#include "sim/serving_recorder.hpp"
#include "sim/sim_env.hpp"
#include "sim/tenant_retraining.hpp"
#include "sim/warm_up_ledger.hpp"

namespace septule::sim {
namespace {

constexpr Duration kSecond = Duration::milliseconds(1000);
constexpr std::int64_t kSecondsMax = 100LL * 366 * 86400;

Status check(const ServingSimSetup& setup) {
  const auto invalid = [](std::string message) {
    return Status(Error{ErrorCode::kInvalidInput, std::move(message)});
  };
  if (setup.lattice == nullptr || setup.tenants.empty()) {
    return invalid("a simulation of serving needs a GPU model and at least one tenant");
  }
  if (setup.rates.size() != setup.tenants.size()) {
    return invalid(fmt::format(
        "there are {} tenants but request rates of {}", setup.tenants.size(), setup.rates.size()));
  }
  for (std::size_t i = 0; i < setup.rates.size(); ++i) {
    const auto& values = setup.rates[i].values;
    if (values.empty() || setup.rates[i].step.to_nanoseconds() <= 0 ||
        !std::all_of(
            values.begin(), values.end(), [](double v) { return std::isfinite(v) && v >= 0; })) {
      return invalid(fmt::format("{} needs request rates from 0 on, in steps above 0 s",
                                 setup.tenants[i].tenant.name));
    }
  }
  const std::int64_t length = setup.options.length.to_nanoseconds();
  if (length <= 0 || length % kSecond.to_nanoseconds() != 0 ||
      length / kSecond.to_nanoseconds() > kSecondsMax) {
    return invalid(
        fmt::format("the length of a simulation is a whole number of seconds up to {}, "
                    "not {} s",
                    kSecondsMax,
                    setup.options.length.to_seconds()));
  }
  if (setup.gpu_count < 1 || !(setup.options.phi > 0 && setup.options.phi <= 1) ||
      setup.options.series_points_max < 1 || setup.options.waiting_max < 1) {
    return invalid(
        "GPUs, points of a series and requests waiting are at least 1, and phi lies "
        "above 0 and at most at 1");
  }
  if (setup.options.warm_up_step < Duration()) {
    return invalid("warm-ups are rounded up to a multiple of 0 s or more");
  }
  return {};
}

/// One run. Ticks once per second.
class ServingRun final : public port::TimerTarget {
 public:
  ServingRun(const ServingSimSetup& setup, serve::ServingPolicy& policy)
      : setup_(&setup),
        policy_(&policy),
        fleet_(setup),
        ledger_(setup.tenants.size()),
        recorder_(setup, policy),
        arrived_(setup.tenants.size()),
        seconds_(setup.tenants.size()),
        accuracy_(setup.tenants.size(), 1),
        is_retraining_(setup.tenants.size(), false) {
    for (const serve::AdmittedTenant& tenant : setup.tenants) {
      const auto& job = tenant.tenant.retraining;
      retraining_.emplace_back(job ? &*job : nullptr);
    }
    if (setup.options.mode == ServingMode::kFluid) {
      answers_ = std::make_unique<FluidAnswers>(setup);
    } else {
      answers_ = std::make_unique<RequestAnswers>(setup, policy.dispatch());
    }
  }

  job::ServingRecord run() {
    SimEnv env;
    env_ = &env;
    if (!setup_->options.initial.gpus.empty()) {
      order(setup_->options.initial, ServingFleet::Setting::kReady);
    }
    env.call_at(SimTime(), port::TimerClass::kWorld, *this, 0);
    while (env.fire_next()) {
    }
    job::ServingRecord record = recorder_.finish(*answers_, retraining_);
    record.moves = ledger_.moves();
    record.moves_with_free_slot = ledger_.moves_with_free_slot();
    record.capacity_lost = ledger_.lost();
    record.capacity_lost_in_place = ledger_.lost_in_place();
    record.needed_lost = ledger_.needed_lost();
    record.needed_lost_in_place = ledger_.needed_lost_in_place();
    record.planned_goodput = policy_->planned_goodput();
    return record;
  }

  void on_timer(std::uint64_t /*payload*/) override {
    const SimTime now = env_->now();
    begin_second(now);
    decide(now);
    fleet_.settle(now, is_retraining_);
    recorder_.add_instances(now, fleet_);
    serve_second(now);
    if (now + kSecond < SimTime() + setup_->options.length) {
      env_->call_at(now + kSecond, port::TimerClass::kWorld, *this, 0);
    }
  }

 private:
  void begin_second(SimTime now) {
    for (std::size_t i = 0; i < retraining_.size(); ++i) {
      const serve::Tenant& tenant = setup_->tenants[i].tenant;
      retraining_[i].begin_second(now);
      is_retraining_[i] = retraining_[i].is_open();
      const auto& job = tenant.retraining;
      accuracy_[i] = job && retraining_[i].is_retrained() ? job->accuracy_after : tenant.accuracy;
    }
    fleet_.settle(now, is_retraining_);
  }

  void decide(SimTime now) {
    if (fleet_.generation() != viewed_generation_) {
      view_instances();
    }
    states_.resize(setup_->tenants.size());
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const TenantRetraining& job = retraining_[i];
      states_[i] = {.arrived = arrived_[i],
                    .answered_in_slo = std::llround(seconds_[i].in_slo),
                    .missed = std::llround(seconds_[i].missed),
                    .waiting = std::llround(seconds_[i].waiting),
                    .is_retrained = job.is_retrained(),
                    .retraining_left_s = job.left_s(),
                    .retraining_release = job.release(),
                    .retraining_deadline = job.deadline()};
    }
    const serve::ServingView view{.now = now,
                                  .gpu_count = setup_->gpu_count,
                                  .tenants = states_,
                                  .current = &fleet_.current(),
                                  .instances = views_};
    const auto wanted = policy_->decide(view);
    if (wanted && !(*wanted == fleet_.current())) {
      const bool is_ready = now == SimTime() && setup_->options.start == ServingStart::kReady;
      order(*wanted, is_ready ? ServingFleet::Setting::kReady : ServingFleet::Setting::kWarmsUp);
    }
  }

  void order(const serve::Deployment& wanted, ServingFleet::Setting setting) {
    const SimTime now = env_->now();
    const auto faults = fleet_.find_faults(wanted);
    for (const std::string& fault : faults) {
      recorder_.add_violation(now, fault);
    }
    if (!faults.empty()) {
      return;
    }
    const auto moves = fleet_.apply(wanted, now, setting, static_cast<int>(ledger_.moves()));
    ledger_.add(moves);
    recorder_.add_moves(now, moves);
  }

  void view_instances() {
    viewed_generation_ = fleet_.generation();
    views_.clear();
    for (const LiveInstance& live : fleet_.instances()) {
      serve::InstanceState state{.gpu = live.gpu, .instance = {.placed = live.placed}};
      for (const ServingMember& member : live.members) {
        if (!member.leaves.is_never()) {
          continue;  // no longer ordered
        }
        state.instance.occupants.push_back(member.next.value_or(member.as));
        state.ready.push_back(member.next ? member.next_ready : member.ready);
      }
      views_.push_back(std::move(state));
    }
  }

  void serve_second(SimTime now) {
    for (TenantSecond& second : seconds_) {
      second = {};
    }
    for (const LiveInstance& instance : fleet_.instances()) {
      for (const ServingMember& member : instance.members) {
        const SimTime from = std::max(now, member.ready);
        const SimTime until = std::min(now + kSecond, member.leaves);
        if (from >= until) {
          continue;
        }
        const auto tenant = static_cast<std::size_t>(member.as.tenant);
        if (member.as.role == serve::Role::kRetrain) {
          retraining_[tenant].work(from, until, member.retraining_speed);
        } else {
          seconds_[tenant].capacity += member.capacity_rps * (until - from).to_seconds();
        }
      }
    }
    answers_->serve_second(now, fleet_, seconds_);
    arrived_now_.resize(seconds_.size());
    capacity_now_.resize(seconds_.size());
    for (std::size_t i = 0; i < seconds_.size(); ++i) {
      arrived_[i].push_back(seconds_[i].arrived);
      arrived_now_[i] = seconds_[i].arrived;
      capacity_now_[i] = seconds_[i].capacity;
    }
    ledger_.count_second(now, fleet_.instances(), arrived_now_, capacity_now_);
    recorder_.add_second(now, seconds_, accuracy_, policy_->expected_rps());
  }

  const ServingSimSetup* setup_;
  serve::ServingPolicy* policy_;
  SimEnv* env_ = nullptr;
  ServingFleet fleet_;
  WarmUpLedger ledger_;
  ServingRecorder recorder_;
  std::unique_ptr<ServingAnswers> answers_;
  std::vector<TenantRetraining> retraining_;
  std::vector<std::vector<double>> arrived_;  ///< by tenant and second
  std::vector<TenantSecond> seconds_;         ///< of the second being served, by tenant
  std::vector<double> accuracy_;
  std::vector<bool> is_retraining_;
  std::vector<serve::TenantState> states_;
  std::vector<serve::InstanceState> views_;
  std::int64_t viewed_generation_ = -1;
  std::vector<double> arrived_now_;
  std::vector<double> capacity_now_;
};

}  // namespace

Result<job::ServingRecord> simulate_serving(const ServingSimSetup& setup,
                                            serve::ServingPolicy& policy) {
  SEPTULE_TRY_STATUS(check(setup));
  return ServingRun(setup, policy).run();
}

}  // namespace septule::sim
