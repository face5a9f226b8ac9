#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace septule::job {

// What one run of the serving simulator gives, for tables, files and reports.

/// One tenant over one stretch of time (a second, or a window of several).
struct ServingPoint {
  SimTime begin;
  double arrived = 0;       ///< requests
  double in_slo = 0;        ///< answered within the SLO
  double capacity = 0;      ///< requests that ready instances could have answered within the SLO
  double goodput = 0;       ///< in_slo * accuracy of the model that answered
  double forecast_rps = 0;  ///< what the policy expected; 0 where it expects nothing
};

/// What one tenant got in a run. Counts may be fractions in fluid mode.
struct ServingTenantRecord {
  std::string name;
  double weight = 1;
  double arrived = 0;
  double in_slo = 0;
  double goodput = 0;            ///< requests x accuracy, without weight
  std::optional<double> p50_ms;  ///< of answered requests; nothing in fluid mode
  std::optional<double> p99_ms;
  int retrainings_done = 0;
  int retrainings_missed = 0;                           ///< not complete at their deadline
  std::vector<std::pair<SimTime, SimTime>> retraining;  ///< stretches in which it was worked on
  std::vector<ServingPoint> series;                     ///< by second unless coarsened
};

/// A stretch of time in which one GPU was cut and used in one way.
struct ServingSpan {
  struct Use {
    int start = 0;      ///< memory slices
    int size = 0;       ///< 0 = the whole GPU without MIG
    std::string label;  ///< "bert", "bert retrains", "bert 60 % + vgg19 40 %"; empty = idle
    int tenant = -1;    ///< of the first occupant; -1 = idle
    bool is_warming_up = false;
  };
  int gpu = 0;
  SimTime begin;
  SimTime end;
  std::vector<Use> uses;  ///< by start
};

/// A whole run: figures, tenants, GPUs over time. A plain value.
struct ServingRecord {
  std::string policy;
  std::string mode;  ///< "fluid", "request"; "plan" where nothing was simulated
  std::string forecaster;
  std::uint64_t seed = 0;
  int gpu_count = 0;
  Duration span;
  std::vector<ServingTenantRecord> tenants;
  std::int64_t moves = 0;                 ///< occupants created
  std::int64_t moves_with_free_slot = 0;  ///< of these, warmed up while what they replace went on
  double capacity_lost = 0;               ///< requests of capacity lost to warm-up
  double capacity_lost_in_place = 0;      ///< the same, had every move been made in place
  /// Of both only what tenants lacked: requests missed that capacity would have answered, and those
  /// that would have been missed had every move been made when it was needed.
  double needed_lost = 0;
  double needed_lost_in_place = 0;
  double gpu_seconds_used = 0;            ///< GPUs with an occupant x seconds
  double weighted_goodput = 0;            ///< sum over tenants of weight * goodput
  std::optional<double> planned_goodput;  ///< by the policy at its commits
  std::optional<double> bound;            ///< no policy of its kind reaches more
  std::uint64_t digest = 0;
  std::vector<ServingSpan> timeline;    ///< empty unless recorded
  std::vector<std::string> violations;  ///< what the checkers found
};

/// Derived figures; nothing where the divisor is 0.
std::optional<double> attainment(const ServingRecord& run);       ///< in SLO / arrived
std::optional<double> mean_accuracy(const ServingRecord& run);    ///< goodput / in SLO
std::optional<double> overhead_hidden(const ServingRecord& run);  ///< 1 - lost / lost in place
std::optional<double> needed_hidden(const ServingRecord& run);    ///< the same of what was needed

}  // namespace septule::job
