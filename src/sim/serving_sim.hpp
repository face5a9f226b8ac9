#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.hpp"
#include "gpu/latency.hpp"
#include "job/serving_record.hpp"
#include "serve/admission.hpp"
#include "serve/goodput_problem.hpp"
#include "serve/mps_share_model.hpp"
#include "serve/serving_policy.hpp"

namespace septule::sim {

/// How requests are simulated.
enum class ServingMode {
  kFluid,    ///< a tenant answers min(arrived, capacity) in each second; the rest is lost
  kRequest,  ///< each request by itself, with queues and batches (serve/batching_queue.hpp)
};

/// How requests of request mode arrive within a second, whose rate is the true one.
enum class ArrivalDraw {
  kPoisson,  ///< at random, so that counts vary too
  kExact,    ///< as many as the rate says (fractions are carried over), at random moments
};

/// What becomes of a request that can no longer be answered in time.
enum class LateAnswers { kDropped, kAnswered };

/// Whether what the policy wants at the very first second is there at once.
enum class ServingStart {
  kCold,   ///< it warms up like everything else
  kReady,  ///< it was set up before the run; counts as no move
};

enum class ServingTimeline { kOff, kOn };

/// What becomes of a serving occupant whose instance stays and is given to others (kRelabel: where
/// both may share an MPS server).
using serve::HandOver;

struct ServingSimOptions {
  ServingMode mode = ServingMode::kFluid;
  ArrivalDraw arrivals = ArrivalDraw::kPoisson;
  LateAnswers late = LateAnswers::kDropped;
  ServingStart start = ServingStart::kCold;
  ServingTimeline timeline = ServingTimeline::kOff;
  std::uint64_t seed = 1;
  Duration length;  ///< whole seconds, > 0
  /// Which of a tenant's warm-up quantiles every start takes; nothing = drawn anew for each start
  /// (p50 in half of the cases, linear between p50, p90 and p99, p99 beyond).
  std::optional<serve::WarmUpQuantile> warm_up = serve::WarmUpQuantile::kP90;
  /// Warm-ups, the driver's part included, are rounded up to a multiple of this, as planners count
  /// whole steps; 0 = exact.
  Duration warm_up_step = Duration::milliseconds(1000);
  HandOver hand_over = HandOver::kRelabel;
  double phi = serve::MpsShareModel::kPhiMedian;  ///< serve/mps_share_model.hpp
  serve::Deployment initial;  ///< in force, and ready, before the first second; no moves
  int waiting_max = 200000;   ///< requests waiting in one line; more are lost
  std::size_t series_points_max = 100000;  ///< a longer series becomes sums over equal stretches
};

/// What is simulated. Everything pointed to outlives the call.
struct ServingSimSetup {
  const serve::LayoutLattice* lattice = nullptr;
  std::span<const serve::AdmittedTenant> tenants;
  std::span<const serve::RateSeries> rates;  ///< true ones, by tenant
  int gpu_count = 1;
  /// The driver's part of a warm-up; null = it takes no time.
  const gpu::LatencyTable* latencies = nullptr;
  ServingSimOptions options;
};

/// Lets a policy serve on virtual time, second by second: it decides, what it ordered is set up,
/// requests arrive and are answered. The meaning of orders is that of serve/serving_policy.hpp, of
/// goodput that of serve/goodput_problem.hpp with steps of one second:
///  - A new occupant yields nothing before destroying what stood in its place (driver), creating
///    its instance (driver) and its tenant's warm-up are over. A GPU that changes between MIG and
///    whole adds the driver's mode change. A kept one goes on undisturbed; one whose processes or
///    share change goes on as it was until the new one is ready; batch changes take no time.
///    Where an instance stays and its occupants change, a serving one that is up goes on until
///    those that take its place are ready (HandOver), if all are of one trust group and, where
///    memory was published, fit beside each other: clients of one MPS server can start and load
///    while another computes. This holds for every policy alike.
///  - Capacity is that of the tenant's operating point where the occupant is alone and runs it,
///    otherwise that of its profile row by serve/mps_share_model.hpp. Where a batch takes more than
///    half of the SLO (no operating point does), of the requests of fluid mode only those that come
///    late enough to its begin are in time: the fraction SLO / latency - 1.
///  - Retraining advances by speed x share x ready time between release and deadline. The retrained
///    model answers from the second after the one in which the work is complete, until the next
///    period begins.
///  - Moves, and what warm-ups cost: warm_up_ledger.hpp.
///  - An order that is not legal (partition, shares above 100 %, unknown tenant) is refused as a
///    whole: what stands goes on, and the record's violations say why.
/// Deterministic: equal setups and policies give equal records, digest included. Chance comes from
/// the named streams "arrivals" and "warm-up" of the seed, by tenant. kInvalidInput where the setup
/// is not valid. One thread.
Result<job::ServingRecord> simulate_serving(const ServingSimSetup& setup,
                                            serve::ServingPolicy& policy);

}  // namespace septule::sim
