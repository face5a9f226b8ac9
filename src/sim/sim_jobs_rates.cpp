// How fast the jobs of a GPU are, what follows from it, and what it adds up to.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.hpp"
#include "sim/sim_jobs.hpp"

namespace septule::sim {

using job::JobState;

/// Integrals over all GPUs up to now; called before anything they depend on changes.
void SimJobs::account() {
  const auto length = static_cast<double>((env_.now() - accounted_).to_nanoseconds());
  accounted_ = env_.now();
  busy_slice_ns_ += length * busy_slices_;
  energy_ns_ += length * power_now_;
  if (waiting_ > 0) {
    fragmented_slice_ns_ += length * (total_slices_ - busy_slices_);
  }
}

void SimJobs::count_slices(GpuId id) {
  Gpu& gpu = at(id);
  const int whole = truth_.book.geometry().compute_slices().value();
  int busy = 0;
  for (std::size_t i = 0; i < gpu.jobs.size(); ++i) {
    const auto& instance = at(gpu.jobs[i]).place.instance;
    if (!instance) {
      busy = whole;
      break;
    }
    const bool is_counted =
        std::any_of(gpu.jobs.begin(), gpu.jobs.begin() + i, [&](job::JobId other) {
          return at(other).place.instance == instance;
        });
    if (!is_counted) {
      busy += truth_.book.geometry().profile(instance->profile).slices.value();
    }
  }
  busy_slices_ += busy - gpu.busy_slices;
  power_now_ +=
      watts_[static_cast<std::size_t>(busy)] - watts_[static_cast<std::size_t>(gpu.busy_slices)];
  gpu.busy_slices = busy;
}

/// Brings the job's progress and state up to now.
void SimJobs::update(job::JobId id) {
  Job& job = at(id);
  const SimTime now = env_.now();
  if (!makes_progress(job.state) || now < job.progress_from) {
    return;
  }
  if (job.state == JobState::kStarting) {
    enter(id,
          job.purpose == port::RunPurpose::kCharacterise ? JobState::kCharacterising
                                                         : JobState::kRunning,
          job.progress_from);
    job.was_started = true;
  }
  const SimTime from = std::max(job.updated, job.progress_from);
  job.left -= static_cast<double>((now - from).to_nanoseconds()) * job.rate;
  job.left = std::max(job.left, 0.0);
  job.updated = now;
}

double SimJobs::rate_alone(job::JobId id, GpuId gpu_id) const {
  const Job& job = at(id);
  if (!job.place.instance) {
    return 1;
  }
  const ProfileIndex profile = job.place.instance->profile;
  double rate = truth_.book.speed(current_signature(id), profile);
  if (profile == truth_.book.whole_profile()) {
    return rate * truth_.whole_instance_speed;
  }
  if (truth_.neighbour_loss > 0) {
    const auto& geometry = truth_.book.geometry();
    const int own = geometry.profile(profile).slices.value();
    const int others = gpus_[static_cast<std::size_t>(gpu_id.value())].busy_slices - own;
    const int all = geometry.compute_slices().value() - own;
    rate *= 1 - truth_.neighbour_loss * std::clamp(others, 0, all) / all;
  }
  return rate;
}

/// The rates of all jobs on a GPU, by who shares what with whom.
void SimJobs::set_rates(GpuId id) {
  Gpu& gpu = at(id);
  std::array<predict::MpsClient, 16> clients{};
  std::array<double, 16> speeds{};
  std::array<job::JobId, 16> members{};
  std::uint32_t done = 0;
  for (std::size_t i = 0; i < gpu.jobs.size(); ++i) {
    if ((done >> i & 1U) != 0) {
      continue;
    }
    const auto& instance = at(gpu.jobs[i]).place.instance;
    std::size_t count = 0;
    bool has_limit = false;
    for (std::size_t k = i; k < gpu.jobs.size(); ++k) {
      const Job& other = at(gpu.jobs[k]);
      if (other.place.instance == instance) {
        done |= 1U << k;
        members[count] = gpu.jobs[k];
        has_limit = has_limit || other.place.atp.value() < 100;
        clients[count++] = {current_signature(gpu.jobs[k]), other.place.atp};
      }
    }
    if (spec(members[0]).gpus > 1) {
      set_rate(members[0], 1);
    } else if (count == 1 && !has_limit) {
      set_rate(members[0], rate_alone(members[0], id));
    } else {
      const ProfileIndex profile = instance ? instance->profile : truth_.book.whole_profile();
      truth_.mps.speeds(
          truth_.book, profile, std::span(clients).first(count), std::span(speeds).first(count));
      for (std::size_t k = 0; k < count; ++k) {
        set_rate(members[k], speeds[k]);
      }
    }
  }
}

/// All steps are done; only the end is to be reported.
bool SimJobs::is_finished(job::JobId id) const {
  const Job& job = at(id);
  return job.left < kWorkDone && job.phase >= spec(id).phases.size() &&
         job.state != JobState::kStarting;
}

/// A segment has one rate: called with the old one still in place.
void SimJobs::close_segment(job::JobId id) {
  const Job& job = at(id);
  if (observer_ != nullptr && job.state != JobState::kStarting) {
    enter(id, job.state, env_.now());
  }
}

void SimJobs::set_rate(job::JobId id, double rate) {
  Job& job = at(id);
  const bool is_launched = !job.progress_from.is_never();  // false for a gang still gathering
  if (!makes_progress(job.state) || !is_launched || rate == job.rate) {
    return;
  }
  update(id);
  close_segment(id);
  const bool is_ending = is_finished(id) && job.rate > 0;
  job.rate = rate;
  if (!is_ending) {
    arm_milestone(id);
  }
}

void SimJobs::arm_milestone(job::JobId id) {
  Job& job = at(id);
  ++job.generation;
  if (job.rate <= 0) {
    return;
  }
  const auto& phases = spec(id).phases;
  double distance = job.left;
  Duration extra = truth_.costs.finish;
  if (job.phase < phases.size()) {
    const auto all =
        static_cast<double>(spec(id).work.to_nanoseconds()) * truth_.costs.step_factor();
    distance = std::max(0.0, job.left - all * (1 - phases[job.phase].begins_at));
    extra = Duration();
  }
  const SimTime from = std::max(env_.now(), job.progress_from);
  const double end = static_cast<double>(from.to_nanoseconds()) + distance / job.rate;
  if (end > kHorizonNs) {
    beyond_horizon_ = id;
    return;
  }
  const auto length = static_cast<std::int64_t>(std::ceil(distance / job.rate));
  env_.call_at(from + Duration::nanoseconds(length) + extra,
               port::TimerClass::kWorld,
               *this,
               (static_cast<std::uint64_t>(id.value()) << kJobShift) | job.generation);
}

void SimJobs::record(job::RunRecord& run) {
  account();
  run.jobs.clear();
  for (const Job& job : jobs_) {
    run.jobs.push_back(job.outcome);
    if (job.outcome.finish) {
      run.makespan = std::max(run.makespan, *job.outcome.finish);
    }
  }
  run.gpu_count = static_cast<int>(gpus_.size());
  run.checkpoints = checkpoints_;
  run.busy_slice_s = busy_slice_ns_ / 1e9;
  run.fragmented_slice_s = fragmented_slice_ns_ / 1e9;
  run.total_slice_s = total_slices_ * run.makespan.to_seconds();
  run.energy_j = energy_ns_ / 1e9;
}

}  // namespace septule::sim
