#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.hpp"
#include "job/metrics.hpp"
#include "job/workload.hpp"
#include "predict/speed_book.hpp"
#include "sim/checkers.hpp"
#include "sim/cluster_sim.hpp"
#include "sim/sim_support.hpp"
#include "sim/study.hpp"
#include "sim/study_layouts.hpp"

namespace septule::test {

using Pace = control::Controller::Options::Pace;

/// What of a run is not the default of its setting. A value; for tests only.
struct RunCase {
  std::string_view policy = "miso";
  sched::Setting setting = sched::Setting::kPaper;
  job::CostKind costs = job::CostKind::kNominal;
  Pace pace = Pace::kOverlapped;  ///< looked at in the artifact's setting
  bool is_large = false;          ///< 1,000 jobs on 40 GPUs every 10 s, else 100 on 8 every 60 s
  double gap_s = 0;               ///< 0 = the study's
  double checkpoint_factor = 1;
  double error_mean = 0.016;
};

/// The figures of a run that tests compare.
struct CaseFigures {
  double jct_s = 0;  ///< from submission
  /// From when the controller noticed the job, as the artifact counts.
  double noticed_jct_s = 0;
  double makespan_s = 0;
  double stp = 0;
  double reconfigurations = 0;
};

/// Adds up how late jobs are noticed; the checker sees everything too.
class NoticeObserver final : public control::ControlObserver {
 public:
  NoticeObserver(const job::Workload& workload, control::ControlObserver& next)
      : workload_(workload), next_(next) {}
  void on_event(SimTime time, const sched::Event& event) override {
    if (const auto* submitted = std::get_if<sched::JobSubmitted>(&event); submitted != nullptr) {
      const auto job = static_cast<std::size_t>(submitted->job.value());
      late_s_ += (time - workload_.jobs[job].submit).to_seconds();
    }
    next_.on_event(time, event);
  }
  void on_goal(SimTime time, const sched::SetGoal& decision) override {
    next_.on_goal(time, decision);
  }
  void on_order(SimTime time, const control::GpuOrder& order) override {
    next_.on_order(time, order);
  }
  void on_refusal(SimTime time, const std::string& why) override { next_.on_refusal(time, why); }
  void on_requeue(SimTime time, job::JobId job) override { next_.on_requeue(time, job); }
  void on_reject(SimTime time, job::JobId job) override { next_.on_reject(time, job); }
  double mean_late_s() const { return late_s_ / static_cast<double>(workload_.jobs.size()); }

 private:
  const job::Workload& workload_;
  control::ControlObserver& next_;
  double late_s_ = 0;
};

/// The jobs in the artifact's own order of arrival, or as we draw them.
inline job::Workload arriving(const RunCase& wanted, std::uint64_t seed) {
  const int count = wanted.is_large ? 1000 : 100;
  const job::Workload base = *job::miso_workload(wanted.is_large ? "miso-1000" : "miso-100");
  if (wanted.setting == sched::Setting::kArtifact) {
    return job::with_arrivals(base, *job::artifact_arrivals(count, seed));
  }
  job::ArrivalOptions options;
  const double gap_s = wanted.is_large ? 10 : 60;
  options.gap = seconds_to_duration(wanted.gap_s > 0 ? wanted.gap_s : gap_s);
  return job::with_arrivals(base, *job::draw_arrivals(count, options, seed));
}

/// Runs it under the checkers of sim/checkers.hpp.
inline CaseFigures run_case(const RunCase& wanted, std::uint64_t seed) {
  const gpu::Geometry& board = sim::test::model("A100-40GB");
  const job::Workload workload = arriving(wanted, seed);
  const predict::SpeedBook book = *predict::SpeedBook::make(board, workload.signatures);
  sim::SimSetup setup = sim::common_setup(wanted.setting);
  setup.geometry = &board;
  setup.latencies = &sim::test::latencies();
  setup.gpu_count = wanted.is_large ? 40 : 8;
  setup.workload = &workload;
  setup.book = &book;
  setup.policy = *sched::find_policy(wanted.policy);
  setup.policy_setup.static_layout = sim::artifact_layout(board);
  setup.costs.kind = wanted.costs;
  setup.costs.checkpoint_factor = wanted.checkpoint_factor;
  setup.error.mean = wanted.error_mean;
  setup.seed = seed;
  if (wanted.setting == sched::Setting::kArtifact) {
    setup.controller.pace = wanted.pace;
    if (wanted.policy.starts_with("mps-only")) {
      setup.controller.memory_rule = sched::MemoryRule::kIgnored;
    }
  }
  sim::RunChecker checker(setup);
  sim::SimObservers observers = checker.observers();
  NoticeObserver notice(workload, *observers.control);
  observers.control = &notice;
  const Result<job::RunRecord> run = sim::simulate(setup, observers);
  SEPTULE_CHECK(run.has_value(), "the runs of the acceptance tests end");
  EXPECT_THAT(checker.finish(*run), ::testing::IsEmpty()) << wanted.policy << " seed " << seed;
  const job::RunFigures figures = job::figures_of(*run);
  return {.jct_s = figures.mean_jct_s,
          .noticed_jct_s = figures.mean_jct_s - notice.mean_late_s(),
          .makespan_s = figures.makespan_s,
          .stp = figures.stp_per_gpu,
          .reconfigurations = figures.reconfigurations};
}

/// Means over seeds 1 to `seeds`.
inline CaseFigures mean_of(const RunCase& wanted, std::uint64_t seeds) {
  CaseFigures sum;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const CaseFigures one = run_case(wanted, seed);
    sum.jct_s += one.jct_s;
    sum.noticed_jct_s += one.noticed_jct_s;
    sum.makespan_s += one.makespan_s;
    sum.stp += one.stp;
    sum.reconfigurations += one.reconfigurations;
  }
  const auto n = static_cast<double>(seeds);
  return {.jct_s = sum.jct_s / n,
          .noticed_jct_s = sum.noticed_jct_s / n,
          .makespan_s = sum.makespan_s / n,
          .stp = sum.stp / n,
          .reconfigurations = sum.reconfigurations / n};
}

/// How much lower or higher than a baseline, mean of the ratios of equal seeds; -0.69 = 69 % lower.
struct Gain {
  double jct = 0;
  double makespan = 0;
  double stp = 0;
};

inline Gain gain_over(const RunCase& baseline, const RunCase& wanted, std::uint64_t seeds) {
  Gain gain;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const CaseFigures base = run_case(baseline, seed);
    const CaseFigures one = run_case(wanted, seed);
    gain.jct += one.jct_s / base.jct_s - 1;
    gain.makespan += one.makespan_s / base.makespan_s - 1;
    gain.stp += one.stp / base.stp - 1;
  }
  const auto n = static_cast<double>(seeds);
  return {.jct = gain.jct / n, .makespan = gain.makespan / n, .stp = gain.stp / n};
}

}  // namespace septule::test
