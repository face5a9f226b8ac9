#include "report/study_csv.hpp"

#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/check.hpp"
#include "report/number_text.hpp"

namespace septule::report {

namespace {

/// A job of a run, with what its row says beyond the outcome.
struct JobRow {
  const RepresentativeRun& run;
  const job::JobOutcome& outcome;
};

struct JobColumn {
  const char* name;
  const char* unit;
  const char* formula;
  std::string (*cell)(const JobRow& row);
};

std::string time_cell(const std::optional<SimTime>& time) {
  return time.has_value() ? exact_seconds_text(*time - SimTime()) : std::string();
}

template <job::TimeKind kKind>
std::string kind_cell(const JobRow& row) {
  return exact_seconds_text(row.outcome.times[static_cast<std::size_t>(kKind)]);
}

std::string jct_cell(const JobRow& row) {
  const auto& finish = row.outcome.finish;
  return finish.has_value() ? exact_seconds_text(*finish - row.outcome.submit) : std::string();
}

std::string slowdown_cell(const JobRow& row) {
  const double ideal_s = row.outcome.ideal.to_seconds();
  if (!row.outcome.finish.has_value() || ideal_s <= 0) {
    return {};
  }
  return fixed_text((*row.outcome.finish - row.outcome.submit).to_seconds() / ideal_s, 4);
}

constexpr std::array kJobColumns = std::to_array<JobColumn>({
    {"policy", "text", "name of the policy", [](const JobRow& row) { return row.run.run.policy; }},
    {"seed",
     "1",
     "seed of the run",
     [](const JobRow& row) { return fmt::format("{}", row.run.run.seed); }},
    {"job",
     "1",
     "number of the job, from 0 in order of submission",
     [](const JobRow& row) { return fmt::format("{}", row.outcome.id.value()); }},
    {"name",
     "text",
     "the job's name in the trace",
     [](const JobRow& row) { return job_name(row.run, row.outcome.id); }},
    {"state",
     "text",
     "`done` or `rejected` (fits no GPU of the cluster)",
     [](const JobRow& row) { return std::string(job::job_state_name(row.outcome.state)); }},
    {"gpus",
     "GPUs",
     "GPUs of a gang; 1 for all other jobs",
     [](const JobRow& row) { return fmt::format("{}", row.outcome.gpu_count); }},
    {"submit_s",
     "s",
     "submission, from the start of the trace",
     [](const JobRow& row) { return time_cell(row.outcome.submit); }},
    {"start_s",
     "s",
     "first process start; empty if it never started",
     [](const JobRow& row) { return time_cell(row.outcome.first_start); }},
    {"finish_s",
     "s",
     "end; empty if it never finished",
     [](const JobRow& row) { return time_cell(row.outcome.finish); }},
    {"jct_s", "s", "finish_s - submit_s", jct_cell},
    {"wait_s",
     "s",
     "time on no GPU, before the first start and after preemptions",
     kind_cell<job::TimeKind::kWaiting>},
    {"characterisation_s",
     "s",
     "time running under MPS in characterisation runs",
     kind_cell<job::TimeKind::kCharacterisation>},
    {"reconfiguration_s",
     "s",
     "time starting, saving checkpoints and stopped for re-cuts",
     kind_cell<job::TimeKind::kReconfiguration>},
    {"running_s", "s", "time making progress otherwise", kind_cell<job::TimeKind::kRunning>},
    {"ideal_s",
     "s",
     "one start plus the whole run alone on the whole GPU",
     [](const JobRow& row) { return exact_seconds_text(row.outcome.ideal); }},
    {"slowdown", "1", "jct_s / ideal_s", slowdown_cell},
    {"work_s",
     "GPU s",
     "useful time alone on the whole GPU, times gpus",
     [](const JobRow& row) { return exact_seconds_text(row.outcome.work); }},
    {"checkpoints",
     "1",
     "checkpoints saved",
     [](const JobRow& row) { return fmt::format("{}", row.outcome.checkpoints); }},
    {"characterisations",
     "1",
     "characterisation runs it took part in",
     [](const JobRow& row) { return fmt::format("{}", row.outcome.characterisations); }},
    {"gpu_changes",
     "1",
     "starts on another GPU than before",
     [](const JobRow& row) { return fmt::format("{}", row.outcome.gpu_changes); }},
});

bool counts_jobs(const job::FigureColumn& column) {
  return column.member == &job::RunFigures::jobs_done ||
         column.member == &job::RunFigures::jobs_rejected;
}

}  // namespace

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + "\"";
}

std::string csv_heading(std::span<const CsvColumn> columns) {
  std::string line;
  for (const CsvColumn& column : columns) {
    line += (line.empty() ? "" : ",") + column.name;
  }
  return line + "\n";
}

std::vector<CsvColumn> run_columns() {
  std::vector<CsvColumn> columns = {{"policy", "text", "name of the policy"},
                                    {"seed", "1", "seed of the run"}};
  for (const job::FigureColumn& column : job::figure_columns()) {
    columns.push_back({column.name, column.unit, column.formula});
  }
  return columns;
}

std::vector<CsvColumn> job_columns() {
  std::vector<CsvColumn> columns;
  for (const JobColumn& column : kJobColumns) {
    columns.push_back({column.name, column.unit, column.formula});
  }
  return columns;
}

std::string runs_csv(const StudyReport& study) {
  std::string out = csv_heading(run_columns());
  for (const PolicyReport& policy : study.policies) {
    SEPTULE_CHECK(policy.runs.size() == policy.seeds.size(), "a policy has one seed per run");
    for (std::size_t i = 0; i < policy.runs.size(); ++i) {
      const job::RunFigures& run = policy.runs[i];
      out += fmt::format("{},{}", csv_cell(policy.name), policy.seeds[i]);
      for (const job::FigureColumn& column : job::figure_columns()) {
        const double value = run.*column.member;
        const bool is_known = (run.jobs_done > 0 || counts_jobs(column)) && std::isfinite(value);
        out += "," + (is_known ? fixed_text(value, column.decimals) : std::string());
      }
      out += "\n";
    }
  }
  return out;
}

std::string jobs_csv(const RepresentativeRun& run) {
  std::string out = csv_heading(job_columns());
  for (const job::JobOutcome& outcome : run.run.jobs) {
    const JobRow row{run, outcome};
    for (std::size_t i = 0; i < kJobColumns.size(); ++i) {
      out += (i > 0 ? "," : "") + csv_cell(kJobColumns[i].cell(row));
    }
    out += "\n";
  }
  return out;
}

}  // namespace septule::report
