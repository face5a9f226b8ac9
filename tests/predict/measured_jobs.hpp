#pragma once

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "job/csv_rows.hpp"
#include "predict/solo_fit.hpp"

// Measured step times of jobs alone, from reference material, and how well SoloFit explains and
// predicts them. For tests and for bench/signature_model_report.cpp.
namespace septule::predict::test {

using Root = std::filesystem::path;

/// Mean of |predicted / measured - 1|, and how often the truth lies within the stated error.
struct Score {
  double sum = 0;
  int count = 0;
  int within_one = 0;     ///< one standard deviation: 68 % of a normal error
  int within_ninety = 0;  ///< 1.645: 90 %

  void add(double predicted, double measured, double log_sd = 0) {
    sum += std::abs(predicted / measured - 1);
    const double error = std::abs(std::log(predicted / measured));
    within_one += error <= log_sd ? 1 : 0;
    within_ninety += error <= 1.645 * log_sd ? 1 : 0;
    ++count;
  }
  double percent() const { return count == 0 ? 0 : 100 * sum / count; }
  double covers_one() const { return count == 0 ? 0 : 100.0 * within_one / count; }
  double covers_ninety() const { return count == 0 ? 0 : 100.0 * within_ninety / count; }
};

/// A job's points by name of the slice ("full", "7g" .. "1g") or by percentage ("50").
struct MeasuredJob {
  std::string name;   ///< "resnet50:8"
  std::string model;  ///< "resnet50"
  std::map<std::string, SoloPoint> points;
  JobCounters counters;  ///< of MISO's jobs

  std::vector<SoloPoint> all() const {
    std::vector<SoloPoint> out;
    for (const auto& [slice, point] : points) {
      out.push_back(point);
    }
    return out;
  }
  bool has(const std::set<std::string>& slices) const {
    for (const std::string& slice : slices) {
      if (!points.contains(slice)) {
        return false;
      }
    }
    return true;
  }
  std::vector<SoloPoint> of(const std::set<std::string>& slices) const {
    std::vector<SoloPoint> out;
    for (const std::string& slice : slices) {
      out.push_back(points.at(slice));
    }
    return out;
  }
};
using MeasuredJobs = std::vector<MeasuredJob>;

/// SMs and memory slices of an A100's slices: 98 of 108 SMs are in slices.
inline Resources a100_slice(std::string_view slice) {
  if (slice == "full") {
    return {};
  }
  const int slices = slice.front() - '0';
  const int memory = slices == 7 ? 8 : slices == 3 ? 4 : slices;
  return {.compute = 14.0 * slices / 108, .bandwidth = memory / 8.0};
}

class JobReader {
 public:
  MeasuredJob& job(const std::string& model, const std::string& batch) {
    const std::string name = batch.empty() ? model : fmt::format("{}:{}", model, batch);
    MeasuredJob& of = jobs_[name];
    of.name = name;
    of.model = model;
    return of;
  }
  MeasuredJobs take() const {
    MeasuredJobs out;
    for (const auto& [name, of] : jobs_) {
      out.push_back(of);
    }
    return out;
  }

 private:
  std::map<std::string, MeasuredJob> jobs_;
};

/// 44 inference jobs on an A100-80GB, the whole GPU and five slices.
inline MeasuredJobs inference_jobs(const Root& root) {
  JobReader reader;
  for (const auto& row : septule::test::csv_rows(
           root / "data/hierarchical/sustech_a100_80gb_inference_mig_single.csv")) {
    if (!row.at("mean_ms").empty()) {
      const std::string slice =
          row.at("partition") == "full" ? "full" : row.at("partition").substr(0, 2);
      reader.job(row.at("model"), row.at("batch")).points[slice] = {
          .at = a100_slice(slice), .step = septule::test::number_of(row, "mean_ms")};
    }
  }
  return reader.take();
}

/// MISO's training jobs on an A100-40GB; "7g" there is the whole GPU with MIG off (miso.md 2.2).
inline MeasuredJobs training_jobs(const Root& root) {
  JobReader reader;
  for (const auto& row :
       septule::test::csv_rows(root / "data/hierarchical/miso_a100_40gb_training_mig.csv")) {
    if (!row.at("median_step_s").empty()) {
      const std::string slice =
          row.at("slice").front() == '7' ? "full" : row.at("slice").substr(0, 2);
      MeasuredJob& job = reader.job(row.at("model"), row.at("batch"));
      if (!row.at("util_sm_pct").empty()) {
        job.counters.sm_percent = septule::test::number_of(row, "util_sm_pct");
        job.counters.memory_percent = septule::test::number_of(row, "util_mem_pct");
      }
      job.points[slice] = {.at = a100_slice(slice),
                           .step = septule::test::number_of(row, "median_step_s")};
    }
  }
  return reader.take();
}

/// Rodinia on "A100" (slices, 7g the largest) or "A30" (four slices of 14 SMs).
inline MeasuredJobs rodinia_jobs(const Root& root, std::string_view gpu) {
  JobReader reader;
  for (const auto& row :
       septule::test::csv_rows(root / "data/hierarchical/far_rodinia_mig_times.csv")) {
    if (row.at("gpu") == gpu && !row.at("mean_s_descaled").empty()) {
      const std::string slice = row.at("slices_g") + "g";
      const double quarter = (slice.front() - '0') / 4.0;
      reader.job(row.at("benchmark"), "").points[slice] = {
          .at = gpu == "A30" ? Resources{.compute = quarter, .bandwidth = quarter}
                             : a100_slice(slice),
          .step = septule::test::number_of(row, "mean_s_descaled")};
    }
  }
  return reader.take();
}

/// One model under MPS percentages on an A100-80GB; tail latencies. Batches with at least six.
inline MeasuredJobs sweep_jobs(const Root& root, std::string_view model) {
  JobReader reader;
  for (const auto& row :
       septule::test::csv_rows(root / "data/hierarchical/css22_mps_percentage_sweep.csv")) {
    if (row.at("model") == model) {
      const std::string& percent = row.at("mps_active_thread_pct");
      reader.job(row.at("model"), row.at("batch")).points[percent] = {
          .at = {.compute = septule::test::number_of(row, "mps_active_thread_pct") / 100},
          .step = septule::test::number_of(row, "tail_ms_median")};
    }
  }
  MeasuredJobs jobs = reader.take();
  std::erase_if(jobs, [](const MeasuredJob& job) { return job.points.size() < 6; });
  return jobs;
}

/// Mean over jobs of the mean error of a law fitted to all of a job's points.
inline Score law_errors(const MeasuredJobs& jobs, LawForm form) {
  Score score;
  for (const MeasuredJob& job : jobs) {
    if (job.points.size() < kFullLawPoints) {
      continue;
    }
    const std::vector<SoloPoint> points = job.all();
    const SoloLaw law = fit_law(points, form);
    Score of_job;
    for (const SoloPoint& point : points) {
      of_job.add(law.step(point.at), point.step);
    }
    score.sum += of_job.percent() / 100;
    ++score.count;
  }
  return score;
}

inline SoloFit fit_of(const std::vector<SoloPoint>& points,
                      JobKind kind,
                      const JobCounters& counters = {}) {
  Result<SoloFit> fit = SoloFit::make(points, {.kind = kind, .counters = counters, .usable = {}});
  SEPTULE_CHECK(fit.has_value(), "measured points are valid");
  return std::move(fit).value();
}

/// Steps on `held` from those on `given`; jobs that lack one are left out.
enum class Counters { kUnused, kUsed };
inline Score held_out(const MeasuredJobs& jobs,
                      JobKind kind,
                      const std::set<std::string>& given,
                      const std::set<std::string>& held,
                      Counters counters = Counters::kUnused) {
  Score score;
  for (const MeasuredJob& job : jobs) {
    if (!job.has(given) || !job.has(held)) {
      continue;
    }
    const SoloFit fit =
        fit_of(job.of(given), kind, counters == Counters::kUsed ? job.counters : JobCounters());
    for (const SoloPoint& point : job.of(held)) {
      const StepBelief belief = fit.predict(point.at);
      score.add(belief.step, point.step, belief.log_sd);
    }
  }
  return score;
}

/// The same by the law (Amdahl's for three points).
inline Score held_out_by_law(const MeasuredJobs& jobs,
                             const std::set<std::string>& given,
                             const std::set<std::string>& held) {
  Score score;
  for (const MeasuredJob& job : jobs) {
    if (!job.has(given) || !job.has(held)) {
      continue;
    }
    const SoloFit fit = fit_of(job.of(given), JobKind::kUnknown);
    for (const SoloPoint& point : job.of(held)) {
      score.add(fit.law().step(point.at), point.step);
    }
  }
  return score;
}

/// Each point from all others of its job, for jobs with at least five: by the belief and by the
/// law.
struct LeaveOneOut {
  Score belief;
  Score law;
};
inline LeaveOneOut leave_one_out(const MeasuredJobs& jobs, JobKind kind) {
  LeaveOneOut score;
  for (const MeasuredJob& job : jobs) {
    for (const auto& [slice, point] : job.points) {
      if (job.points.size() <= kFullLawPoints) {
        continue;
      }
      MeasuredJob rest = job;
      rest.points.erase(slice);
      const SoloFit fit = fit_of(rest.all(), kind);
      const StepBelief belief = fit.predict(point.at);
      score.belief.add(belief.step, point.step, belief.log_sd);
      score.law.add(fit.law().step(point.at), point.step);
    }
  }
  return score;
}

}  // namespace septule::predict::test
