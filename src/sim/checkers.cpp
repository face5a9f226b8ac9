#include "sim/checkers.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "gpu/partition_checker.hpp"

namespace septule::sim {

namespace {

/// Progress is summed in floating point over many segments; so much of the work may be missing.
constexpr double kProgressTolerance = 1e-6;
/// And so many nanoseconds: an end is due at the next whole nanosecond.
constexpr double kProgressSlackNs = 1000;

double seconds(SimTime time) {
  return time.to_seconds();
}

}  // namespace

RunChecker::RunChecker(const SimSetup& setup)
    : setup_(&setup), lives_(setup.workload->jobs.size()) {}

const job::JobSpec& RunChecker::spec(job::JobId id) const {
  return setup_->workload->jobs[static_cast<std::size_t>(id.value())];
}

std::string RunChecker::name(job::JobId id) const {
  return fmt::format("job {} ({})", id.value(), spec(id).name);
}

void RunChecker::violated(std::string what) {
  ++violation_count_;
  if (violations_.size() < kViolationsMax) {
    violations_.push_back(std::move(what));
  }
}

void RunChecker::on_segment(const JobSegment& segment) {
  lives_[static_cast<std::size_t>(segment.job.value())].segments.push_back(segment);
}

void RunChecker::on_end(job::JobId id, SimTime time) {
  Life& life = lives_[static_cast<std::size_t>(id.value())];
  if (life.end) {
    violated(fmt::format("{} ends a second time at {} s", name(id), seconds(time)));
  }
  life.end = time;
}

void RunChecker::on_event(SimTime /*time*/, const sched::Event& /*event*/) {}

void RunChecker::on_goal(SimTime /*time*/, const sched::SetGoal& /*decision*/) {}

void RunChecker::on_order(SimTime time, const control::GpuOrder& order) {
  std::uint64_t& last = epochs_[order.gpu];
  if (order.epoch <= last) {
    violated(fmt::format("GPU {} got an order of epoch {} after epoch {} at {} s",
                         order.gpu.value(),
                         order.epoch,
                         last,
                         seconds(time)));
  }
  last = order.epoch;
}

void RunChecker::on_refusal(SimTime time, const std::string& why) {
  violated(fmt::format("a decision was refused at {} s: {}", seconds(time), why));
}

void RunChecker::on_requeue(SimTime /*time*/, job::JobId /*job*/) {}

void RunChecker::on_reject(SimTime /*time*/, job::JobId id) {
  lives_[static_cast<std::size_t>(id.value())].is_rejected = true;
}

void RunChecker::on_device(SimTime time, GpuId id, const port::DeviceState& state) {
  gpu::Partition partition;
  for (const port::DeviceInstance& instance : state.instances) {
    gpu::GpuInstance seen{instance.placed, {}};
    for (const auto& compute : instance.compute_instances) {
      seen.compute_instances.push_back(compute.instance);
    }
    partition.instances.push_back(seen);
  }
  gpu::canonicalise(partition);
  const auto faults = gpu::check_partition(*state.geometry, partition);
  if (!faults.empty()) {
    violated(fmt::format("GPU {} at {} s: {}", id.value(), seconds(time), faults.front().message));
  }
  if (state.mig_mode == port::MigMode::kDisabled && !state.instances.empty()) {
    violated(fmt::format("GPU {} has instances with MIG off at {} s", id.value(), seconds(time)));
  }
}

Bytes RunChecker::need(job::JobId id) const {
  const Bytes measured = setup_->book->need(spec(id).signature);
  return std::max(measured, spec(id).memory.value_or(Bytes()));
}

void RunChecker::check_rate(const JobSegment& segment) {
  const bool is_running =
      segment.state == job::JobState::kRunning || segment.state == job::JobState::kCharacterising;
  if (!is_running) {
    return;
  }
  double fastest = 1;
  const auto consider = [&](job::SignatureIndex signature) {
    for (const ProfileIndex profile : setup_->book->plain_profiles()) {
      fastest = std::max(fastest, setup_->book->speed(signature, profile));
    }
  };
  consider(spec(segment.job).signature);
  for (const job::JobPhase& phase : spec(segment.job).phases) {
    consider(phase.signature);
  }
  if (!(segment.rate > 0) || segment.rate > fastest + 1e-9) {
    violated(fmt::format("{} runs at rate {} from {} s, outside (0, {}]",
                         name(segment.job),
                         segment.rate,
                         seconds(segment.begin),
                         fastest));
  }
}

void RunChecker::check_life(job::JobId id, const job::JobOutcome& outcome) {
  const Life& life = lives_[static_cast<std::size_t>(id.value())];
  std::array<Duration, job::kTimeKindCount> times{};
  SimTime at = spec(id).submit;
  job::JobState state = job::JobState::kWaiting;
  for (const JobSegment& segment : life.segments) {
    if (segment.begin != at || segment.end < segment.begin) {
      violated(fmt::format("{}: the segment {} .. {} s follows one that ended at {} s",
                           name(id),
                           seconds(segment.begin),
                           seconds(segment.end),
                           seconds(at)));
    }
    if (segment.state != state && !job::is_legal_move(state, segment.state)) {
      violated(fmt::format("{}: from {} to {} at {} s",
                           name(id),
                           job::job_state_name(state),
                           job::job_state_name(segment.state),
                           seconds(segment.begin)));
    }
    if (const auto kind = job::time_kind_of(segment.state)) {
      times[static_cast<std::size_t>(*kind)] += segment.end - segment.begin;
    }
    check_rate(segment);
    at = segment.end;
    state = segment.state;
  }
  if (outcome.id != id || outcome.submit != spec(id).submit) {
    violated(fmt::format("{}: the record is of another job or submission", name(id)));
  }
  if (life.is_rejected) {
    if (outcome.state != job::JobState::kRejected || life.end) {
      violated(fmt::format("{} was rejected but ran", name(id)));
    }
    return;
  }
  if (!life.end || !outcome.finish || *life.end != *outcome.finish || at != *life.end) {
    violated(fmt::format("{} was lost: seen until {} s", name(id), seconds(at)));
    return;
  }
  Duration sum;
  for (std::size_t kind = 0; kind < times.size(); ++kind) {
    sum += times[kind];
    if (times[kind] != outcome.times[kind]) {
      violated(fmt::format("{}: {} is {} ns in the record, {} ns as seen",
                           name(id),
                           job::time_kind_name(static_cast<job::TimeKind>(kind)),
                           outcome.times[kind].to_nanoseconds(),
                           times[kind].to_nanoseconds()));
    }
  }
  if (sum != *life.end - spec(id).submit) {
    violated(fmt::format("{}: the four times add up to {} ns, the JCT is {} ns",
                         name(id),
                         sum.to_nanoseconds(),
                         (*life.end - spec(id).submit).to_nanoseconds()));
  }
  check_progress(id);
}

void RunChecker::check_progress(job::JobId id) {
  double progress = 0;
  double slack = kProgressSlackNs;
  for (const JobSegment& segment : lives_[static_cast<std::size_t>(id.value())].segments) {
    const auto length = static_cast<double>((segment.end - segment.begin).to_nanoseconds());
    progress += length * segment.rate;
    slack += 1;
  }
  const double work =
      static_cast<double>(spec(id).work.to_nanoseconds()) * setup_->costs.step_factor();
  // Up to `finish` passes between the last step and the end, at the last rate.
  const auto finish = static_cast<double>(setup_->costs.finish.to_nanoseconds());
  if (progress < work * (1 - kProgressTolerance) - slack ||
      progress > work * (1 + kProgressTolerance) + slack + 1.1 * finish) {
    violated(fmt::format(
        "{} made progress of {} s for work of {} s", name(id), progress / 1e9, work / 1e9));
  }
}

/// Jobs that hold something on one GPU at one time.
void RunChecker::check_together(const std::vector<const JobSegment*>& present) {
  const gpu::Geometry& geometry = *setup_->geometry;
  const JobSegment& latest = *present.back();
  const port::JobPlace place = checked_value(latest.place, "only placed jobs are compared");
  const ProfileIndex profile =
      place.instance.has_value() ? place.instance->profile : setup_->book->whole_profile();
  const std::optional<Bytes> room = geometry.profile(profile).memory;
  std::uint64_t shared = 0;
  for (const JobSegment* other : present) {
    const port::JobPlace theirs = checked_value(other->place, "only placed jobs are compared");
    if (theirs.instance == place.instance) {
      shared += need(other->job).value();
      continue;
    }
    const bool is_apart = theirs.instance.has_value() && place.instance.has_value() &&
                          !gpu::placement_of(geometry, *theirs.instance)
                               .overlaps(gpu::placement_of(geometry, *place.instance));
    if (!is_apart) {
      violated(fmt::format("{} and {} own one memory slice of GPU {} at {} s",
                           name(latest.job),
                           name(other->job),
                           place.gpu.value(),
                           seconds(latest.begin)));
    }
  }
  const bool is_judged = setup_->controller.memory_rule == sched::MemoryRule::kChecked;
  if (is_judged && room.has_value() && shared > room->value()) {
    violated(fmt::format("{} is in an instance of GPU {} with {} MiB for {} MiB at {} s",
                         name(latest.job),
                         place.gpu.value(),
                         room->whole_mebibytes(),
                         Bytes(shared).whole_mebibytes(),
                         seconds(latest.begin)));
  }
}

void RunChecker::check_gpu(GpuId /*gpu*/, std::vector<const JobSegment*>& segments) {
  std::ranges::stable_sort(segments, {}, &JobSegment::begin);
  std::vector<const JobSegment*> present;
  for (const JobSegment* segment : segments) {
    if (segment->end == segment->begin) {
      continue;
    }
    std::erase_if(present, [&](const JobSegment* other) { return other->end <= segment->begin; });
    present.push_back(segment);
    check_together(present);
  }
}

std::vector<std::string> RunChecker::finish(const job::RunRecord& run) {
  if (run.jobs.size() != lives_.size()) {
    violated(fmt::format("the record has {} jobs of {}", run.jobs.size(), lives_.size()));
    return violations_;
  }
  std::map<GpuId, std::vector<const JobSegment*>> by_gpu;
  for (std::size_t i = 0; i < lives_.size(); ++i) {
    check_life(job::JobId(static_cast<int>(i)), run.jobs[i]);
    for (const JobSegment& segment : lives_[i].segments) {
      // A stopped job holds nothing any more.
      if (segment.place && segment.state != job::JobState::kStopped) {
        by_gpu[segment.place->gpu].push_back(&segment);
      }
    }
  }
  for (auto& [gpu, segments] : by_gpu) {
    check_gpu(gpu, segments);
  }
  if (violation_count_ > violations_.size()) {
    violations_.push_back(fmt::format("and {} more", violation_count_ - violations_.size()));
  }
  return violations_;
}

}  // namespace septule::sim
