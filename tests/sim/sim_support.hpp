#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "gpu/latency.hpp"
#include "job/workload.hpp"
#include "predict/speed_book.hpp"
#include "sim/checkers.hpp"
#include "sim/cluster_sim.hpp"

namespace septule::sim::test {

inline constexpr Duration seconds(double count) {
  return Duration::nanoseconds(static_cast<std::int64_t>(count * 1e9));
}
inline constexpr SimTime at_s(double count) {
  return SimTime::nanoseconds(static_cast<std::int64_t>(count * 1e9));
}

inline const gpu::Geometry& model(std::string_view key) {
  static const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const Result<const gpu::Geometry*> found = catalogue.find(key);
  SEPTULE_CHECK(found.has_value(), "tests name known GPUs");
  return **found;
}

inline const gpu::LatencyTable& latencies() {
  static const gpu::LatencyTable table = gpu::load_builtin_latencies();
  return table;
}

/// The measured signatures, and behind them synthetic ones of all sizes.
inline const std::vector<job::PerfSignature>& signatures() {
  static const std::vector<job::PerfSignature> all = [] {
    std::vector<job::PerfSignature> list = job::builtin_signatures();
    const std::vector<std::string> presets = job::memory_preset_names();
    for (int i = 0; i < 12; ++i) {
      job::DrawOptions options;
      options.memory_preset = presets[static_cast<std::size_t>(i) % presets.size()];
      options.compute_bound_share = 0.5;
      list.push_back(job::draw_signature(
          fmt::format("synthetic-{}", i),
          i % 2 == 0 ? std::optional(Bytes::mebibytes(2000U + 4000U * static_cast<unsigned>(i)))
                     : std::nullopt,
          options));
      list.back().start = Duration::milliseconds(1500);
    }
    return list;
  }();
  return all;
}

/// The book of signatures() on this model.
inline const predict::SpeedBook& book_of(std::string_view key) {
  static std::map<std::string, std::unique_ptr<predict::SpeedBook>, std::less<>> books;
  auto found = books.find(key);
  if (found == books.end()) {
    Result<predict::SpeedBook> book = predict::SpeedBook::make(model(key), signatures());
    SEPTULE_CHECK(book.has_value(), "the signatures of tests are valid");
    found = books
                .emplace(std::string(key),
                         std::make_unique<predict::SpeedBook>(std::move(book).value()))
                .first;
  }
  return *found->second;
}

/// The registered policies.
inline std::vector<std::string_view> policies() {
  std::vector<std::string_view> names;
  for (const sched::PolicyVariant& policy : sched::policy_variants()) {
    names.push_back(policy.name);
  }
  return names;
}

/// What of a run is not the default. A value.
struct Case {
  std::string_view model = "A100-40GB";
  std::string_view policy = "miso";
  sched::Setting setting = sched::Setting::kPaper;
  job::CostKind costs = job::CostKind::kNominal;
  Duration tick;
  control::Controller::Options::Pace pace = control::Controller::Options::Pace::kOverlapped;
  int gpus = 3;
  int gpus_per_node = 2;
  std::uint64_t seed = 1;

  std::string_view pace_name() const {
    using enum control::Controller::Options::Pace;
    return pace == kOverlapped ? "overlapped" : pace == kSerial ? "serial" : "serial-stops";
  }
  std::string text() const {
    return fmt::format("{} x {} {} {} {} tick {} s {} seed {}",
                       gpus,
                       model,
                       policy,
                       setting == sched::Setting::kPaper ? "paper" : "artifact",
                       job::cost_kind_name(costs),
                       tick.to_seconds(),
                       pace_name(),
                       seed);
  }
};

/// 2g, 2g and the rest of the GPU in one instance: the artifact's static layout on A100.
inline gpu::Layout static_layout(const gpu::Geometry& geometry) {
  const ProfileIndex two =
      checked_value(geometry.plain_profile(ComputeSlices(2)), "every model has 2g");
  gpu::Layout layout{{.profile = two, .start = MemorySlices(0)},
                     {.profile = two, .start = MemorySlices(2)}};
  if (const auto three = geometry.plain_profile(ComputeSlices(3))) {
    layout.push_back({.profile = *three, .start = MemorySlices(4)});
  }
  return layout;
}

/// The setup of a case. `workload` outlives it; its signatures are signatures().
inline SimSetup setup_of(const Case& wanted, const job::Workload& workload) {
  SimSetup setup;
  setup.geometry = &model(wanted.model);
  setup.latencies = &latencies();
  setup.gpu_count = wanted.gpus;
  setup.gpus_per_node = wanted.gpus_per_node;
  setup.workload = &workload;
  setup.book = &book_of(wanted.model);
  setup.policy = *sched::find_policy(wanted.policy);
  setup.policy_setup.setting = wanted.setting;
  setup.policy_setup.characterisation = sched::default_characterisation(wanted.setting);
  setup.policy_setup.static_layout = static_layout(*setup.geometry);
  setup.costs.kind = wanted.costs;
  setup.controller.tick = wanted.tick;
  setup.controller.pace = wanted.pace;
  if (wanted.setting == sched::Setting::kArtifact) {
    setup.device.full_reset = Duration::milliseconds(4000);
    setup.waits = {.after_checkpoint = Duration::milliseconds(1000),
                   .after_mps = Duration::milliseconds(2000)};
    setup.costs.finish = Duration::milliseconds(500);
    if (wanted.policy.starts_with("mps-only")) {
      setup.controller.memory_rule = sched::MemoryRule::kIgnored;
    }
  }
  if (wanted.pace == control::Controller::Options::Pace::kSerialStops) {
    setup.waits.stops = control::AgentWaits::Stops::kReported;
  }
  setup.seed = wanted.seed;
  return setup;
}

/// Jobs of every kind: gangs, priorities, phases, stated memory, several at one instant, tiny and
/// huge work.
inline job::Workload odd_workload(std::uint64_t seed, int jobs) {
  Rng rng = Rng(seed).stream("odd workload");
  job::GenerateOptions options;
  options.jobs = jobs;
  options.seed = seed;
  options.duration_max = seconds(static_cast<double>(60 + rng.below(3000)));
  options.arrivals.gap = seconds(static_cast<double>(1 + rng.below(120)));
  options.arrivals.kind = std::vector{job::ArrivalKind::kPoisson,
                                      job::ArrivalKind::kNearPeriodic,
                                      job::ArrivalKind::kBursty}[rng.below(3)];
  options.gang_share = rng.chance(1, 2) ? 0.08 : 0;
  job::Workload workload = *job::generate_workload(options);
  workload.signatures = signatures();
  const bool has_phases = rng.chance(1, 2);
  SimTime last;
  for (job::JobSpec& job : workload.jobs) {
    job.signature = job::SignatureIndex(static_cast<int>(rng.below(signatures().size())));
    job.priority = rng.chance(1, 4) ? static_cast<int>(rng.below(3)) : 0;
    if (rng.chance(1, 8)) {
      job.submit = last;  // at the same instant as the one before
    }
    if (rng.chance(1, 10)) {
      job.work = Duration::nanoseconds(1 + static_cast<std::int64_t>(rng.below(2000000)));
    } else if (rng.chance(1, 40)) {
      job.work = seconds(3e6);
    }
    if (rng.chance(1, 8)) {
      job.memory = Bytes::mebibytes(1000 + rng.below(60000));
    }
    if (has_phases && job.gpus == 1) {
      double begins_at = 0;
      for (std::uint64_t left = rng.below(3); left > 0; --left) {
        begins_at += (1 - begins_at) * (0.1 + 0.8 * rng.uniform());
        job.phases.push_back(
            {.begins_at = begins_at,
             .signature = job::SignatureIndex(static_cast<int>(rng.below(signatures().size())))});
      }
    }
    last = job.submit;
  }
  SEPTULE_CHECK(job::check_workload(workload).is_ok(), "odd jobs are valid jobs");
  return workload;
}

/// Keeps those jobs that fit an instance of static_layout(), which holds nobody else: optsta.
inline job::Workload fitting_static_layout(const job::Workload& from, std::string_view key) {
  const predict::SpeedBook& book = book_of(key);
  const gpu::Layout layout = static_layout(book.geometry());
  const auto fits = [&](job::SignatureIndex signature) {
    return std::ranges::any_of(layout, [&](const gpu::PlacedProfile& placed) {
      return book.speed(signature, placed.profile) > 0;
    });
  };
  job::Workload kept{.name = from.name, .signatures = from.signatures, .jobs = {}};
  for (const job::JobSpec& job : from.jobs) {
    const bool is_kept =
        job.gpus > 1 || (!job.memory && fits(job.signature) &&
                         std::ranges::all_of(job.phases, [&](const job::JobPhase& phase) {
                           return fits(phase.signature);
                         }));
    if (is_kept) {
      kept.jobs.push_back(job);
      kept.jobs.back().id = job::JobId(static_cast<int>(kept.jobs.size()) - 1);
    }
  }
  return kept;
}

/// What a run under the checker gives: its record, and everything that is wrong with it.
struct Checked {
  job::RunRecord run;
  std::vector<std::string> faults;
};

/// Every job must be done or rejected, and no rule be violated.
inline Checked checked(const SimSetup& setup) {
  RunChecker checker(setup);
  Result<job::RunRecord> run = simulate(setup, checker.observers());
  if (!run) {
    return {.run = {}, .faults = {run.error().message}};
  }
  Checked result{.run = *std::move(run), .faults = {}};
  result.faults = checker.finish(result.run);
  for (const job::JobOutcome& job : result.run.jobs) {
    const bool is_done = job.state == job::JobState::kDone && job.finish.has_value();
    const bool is_rejected = job.state == job::JobState::kRejected && !job.finish.has_value();
    if (!is_done && !is_rejected) {
      result.faults.push_back(fmt::format("job {} is neither done nor rejected", job.id.value()));
    }
  }
  return result;
}

/// The same with each fault as a failure of the test.
inline job::RunRecord checked_run(const SimSetup& setup, const std::string& what) {
  Checked result = checked(setup);
  for (const std::string& fault : result.faults) {
    ADD_FAILURE() << what << ": " << fault;
  }
  return std::move(result.run);
}

/// Jobs that the case's policy can serve: see fitting_static_layout().
inline job::Workload servable(const Case& wanted, const job::Workload& workload) {
  return wanted.policy.starts_with("optsta") ? fitting_static_layout(workload, wanted.model)
                                             : workload;
}

}  // namespace septule::sim::test
