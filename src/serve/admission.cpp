#include "serve/admission.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"

namespace septule::serve {

namespace {

constexpr double kParvaGpuMargin = 0.45;
constexpr int kParvaGpuProcesses = 5;

std::string milliseconds_text(Duration length) {
  return fmt::format("{:.6g} ms", length.to_seconds() * 1e3);
}

std::string row_text(const ProfileRow& row) {
  const std::string processes =
      row.processes == 1 ? "" : fmt::format(", {} processes", row.processes);
  return fmt::format("{}g, batch {}{}", row.slices.value(), row.batch, processes);
}

std::string sizes_text(std::span<const InstanceSize> sizes) {
  std::vector<std::string> names;
  for (const InstanceSize& size : sizes) {
    std::string name = fmt::format("{}g", size.slices.value());
    if (names.empty() || names.back() != name) {
      names.push_back(std::move(name));
    }
  }
  return joined_with_and(names);
}

/// What kept a row out, in the order of the checks: the last one reached says most about what the
/// tenant lacks.
enum class RowFault { kNoSize, kProcesses, kSuspect, kMemory, kLatency, kBatch, kNone };

/// Judges the rows of one tenant.
class TenantAdmission {
 public:
  TenantAdmission(const Tenant& tenant, const LayoutLattice& lattice, const AdmissionRule& rule)
      : tenant_(tenant), lattice_(lattice), rule_(rule), slo_(tenant.slo) {
    if (rule.is_slo_truncated_to_ms) {
      constexpr std::int64_t kNanoseconds = 1000000;
      slo_ = Duration::milliseconds(tenant.slo.to_nanoseconds() / kNanoseconds);
    }
    limit_ = scaled(slo_, rule.margin);
  }

  std::optional<Rejection> judge(AdmittedTenant& out) {
    if (std::optional<Rejection> rejection = unfit_tenant()) {
      return rejection;
    }
    peak_rps_ = tenant_.rate.peak();
    const std::span<const InstanceSize> sizes = lattice_.sizes();
    bool is_served = false;
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      out.serving[s] = best_point(sizes[s]);
      is_served = is_served || out.serving[s].has_value();
    }
    if (!is_served) {
      return no_point();
    }
    return judge_retraining(out);
  }

 private:
  Rejection rejection(std::string reason, std::string needed) const {
    return {tenant_.name, std::move(reason), std::move(needed)};
  }

  std::optional<Rejection> unfit_tenant() const {
    if (tenant_.profile.rows.empty()) {
      return rejection(
          fmt::format("there is no profile of model {}", quoted_for_message(tenant_.profile.model)),
          "rows of that model in the profile file, or another model name");
    }
    if (tenant_.slo <= Duration()) {
      return rejection(fmt::format("its SLO is {}", milliseconds_text(tenant_.slo)),
                       "an SLO above 0 ms");
    }
    const std::vector<double>& rates = tenant_.rate.values;
    if (rates.empty() || tenant_.rate.step <= Duration()) {
      return rejection("it has no request rate", "a rate above 0 rps or a trace");
    }
    for (std::size_t i = 0; i < rates.size(); ++i) {
      if (!std::isfinite(rates[i]) || rates[i] < 0) {
        return rejection(fmt::format("its request rate is {} rps in step {}", rates[i], i),
                         "finite rates of 0 rps or more");
      }
    }
    if (tenant_.rate.peak() <= 0) {
      return rejection(rates.size() == 1 ? "its request rate is 0 rps"
                                         : "its request rate is 0 rps in every step",
                       "a rate above 0 rps in one step at least, or to leave the tenant out");
    }
    return std::nullopt;
  }

  bool is_fast_enough(Duration latency) const {
    return rule_.comparison == SloComparison::kStrictlyBelow ? latency < limit_ : latency <= limit_;
  }

  /// The instance's share of the planned load: the tenant's peak spread evenly over the fewest
  /// instances of this row that carry it.
  double planned_rps(const ProfileRow& row) const {
    return peak_rps_ / std::max(1.0, std::ceil(peak_rps_ / row.throughput_rps));
  }

  /// (batch - 1) / rate per instance <= SLO - 2 latency.
  bool is_batch_in_time(const ProfileRow& row) const {
    const double left_s = slo_.to_seconds() - 2 * row.latency.to_seconds();
    return static_cast<double>(row.batch - 1) <= left_s * planned_rps(row);
  }

  RowFault fault_of(const ProfileRow& row, const InstanceSize& size) const {
    if (row.slices != size.slices) {
      return RowFault::kNoSize;
    }
    if (row.processes > rule_.processes_max) {
      return RowFault::kProcesses;
    }
    if (row.is_suspect && rule_.suspect == SuspectRows::kDropped) {
      return RowFault::kSuspect;
    }
    if (row.memory.has_value() && size.memory.has_value() && *row.memory > *size.memory) {
      return RowFault::kMemory;
    }
    if (!is_fast_enough(row.latency)) {
      return RowFault::kLatency;
    }
    if (rule_.batch_forming == BatchForming::kChecked && !is_batch_in_time(row)) {
      return RowFault::kBatch;
    }
    return RowFault::kNone;
  }

  std::optional<OperatingPoint> best_point(const InstanceSize& size) const {
    const ProfileRow* best = nullptr;
    const auto key = [](const ProfileRow& row) {
      return std::tuple(-row.throughput_rps, row.batch, row.processes, row.share);
    };
    for (const ProfileRow& row : tenant_.profile.rows) {
      if (fault_of(row, size) == RowFault::kNone && (best == nullptr || key(row) < key(*best))) {
        best = &row;
      }
    }
    if (best == nullptr) {
      return std::nullopt;
    }
    return OperatingPoint{.batch = best->batch,
                          .processes = best->processes,
                          .share = best->share,
                          .throughput_rps = best->throughput_rps,
                          .latency = best->latency,
                          .memory = best->memory};
  }

  /// Why no row of any size is admissible: the fault of the rows that came furthest.
  Rejection no_point() const {
    RowFault furthest = RowFault::kNoSize;
    std::vector<const ProfileRow*> rows;
    for (const InstanceSize& size : lattice_.sizes()) {
      for (const ProfileRow& row : tenant_.profile.rows) {
        const RowFault fault = fault_of(row, size);
        if (fault > furthest) {
          furthest = fault;
          rows.clear();
        }
        if (fault == furthest) {
          rows.push_back(&row);
        }
      }
    }
    switch (furthest) {
      case RowFault::kProcesses:
        return rejection(
            fmt::format("every row of its profile has more than {} processes", rule_.processes_max),
            "rows with fewer processes, or MPS allowed");
      case RowFault::kSuspect:
        return rejection("every row of its profile is marked suspect",
                         "rows that are not, or suspect rows kept");
      case RowFault::kMemory:
        return too_large(rows);
      case RowFault::kLatency:
        return too_slow(rows);
      case RowFault::kBatch:
        return too_few_requests(rows);
      case RowFault::kNoSize:
      case RowFault::kNone:
        break;
    }
    return rejection(
        fmt::format("its profile of model {} has no row for an instance of {}",
                    quoted_for_message(tenant_.profile.model),
                    lattice_.geometry().key()),
        fmt::format("rows for {} of {}", sizes_text(lattice_.sizes()), lattice_.geometry().key()));
  }

  Rejection too_large(std::span<const ProfileRow* const> rows) const {
    const ProfileRow& least = **std::ranges::min_element(
        rows, {}, [](const ProfileRow* row) { return row->memory.value_or(Bytes()); });
    return rejection(fmt::format("its model fits no instance of {}", lattice_.geometry().key()),
                     fmt::format("{:.4g} GiB of memory ({})",
                                 least.memory.value_or(Bytes()).to_gibibytes(),
                                 row_text(least)));
  }

  Rejection too_slow(std::span<const ProfileRow* const> rows) const {
    const ProfileRow& least = **std::ranges::min_element(rows, {}, &ProfileRow::latency);
    // Rounded up, so that the SLO named is enough.
    constexpr double kMicrosecondsPerSecond = 1e6;
    const double microseconds =
        std::ceil(least.latency.to_seconds() / rule_.margin * kMicrosecondsPerSecond);
    const std::string_view word =
        rule_.comparison == SloComparison::kStrictlyBelow ? "above" : "of at least";
    return rejection(
        fmt::format("its SLO of {} is too short: latency may be {} {:.4g} of it, and the fastest "
                    "row takes {} ({})",
                    milliseconds_text(tenant_.slo),
                    rule_.comparison == SloComparison::kStrictlyBelow ? "below" : "at most",
                    rule_.margin,
                    milliseconds_text(least.latency),
                    row_text(least)),
        fmt::format("an SLO {} {:.7g} ms", word, microseconds * 1e-3));
  }

  Rejection too_few_requests(std::span<const ProfileRow* const> rows) const {
    const ProfileRow& least = **std::ranges::min_element(
        rows, {}, [](const ProfileRow* row) { return std::tuple(row->batch, row->latency); });
    const double left_s = slo_.to_seconds() - 2 * least.latency.to_seconds();
    std::string needed = "rows with smaller batches, or a longer SLO";
    if (left_s > 0) {
      needed += fmt::format(", or {:.4g} rps", std::ceil((least.batch - 1) / left_s * 10) / 10);
    }
    return rejection(
        fmt::format("at {:.6g} rps no batch of its profile fills in time for its SLO of {} (the "
                    "smallest that is fast enough: {})",
                    peak_rps_,
                    milliseconds_text(tenant_.slo),
                    row_text(least)),
        std::move(needed));
  }

  std::optional<Rejection> judge_retraining(AdmittedTenant& out) const {
    if (!tenant_.retraining.has_value()) {
      return std::nullopt;
    }
    const RetrainingJob& job = *tenant_.retraining;
    const std::span<const InstanceSize> sizes = lattice_.sizes();
    std::size_t best = 0;
    std::optional<Bytes> largest;
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      const std::optional<Bytes> memory = sizes[s].memory;
      largest = std::max(largest, memory);
      if (job.memory.has_value() && memory.has_value() && *job.memory > *memory) {
        continue;
      }
      out.retraining_speed[s] =
          retraining_speed(job, sizes[s].slices, lattice_.geometry().compute_slices());
      best = out.retraining_speed[s] > out.retraining_speed[best] ? s : best;
    }
    const double speed = out.retraining_speed[best];
    if (speed <= 0) {
      return rejection(
          fmt::format("its retraining fits no instance of {}, whose largest has {:.4g} GiB",
                      lattice_.geometry().key(),
                      largest.value_or(Bytes()).to_gibibytes()),
          fmt::format("{:.4g} GiB of memory", job.memory.value_or(Bytes()).to_gibibytes()));
    }
    const std::optional<Duration> end = job.deadline.has_value() ? job.deadline : job.period;
    if (!end.has_value()) {
      return std::nullopt;
    }
    const double window_s = (*end - job.release).to_seconds();
    const double needed_s = job.work_s / speed;
    if (needed_s <= window_s) {
      return std::nullopt;
    }
    return rejection(
        fmt::format("its retraining cannot finish: {:.6g} s of work take {:.6g} s on {}g, and from "
                    "release to {} there are {:.6g} s",
                    job.work_s,
                    needed_s,
                    sizes[best].slices.value(),
                    job.deadline.has_value() ? "deadline" : "the end of the period",
                    window_s),
        window_s > 0
            ? fmt::format(
                  "{:.6g} s between them, or {:.6g} s of work at most", needed_s, window_s * speed)
            : fmt::format("{:.6g} s between them", needed_s));
  }

  const Tenant& tenant_;
  const LayoutLattice& lattice_;
  const AdmissionRule& rule_;
  Duration slo_;
  Duration limit_;
  double peak_rps_ = 0;
};

}  // namespace

AdmissionRule parvagpu_rule(double margin) {
  static_assert(AdmissionRule{}.margin == kParvaGpuMargin);
  AdmissionRule rule;
  rule.margin = margin;
  rule.comparison = SloComparison::kStrictlyBelow;
  rule.batch_forming = BatchForming::kIgnored;
  rule.suspect = SuspectRows::kDropped;
  rule.processes_max = kParvaGpuProcesses;
  return rule;
}

double AdmittedTenant::throughput_rps(int size) const {
  SEPTULE_CHECK(size >= 0 && static_cast<std::size_t>(size) < serving.size(), "a size exists");
  const std::optional<OperatingPoint>& point = serving[static_cast<std::size_t>(size)];
  return point.has_value() ? point->throughput_rps : 0;
}

AdmissionOutcome admit(std::span<const Tenant> tenants,
                       const LayoutLattice& lattice,
                       const AdmissionRule& rule) {
  SEPTULE_CHECK(rule.margin > 0 && rule.margin <= 1, "the margin is a share of the SLO");
  AdmissionOutcome outcome;
  for (const Tenant& tenant : tenants) {
    AdmittedTenant admitted;
    if (std::optional<Rejection> rejection =
            TenantAdmission(tenant, lattice, rule).judge(admitted)) {
      outcome.rejected.push_back(*std::move(rejection));
      continue;
    }
    admitted.tenant = tenant;
    outcome.admitted.push_back(std::move(admitted));
  }
  return outcome;
}

Result<std::vector<AdmittedTenant>> admit_all(std::span<const Tenant> tenants,
                                              const LayoutLattice& lattice,
                                              const AdmissionRule& rule) {
  AdmissionOutcome outcome = admit(tenants, lattice, rule);
  if (outcome.rejected.empty()) {
    return std::move(outcome.admitted);
  }
  constexpr std::size_t kNamedMax = 8;
  std::vector<std::string> others;
  for (std::size_t i = 1; i < outcome.rejected.size(); ++i) {
    if (others.size() == kNamedMax) {
      others.push_back(fmt::format("{} more", outcome.rejected.size() - i));
      break;
    }
    others.push_back(quoted_for_message(outcome.rejected[i].tenant));
  }
  const Rejection& first = outcome.rejected.front();
  return Error{
      ErrorCode::kInvalidInput,
      fmt::format(
          "tenant {}: {}; it needs {}{}",
          quoted_for_message(first.tenant),
          first.reason,
          first.needed,
          others.empty() ? "" : fmt::format(" (not served either: {})", joined_with_and(others)))};
}

}  // namespace septule::serve
