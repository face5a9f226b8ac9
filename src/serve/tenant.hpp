#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace septule::serve {

/// What a published latency is. Unstated ones are taken for means.
enum class LatencyMeaning { kMean, kP50, kP90, kP95, kP99, kUnstated };
std::string_view latency_meaning_name(LatencyMeaning meaning);
std::optional<LatencyMeaning> parse_latency_meaning(std::string_view text);

/// One measured way of running a model on one instance.
struct ProfileRow {
  ComputeSlices slices;  ///< of the instance
  int batch = 1;
  int processes = 1;                  ///< equal processes under MPS, 1 = no MPS
  ActiveThreadPercentage share{100};  ///< of the instance's threads, all processes together
  double throughput_rps = 0;          ///< requests per second of all processes together, > 0
  Duration latency;                   ///< of one batch, without waiting; > 0
  LatencyMeaning meaning = LatencyMeaning::kUnstated;
  std::optional<Bytes> memory;  ///< of all processes together; nothing = not published
  bool is_suspect = false;      ///< the publisher's value looks like a copy of a neighbour
};

/// Everything measured of one model on one GPU model. Rows by slices, batch, processes, share.
struct ModelProfile {
  std::string model;
  std::string gpu;     ///< catalogue key, empty = not stated
  std::string source;  ///< file or publication, for messages and reports
  std::vector<ProfileRow> rows;
};

/// How long an instance that was just created serves nothing: process start, context and loading of
/// the model. Quantiles over starts; p50 <= p90 <= p99. The driver's part (destroy and create)
/// comes on top from gpu::LatencyTable.
struct WarmUp {
  Duration p50;
  Duration p90;
  Duration p99;
};
enum class WarmUpQuantile { kP50, kP90, kP99 };
Duration warm_up_of(const WarmUp& warm_up, WarmUpQuantile quantile);

/// Periodic retraining of a tenant's model. `work_s` seconds alone on the whole GPU; the model that
/// answers is the old one (Tenant::accuracy) until all of the work is done, then the retrained one.
struct RetrainingJob {
  double work_s = 0;          ///< > 0
  double accuracy_after = 0;  ///< 0..1
  Duration release;           ///< data are there from this time after the begin of a period on
  std::optional<Duration> deadline;  ///< after the begin of a period; nothing = the period's end
  std::optional<Duration> period;    ///< a new job each period, accuracy falls back; nothing = once
  std::optional<Bytes> memory;
  /// Speed by compute slices relative to the whole GPU, (0, 1]; empty = MISO's measured ratios
  /// (serving.md 2.1).
  std::vector<std::pair<ComputeSlices, double>> speeds;
};

/// Requests per second over time: `values[i]` holds from i * step to (i + 1) * step. One value =
/// the rate never changes. Past the end the last value holds.
struct RateSeries {
  Duration step = Duration::milliseconds(1000);
  std::vector<double> values;  ///< >= 0, finite
  double at(SimTime time) const;
  double peak() const;
  double mean() const;  ///< over `values`
};

/// Somebody who serves a model and may retrain it. A plain value.
struct Tenant {
  std::string name;  ///< unique
  ModelProfile profile;
  RateSeries rate;      ///< what is expected: a trace or a forecast
  Duration slo;         ///< a request answered later counts for nothing; > 0
  double weight = 1;    ///< of its goodput, > 0
  double accuracy = 1;  ///< of the model that answers before retraining, (0, 1]
  WarmUp warm_up;
  double host_cores = 0;    ///< per instance
  std::string trust_group;  ///< tenants share an instance (MPS) only within one group
  double floor_share = 0;   ///< of its arrivals, to be served in every step, 0..1
  std::optional<RetrainingJob> retraining;
};

/// Speed of retraining on `slices` compute slices of a GPU of `gpu_slices`, relative to the whole
/// GPU: the job's own figures (interpolated between neighbours) or MISO's measured ratios.
double retraining_speed(const RetrainingJob& job, ComputeSlices slices, ComputeSlices gpu_slices);

}  // namespace septule::serve
