#include "job/workload.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "job/job_data.hpp"

namespace septule::job {

namespace {

constexpr int kMixSize = 100;

Error invalid(const Workload& workload, const JobSpec& job, std::string_view what) {
  return {.code = ErrorCode::kInvalidInput,
          .message = fmt::format("workload {}: job {}: {}",
                                 quoted_for_message(workload.name),
                                 quoted_for_message(job.name),
                                 what)};
}

bool has_signature(const Workload& workload, SignatureIndex index) {
  return index.value() >= 0 && static_cast<std::size_t>(index.value()) < workload.signatures.size();
}

Status check_phases(const Workload& workload, const JobSpec& job) {
  double before = 0;
  for (const JobPhase& phase : job.phases) {
    if (!(phase.begins_at > before && phase.begins_at < 1)) {
      return invalid(workload,
                     job,
                     fmt::format("a phase begins at {} of the work; expected ascending fractions "
                                 "between 0 and 1",
                                 phase.begins_at));
    }
    if (!has_signature(workload, phase.signature)) {
      return invalid(workload,
                     job,
                     fmt::format("a phase has signature {}; expected 0 to {}",
                                 phase.signature.value(),
                                 workload.signatures.size() - 1));
    }
    before = phase.begins_at;
  }
  return {};
}

Status check_job(const Workload& workload, const JobSpec& job) {
  if (job.submit < SimTime() || job.submit.is_never()) {
    return invalid(
        workload,
        job,
        fmt::format("submitted at {} s; expected a time from 0 on", job.submit.to_seconds()));
  }
  if (job.work <= Duration()) {
    return invalid(
        workload, job, fmt::format("work of {} s; expected more than 0 s", job.work.to_seconds()));
  }
  if (job.gpus < 1) {
    return invalid(workload, job, fmt::format("{} GPUs; expected at least 1", job.gpus));
  }
  if (job.memory.has_value() && *job.memory == Bytes()) {
    return invalid(workload, job, "memory of 0 bytes; expected more, or none stated");
  }
  if (!has_signature(workload, job.signature)) {
    return invalid(workload,
                   job,
                   fmt::format("signature {}; expected one of the {} of the workload",
                               job.signature.value(),
                               workload.signatures.size()));
  }
  return check_phases(workload, job);
}

Status check_names(const Workload& workload) {
  std::vector<const JobSpec*> by_name;
  by_name.reserve(workload.jobs.size());
  for (const JobSpec& job : workload.jobs) {
    by_name.push_back(&job);
  }
  std::stable_sort(by_name.begin(), by_name.end(), [](const JobSpec* a, const JobSpec* b) {
    return a->name < b->name;
  });
  for (std::size_t i = 0; i < by_name.size(); ++i) {
    if (by_name[i]->name.empty()) {
      return invalid(workload, *by_name[i], "no name; expected one");
    }
    if (i > 0 && by_name[i]->name == by_name[i - 1]->name) {
      return invalid(workload, *by_name[i], "the name stands twice; expected each name once");
    }
  }
  return {};
}

SignatureIndex find_signature(const std::vector<PerfSignature>& signatures, std::string_view name) {
  const auto found = std::find_if(signatures.begin(),
                                  signatures.end(),
                                  [&](const PerfSignature& known) { return known.name == name; });
  SEPTULE_CHECK(found != signatures.end(), "the built-in mix names built-in signatures");
  return SignatureIndex(static_cast<int>(found - signatures.begin()));
}

}  // namespace

Status check_workload(const Workload& workload) {
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const JobSpec& job = workload.jobs[i];
    if (job.id != JobId(static_cast<int>(i))) {
      return invalid(
          workload,
          job,
          fmt::format("id {}; expected {}, its place in the workload", job.id.value(), i));
    }
    if (i > 0 && job.submit < workload.jobs[i - 1].submit) {
      return invalid(workload,
                     job,
                     fmt::format("submitted at {} s, before the job above it; expected ascending "
                                 "times",
                                 job.submit.to_seconds()));
    }
    SEPTULE_TRY_STATUS(check_job(workload, job));
  }
  return check_names(workload);
}

Result<Workload> miso_workload(std::string_view name) {
  int copies = 0;
  if (name == "miso-100") {
    copies = 1;
  } else if (name == "miso-1000") {
    copies = 10;
  } else {
    return Error{.code = ErrorCode::kNotFound,
                 .message = fmt::format("no built-in workload is named {}; there are miso-100 and "
                                        "miso-1000",
                                        quoted_for_message(name))};
  }
  Workload workload{.name = std::string(name), .signatures = builtin_signatures(), .jobs = {}};
  const PlainTable table = job_data_table("miso_trace.csv", "septule-mix/1");
  SEPTULE_CHECK(table.rows().size() == static_cast<std::size_t>(kMixSize),
                "the built-in mix has a hundred jobs");
  for (int i = 0; i < copies * kMixSize; ++i) {
    const PlainRow& row = table.rows()[static_cast<std::size_t>(i % kMixSize)];
    const Result<int> steps = table.required_integer(row, 3, {.min = 1, .max = 1e9});
    SEPTULE_CHECK(steps.has_value(), "a job of the built-in mix has steps");
    JobSpec job;
    job.id = JobId(i);
    job.name = fmt::format("miso-{}", i);
    job.signature = find_signature(workload.signatures, row.cells[1]);
    const PerfSignature& signature =
        workload.signatures[static_cast<std::size_t>(job.signature.value())];
    job.work = Duration::nanoseconds(signature.times.front().step.to_nanoseconds() * *steps);
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

Workload with_arrivals(const Workload& base, std::span<const Arrival> arrivals) {
  Workload workload{.name = base.name, .signatures = base.signatures, .jobs = {}};
  workload.jobs.reserve(arrivals.size());
  for (const Arrival& arrival : arrivals) {
    SEPTULE_CHECK(arrival.job >= 0 && static_cast<std::size_t>(arrival.job) < base.jobs.size(),
                  "arrivals name jobs of the base workload");
    workload.jobs.push_back(base.jobs[static_cast<std::size_t>(arrival.job)]);
    workload.jobs.back().submit = arrival.submit;
  }
  std::stable_sort(workload.jobs.begin(),
                   workload.jobs.end(),
                   [](const JobSpec& a, const JobSpec& b) { return a.submit < b.submit; });
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    workload.jobs[i].id = JobId(static_cast<int>(i));
  }
  return workload;
}

}  // namespace septule::job
