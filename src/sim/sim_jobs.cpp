#include "sim/sim_jobs.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace septule::sim {

namespace {

using job::JobState;

constexpr std::uint64_t kBatchBit = std::uint64_t{1} << 63U;

}  // namespace

SimJobs::SimJobs(port::Env& env, const Truth& truth, int gpu_count)
    : env_(env),
      truth_(truth),
      jobs_(truth.workload.jobs.size()),
      gpus_(static_cast<std::size_t>(gpu_count)),
      left_(static_cast<int>(truth.workload.jobs.size())) {
  const ComputeSlices slices = truth.book.geometry().compute_slices();
  const job::PowerCurve power = job::PowerCurve::builtin();
  for (int busy = 0; busy <= slices.value(); ++busy) {
    watts_.push_back(power.power_watts(ComputeSlices(busy), slices));
  }
  total_slices_ = slices.value() * gpu_count;
  power_now_ = watts_[0] * gpu_count;
}

void SimJobs::enter(job::JobId id, JobState state, SimTime time) {
  Job& job = at(id);
  if (const auto kind = job::time_kind_of(job.state)) {
    job.outcome.times[static_cast<std::size_t>(*kind)] += time - job.since;
  }
  if (observer_ != nullptr && job.state != JobState::kUnsubmitted &&
      (time > job.since || state != job.state)) {
    observer_->on_segment(JobSegment{
        id,
        job.state,
        job.has_place ? std::optional(job.place) : std::nullopt,
        job.since,
        time,
        job.state == JobState::kRunning || job.state == JobState::kCharacterising ? job.rate : 0});
  }
  SEPTULE_CHECK(state == job.state || job::is_legal_move(job.state, state),
                "a job moves between states as its table says");
  job.state = state;
  job.since = time;
}

void SimJobs::submitted(job::JobId id) {
  account();
  Job& job = at(id);
  const job::JobSpec& wanted = spec(id);
  job.outcome.id = id;
  job.outcome.submit = wanted.submit;
  job.outcome.gpu_count = wanted.gpus;
  job.since = wanted.submit;
  job.left = static_cast<double>(wanted.work.to_nanoseconds()) * truth_.costs.step_factor();
  job.outcome.work = Duration::nanoseconds(static_cast<std::int64_t>(job.left) * wanted.gpus);
  const auto* whole = truth_.book.slice_time(wanted.signature, truth_.book.whole_profile());
  job.outcome.ideal = job::start_time(truth_.costs,
                                      truth_.book.signature(wanted.signature),
                                      whole,
                                      footprint(id),
                                      job::StartKind::kFirst) +
                      Duration::nanoseconds(static_cast<std::int64_t>(job.left)) +
                      truth_.costs.finish;
  job.state = JobState::kWaiting;
  ++waiting_;
}

void SimJobs::rejected(job::JobId id) {
  account();
  enter(id, JobState::kRejected, env_.now());
  at(id).outcome.state = JobState::kRejected;
  --waiting_;
  --left_;
}

void SimJobs::requeued(job::JobId id) {
  Job& job = at(id);
  job.is_requeued = true;
  if (job.state == JobState::kStopped) {
    account();
    enter(id, JobState::kWaiting, env_.now());
    ++waiting_;
  }
}

void SimJobs::placed(job::JobId id) {
  at(id).is_requeued = false;
}

Bytes SimJobs::footprint(job::JobId id) const {
  const job::SignatureIndex signature = spec(id).signature;
  return job::footprint(truth_.book.signature(signature), truth_.book.need(signature));
}

const job::SliceTime* SimJobs::slice_time(const Job& job, job::SignatureIndex signature) const {
  return truth_.book.slice_time(
      signature, job.place.instance ? job.place.instance->profile : truth_.book.whole_profile());
}

job::SignatureIndex SimJobs::current_signature(job::JobId id) const {
  const Job& job = at(id);
  return job.phase == 0 ? spec(id).signature : spec(id).phases[job.phase - 1].signature;
}

void SimJobs::reach_milestone(job::JobId id) {
  update(id);
  Job& job = at(id);
  const auto& phases = spec(id).phases;
  if (job.phase >= phases.size()) {
    job.left = 0;
    end(id);
    return;
  }
  const double before = job.rate;
  close_segment(id);
  ++job.phase;
  job.rate = 0;
  const GpuId gpu = job.place.gpu;
  set_rates(gpu);
  if (job.rate == 0) {
    // Same figures as before, or a phase that does not fit here: it goes on as slowly as it must.
    set_rate(id, before);
  }
  if (job.rate != before) {
    client_->on_speed_changed(gpu, id, job.rate / before);
  }
}

void SimJobs::leave(job::JobId id, GpuId gpu_id) {
  Gpu& gpu = at(gpu_id);
  const auto* found = std::find(gpu.jobs.begin(), gpu.jobs.end(), id);
  if (found != gpu.jobs.end()) {
    gpu.jobs.erase_at(static_cast<std::size_t>(found - gpu.jobs.begin()));
  }
  count_slices(gpu_id);
}

void SimJobs::end(job::JobId id) {
  account();
  Job& job = at(id);
  ++job.generation;
  enter(id, JobState::kDone, env_.now());
  job.outcome.finish = env_.now();
  job.outcome.state = JobState::kDone;
  job.has_place = false;
  --left_;
  if (observer_ != nullptr) {
    observer_->on_end(id, env_.now());
  }
  const auto gang = gangs_.find(id);
  if (gang == gangs_.end()) {
    leave(id, job.place.gpu);
    set_rates(job.place.gpu);
    client_->on_job_ended(job.place.gpu, id);
    return;
  }
  const std::vector<GangPart> parts = std::move(gang->second);
  gangs_.erase(gang);
  for (const GangPart& part : parts) {
    leave(id, part.gpu);
    client_->on_job_ended(part.gpu, id);
  }
}

void SimJobs::answer(SimTime time, const Batch& batch) {
  std::size_t index = batches_.size();
  if (batches_free_.empty()) {
    batches_.push_back(batch);
  } else {
    index = batches_free_.back();
    batches_free_.pop_back();
    batches_[index] = batch;
  }
  env_.call_at(time, port::TimerClass::kWorld, *this, kBatchBit | index);
}

/// The last part of a job has been told to start: its process begins.
void SimJobs::launch(job::JobId id) {
  Job& job = at(id);
  const SimTime now = env_.now();
  const job::SignatureIndex signature = current_signature(id);
  const Duration needed =
      job::start_time(truth_.costs,
                      truth_.book.signature(signature),
                      slice_time(job, signature),
                      footprint(id),
                      job.was_started ? job::StartKind::kRestart : job::StartKind::kFirst);
  job.progress_from = now + needed;
  job.updated = job.progress_from;
  job.rate = 0;
}

/// True if the job's process begins now, false if it waits for other parts of its gang.
bool SimJobs::start_part(GpuId gpu_id, const port::JobStart& start, port::RunPurpose purpose) {
  Job& job = at(start.job);
  Gpu& gpu = at(gpu_id);
  const int gpus = spec(start.job).gpus;
  if (job.parts == 0 || gpus == 1) {
    SEPTULE_CHECK(job.state == JobState::kWaiting || job.state == JobState::kStopped,
                  "a job that is started runs nowhere");
    waiting_ -= job.state == JobState::kWaiting ? 1 : 0;
    if (!job.outcome.first_start) {
      job.outcome.first_start = env_.now();
    } else if (job.place.gpu != gpu_id) {
      ++job.outcome.gpu_changes;
    }
    enter(start.job, JobState::kStarting, env_.now());
    job.place = start.place;
    job.has_place = true;
    job.is_requeued = false;
    job.purpose = purpose;
    job.progress_from = SimTime::never();
    job.outcome.characterisations += purpose == port::RunPurpose::kCharacterise ? 1 : 0;
  }
  gpu.jobs.push_back(start.job);
  ++job.parts;
  if (job.parts < gpus) {
    return false;
  }
  launch(start.job);
  return true;
}

void SimJobs::start(GpuId gpu_id,
                    std::span<const port::JobStart> jobs,
                    port::RunPurpose purpose,
                    std::uint64_t token) {
  account();
  SimTime settled = env_.now();
  for (const port::JobStart& start : jobs) {
    if (at(start.job).state == JobState::kDone) {
      // Its end and this order have crossed.
      client_->on_job_ended(gpu_id, start.job);
      continue;
    }
    const bool is_launched = start_part(gpu_id, start, purpose);
    if (spec(start.job).gpus > 1) {
      auto& parts = gangs_[start.job];
      parts.push_back(GangPart{gpu_id, token});
      if (is_launched) {
        for (const GangPart& part : parts) {
          answer(at(start.job).progress_from, Batch{part.gpu, part.token, Batch::Kind::kStart});
        }
      }
      count_slices(gpu_id);
      set_rates(gpu_id);
      return;  // a gang is alone on its GPUs
    }
  }
  for (const job::JobId id : at(gpu_id).jobs) {
    settled = std::max(settled, at(id).progress_from);
  }
  count_slices(gpu_id);
  set_rates(gpu_id);
  answer(settled, Batch{gpu_id, token, Batch::Kind::kStart});
}

/// Begins to save a job; the time at which it is saved.
SimTime SimJobs::save(job::JobId id) {
  update(id);
  Job& job = at(id);
  const SimTime now = env_.now();
  ++job.generation;
  job.parts = 0;
  gangs_.erase(id);
  job.saved_at = now;
  if (job.state == JobState::kStarting) {
    enter(id, JobState::kStopped, now);
    return now;
  }
  enter(id, JobState::kStopping, now);
  job.rate = 0;
  ++checkpoints_;
  ++job.outcome.checkpoints;
  job.saved_at = now + job::checkpoint_time(truth_.costs, footprint(id));
  return job.saved_at;
}

void SimJobs::stop(GpuId gpu_id, std::span<const job::JobId> jobs, std::uint64_t token) {
  account();
  SimTime saved = env_.now();
  for (const job::JobId id : jobs) {
    const Job& job = at(id);
    if (job.state == JobState::kStopping) {
      // Another GPU of its gang was told first: it is saved once.
      saved = std::max(saved, job.saved_at);
    }
    if (!makes_progress(job.state)) {
      continue;
    }
    update(id);
    if (job.left < kWorkDone && job.state != JobState::kStarting) {
      end(id);
      continue;
    }
    saved = std::max(saved, save(id));
  }
  answer(saved, Batch{gpu_id, token, Batch::Kind::kStop});
}

void SimJobs::finish_stop(GpuId gpu_id) {
  account();
  Gpu& gpu = at(gpu_id);
  for (std::size_t i = 0; i < gpu.jobs.size();) {
    const job::JobId id = gpu.jobs[i];
    Job& job = at(id);
    if (job.state == JobState::kStopping && job.saved_at <= env_.now()) {
      enter(id, JobState::kStopped, env_.now());
    }
    if (job.state != JobState::kStopped && job.state != JobState::kWaiting) {
      ++i;
      continue;
    }
    gpu.jobs.erase_at(i);
    if (job.is_requeued && job.state == JobState::kStopped) {
      enter(id, JobState::kWaiting, env_.now());
      ++waiting_;
    }
    job.has_place = false;
  }
  count_slices(gpu_id);
  set_rates(gpu_id);
}

void SimJobs::set_atp(GpuId gpu_id, ActiveThreadPercentage atp) {
  for (const job::JobId id : at(gpu_id).jobs) {
    at(id).place.atp = atp;
  }
  set_rates(gpu_id);
}

void SimJobs::end_characterisation(GpuId gpu_id) {
  for (const job::JobId id : at(gpu_id).jobs) {
    update(id);
    Job& job = at(id);
    job.purpose = port::RunPurpose::kRun;
    job.place.atp = ActiveThreadPercentage(100);
    if (job.state == JobState::kCharacterising) {
      enter(id, JobState::kRunning, env_.now());
    }
  }
  set_rates(gpu_id);
}

std::optional<Duration> SimJobs::observed_step(job::JobId id) const {
  const Job& job = at(id);
  if (job.rate <= 0 || env_.now() <= job.progress_from) {
    return std::nullopt;
  }
  const Duration step = truth_.book.whole_step(current_signature(id));
  return scaled(step, truth_.costs.step_factor() / job.rate);
}

void SimJobs::on_timer(std::uint64_t payload) {
  if ((payload & kBatchBit) != 0) {
    const auto index = static_cast<std::size_t>(payload & ~kBatchBit);
    const Batch batch = batches_[index];
    batches_free_.push_back(index);
    if (batch.kind == Batch::Kind::kStop) {
      finish_stop(batch.gpu);
      client_->on_stopped(batch.gpu, batch.token);
    } else {
      client_->on_started(batch.gpu, batch.token);
    }
    return;
  }
  const job::JobId id(static_cast<int>(payload >> kJobShift));
  if (at(id).generation == static_cast<std::uint32_t>(payload)) {
    reach_milestone(id);
  }
}

}  // namespace septule::sim
