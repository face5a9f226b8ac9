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
constexpr std::uint64_t kPhaseSteps = 10000;  ///< phases begin at whole 1/10000 of the work
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
  for (const auto& [share, of] : {std::pair{options.gang_share, "gangs"},
                                  std::pair{options.phase_share, "jobs with a phase"},
                                  std::pair{options.priority_share, "jobs of priority 1"}}) {
    if (!(share >= 0 && share <= 1)) {
      return invalid(fmt::format("a share of {} of {}; expected 0 to 1", of, share));
    }
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

/// The change of signature of a job, if it has one. Always three draws, so that the share of
/// changes changes no change.
std::vector<JobPhase> draw_phases(Rng& rng,
                                  double phase_share,
                                  SignatureIndex first,
                                  std::size_t signatures) {
  const bool is_drawn = rng.uniform() < phase_share;
  const std::uint64_t step = 1 + rng.below(kPhaseSteps - 1);
  const auto others = static_cast<std::uint64_t>(signatures) - 1;
  const std::uint64_t ahead = 1 + rng.below(std::max<std::uint64_t>(others, 1));
  if (!is_drawn || others == 0) {
    return {};
  }
  const auto other = (static_cast<std::uint64_t>(first.value()) + ahead) % (others + 1);
  return {{.begins_at = static_cast<double>(step) / static_cast<double>(kPhaseSteps),
           .signature = SignatureIndex(static_cast<int>(other))}};
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
  Rng phases = rng.stream("phases");
  Rng priorities = rng.stream("priorities");
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
    job.phases = draw_phases(phases, options.phase_share, job.signature, base.signatures.size());
    job.priority = priorities.uniform() < options.priority_share ? 1 : 0;
    base.jobs.push_back(std::move(job));
  }
  return with_arrivals(base, arrivals);
}

}  // namespace septule::job
