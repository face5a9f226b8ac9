#pragma once

#include <cstdint>

#include "base/rng.hpp"
#include "base/units.hpp"
#include "predict/law_co_run.hpp"

namespace septule::predict::test {

/// A job that uses the GPU for at least a tenth of its step, with a kernel length. For tests and
/// bench/co_run_bench.cpp.
inline LawJob any_law(Rng& rng) {
  LawJob job;
  const double serial = 0.5 * rng.uniform();
  const double memory = 0.4 * rng.uniform();
  const double usable = 0.2 + 0.8 * rng.uniform();
  job.law = {.serial = serial,
             .compute = (1 - serial - memory) * usable,
             .memory = memory,
             .usable = usable};
  job.kernel = Duration::nanoseconds(static_cast<std::int64_t>(3000 + rng.below(1000000)));
  return job;
}

}  // namespace septule::predict::test
