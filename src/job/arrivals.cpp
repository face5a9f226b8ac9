#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "job/job_data.hpp"
#include "job/workload.hpp"

namespace septule::job {

namespace {

constexpr std::array<std::pair<ArrivalKind, std::string_view>, 6> kArrivalNames{{
    {ArrivalKind::kPoisson, "poisson"},
    {ArrivalKind::kNearPeriodic, "near-periodic"},
    {ArrivalKind::kBursty, "bursty"},
    {ArrivalKind::kBatch, "batch"},
    {ArrivalKind::kTrace, "trace"},
    {ArrivalKind::kArtifact, "artifact"},
}};

/// All arrivals within 31 years, so that times stay far from the end of int64.
constexpr double kSpanSecondsMax = 1e9;
/// Rng::poisson ends there.
constexpr double kNearPeriodicGapMax = 500;
constexpr double kBurstinessMax = 10000;

Error invalid(std::string message) {
  return {.code = ErrorCode::kInvalidInput, .message = std::move(message)};
}

/// A gap of the two-phase hyperexponential distribution with balanced means: phase one with chance
/// p and mean m / 2p, else phase two with mean m / 2(1 - p); p from the squared coefficient of
/// variation c: p = (1 + sqrt((c - 1) / (c + 1))) / 2.
double bursty_gap(Rng& rng, double mean, double burstiness) {
  const double p = (1 + std::sqrt((burstiness - 1) / (burstiness + 1))) / 2;
  const double share = rng.uniform() < p ? p : 1 - p;
  return rng.exponential(mean / (2 * share));
}

double drawn_gap(Rng& rng, const ArrivalOptions& options, double mean) {
  switch (options.kind) {
    case ArrivalKind::kPoisson:
      return rng.exponential(mean);
    case ArrivalKind::kNearPeriodic:
      return static_cast<double>(rng.poisson(mean));
    case ArrivalKind::kBursty:
      return bursty_gap(rng, mean, options.burstiness);
    case ArrivalKind::kBatch:
    case ArrivalKind::kTrace:
    case ArrivalKind::kArtifact:
      break;
  }
  check_failed("options.kind", "gaps are drawn for kinds with gaps", __FILE__, __LINE__);
}

Status check_options(int count, const ArrivalOptions& options) {
  const double gap = options.gap.to_seconds();
  if (count < 1) {
    return invalid(fmt::format("arrivals of {} jobs; expected at least one", count));
  }
  if (!(gap > 0) || gap * count > kSpanSecondsMax) {
    return invalid(
        fmt::format("a mean gap of {} s for {} jobs; expected more than 0 s and at most {} s in "
                    "all",
                    gap,
                    count,
                    kSpanSecondsMax));
  }
  if (options.kind == ArrivalKind::kNearPeriodic && gap > kNearPeriodicGapMax) {
    return invalid(fmt::format(
        "a mean gap of {} s; near-periodic arrivals take at most {} s", gap, kNearPeriodicGapMax));
  }
  if (options.kind == ArrivalKind::kBursty &&
      !(options.burstiness > 1 && options.burstiness <= kBurstinessMax)) {
    return invalid(fmt::format("a burstiness of {}; expected more than 1 and at most {}",
                               options.burstiness,
                               kBurstinessMax));
  }
  return {};
}

/// "17:29": the job's number and the gap before it.
Arrival parse_pair(std::string_view pair, SimTime before) {
  const std::size_t colon = pair.find(':');
  SEPTULE_CHECK(colon != std::string_view::npos, "a built-in arrival is job:gap");
  const std::int64_t job =
      checked_value(parse_integer(pair.substr(0, colon)), "a built-in arrival has a job");
  const std::int64_t gap =
      checked_value(parse_integer(pair.substr(colon + 1)), "a built-in arrival has a gap");
  return {.job = static_cast<int>(job),
          .submit = before + seconds_to_duration(static_cast<double>(gap))};
}

std::vector<Arrival> parse_pairs(std::string_view pairs) {
  std::vector<Arrival> arrivals;
  SimTime now;
  while (!pairs.empty()) {
    const std::size_t blank = pairs.find(' ');
    arrivals.push_back(parse_pair(pairs.substr(0, blank), now));
    now = arrivals.back().submit;
    pairs = blank == std::string_view::npos ? std::string_view() : pairs.substr(blank + 1);
  }
  return arrivals;
}

}  // namespace

bool has_gaps(ArrivalKind kind) {
  return kind != ArrivalKind::kTrace && kind != ArrivalKind::kArtifact &&
         kind != ArrivalKind::kBatch;
}

std::string_view arrival_kind_name(ArrivalKind kind) {
  for (const auto& [known, name] : kArrivalNames) {
    if (known == kind) {
      return name;
    }
  }
  check_failed("kind", "an arrival kind has a name", __FILE__, __LINE__);
}

std::optional<ArrivalKind> parse_arrival_kind(std::string_view text) {
  for (const auto& [kind, name] : kArrivalNames) {
    if (name == text) {
      return kind;
    }
  }
  return std::nullopt;
}

namespace {

Result<std::vector<Arrival>> draw_batch(std::span<const int> order, int wanted) {
  const auto count = static_cast<int>(order.size());
  if (wanted < 0 || wanted > count) {
    return invalid(fmt::format(
        "a batch of {} jobs; expected 1 to {}, as many as there are, or 0 for all", wanted, count));
  }
  std::vector<Arrival> arrivals;
  for (const int job : order.first(static_cast<std::size_t>(wanted == 0 ? count : wanted))) {
    arrivals.push_back({.job = job, .submit = SimTime()});
  }
  return arrivals;
}

}  // namespace

Result<std::vector<Arrival>> draw_arrivals(int count,
                                           const ArrivalOptions& options,
                                           std::uint64_t seed) {
  SEPTULE_CHECK(options.kind != ArrivalKind::kTrace, "a trace brings its own submit times");
  if (options.kind == ArrivalKind::kArtifact) {
    return artifact_arrivals(count, seed);
  }
  const bool is_batch = options.kind == ArrivalKind::kBatch;
  if (!is_batch || count < 1) {
    SEPTULE_TRY_STATUS(check_options(count, options));
  }
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  Rng(seed).stream("order").shuffle(std::span<int>(order));
  if (is_batch) {
    return draw_batch(order, options.batch_jobs);
  }
  Rng gaps = Rng(seed).stream("gaps");
  const int fast = options.is_rate_constant ? 0 : count / 3 + 1;
  const double mean = options.gap.to_seconds();
  std::vector<Arrival> arrivals;
  arrivals.reserve(order.size());
  SimTime now;
  for (int k = 0; k < count; ++k) {
    now = now + seconds_to_duration(drawn_gap(gaps, options, k < fast ? mean / 2 : mean));
    arrivals.push_back({.job = order[static_cast<std::size_t>(k)], .submit = now});
  }
  return arrivals;
}

Result<std::vector<Arrival>> artifact_arrivals(int count, std::uint64_t seed) {
  const PlainTable table = job_data_table("miso_arrivals.csv", "septule-arrivals/1");
  for (const PlainRow& row : table.rows()) {
    if (parse_integer(row.cells[0]) == count && row.cells[1] == fmt::format("{}", seed)) {
      std::vector<Arrival> arrivals = parse_pairs(row.cells[3]);
      SEPTULE_CHECK(arrivals.size() == static_cast<std::size_t>(count),
                    "a row of the built-in arrivals holds as many as it says");
      return arrivals;
    }
  }
  return invalid(
      fmt::format("no published arrivals of {} jobs with seed {}; there are those of 100 jobs with "
                  "seeds 1 to 20 and of 1000 jobs with seeds 1 to 3",
                  count,
                  seed));
}

}  // namespace septule::job
