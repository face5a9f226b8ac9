#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/portable_math.hpp"
#include "job/law_priors.hpp"
#include "job/workload.hpp"

namespace septule::job {

namespace {

constexpr int kMixedJobs = 4000;
constexpr int kKindsOfEach = 16;
constexpr std::uint64_t kMixedSeed = 1;
constexpr int kMixedUsers = 10;
constexpr std::int64_t kDurationMaxMs = 3600000;

/// A fitted parameter, with where its distribution is taken to begin and end [D]; linear between.
struct Prior {
  double low = 0;
  Percentiles fitted;
  double high = 1;

  double at(double u) const {
    constexpr std::array<double, 5> kAt = {0, 0.1, 0.5, 0.9, 1};
    const std::array<double, 5> values = {low, fitted.p10, fitted.p50, fitted.p90, high};
    std::size_t i = 1;
    while (i + 1 < kAt.size() && u > kAt[i]) {
      ++i;
    }
    const double part = (u - kAt[i - 1]) / (kAt[i] - kAt[i - 1]);
    return values[i - 1] + part * (values[i] - values[i - 1]);
  }
};

/// Logarithmically uniform.
struct Range {
  double from = 1;
  double to = 1;

  double at(double u) const { return from * portable_exp(u * portable_log(to / from)); }
};

/// What one family of kinds is drawn from. Usable SMs, serial and memory shares: as fitted
/// (law_priors.hpp). The rest is assumed [D].
struct Family {
  const char* name = "";
  Prior usable;
  Prior serial;
  Prior memory_share;
  Range step_s;
  Range kernels;
  Range memory_gib;
  double start_s = 1;
};

constexpr std::array kFamilies = {
    Family{.name = "hpc",
           .usable = {.low = 0.05, .fitted = kHpcPrior.usable},
           .serial = {.low = 0, .fitted = kHpcPrior.serial, .high = 0.95},
           .memory_share = {.low = 0, .fitted = kHpcPrior.memory_share, .high = 0.90},
           .step_s = {.from = 0.005, .to = 0.5},
           .kernels = {.from = 2, .to = 100},
           .memory_gib = {.from = 0.3, .to = 6},
           .start_s = 2},
    Family{.name = "train",
           .usable = {.low = 0.30, .fitted = kTrainingPrior.usable},
           .serial = {.low = 0.02, .fitted = kTrainingPrior.serial, .high = 0.90},
           .memory_share = {.low = 0, .fitted = kTrainingPrior.memory_share, .high = 0.60},
           .step_s = {.from = 0.02, .to = 0.4},
           .kernels = {.from = 90, .to = 1500},
           .memory_gib = {.from = 2, .to = 14},
           .start_s = 9},
    Family{.name = "infer",
           .usable = {.low = 0.45, .fitted = kInferencePrior.usable},
           .serial = {.low = 0.01, .fitted = kInferencePrior.serial, .high = 0.50},
           .memory_share = {.low = 0.02, .fitted = kInferencePrior.memory_share, .high = 0.45},
           .step_s = {.from = 0.004, .to = 0.1},
           .kernels = {.from = 30, .to = 510},
           .memory_gib = {.from = 1, .to = 6},
           .start_s = 5}};

/// A plain profile of the A100-40GB: parts of its 108 SMs and 8 memory slices.
struct Slice {
  const char* profile = "";
  double compute = 1;
  double bandwidth = 1;
};
constexpr std::array kSlices = {
    Slice{.profile = "7g.40gb", .compute = 98.0 / 108, .bandwidth = 1},
    Slice{.profile = "4g.20gb", .compute = 56.0 / 108, .bandwidth = 0.5},
    Slice{.profile = "3g.20gb", .compute = 42.0 / 108, .bandwidth = 0.5},
    Slice{.profile = "2g.10gb", .compute = 28.0 / 108, .bandwidth = 0.25},
    Slice{.profile = "1g.5gb", .compute = 14.0 / 108, .bandwidth = 0.125}};

/// t(c, b) = t0 + A / min(c, w) + B / b, for a step of 1 on the whole GPU.
struct Law {
  double serial = 0;
  double compute = 1;  ///< share of the step on the whole GPU
  double memory = 0;
  double usable = 1;

  double step_on(const Slice& slice) const {
    return serial + compute * usable / std::min(slice.compute, usable) + memory / slice.bandwidth;
  }
};

PerfSignature drawn_kind(const Family& family, int number, Rng rng) {
  Law law;
  law.usable = family.usable.at(rng.uniform());
  law.serial = family.serial.at(rng.uniform());
  law.memory = std::min(family.memory_share.at(rng.uniform()), 0.98 - law.serial);
  law.compute = 1 - law.serial - law.memory;
  PerfSignature kind;
  kind.name = fmt::format("{}:{}", family.name, number);
  kind.family = family.name;
  kind.gpu_key = "A100-40GB";
  const double step_s = family.step_s.at(rng.uniform()) / law.step_on(kSlices.front());
  for (const Slice& slice : kSlices) {
    kind.times.push_back({.profile = slice.profile,
                          .step = seconds_to_duration(step_s * law.step_on(slice)),
                          .first_step = {}});
  }
  kind.kernel_count = static_cast<int>(std::lround(family.kernels.at(rng.uniform())));
  kind.memory = Bytes::mebibytes(
      static_cast<std::uint64_t>(std::lround(1024 * family.memory_gib.at(rng.uniform()))));
  kind.need = kind.memory;
  kind.start = seconds_to_duration(family.start_s);
  return kind;
}

}  // namespace

Workload mixed_workload() {
  const Rng rng(kMixedSeed);
  Workload workload{.name = std::string(kMixedName), .signatures = {}, .jobs = {}};
  for (const Family& family : kFamilies) {
    for (int i = 1; i <= kKindsOfEach; ++i) {
      workload.signatures.push_back(
          drawn_kind(family, i, rng.stream(fmt::format("{}-{}", family.name, i))));
    }
  }
  Rng kinds = rng.stream("kinds");
  Rng durations = rng.stream("durations");
  Rng users = rng.stream("users");
  for (int i = 0; i < kMixedJobs; ++i) {
    JobSpec job;
    job.id = JobId(i);
    job.name = fmt::format("job-{}", i);
    job.signature = SignatureIndex(static_cast<int>(kinds.below(workload.signatures.size())));
    job.work = helios_duration(durations.uniform(), Duration::milliseconds(kDurationMaxMs));
    // Times are given for all slices: what it needs says where it fits.
    job.memory = workload.signatures[static_cast<std::size_t>(job.signature.value())].need;
    job.user = UserId(static_cast<int>(users.below(kMixedUsers)));
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

}  // namespace septule::job
