#include "interop/trace_workload.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "interop/input_text.hpp"
#include "interop/trace_phases.hpp"

namespace septule::interop {

namespace {

using Kind = TraceFindingKind;

std::string job_text(const TraceJob& job) {
  return fmt::format("job {}", quoted_for_message(job.id, 40));
}

/// Digits off the front of `text` as a batch size; empty if there are none.
std::string_view digits_of(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  return text.substr(0, end);
}

/// The text before `mark`, a colon and the number behind it, if both are there.
std::optional<std::string> with_batch(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view batch = digits_of(trimmed(text.substr(at + mark.size())));
  const std::string_view model = trimmed(text.substr(0, at));
  if (batch.empty() || model.empty()) {
    return std::nullopt;
  }
  return fmt::format("{}:{}", model, batch);
}

bool states_batch(std::string_view app) {
  const std::size_t colon = app.rfind(':');
  return colon != std::string_view::npos && colon + 1 < app.size() &&
         digits_of(app.substr(colon + 1)).size() == app.size() - colon - 1;
}

class WorkloadMaker {
 public:
  WorkloadMaker(const Trace& trace, const TraceWorkloadOptions& options)
      : trace_(trace), options_(options) {}

  Result<TraceWorkload> make() {
    SEPTULE_TRY_STATUS(check_options());
    result_.workload.name = trace_.name;
    for (job::PerfSignature& signature : job::builtin_signatures()) {
      measured_.emplace(signature.name, std::move(signature));
    }
    SEPTULE_TRY_STATUS(add_own_signatures());
    phase_names_ = phase_signature_names(signature_names(options_.signatures));
    result_.jobs_in_trace = static_cast<std::int64_t>(trace_.jobs.size());
    std::map<std::string_view, int> line_of_id;
    for (const TraceJob& job : trace_.jobs) {
      if (!is_usable(job)) {
        continue;
      }
      const auto [earlier, is_new] = line_of_id.emplace(job.id, job.line);
      if (!is_new) {
        findings_.add(Kind::kDuplicateId,
                      job.line,
                      fmt::format("{}: first in line {}", job_text(job), earlier->second));
        continue;
      }
      add(job);
    }
    result_.findings = findings_.list();
    if (options_.strictness == TraceStrictness::kStrict) {
      SEPTULE_TRY_STATUS(check_no_faults(trace_.name, result_.findings));
    }
    if (result_.workload.jobs.empty()) {
      return input_error(trace_.name,
                         0,
                         "",
                         fmt::format("none of its {} jobs can be simulated; expected jobs with a "
                                     "positive duration on at least a part of a GPU",
                                     trace_.jobs.size()));
    }
    const Status check = job::check_workload(result_.workload);
    SEPTULE_CHECK(check.is_ok(), "a workload made from a trace is valid");
    return std::move(result_);
  }

 private:
  Status check_options() {
    if (!std::isfinite(options_.speed_up) || options_.speed_up < 1e-3 || options_.speed_up > 1e6) {
      return Error{ErrorCode::kUsage,
                   fmt::format("the speed-up {} is out of range; expected 0.001 to 1000000",
                               options_.speed_up)};
    }
    const std::vector<std::string> presets = job::memory_preset_names();
    draw_ = {.seed = options_.seed,
             .memory_preset = options_.memory_preset.empty() && !presets.empty()
                                  ? presets.front()
                                  : options_.memory_preset,
             .compute_bound_share = options_.compute_bound_share};
    if (std::ranges::find(presets, draw_.memory_preset) == presets.end()) {
      return Error{ErrorCode::kNotFound,
                   unknown_name_text("memory preset", draw_.memory_preset, presets)};
    }
    if (!(options_.compute_bound_share >= 0 && options_.compute_bound_share <= 1)) {
      return Error{ErrorCode::kUsage, "the compute-bound share is out of range; expected 0 to 1"};
    }
    return {};
  }

  Status add_own_signatures() {
    std::map<std::string, std::string_view> own;
    for (const job::PerfSignature& signature : options_.signatures) {
      const std::string name = normalised_app(signature.name);
      const auto [other, is_new] = own.emplace(name, signature.name);
      if (!is_new) {
        return Error{ErrorCode::kInvalidInput,
                     fmt::format("signatures {} and {} are one to a trace, whose names have no "
                                 "letter case; expected each name once",
                                 quoted_for_message(other->second),
                                 quoted_for_message(signature.name))};
      }
      measured_.insert_or_assign(name, signature);
    }
    return {};
  }

  /// Counts why not.
  bool is_usable(const TraceJob& job) {
    const auto refuse = [&](Kind kind) {
      findings_.add(kind, job.line, job_text(job));
      result_.left_out.push_back({job.id, job.line, kind});
      return false;
    };
    if (!job.has_started) {
      return refuse(Kind::kNeverScheduled);
    }
    if (!job.gpus) {
      return refuse(Kind::kNoGpuCount);
    }
    if (*job.gpus == GpuMilli(0)) {
      return refuse(Kind::kCpuOnly);
    }
    if (*job.gpus < GpuMilli(0) || job.gpus->value() > kTraceGpusMax * kGpuMilliWhole) {
      return refuse(Kind::kBadGpuCount);
    }
    if (!job.duration) {
      return refuse(Kind::kNoDuration);
    }
    if (*job.duration < Duration()) {
      return refuse(Kind::kNegativeDuration);
    }
    if (*job.duration == Duration()) {
      return refuse(Kind::kZeroDuration);
    }
    if (job.gpus->value() > kGpuMilliWhole && options_.gangs == GangHandling::kDrop) {
      return refuse(Kind::kGangDropped);
    }
    return true;
  }

  void add(const TraceJob& job) {
    job::JobSpec spec;
    spec.id = job::JobId(static_cast<int>(result_.workload.jobs.size()));
    spec.name = job.id;
    spec.submit = SimTime() + at_speed(job.submit - first_submit());
    spec.work = checked_value(job.duration, "a usable job has a duration");
    const GpuMilli gpus = checked_value(job.gpus, "a usable job has GPUs");
    spec.gpus = static_cast<int>((gpus.value() + kGpuMilliWhole - 1) / kGpuMilliWhole);
    spec.memory = usable_memory(job);
    spec.user = user_of(job);
    spec.signature = signature_of(job, gpus, spec.memory);
    spec.priority = job.priority.value_or(0);
    spec.phases = phases_of(job);
    result_.workload.jobs.push_back(std::move(spec));
  }

  /// The origin: that of the whole trace, so that leaving jobs out moves no other.
  SimTime first_submit() const { return trace_.jobs.front().submit; }

  /// A time of the trace when it is replayed at its speed; slowed down, the end of time is a limit.
  Duration at_speed(Duration since) const {
    constexpr double kSecondsMax = 8e9;
    return options_.speed_up == 1
               ? since
               : seconds_to_duration(std::min(since.to_seconds() / options_.speed_up, kSecondsMax));
  }

  std::optional<Bytes> usable_memory(const TraceJob& job) {
    if (!job.gpu_memory) {
      return std::nullopt;
    }
    if (job.gpu_memory->value() == 0) {
      findings_.add(Kind::kZeroMemory, job.line, job_text(job));
      return std::nullopt;
    }
    if (job.gpu_memory->to_gibibytes() > kMemoryGibibytesMax) {
      findings_.add(Kind::kAbsurdMemory, job.line, job_text(job));
      return std::nullopt;
    }
    return job.gpu_memory;
  }

  job::UserId user_of(const TraceJob& job) {
    if (job.user.empty()) {
      return job::UserId(0);
    }
    const int next = static_cast<int>(users_.size()) + 1;
    return job::UserId(users_.emplace(job.user, next).first->second);
  }

  job::SignatureIndex signature_of(const TraceJob& job,
                                   GpuMilli gpus,
                                   const std::optional<Bytes>& memory) {
    const std::string app = normalised_app(job.app);
    const auto measured = measured_.find(app);
    if (measured != measured_.end()) {
      ++result_.jobs_measured;
      return index_of(app, [&] { return measured->second; });
    }
    ++result_.jobs_synthetic;
    const bool is_share = gpus.value() < kGpuMilliWhole;
    result_.jobs_share += is_share ? 1 : 0;
    result_.jobs_without_app += job.app.empty() ? 1 : 0;
    const bool is_recurring = states_batch(app);
    const std::string name = is_recurring ? app : job.id;
    // Equal programs with unequal memory or share are kinds of their own.
    const std::string key = fmt::format("{}\n{}\n{}\n{}",
                                        is_recurring ? "app" : "job",
                                        name,
                                        memory ? memory->value() : 0,
                                        is_share ? gpus.value() : kGpuMilliWhole);
    return index_of(key, [&] {
      job::PerfSignature signature = job::draw_signature(name, memory, draw_);
      if (is_share) {
        // Policies remember by name, and another share behaves differently.
        signature.name += fmt::format("@{}", gpus_text(gpus));
        signature.synthetic = job::SyntheticResponse{
            .saturation = static_cast<double>(gpus.value()) / static_cast<double>(kGpuMilliWhole),
            .bound = job::Bound::kCompute};
      }
      return signature;
    });
  }

  std::vector<job::JobPhase> phases_of(const TraceJob& job) {
    if (job.phases.empty()) {
      return {};
    }
    // Asked again: a trace may have been made by hand, or read with other signatures.
    if (const Status status = check_phases(job.phases, phase_names_); !status) {
      findings_.add(
          Kind::kBadPhases, job.line, fmt::format("{}: {}", job_text(job), status.error().message));
      return {};
    }
    std::vector<job::JobPhase> phases;
    for (const TracePhase& phase : job.phases) {
      phases.push_back({.begins_at = phase.begins_at, .signature = index_of(phase.signature, [&] {
                                                        return measured_.at(phase.signature);
                                                      })});
    }
    return phases;
  }

  template <class Make>
  job::SignatureIndex index_of(const std::string& key, const Make& make) {
    const auto next = job::SignatureIndex(static_cast<int>(result_.workload.signatures.size()));
    const auto [found, is_new] = index_of_key_.emplace(key, next);
    if (is_new) {
      result_.workload.signatures.push_back(make());
    }
    return found->second;
  }

  const Trace& trace_;
  const TraceWorkloadOptions& options_;
  job::DrawOptions draw_;
  std::map<std::string, job::PerfSignature> measured_;
  std::vector<std::string> phase_names_;  // ascending: the keys of measured_
  std::map<std::string, job::SignatureIndex> index_of_key_;
  std::map<std::string, int> users_;
  TraceFindings findings_;
  TraceWorkload result_;
};

}  // namespace

std::string normalised_app(std::string_view app) {
  const std::string lower = lower_case(trimmed(app));
  std::string_view text = lower;
  if (auto found = with_batch(text, "|bs")) {
    return *found;
  }
  if (auto found = with_batch(text, "(batch size ")) {
    return *found;
  }
  return std::string(trimmed(text.substr(0, text.find('|'))));
}

std::vector<std::string> signature_names(std::span<const job::PerfSignature> signatures) {
  std::vector<std::string> names;
  for (const job::PerfSignature& signature : signatures) {
    names.push_back(signature.name);
  }
  return names;
}

Result<TraceWorkload> workload_from_trace(const Trace& trace, const TraceWorkloadOptions& options) {
  return WorkloadMaker(trace, options).make();
}

}  // namespace septule::interop
