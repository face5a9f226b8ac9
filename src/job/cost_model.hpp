#pragma once

#include <optional>
#include <string_view>

#include "base/units.hpp"
#include "job/perf_signature.hpp"

namespace septule::job {

/// Where start-up and step times come from (miso.md 9.1).
enum class CostKind {
  kNominal,     ///< start constant of the family + first step; steps as measured
  kCalibrated,  ///< 25 s for every start; steps x 1.16: fitted to the measured run (miso.md 2.5)
};
std::string_view cost_kind_name(CostKind kind);
std::optional<CostKind> parse_cost_kind(std::string_view text);

/// What starting, stopping and saving costs. A plain value, the same for every policy of a study.
/// Defaults [D]: checkpoint = 0.5 s + footprint / 2 GiB/s, restart = start + footprint / 2 GiB/s.
struct CostModel {
  CostKind kind = CostKind::kNominal;
  Duration checkpoint_base = Duration::milliseconds(500);
  double checkpoint_bytes_per_s = 2147483648.0;  ///< infinity = footprint costs nothing
  double restart_bytes_per_s = 2147483648.0;
  double checkpoint_factor = 1;  ///< scales the whole checkpoint time ("doubled overhead")
  Duration calibrated_start = Duration::milliseconds(25000);
  double calibrated_step_factor = 1.16;
  Duration start_extra;  ///< added to every start (sensitivity studies)
  Duration finish;       ///< between the last step and the end being reported
  bool is_free = false;  ///< an oracle without overheads: checkpoints and restarts take no time
                         ///< (first starts do)

  /// Factor on all step times: 1 or 1.16.
  double step_factor() const;
};

/// What the job occupies when saved: its memory reading, but at most the usable memory of the
/// smallest profile that fits (frameworks reserve more than they use). Where one of the two is not
/// known, the other; 0 where neither is, so that nothing is charged.
Bytes footprint(const PerfSignature& signature, std::optional<Bytes> smallest_fitting_memory);

enum class StartKind { kFirst, kRestart };
/// From process start to the first completed step, less the one mean step which that step replaces
/// (work counts it): the family's constant + first step - mean step, or the calibrated 25 s, each
/// + start_extra, and for a restart + footprint / restart rate. `slice` = the measurement on the
/// profile it starts on (null, or without a first step = unknown, then no first-step time is
/// charged). Never negative; 0 for a restart if `is_free`.
Duration start_time(const CostModel& costs,
                    const PerfSignature& signature,
                    const SliceTime* slice,
                    Bytes footprint_bytes,
                    StartKind kind);
/// (base + footprint / checkpoint rate) x factor; 0 if `is_free`. Rates must be positive.
Duration checkpoint_time(const CostModel& costs, Bytes footprint_bytes);

}  // namespace septule::job
