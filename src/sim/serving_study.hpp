#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "job/metrics.hpp"
#include "serve/policy_registry.hpp"
#include "sim/serving_sim.hpp"

namespace septule::sim {

/// A policy in a study: its name in the registry, options and what it is called in tables.
struct StudyServingPolicy {
  std::string name;
  serve::PolicyOptions options;
  std::string label;  ///< empty = the name
};

/// A stretch of the true rates (and of those that tenants expect) that is simulated by itself, from
/// a moment 0 of its own.
struct ServingWindow {
  Duration begin;
  Duration length;  ///< whole seconds
};

/// Every policy over every window with every seed. What is pointed to outlives the study.
struct ServingStudySpec {
  const serve::LayoutLattice* lattice = nullptr;
  std::span<const serve::AdmittedTenant> tenants;
  std::span<const serve::RateSeries> rates;  ///< true ones, by tenant, over all windows
  serve::AdmissionRule rule;                 ///< that `tenants` were admitted by
  int gpu_count = 1;
  const gpu::LatencyTable* latencies = nullptr;
  ServingSimOptions options;  ///< seed and length are filled in
  std::string forecaster = "ewma-trend";
  std::vector<StudyServingPolicy> policies;
  std::vector<ServingWindow> windows;
  std::vector<std::uint64_t> seeds;
};

/// One run to be made.
struct ServingTrial {
  std::size_t policy = 0;  ///< indices into the spec
  std::size_t window = 0;
  std::uint64_t seed = 0;
};

/// One policy over all windows and seeds; intervals over runs, in the order of windows, then seeds.
struct ServingSummary {
  std::string label;
  int runs = 0;
  job::Interval goodput;                      ///< weighted, per second
  std::optional<job::Interval> attainment;    ///< nothing where nobody asked
  std::optional<job::Interval> accuracy;      ///< nothing where nobody was answered
  std::optional<job::Interval> p99_ms;        ///< worst tenant of each run; nothing in fluid mode
  double moves = 0;                           ///< mean
  std::optional<double> free_slot_share;      ///< of all moves; nothing where there were none
  std::optional<double> overhead_hidden;      ///< of all moves together
  std::optional<double> needed_hidden;        ///< the same of what was needed
  std::optional<double> overhead_hidden_max;  ///< of the best run
  double gpus = 0;                            ///< mean in use
  /// Goodput relative to another policy, by run (same window and seed); nothing where that policy
  /// had none.
  std::optional<job::Interval> relative_to(const ServingSummary& other) const;
  std::vector<double> goodput_by_run;
};

/// A study made ready. Runs are independent: run_trial() may go on in several threads at once.
class ServingStudy {
 public:
  /// kInvalidInput where something is missing or out of range, kNotFound for an unknown policy.
  static Result<ServingStudy> make(ServingStudySpec spec);

  const ServingStudySpec& spec() const { return spec_; }
  /// By policy, then window, then seed.
  std::span<const ServingTrial> trials() const { return trials_; }
  /// kFailed, naming the run, where a checker of the simulator found something.
  Result<job::ServingRecord> run_trial(const ServingTrial& trial) const;
  /// `records`: one for each of trials().
  std::vector<ServingSummary> summarise(std::span<const job::ServingRecord> records) const;

 private:
  explicit ServingStudy(ServingStudySpec spec) : spec_(std::move(spec)) {}
  std::string label_of(std::size_t policy) const;

  ServingStudySpec spec_;
  std::vector<ServingTrial> trials_;
};

/// `rate` from `begin` on for `length`, from a moment 0 of its own. `begin` need not be on a step.
serve::RateSeries cut_rate(const serve::RateSeries& rate, const ServingWindow& window);

}  // namespace septule::sim
