#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/rng.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "predict/job_traits.hpp"
#include "predict/law_co_run.hpp"
#include "predict/solo_fit.hpp"

namespace septule::predict {

/// A job drawn from priors: performance-model.md section 2 (percentiles of fits to measured jobs),
/// the rest ours [D]:
/// - kind: inference, training or HPC alike; usable SMs, serial share and memory share by the
///   kind's percentiles, linear between them (quantile 0 = p10 - (p50 - p10) / 4, quantile 1 = p90
///   + (p90 - p50) / 4, within [0.05, 1] and [0, 0.98]); shares that add up to more than 0.98
///   shrink together;
/// - kernel length: lognormal, median 80 us, sigma 1.2, cut to 3 us to 5 ms; not known of a tenth;
/// - memory 1 to 40 GiB and solo time 60 to 600 s, log-uniform;
/// - half of them have counters: SM % = what is not serial, memory % = the memory share.
/// A plain value.
struct GeneratedJob {
  std::string name;  ///< "job-17": by its number
  JobKind kind = JobKind::kUnknown;
  LawJob law;  ///< its step on the whole GPU takes 1
  Bytes memory;
  JobTraits traits;  ///< with solo time, memory and counters
};

/// Draws jobs by number, each from a stream of its own: one more job, or a larger pool, changes no
/// other. A value; any thread. `gpu` (by which jobs are classed) outlives it.
class JobGenerator {
 public:
  /// Draws at most for a job of a class.
  static constexpr int kDrawsMax = 100000;

  JobGenerator(const gpu::Geometry& gpu, std::uint64_t seed) : gpu_(&gpu), seed_(seed) {}

  GeneratedJob job(std::size_t number) const;
  /// The first of a stream of jobs that is of this class; its name says the class: "MI-17". Fails
  /// with kInvalidInput where none of kDrawsMax is (GPUs without 1g, 3g and 4g have no classes).
  Result<GeneratedJob> job_of(JobClass job_class, std::size_t number) const;
  /// Jobs 0 to count - 1, of one class or any.
  Result<std::vector<GeneratedJob>> pool(std::size_t count,
                                         std::optional<JobClass> job_class) const;

 private:
  const gpu::Geometry* gpu_;
  std::uint64_t seed_;
};

/// Which jobs of a pool are for what: what is learned from, what settings are chosen by, what is
/// judged by. Of each five jobs three, one and one, by number.
enum class PoolPart { kTrain, kValidation, kTest };
PoolPart pool_part(std::size_t number);
/// "train", "validation", "test".
std::string_view pool_part_name(PoolPart part);

/// How many jobs of a window are of which class; the rest is of any.
using ClassMix = std::array<std::size_t, kJobClassCount>;

struct WindowDraw {
  PoolPart part = PoolPart::kTest;
  std::size_t size = 12;
  ClassMix of_class{};
};
/// Numbers of jobs drawn from one part of a pool without replacement, in the order drawn. Fails
/// with kInvalidInput where the part has too few jobs of a class, or the classes are more than the
/// window.
Result<std::vector<std::size_t>> draw_window(std::span<const GeneratedJob> pool,
                                             const WindowDraw& draw,
                                             Rng& rng);

}  // namespace septule::predict
