#include "septule/study_options.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "interop/study_file.hpp"
#include "job/perf_signature.hpp"
#include "sched/policy_registry.hpp"
#include "septule/files.hpp"
#include "septule/inputs.hpp"
#include "septule/trace_view.hpp"

namespace septule::app {

namespace {

constexpr double kSecondsMax = 86400;

/// The policies of the paper's comparison that there are.
std::string default_policies() {
  std::string text;
  for (const std::string_view name :
       {"nopart", "optsta", "mps-only", "miso", "oracle", "septule"}) {
    if (sched::find_policy(name)) {
      text += fmt::format("{}{}", text.empty() ? "" : ",", name);
    }
  }
  return text;
}

void add_cluster_records(std::vector<OptionRecord>& records) {
  records.push_back({.name = "gpus",
                     .value = "CLUSTERS",
                     .text = "The cluster, as COUNTxMODEL; several, separated by commas, are "
                             "compared. How fast the models are is left out: the work of a job is "
                             "its time alone on the whole GPU of whichever model is simulated. "
                             "COUNTxMODEL@X: that whole GPU is X times as fast.",
                     .default_text = "8xA100-40GB"});
  records.push_back({.name = "gpus-per-node",
                     .value = "N",
                     .text = "GPUs of one node.",
                     .default_text = "8",
                     .min = 1,
                     .max = 64,
                     .is_integer = true});
  records.push_back({.name = "trace",
                     .value = "TRACE",
                     .text =
                         "The jobs: miso-100, miso-1000, hpc-dl (4000 generated jobs), or a trace "
                         "file in any format of trace import.",
                     .default_text = "miso-100",
                     .completion = CompletionKind::kFile});
  records.push_back(trace_format_option());
  records.push_back(processors_per_gpu_option());
  records.push_back(signatures_option());
  records.push_back({.name = "gangs",
                     .value = "WHAT",
                     .text = "Whether jobs of a trace on several GPUs are kept.",
                     .default_text = "keep",
                     .choices = {"keep", "drop"}});
  records.push_back({.name = "speed-up",
                     .value = "X",
                     .text = "Submissions of a trace file come so many times as fast.",
                     .default_text = "1",
                     .min = 0.001,
                     .max = 100000});
  records.push_back({.name = "memory-preset",
                     .value = "NAME",
                     .text = "Where the memory of a trace's jobs comes from if it does not say.",
                     .default_text = job::memory_preset_names().front(),
                     .choices = job::memory_preset_names()});
  records.push_back({.name = "compute-bound-share",
                     .value = "X",
                     .text = "Share of compute-bound jobs among a trace's jobs without "
                             "measurements.",
                     .default_text = "0",
                     .min = 0,
                     .max = 1});
}

void add_arrival_records(std::vector<OptionRecord>& records) {
  records.push_back(
      {.name = "arrivals",
       .value = "KIND",
       .text = "When jobs are submitted. Without it: as the trace file says; poisson "
               "for miso-100 and miso-1000.",
       .choices = {"poisson", "near-periodic", "bursty", "batch", "trace", "artifact"}});
  records.push_back({.name = "batch-jobs",
                     .value = "N",
                     .text = "With batch arrivals: so many of the jobs, drawn anew for each seed, "
                             "are there at 0. Without it: all.",
                     .min = 1,
                     .max = 1000000,
                     .is_integer = true});
  records.push_back({.name = "gap",
                     .value = "S,...",
                     .text = "Mean gap between submissions in seconds; several make a sweep. "
                             "Without it: 60, or 10 for miso-1000."});
  records.push_back({.name = "burstiness",
                     .value = "X",
                     .text = "Squared coefficient of variation of bursty gaps.",
                     .default_text = "14",
                     .min = 1.01,
                     .max = 1000});
  records.push_back({.name = "constant-rate",
                     .text = "The same mean gap throughout; without it the first third of the jobs "
                             "arrives twice as fast."});
  records.push_back({.name = "policies",
                     .value = "NAMES",
                     .text = "What to compare (septule policies lists them), the first being what "
                             "the others are compared with; all for all.",
                     .default_text = default_policies()});
  records.push_back({.name = "seeds",
                     .value = "SEEDS",
                     .text = "Seeds of arrivals and errors, as in 1-20 or 1,4,9.",
                     .default_text = "1-20"});
  records.push_back({.name = "layout-seeds",
                     .value = "SEEDS",
                     .text = "Seeds on which the layout of optsta is chosen. Without it: 1-20 (1-3 "
                             "for artifact arrivals of miso-1000)."});
  records.push_back({.name = "layout",
                     .value = "LAYOUT",
                     .text = "The layout of optsta, as in 3g,2g,2g; without it the best one is "
                             "searched for."});
}

void add_cost_records(std::vector<OptionRecord>& records) {
  records.push_back({.name = "costs",
                     .value = "KIND",
                     .text = "Start-up and step times: as measured, or 25 s and x 1.16 as fitted "
                             "to the paper's testbed.",
                     .default_text = "nominal",
                     .choices = {"nominal", "calibrated"}});
  records.push_back({.name = "checkpoint-rate",
                     .value = "X",
                     .text = "Speed of saving a checkpoint. Without it: 2 (no limit in the "
                             "artifact's setting).",
                     .unit = "GiB/s",
                     .min = 0.001,
                     .max = 100000});
  records.push_back({.name = "restart-rate",
                     .value = "X",
                     .text = "Speed of loading one. Without it: 2 (no limit in the artifact's "
                             "setting).",
                     .unit = "GiB/s",
                     .min = 0.001,
                     .max = 100000});
  records.push_back({.name = "checkpoint-factor",
                     .value = "X",
                     .text = "Scales the whole checkpoint time.",
                     .default_text = "1",
                     .min = 0,
                     .max = 1000});
  records.push_back({.name = "start-extra",
                     .value = "S",
                     .text = "Added to every start.",
                     .unit = "s",
                     .default_text = "0",
                     .min = 0,
                     .max = kSecondsMax});
  records.push_back({.name = "reset",
                     .value = "S",
                     .text = "What a re-cut costs. Without it: the sum of its steps (4 in the "
                             "artifact's setting).",
                     .unit = "s",
                     .min = 0,
                     .max = kSecondsMax});
  records.push_back({.name = "interference",
                     .value = "X",
                     .text = "Loss of speed per further job that shares a GPU by MPS.",
                     .default_text = "0.15",
                     .min = 0,
                     .max = 10});
  records.push_back({.name = "whole-instance-speed",
                     .value = "X",
                     .text = "Speed on one instance of all slices, relative to MIG off.",
                     .default_text = "1",
                     .min = 0.01,
                     .max = 1});
  records.push_back({.name = "neighbour-loss",
                     .value = "X",
                     .text = "Loss of speed on an instance when all other slices are busy.",
                     .default_text = "0",
                     .min = 0,
                     .max = 0.99});
}

void add_window_records(std::vector<OptionRecord>& records) {
  records.push_back({.name = "congested",
                     .value = "X",
                     .text = "hierarchical plans windows while so many jobs wait for each GPU (two "
                             "in all at least).",
                     .default_text = "0.5",
                     .min = 0,
                     .max = 1000000});
  records.push_back({.name = "window",
                     .value = "N",
                     .text = "Jobs that hierarchical plans together.",
                     .default_text = "8",
                     .min = 1,
                     .max = 16,
                     .is_integer = true});
  records.push_back({.name = "fairness",
                     .value = "X",
                     .text = "No job that hierarchical lets share an instance, or puts on a small "
                             "one, is slower than this part of its speed alone on the whole GPU, "
                             "as believed.",
                     .default_text = "0",
                     .min = 0,
                     .max = 1});
  records.push_back({.name = "mps-users",
                     .value = "WHO",
                     .text =
                         "Who may share an MPS server under hierarchical: jobs of any users, or "
                         "of one user only.",
                     .default_text = "any",
                     .choices = {"any", "same"}});
}

void add_policy_records(std::vector<OptionRecord>& records) {
  records.push_back({.name = "setting",
                     .value = "NAME",
                     .text = "Whose semantics MISO and its rivals follow: the paper's, or those of "
                             "its public artifact.",
                     .default_text = "paper",
                     .choices = {"paper", "artifact"}});
  records.push_back({.name = "serial-controller",
                     .text = "One re-cut at a time, and nothing is noticed meanwhile."});
  records.push_back({.name = "tick",
                     .value = "S",
                     .text = "The controller notices things at multiples of this only. Without it: "
                             "0 (10 in the artifact's setting).",
                     .unit = "s",
                     .min = 0,
                     .max = kSecondsMax});
  records.push_back({.name = "error-mean",
                     .value = "X",
                     .text = "Mean error of predicted speeds, for policies that predict.",
                     .default_text = "0.016",
                     .min = 0,
                     .max = 0.5});
  records.push_back({.name = "error-sd",
                     .value = "X",
                     .text = "Its standard deviation.",
                     .default_text = "0.0032",
                     .min = 0,
                     .max = 0.5});
  records.push_back({.name = "objective",
                     .value = "NAME",
                     .text = "What a layout of one GPU is judged by. Without it: sum "
                             "(mean-slowdown in the artifact's setting).",
                     .choices = {"sum", "mean-slowdown", "weighted", "max-min"}});
  records.push_back({.name = "levels",
                     .value = "N,...",
                     .text = "Active thread percentages of a characterisation run. Without it: "
                             "100,50,14 (50 in the artifact's setting)."});
  records.push_back({.name = "level-time",
                     .value = "S",
                     .text = "Time of each level. Without it: 10 (30 in the artifact's setting).",
                     .unit = "s",
                     .min = 0.1,
                     .max = kSecondsMax});
  records.push_back({.name = "recharacterise-threshold",
                     .value = "X",
                     .text = "Relative change of a running job's speed from which on what is known "
                             "of it is void.",
                     .default_text = "0.2",
                     .min = 0.001,
                     .max = 100});
  records.push_back({.name = "recharacterise-gap",
                     .value = "S",
                     .text = "Least time between characterisation runs of a GPU for such changes.",
                     .unit = "s",
                     .default_text = "0",
                     .min = 0,
                     .max = kSecondsMax});
  records.push_back({.name = "check",
                     .text = "Let checkers watch every run; what they find ends it with exit "
                             "code 1."});
}

void add_predictor_records(std::vector<OptionRecord>& records) {
  records.push_back({.name = "predictor",
                     .value = "NAME|FILE",
                     .text = "What policies that predict believe: table (the true speeds with "
                             "--error-mean and --error-sd), a network that comes with Septule "
                             "(ours, unet), or a file of weights. Networks see what "
                             "characterisation runs measure, and nothing else.",
                     .default_text = "table",
                     .completion = CompletionKind::kFile});
  records.push_back({.name = "mps-noise",
                     .value = "X",
                     .text = "Log-normal noise of measured step times, for learned predictors. "
                             "Without it: 0.02.",
                     .min = 0,
                     .max = 1});
  records.push_back({.name = "mps-data",
                     .value = "DIR",
                     .text = "Let characterisation runs measure what was once measured: columns "
                             "drawn from the MISO data in DIR (unet_input.npy, unet_rows.csv, "
                             "unet_classes.csv), of the same kind of job and number of co-runners. "
                             "Without it: the truth model's times with --mps-noise.",
                     .completion = CompletionKind::kDirectory});
  records.push_back({.name = "mps-fold",
                     .value = "PART",
                     .text =
                         "The rows of --mps-data to draw from, which the predictor must not have "
                         "been trained on: a fold from 0 to 4, or a job family, for the rows of "
                         "all mixes with it."});
}

std::string shell_word(const std::string& text) {
  const bool is_plain = !text.empty() && text.find_first_not_of(
                                             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                             "0123456789.,:/@%+=_-") == std::string::npos;
  if (is_plain) {
    return text;
  }
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

}  // namespace

std::vector<OptionRecord> study_records() {
  std::vector<OptionRecord> records;
  add_cluster_records(records);
  add_arrival_records(records);
  add_cost_records(records);
  add_policy_records(records);
  add_window_records(records);
  add_predictor_records(records);
  return records;
}

Result<StudySettings> StudySettings::make(const Invocation& invocation) {
  StudySettings settings;
  settings.records_ = study_records();
  if (invocation.is_given("study")) {
    const std::string path = invocation.text("study");
    SEPTULE_TRY(const std::string text, read_input(path));
    const std::string name = source_name_of(path);
    SEPTULE_TRY(const std::vector<interop::StudyFileEntry> entries,
                interop::parse_study_file({text, name}, settings.records_));
    for (const interop::StudyFileEntry& entry : entries) {
      settings.values_[entry.name] = {entry.text,
                                      fmt::format("{}:{}: /{}", name, entry.line, entry.name)};
    }
  }
  for (const OptionRecord& record : settings.records_) {
    if (invocation.is_given(record.name)) {
      const std::string text = record.value.empty() ? "true" : invocation.text(record.name);
      settings.values_[record.name] = {text, "--" + record.name};
    }
  }
  return settings;
}

const OptionRecord& StudySettings::record(std::string_view name) const {
  const auto found = std::ranges::find(records_, name, &OptionRecord::name);
  SEPTULE_CHECK(found != records_.end(), "a study has only options it has a record of");
  return *found;
}

std::string StudySettings::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? record(name).default_text : found->second.text;
}

double StudySettings::number(std::string_view name) const {
  return checked_value(parse_number(text(name)),
                       "a numeric option has a checked value or a numeric default");
}

Error StudySettings::located(std::string_view name, const Error& fault) const {
  const auto found = values_.find(name);
  const std::string place =
      found == values_.end() ? fmt::format("--{}", name) : found->second.place;
  // A bad value on the command line is a fault of the command line.
  const bool is_usage = place.starts_with("--") && fault.code == ErrorCode::kInvalidInput;
  return Error{is_usage ? ErrorCode::kUsage : fault.code,
               fmt::format("{}: {}", place, fault.message)};
}

std::string StudySettings::command() const {
  std::string line = "septule simulate";
  for (const OptionRecord& record : records_) {
    if (is_given(record.name)) {
      line += " --" + record.name;
      line += record.value.empty() ? "" : " " + shell_word(text(record.name));
    }
  }
  return line;
}

std::vector<std::pair<std::string, std::string>> StudySettings::all() const {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const OptionRecord& record : records_) {
    pairs.emplace_back(record.name, text(record.name));
  }
  return pairs;
}

}  // namespace septule::app
