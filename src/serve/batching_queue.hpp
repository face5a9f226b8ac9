#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "serve/admission.hpp"
#include "serve/latency_histogram.hpp"
#include "serve/service_times.hpp"

namespace septule::serve {

/// When a free process takes what waits.
enum class LaunchRule {
  kWhenIdle,  ///< at once; while all processes are busy, the next batch forms
  kSlack,     ///< once the batch is full, or the oldest would be late in a full batch otherwise
  kTimeout,   ///< once the batch is full, or the oldest has waited BatchingOptions::timeout
};

/// What becomes of waiting requests that the batch to be launched cannot answer in time.
enum class LateRule {
  kDropped,
  kAnswered,  ///< late
};

/// How an instance serves. A plain value; `slo` > 0.
struct BatchingOptions {
  int processes = 1;  ///< equal ones, each runs one batch at a time
  Duration slo;
  LaunchRule launch = LaunchRule::kWhenIdle;
  Duration timeout;  ///< of kTimeout
  LateRule late = LateRule::kDropped;
  SimTime ready;              ///< processes are there from then on
  int waiting_max = 1000000;  ///< requests waiting; more are not taken
};

/// What became of a request.
struct Answer {
  SimTime arrived;
  SimTime finished;  ///< or when it was dropped
  bool is_answered = false;
};

/// One instance that serves one tenant: requests wait in one line, k equal processes take batches
/// of up to ServiceTimes::batch_max() from its front. Driven by the times it is given, which must
/// not decrease; the outcome does not depend on how often it is asked in between. Requests leave in
/// order of arrival. With LateRule::kDropped a batch about to be launched first drops from the
/// front who would be late in it (the batch is not made smaller for them: under overload that would
/// cost the throughput that is needed). One owner; cost per request constant but for the number of
/// processes.
class BatchingQueue {
 public:
  BatchingQueue(ServiceTimes service, const BatchingOptions& options);

  /// A request joins the line at or after the last that did; false if too many wait. One that is
  /// sent on from elsewhere arrived earlier than it joins.
  struct Request {
    SimTime arrived;
    SimTime joins;
  };
  [[nodiscard]] bool arrive(const Request& request);
  [[nodiscard]] bool arrive(SimTime time) { return arrive({.arrived = time, .joins = time}); }
  /// Launches all batches due before `until` (every request that arrives before then is there) and
  /// appends what becomes of requests, in order of launches; `finished` may lie beyond `until`.
  void advance(SimTime until, std::vector<Answer>& answers);
  /// When a request that arrived now would be answered, if nothing came after it; an upper estimate
  /// for kWhenIdle: batches before it and its own are taken to be full unless it runs at once.
  SimTime predicted_finish(SimTime now) const;

  std::size_t waiting_count() const { return waiting_.size() - head_; }
  SimTime ready() const { return options_.ready; }
  /// Takes the line away, arrival times in its order: the instance goes, or another takes over.
  /// What runs ends.
  std::vector<SimTime> take_waiting();
  /// Later batches take these times; requests beyond the new batch size wait for the next.
  void set_service(ServiceTimes service);

 private:
  SimTime launch_time() const;
  void launch(SimTime time, std::vector<Answer>& answers);
  std::size_t arrived_by(SimTime time) const;

  ServiceTimes service_;
  BatchingOptions options_;
  std::vector<Request> waiting_;  ///< from head_ on
  std::size_t head_ = 0;
  std::vector<SimTime> free_;  ///< when processes end what they run, ascending
};

/// The load under which a tail is looked at.
struct TailLoad {
  double rate_rps = 0;  ///< Poisson arrivals of one instance; > 0
  Duration slo;
  std::uint64_t seed = 1;
  std::int64_t requests = 50000;  ///< the first tenth is not counted; > 0
};

/// What was seen. Latencies of the answered; `attainment`: within the SLO of all that arrived.
struct TailFigures {
  std::optional<Duration> mean;
  std::optional<Duration> p50;
  std::optional<Duration> p99;
  double attainment = 0;
};

/// Simulates one instance under Poisson arrivals. Stream "tail" of the seed. Pure; any thread.
TailFigures simulate_tail(const ServiceTimes& service,
                          const BatchingOptions& options,
                          const TailLoad& load);

/// Whether an operating point keeps its promise at a planned load: batches as the queue forms them,
/// service times from the profile's rows of the same processes. Nothing where the profile has no
/// such row. For admission and reports; pure.
std::optional<TailFigures> validate_tail(const ModelProfile& profile,
                                         ComputeSlices slices,
                                         const OperatingPoint& point,
                                         const TailLoad& load);

}  // namespace septule::serve
