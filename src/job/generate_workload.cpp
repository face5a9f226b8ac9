#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/portable_math.hpp"
#include "job/job_data.hpp"
#include "job/workload.hpp"

namespace septule::job {

namespace {

constexpr std::string_view kDurationCurve = "helios_duration_s";
constexpr int kJobsMax = 1000000;
constexpr int kUsersMax = 1000000;
constexpr int kGangSizes[] = {2, 4, 8};

/// Probability that a duration is at most `seconds`: linear in the logarithm between points.
double helios_probability(double seconds) {
  const Curve& known = curve(kDurationCurve);
  const auto upper = std::upper_bound(known.values.begin(), known.values.end(), seconds);
  const auto index = static_cast<std::size_t>(upper - known.values.begin());
  if (index == 0) {
    return 0;
  }
  if (upper == known.values.end()) {
    return 1;
  }
  const double part = portable_log(seconds / known.values[index - 1]) /
                      portable_log(known.values[index] / known.values[index - 1]);
  return known.fractions[index - 1] + (known.fractions[index] - known.fractions[index - 1]) * part;
}

/// The inverse, linear in the logarithm; the smallest published value below the first point.
double helios_seconds(double fraction) {
  const Curve& known = curve(kDurationCurve);
  const auto upper = std::lower_bound(known.fractions.begin(), known.fractions.end(), fraction);
  const auto index = static_cast<std::size_t>(upper - known.fractions.begin());
  if (index == 0) {
    return known.values.front();
  }
  if (upper == known.fractions.end()) {
    return known.values.back();
  }
  const double part = (fraction - known.fractions[index - 1]) /
                      (known.fractions[index] - known.fractions[index - 1]);
  return known.values[index - 1] *
         portable_exp(part * portable_log(known.values[index] / known.values[index - 1]));
}

Error invalid(std::string message) {
  return {.code = ErrorCode::kInvalidInput, .message = std::move(message)};
}

Status check_options(const GenerateOptions& options) {
  if (options.jobs < 1 || options.jobs > kJobsMax) {
    return invalid(fmt::format("a workload of {} jobs; expected 1 to {}", options.jobs, kJobsMax));
  }
  if (options.duration_max < Duration::milliseconds(1000)) {
    return invalid(fmt::format("a longest duration of {} s; expected at least 1 s",
                               options.duration_max.to_seconds()));
  }
  if (!(options.gang_share >= 0 && options.gang_share <= 1)) {
    return invalid(fmt::format("a share of gangs of {}; expected 0 to 1", options.gang_share));
  }
  if (options.users < 1 || options.users > kUsersMax) {
    return invalid(fmt::format("{} users; expected 1 to {}", options.users, kUsersMax));
  }
  if (options.arrivals.kind == ArrivalKind::kTrace) {
    return invalid(
        "a generated workload has no trace times; expected poisson, near-periodic, "
        "bursty or artifact arrivals");
  }
  return {};
}

}  // namespace

Duration helios_duration(double u, Duration duration_max) {
  SEPTULE_CHECK(u >= 0 && u < 1, "a uniform draw lies in [0, 1)");
  SEPTULE_CHECK(duration_max > Duration(), "the longest duration is positive");
  const double share = helios_probability(duration_max.to_seconds());
  return std::min(seconds_to_duration(helios_seconds(u * share)), duration_max);
}

Result<Workload> generate_workload(const GenerateOptions& options) {
  SEPTULE_TRY_STATUS(check_options(options));
  SEPTULE_TRY(const std::vector<Arrival> arrivals,
              draw_arrivals(options.jobs, options.arrivals, options.seed));
  const Rng rng(options.seed);
  Rng durations = rng.stream("durations");
  Rng models = rng.stream("models");
  Rng gangs = rng.stream("gangs");
  Rng users = rng.stream("users");
  Workload base{.name = fmt::format("generated-{}-seed-{}", options.jobs, options.seed),
                .signatures = builtin_signatures(),
                .jobs = {}};
  for (int i = 0; i < options.jobs; ++i) {
    JobSpec job;
    job.id = JobId(i);
    job.name = fmt::format("job-{}", i);
    job.work = helios_duration(durations.uniform(), options.duration_max);
    job.signature = SignatureIndex(static_cast<int>(models.below(base.signatures.size())));
    // Always two draws, so that the share of gangs changes no gang's size.
    const double gang_draw = gangs.uniform();
    const std::uint64_t size_draw = gangs.below(std::size(kGangSizes));
    job.gpus = gang_draw < options.gang_share ? kGangSizes[size_draw] : 1;
    job.user = UserId(static_cast<int>(users.below(static_cast<std::uint64_t>(options.users))));
    base.jobs.push_back(std::move(job));
  }
  return with_arrivals(base, arrivals);
}

}  // namespace septule::job
