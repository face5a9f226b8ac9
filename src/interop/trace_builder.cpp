#include "interop/trace_builder.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "interop/input_text.hpp"

namespace septule::interop {

namespace {

using Kind = TraceFindingKind;

constexpr Duration kDurationMax =
    Duration::nanoseconds(kTraceDurationSecondsMax * std::int64_t{1000000000});
constexpr Duration kSpanMax = Duration::nanoseconds(kTraceSecondsMax * std::int64_t{1000000000});
constexpr double kHostGibibytesMax = 1048576;

std::string job_text(const TraceJob& job, std::string_view value) {
  return fmt::format(
      "job {}{}{}", quoted_for_message(job.id, 40), value.empty() ? "" : ": ", value);
}

}  // namespace

TraceBuilder::TraceBuilder(std::string name) : name_(std::move(name)) {}

void TraceBuilder::drop(TraceFindingKind kind, int line, std::string_view text) {
  SEPTULE_CHECK(trace_finding_effect(kind) == TraceEffect::kDropped,
                "a row is dropped for a reason that drops rows");
  ++rows_;
  ++dropped_;
  findings_.add(kind, line, text);
}

void TraceBuilder::note(TraceFindingKind kind, int line, std::string_view text) {
  SEPTULE_CHECK(trace_finding_effect(kind) != TraceEffect::kDropped,
                "a reason that drops rows is given with the row");
  findings_.add(kind, line, text);
}

bool TraceBuilder::is_dropped_for_times(TraceRow& row) {
  TraceJob& job = row.job;
  const auto refuse = [&](Kind kind, const std::string& value) {
    drop(kind, job.line, job_text(job, value));
    return true;
  };
  if (!row.submit) {
    return refuse(Kind::kNoSubmission, "");
  }
  if (row.start && row.end && *row.end < *row.start) {
    return refuse(Kind::kEndBeforeStart,
                  fmt::format("{} s before", seconds_text(*row.start - *row.end)));
  }
  if (!job.duration && row.job.has_started && row.start && row.end) {
    job.duration = *row.end - *row.start;
  }
  if (job.duration && *job.duration < Duration()) {
    return refuse(Kind::kNegativeDuration, fmt::format("{} s", seconds_text(*job.duration)));
  }
  if (job.duration && *job.duration > kDurationMax) {
    return refuse(Kind::kAbsurdDuration, fmt::format("{} s", seconds_text(*job.duration)));
  }
  return false;
}

bool TraceBuilder::is_dropped_for_gpus(const TraceRow& row) {
  const TraceJob& job = row.job;
  if (job.gpus &&
      (*job.gpus < GpuMilli(0) || *job.gpus > GpuMilli(kTraceGpusMax * kGpuMilliWhole))) {
    drop(Kind::kBadGpuCount, job.line, job_text(job, gpus_text(*job.gpus)));
    return true;
  }
  return false;
}

void TraceBuilder::judge_duration(const TraceRow& row) {
  const TraceJob& job = row.job;
  if (!job.has_started) {
    note(Kind::kNeverScheduled, job.line, job_text(job, job.status));
  } else if (!job.duration) {
    note(Kind::kNoDuration, job.line, job_text(job, job.status));
  } else if (*job.duration == Duration()) {
    note(Kind::kZeroDuration, job.line, job_text(job, job.status));
  } else if (row.is_still_running) {
    note(Kind::kStillRunning, job.line, job_text(job, job.status));
  }
}

void TraceBuilder::judge_memory(TraceJob& job) {
  const auto judge = [&](std::optional<Bytes>& memory, double gibibytes_max, std::string_view of) {
    if (!memory) {
      return;
    }
    const double gibibytes = memory->to_gibibytes();
    if (std::llround(gibibytes * kMemoryStepsPerGibibyte) == 0) {
      note(Kind::kZeroMemory, job.line, job_text(job, fmt::format("{} memory", of)));
      memory.reset();
    } else if (gibibytes > gibibytes_max) {
      note(Kind::kAbsurdMemory,
           job.line,
           job_text(job, fmt::format("{} memory {:.6g} GiB", of, gibibytes)));
      memory.reset();
    }
  };
  judge(job.gpu_memory, kMemoryGibibytesMax, "GPU");
  judge(job.host_memory, kHostGibibytesMax, "host");
}

void TraceBuilder::judge_texts(TraceJob& job) {
  for (auto [text, what] : {std::pair{&job.gpu_model, "GPU model"},
                            std::pair{&job.user, "user"},
                            std::pair{&job.vc, "virtual cluster"},
                            std::pair{&job.status, "status"},
                            std::pair{&job.app, "app"}}) {
    *text = std::string(trimmed(*text));  // as readers of the written trace see it
    if (!text->empty() && !name_fault(*text).empty()) {
      note(Kind::kUnreadableDetail,
           job.line,
           job_text(job, fmt::format("{} is too long or holds control characters", what)));
      text->clear();
    }
  }
}

void TraceBuilder::add(TraceRow row) {
  TraceJob& job = row.job;
  job.id = std::string(trimmed(job.id));
  const bool has_id = !job.id.empty();
  if (!has_id) {
    job.id = fmt::format("row-{}", job.line);
  }
  if (!name_fault(job.id).empty()) {
    drop(Kind::kUnreadableCell, job.line, fmt::format("id {}", name_fault(job.id)));
    return;
  }
  if (is_dropped_for_times(row) || is_dropped_for_gpus(row)) {
    return;
  }
  const auto [earlier, is_new] = line_of_id_.try_emplace(job.id, job.line);
  if (!is_new) {
    drop(Kind::kDuplicateId,
         job.line,
         job_text(job, fmt::format("first in line {}", earlier->second)));
    return;
  }
  ++rows_;
  judge_texts(job);  // before any of them is shown in a message
  if (!has_id) {
    note(Kind::kNoId, job.line, job_text(job, ""));
  }
  if (!job.has_started) {
    job.duration.reset();
  }
  if (!job.gpus && job.has_started) {  // else that it never ran says enough
    note(Kind::kNoGpuCount, job.line, job_text(job, ""));
  } else if (job.gpus == GpuMilli(0)) {
    note(Kind::kCpuOnly, job.line, job_text(job, ""));
  } else if (job.gpus && job.gpus->value() > kGpuMilliWhole &&
             job.gpus->value() % kGpuMilliWhole != 0) {
    note(Kind::kPartOfGpus, job.line, job_text(job, gpus_text(*job.gpus)));
    job.gpus = GpuMilli((job.gpus->value() / kGpuMilliWhole + 1) * kGpuMilliWhole);
  }
  judge_duration(row);
  const Duration submit =
      checked_value(row.submit, "a row without a submission was left out before");
  if (!job.queue && row.job.has_started && row.start) {
    job.queue = *row.start - submit;
  }
  if (job.queue && *job.queue < Duration()) {
    note(Kind::kStartBeforeSubmit,
         job.line,
         job_text(job, fmt::format("by {} s", seconds_text(Duration() - *job.queue))));
    job.queue.reset();
  } else if (job.queue && *job.queue > kSpanMax) {
    note(Kind::kAbsurdWait, job.line, job_text(job, fmt::format("{} s", seconds_text(*job.queue))));
    job.queue.reset();
  }
  judge_memory(job);
  if (submit_max_ && submit < *submit_max_) {
    note(Kind::kUnordered, job.line, job_text(job, ""));
  }
  submit_max_ = std::max(submit_max_.value_or(submit), submit);
  kept_.push_back({submit, kept_.size(), std::move(job)});
}

TraceImport TraceBuilder::finish() {
  // By place where submissions are equal, so the order is the source's.
  std::ranges::sort(kept_, [](const Kept& a, const Kept& b) {
    return std::pair(a.submit, a.place) < std::pair(b.submit, b.place);
  });
  TraceImport result;
  result.trace.name = name_;
  result.trace.jobs.reserve(kept_.size());
  for (Kept& kept : kept_) {
    const Duration since_first = kept.submit - kept_.front().submit;
    if (since_first > kSpanMax) {
      --rows_;  // counted again by drop()
      drop(Kind::kAbsurdSubmission,
           kept.job.line,
           job_text(kept.job, fmt::format("{} s", seconds_text(since_first))));
      continue;
    }
    kept.job.submit = SimTime() + since_first;
    result.trace.jobs.push_back(std::move(kept.job));
  }
  kept_.clear();
  result.rows = rows_;
  result.dropped = dropped_;
  result.findings = findings_.list();
  SEPTULE_CHECK(static_cast<std::int64_t>(result.trace.jobs.size()) + dropped_ == rows_,
                "every row is kept or dropped, and counted once");
  return result;
}

}  // namespace septule::interop
