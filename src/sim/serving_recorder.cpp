#include "sim/serving_recorder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

namespace septule::sim {
namespace {

constexpr std::int64_t kViolationsMax = 100;
/// Of sums of requests, which are not all whole numbers.
constexpr double kTolerance = 1e-6;

bool is_above(double value, double limit) {
  return value > limit + kTolerance * std::max(1.0, std::abs(limit));
}

std::string label_of(const ServingSimSetup& setup, const LiveInstance& instance) {
  std::string text;
  for (const ServingMember& member : instance.members) {
    const auto& name = setup.tenants[static_cast<std::size_t>(member.as.tenant)].tenant.name;
    text += text.empty() ? "" : " + ";
    text += name;
    text += member.as.role == serve::Role::kRetrain ? " retrains" : "";
    if (instance.members.size() > 1) {
      text += fmt::format(" {} %", member.as.share.value());
    }
  }
  return text;
}

bool is_same_use(const job::ServingSpan::Use& a, const job::ServingSpan::Use& b) {
  return a.start == b.start && a.size == b.size && a.label == b.label && a.tenant == b.tenant &&
         a.is_warming_up == b.is_warming_up;
}

}  // namespace

ServingRecorder::ServingRecorder(const ServingSimSetup& setup, const serve::ServingPolicy& policy)
    : setup_(&setup), balances_(setup.tenants.size()) {
  record_.policy = policy.name();
  record_.mode = setup.options.mode == ServingMode::kFluid ? "fluid" : "request";
  record_.seed = setup.options.seed;
  record_.gpu_count = setup.gpu_count;
  record_.span = setup.options.length;
  const auto seconds = static_cast<std::int64_t>(setup.options.length.to_seconds());
  const auto points = static_cast<std::int64_t>(setup.options.series_points_max);
  stretch_ = std::max<std::int64_t>(1, (seconds + points - 1) / points);
  for (const serve::AdmittedTenant& tenant : setup.tenants) {
    record_.tenants.push_back({.name = tenant.tenant.name, .weight = tenant.tenant.weight});
    record_.tenants.back().series.reserve(static_cast<std::size_t>(seconds / stretch_) + 1);
  }
}

void ServingRecorder::add_violation(SimTime now, const std::string& text) {
  if (++violations_ <= kViolationsMax) {
    record_.violations.push_back(fmt::format("{} s: {}", now.to_seconds(), text));
  }
}

void ServingRecorder::add_moves(SimTime now, std::span<const ServingMove> moves) {
  for (const ServingMove& move : moves) {
    digest_.add(static_cast<std::uint64_t>(now.to_nanoseconds()));
    digest_.add(static_cast<std::uint64_t>(move.tenant));
    digest_.add(static_cast<std::uint64_t>(move.ready.to_nanoseconds()));
  }
}

void ServingRecorder::check_second(SimTime now, std::size_t tenant, const TenantSecond& second) {
  Balance& balance = balances_[tenant];
  balance.arrived += second.arrived;
  balance.in_slo += second.in_slo;
  balance.missed += second.missed;
  const auto& name = record_.tenants[tenant].name;
  const double left = balance.arrived - balance.in_slo - balance.missed;
  if (is_above(std::abs(left - second.waiting), 0) &&
      is_above(std::abs(left - second.waiting), kTolerance * balance.arrived)) {
    add_violation(now,
                  fmt::format("of {}'s requests {} are neither answered nor lost, but {} wait",
                              name,
                              left,
                              second.waiting));
  }
  if (setup_->options.mode == ServingMode::kFluid && is_above(second.in_slo, second.capacity)) {
    add_violation(now,
                  fmt::format("{} answers {} requests, its instances can do {}",
                              name,
                              second.in_slo,
                              second.capacity));
  }
  if (second.in_slo < 0 || second.missed < 0 || second.arrived < 0) {
    add_violation(now, fmt::format("{} has fewer than no requests", name));
  }
}

void ServingRecorder::add_second(SimTime now,
                                 std::span<const TenantSecond> seconds,
                                 std::span<const double> accuracy,
                                 std::span<const double> expected_rps) {
  const auto index = static_cast<std::int64_t>(now.to_seconds());
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const TenantSecond& second = seconds[i];
    check_second(now, i, second);
    job::ServingTenantRecord& tenant = record_.tenants[i];
    const double goodput = second.in_slo * accuracy[i];
    tenant.arrived += second.arrived;
    tenant.in_slo += second.in_slo;
    tenant.goodput += goodput;
    if (index % stretch_ == 0) {
      tenant.series.push_back({.begin = now});
    }
    job::ServingPoint& point = tenant.series.back();
    point.arrived += second.arrived;
    point.in_slo += second.in_slo;
    point.capacity += second.capacity;
    point.goodput += goodput;
    if (i < expected_rps.size()) {
      point.forecast_rps += expected_rps[i] / static_cast<double>(stretch_);
    }
    digest_.add(std::bit_cast<std::uint64_t>(second.arrived));
    digest_.add(std::bit_cast<std::uint64_t>(goodput));
  }
  record_.gpu_seconds_used += gpus_used_;
}

std::vector<job::ServingSpan::Use> ServingRecorder::uses_of(std::span<const LiveInstance> instances,
                                                            SimTime now) const {
  std::vector<job::ServingSpan::Use> uses;
  for (const LiveInstance& instance : instances) {
    job::ServingSpan::Use use;
    if (instance.placed) {
      const auto place = gpu::placement_of(setup_->lattice->geometry(), *instance.placed);
      use.start = place.start.value();
      use.size = place.size.value();
    }
    use.label = label_of(*setup_, instance);
    use.tenant = instance.members.empty() ? -1 : instance.members.front().as.tenant;
    for (const ServingMember& member : instance.members) {
      use.is_warming_up = use.is_warming_up || member.ready > now;
    }
    uses.push_back(std::move(use));
  }
  std::stable_sort(
      uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  return uses;
}

void ServingRecorder::add_instances(SimTime now, const ServingFleet& fleet) {
  if (fleet.generation() == generation_) {
    return;
  }
  generation_ = fleet.generation();
  const std::span<const LiveInstance> all = fleet.instances();
  gpus_used_ = 0;
  std::size_t next = 0;
  for (int gpu = 0; gpu < setup_->gpu_count; ++gpu) {
    const std::size_t first = next;
    bool is_used = false;
    while (next < all.size() && all[next].gpu == gpu) {
      is_used = is_used || !all[next].members.empty();
      ++next;
    }
    gpus_used_ += is_used ? 1 : 0;
    if (setup_->options.timeline == ServingTimeline::kOff) {
      continue;
    }
    auto uses = uses_of(all.subspan(first, next - first), now);
    const auto g = static_cast<std::size_t>(gpu);
    if (open_.size() <= g) {
      open_.push_back({.gpu = gpu, .begin = now, .end = now, .uses = std::move(uses)});
      continue;
    }
    if (std::equal(
            uses.begin(), uses.end(), open_[g].uses.begin(), open_[g].uses.end(), is_same_use)) {
      continue;
    }
    open_[g].end = now;
    if (open_[g].begin < now) {
      record_.timeline.push_back(std::move(open_[g]));
    }
    open_[g] = {.gpu = gpu, .begin = now, .end = now, .uses = std::move(uses)};
  }
}

void ServingRecorder::close_spans(SimTime end) {
  for (job::ServingSpan& span : open_) {
    span.end = end;
    if (span.begin < end) {
      record_.timeline.push_back(std::move(span));
    }
  }
  open_.clear();
  std::stable_sort(
      record_.timeline.begin(), record_.timeline.end(), [](const auto& a, const auto& b) {
        return a.gpu != b.gpu ? a.gpu < b.gpu : a.begin < b.begin;
      });
}

job::ServingRecord ServingRecorder::finish(const ServingAnswers& answers,
                                           std::span<const TenantRetraining> retraining) {
  close_spans(SimTime() + setup_->options.length);
  for (std::size_t i = 0; i < record_.tenants.size(); ++i) {
    job::ServingTenantRecord& tenant = record_.tenants[i];
    tenant.p50_ms = answers.latency_ms(i, 0.5);
    tenant.p99_ms = answers.latency_ms(i, 0.99);
    tenant.retrainings_done = retraining[i].done();
    tenant.retrainings_missed = retraining[i].missed();
    tenant.retraining = retraining[i].stretches();
    record_.weighted_goodput += tenant.weight * tenant.goodput;
    digest_.add(static_cast<std::uint64_t>(tenant.retrainings_done));
  }
  if (violations_ > kViolationsMax) {
    record_.violations.push_back(fmt::format("and {} more", violations_ - kViolationsMax));
  }
  record_.digest = digest_.value();
  return std::move(record_);
}

}  // namespace septule::sim
