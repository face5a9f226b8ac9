#include "predict/job_generator.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/portable_math.hpp"
#include "job/law_priors.hpp"

namespace septule::predict {
namespace {

struct Prior {
  JobKind kind = JobKind::kUnknown;
  job::LawPrior law;
};

constexpr std::array<Prior, 3> kPriors = {{{JobKind::kInference, job::kInferencePrior},
                                           {JobKind::kTraining, job::kTrainingPrior},
                                           {JobKind::kHpc, job::kHpcPrior}}};

struct Range {
  double least;
  double most;
};
constexpr Range kUsableRange = {.05, 1};
constexpr double kSharesMax = .98;
constexpr Range kShareRange = {0, kSharesMax};
constexpr double kKernelMedianNs = 80e3;
constexpr double kKernelSigma = 1.2;
constexpr Range kKernelRangeNs = {3e3, 5e6};
constexpr Range kMemoryRangeGib = {1, 40};
constexpr Range kSoloRangeS = {60, 600};

/// Inverse of the distribution: linear between the percentiles.
double drawn(Rng& rng, const job::Percentiles& of, const Range& range) {
  constexpr std::array<double, 5> kQuantiles = {0, .1, .5, .9, 1};
  const std::array<double, 5> values = {std::max(range.least, of.p10 - (of.p50 - of.p10) / 4),
                                        of.p10,
                                        of.p50,
                                        of.p90,
                                        std::min(range.most, of.p90 + (of.p90 - of.p50) / 4)};
  const double at = rng.uniform();
  std::size_t piece = 0;
  while (piece < 3 && at >= kQuantiles[piece + 1]) {
    ++piece;
  }
  const double part = (at - kQuantiles[piece]) / (kQuantiles[piece + 1] - kQuantiles[piece]);
  return values[piece] + part * (values[piece + 1] - values[piece]);
}

double log_uniform(Rng& rng, const Range& range) {
  return range.least * portable_exp(rng.uniform() * portable_log(range.most / range.least));
}

/// Without name.
GeneratedJob draw(const gpu::Geometry& gpu, Rng& rng) {
  const Prior& prior = kPriors[static_cast<std::size_t>(rng.below(kPriors.size()))];
  GeneratedJob job;
  job.kind = prior.kind;
  const double usable = drawn(rng, prior.law.usable, kUsableRange);
  double serial = drawn(rng, prior.law.serial, kShareRange);
  double memory = drawn(rng, prior.law.memory_share, kShareRange);
  const double shrink = std::min(1.0, kSharesMax / std::max(serial + memory, kSharesMax));
  serial *= shrink;
  memory *= shrink;
  job.law.law = {.serial = serial,
                 .compute = (1 - serial - memory) * usable,
                 .memory = memory,
                 .usable = usable};
  const double kernel = kKernelMedianNs * portable_exp(rng.normal(0, kKernelSigma));
  if (!rng.chance(1, 10)) {
    job.law.kernel = Duration::nanoseconds(
        std::llround(std::clamp(kernel, kKernelRangeNs.least, kKernelRangeNs.most)));
  }
  job.memory = Bytes::mebibytes(
      static_cast<std::uint64_t>(std::llround(1024 * log_uniform(rng, kMemoryRangeGib))));
  job.traits = traits_of(gpu, job.law, seconds_to_duration(log_uniform(rng, kSoloRangeS)));
  job.traits.memory = job.memory;
  if (rng.chance(1, 2)) {
    job.traits.sm_percent = 100 * (1 - serial);
    job.traits.memory_percent = 100 * memory;
  }
  return job;
}

Error invalid(std::string message) {
  return {.code = ErrorCode::kInvalidInput, .message = std::move(message)};
}

}  // namespace

GeneratedJob JobGenerator::job(std::size_t number) const {
  Rng rng = Rng(seed_).stream("generated job", number);
  GeneratedJob job = draw(*gpu_, rng);
  job.name = fmt::format("job-{}", number);
  return job;
}

Result<GeneratedJob> JobGenerator::job_of(JobClass job_class, std::size_t number) const {
  const std::string_view name = job_class_name(job_class);
  Rng rng = Rng(seed_).stream(fmt::format("generated {} job", name), number);
  for (int i = 0; i < kDrawsMax; ++i) {
    GeneratedJob job = draw(*gpu_, rng);
    if (job.traits.job_class == job_class) {
      job.name = fmt::format("{}-{}", name, number);
      return job;
    }
  }
  return invalid(fmt::format(
      "none of {} jobs drawn for {} is of class {}; classes need 1g, 3g, 4g and the whole GPU as "
      "an instance",
      kDrawsMax,
      gpu_->key(),
      name));
}

Result<std::vector<GeneratedJob>> JobGenerator::pool(std::size_t count,
                                                     std::optional<JobClass> job_class) const {
  std::vector<GeneratedJob> out;
  out.reserve(count);
  for (std::size_t number = 0; number < count; ++number) {
    if (!job_class.has_value()) {
      out.push_back(job(number));
      continue;
    }
    SEPTULE_TRY(GeneratedJob next, job_of(*job_class, number));
    out.push_back(std::move(next));
  }
  return out;
}

PoolPart pool_part(std::size_t number) {
  constexpr std::array<PoolPart, 5> kParts = {
      PoolPart::kTrain, PoolPart::kTrain, PoolPart::kTrain, PoolPart::kValidation, PoolPart::kTest};
  return kParts[number % kParts.size()];
}

std::string_view pool_part_name(PoolPart part) {
  constexpr std::array<std::string_view, 3> kNames = {"train", "validation", "test"};
  return kNames[static_cast<std::size_t>(part)];
}

Result<std::vector<std::size_t>> draw_window(std::span<const GeneratedJob> pool,
                                             const WindowDraw& draw,
                                             Rng& rng) {
  std::vector<std::size_t> left;  // in the order drawn
  for (std::size_t number = 0; number < pool.size(); ++number) {
    if (pool_part(number) == draw.part) {
      left.push_back(number);
    }
  }
  rng.shuffle(std::span(left));
  std::vector<std::size_t> out;
  const auto take = [&](std::size_t count, std::optional<JobClass> wanted) -> Status {
    for (std::size_t i = 0; i < count; ++i) {
      const auto found = std::ranges::find_if(left, [&](std::size_t number) {
        return !wanted.has_value() || pool[number].traits.job_class == *wanted;
      });
      if (found == left.end()) {
        return invalid(fmt::format("the {} part of a pool of {} has {} jobs{}{}, {} are wanted",
                                   pool_part_name(draw.part),
                                   pool.size(),
                                   wanted.has_value() ? i : out.size(),
                                   wanted.has_value() ? " of class " : "",
                                   wanted.has_value() ? job_class_name(*wanted) : "",
                                   wanted.has_value() ? count : draw.size));
      }
      out.push_back(*found);
      left.erase(found);
    }
    return {};
  };
  for (std::size_t i = 0; i < draw.of_class.size(); ++i) {
    SEPTULE_TRY_STATUS(take(draw.of_class[i], static_cast<JobClass>(i)));
  }
  if (out.size() > draw.size) {
    return invalid(
        fmt::format("{} jobs are of stated classes, the window has {}", out.size(), draw.size));
  }
  SEPTULE_TRY_STATUS(take(draw.size - out.size(), std::nullopt));
  return out;
}

}  // namespace septule::predict
