// septule predict: from what an MPS co-run measured to speeds on slices and a layout.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "learn/canonical_levels.hpp"
#include "learn/slice_models.hpp"
#include "septule/app.hpp"
#include "septule/files.hpp"
#include "septule/inputs.hpp"
#include "septule/predict_run.hpp"
#include "septule/predict_stream.hpp"
#include "septule/predict_view.hpp"

namespace septule::app {

namespace {

Result<int> run_predict_stream(const Invocation& invocation, Context& context) {
  for (const char* name : {"gpu", "output", "explain"}) {
    if (invocation.is_given(name)) {
      return Error{
          ErrorCode::kUsage,
          fmt::format("--{} does not go with --jsonl: its answer has one form, for any GPU", name)};
    }
  }
  SEPTULE_TRY(const LoadedModel model, load_model(invocation));
  SEPTULE_TRY_STATUS(predict_stream(
      invocation.is_given("FILE") ? invocation.text("FILE") : "-", model, context.output));
  return 0;
}

std::string prefix_of(const PredictedRun& run) {
  return run.name.empty() ? "" : fmt::format("run {}: ", quoted_for_message(run.name));
}

/// "90, 70 and 30 %".
std::string percentages_text(const std::vector<int>& levels) {
  std::vector<std::string> texts;
  for (const int level : levels) {
    texts.push_back(fmt::format("{}", level));
  }
  return joined_with_and(texts) + " %";
}

/// Percentages that were measured in vain.
void say_unused_levels(const PredictedRun& run) {
  std::vector<int> measured;
  for (const predict::MpsMatrix::Level& level : run.matrix.levels) {
    measured.push_back(level.atp.value());
  }
  // Every job of a run has a time at the same percentages.
  const learn::LevelUse use = learn::level_use(run.matrix, 0);
  if (use.made.size() == learn::kCanonicalLevels) {
    if (!use.unused.empty()) {
      say_warning(fmt::format("{}of {} the network uses {}; the time at {} is not used",
                              prefix_of(run),
                              percentages_text(measured),
                              percentages_text(use.made),
                              percentages_text(use.unused)));
    }
    return;
  }
  const bool is_as_trained = std::ranges::all_of(
      measured, [&use](int level) { return std::ranges::find(use.made, level) != use.made.end(); });
  if (!is_as_trained) {
    say_warning(fmt::format("{}of {} only {} for {} can be made{}; measure {}",
                            prefix_of(run),
                            percentages_text(measured),
                            use.made.size() == 1 ? "a value" : "values",
                            percentages_text(use.made),
                            use.unused.empty()
                                ? std::string()
                                : fmt::format(", without {}", percentages_text(use.unused)),
                            percentages_text({learn::kCanonicalPercentages.begin(),
                                              learn::kCanonicalPercentages.end()})));
  }
}

/// Counters given in vain: the network takes those of a job all or none.
void say_unused_counters(const PredictedRun& run) {
  for (std::size_t j = 0; j < run.jobs.size(); ++j) {
    const predict::JobCounters& counters = run.matrix.counters[j];
    std::vector<std::string> missing;
    const auto note = [&missing](const std::optional<double>& counter, std::string_view name) {
      if (!counter) {
        missing.emplace_back(name);
      }
    };
    note(counters.sm_percent, "sm_percent");
    note(counters.memory_percent, "memory_percent");
    note(counters.power_watts, "power_w");
    note(counters.footprint_mib, "footprint_mib");
    constexpr std::size_t kCounters = 4;
    if (!missing.empty() && missing.size() < kCounters) {
      say_warning(
          fmt::format("{}job {} lacks {}: the network uses the four counters of a job "
                      "together, and so none of this job's",
                      prefix_of(run),
                      quoted_for_message(run.jobs[j].name),
                      joined_with_and(missing)));
    }
  }
}

/// Declared memory that is likely meant otherwise.
void say_memory_doubts(const PredictView& view, const PredictedRun& run) {
  constexpr Bytes kLittle = Bytes::mebibytes(100);
  for (const optimize::PredictedJob& job : run.jobs) {
    if (!job.memory) {
      continue;
    }
    if (*job.memory < kLittle) {
      say_warning(fmt::format(
          "{}the memory of job {} is declared as {:.4g} MiB, less than a CUDA context takes; "
          "expected what the job needs on a GPU, in GiB (memory_gib) or MiB (memory_mib)",
          prefix_of(run),
          quoted_for_message(job.name),
          job.memory->to_gibibytes() * 1024));
    }
    if (!job.smallest) {
      continue;
    }
    const auto index = static_cast<std::size_t>(*job.smallest);
    const gpu::GpuInstanceProfile& profile = view.geometry.profile(view.profiles[index]);
    if (profile.memory && *job.memory > *profile.memory) {
      say_warning(
          fmt::format("{}job {} is declared to run on {}, but its {:.2f} GiB do not fit "
                      "{} ({:.2f} GiB): both are kept to",
                      prefix_of(run),
                      quoted_for_message(job.name),
                      predict::kSliceNames[index],
                      job.memory->to_gibibytes(),
                      profile.name,
                      profile.memory->to_gibibytes()));
    }
  }
}

/// Slices of which it is not known whether the job fits: "7g, 4g and 3g".
std::string unknown_slices(const PredictedRun& run, std::size_t job) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < predict::kSlices; ++i) {
    if (run.fits[job][i] == optimize::MemoryFit::kNotPublished) {
      names.emplace_back(predict::kSliceNames[i]);
    }
  }
  return joined_with_and(names);
}

/// What a reader of the speeds must know and the input did not say.
void say_doubts(const PredictView& view) {
  if (view.geometry.key() != learn::kTrainedGpu) {
    say_note(
        fmt::format("the network was trained with measurements of {}: how well its speeds hold "
                    "on {} is not known",
                    learn::kTrainedGpu,
                    view.geometry.key()));
  }
  for (const PredictedRun& run : view.runs) {
    say_unused_levels(run);
    if (view.model.has_counters) {
      say_unused_counters(run);
    }
    say_memory_doubts(view, run);
    std::vector<std::string> names;
    for (std::size_t j = 0; j < run.jobs.size(); ++j) {
      if (run.fits[j].back() == optimize::MemoryFit::kNotDeclared) {
        names.push_back(quoted_for_message(run.jobs[j].name));
      }
    }
    if (!names.empty()) {
      say_note(
          fmt::format("nothing is declared of the memory of {}: taken to fit every slice; give "
                      "memory_gib or smallest to be sure",
                      joined_with_and(names)));
    }
  }
}

/// Of a job that is not known to fit any slice: "job big fits no slice of A100-40GB: it needs 50.0
/// GiB, and 7g.40gb has 39.5 GiB".
std::string no_slice_text(const PredictView& view, const PredictedRun& run, std::size_t job) {
  const std::string name = quoted_for_message(run.jobs[job].name);
  const double needs = run.jobs[job].memory.value_or(Bytes()).to_gibibytes();
  const std::string unknown = unknown_slices(run, job);
  if (!unknown.empty()) {
    return fmt::format(
        "it is not known whether job {} fits a slice of {}: it needs {:.2f} GiB, "
        "and the memory of {} is not published; give smallest, the smallest slice "
        "that holds it",
        name,
        view.geometry.key(),
        needs,
        unknown);
  }
  const gpu::GpuInstanceProfile& whole = view.geometry.profile(view.profiles.front());
  return fmt::format(
      "job {} fits no slice of {}: it needs {:.2f} GiB{}",
      name,
      view.geometry.key(),
      needs,
      whole.memory
          ? fmt::format(", and {} has {:.2f} GiB", whole.name, whole.memory->to_gibibytes())
          : std::string());
}

std::string infeasible_text(const PredictView& view, const PredictedRun& run) {
  for (std::size_t j = 0; j < run.jobs.size(); ++j) {
    if (std::ranges::none_of(run.fits[j], optimize::may_be_used)) {
      return prefix_of(run) + no_slice_text(view, run, j);
    }
  }
  return prefix_of(run) + run.plan.infeasible_reason;
}

Result<int> run_predict(const Invocation& invocation, Context& context) {
  if (invocation.is_given("jsonl")) {
    return run_predict_stream(invocation, context);
  }
  if (!invocation.is_given("FILE")) {
    return Error{ErrorCode::kUsage,
                 "what was measured? Give FILE (CSV or JSON, - for standard input), or --jsonl"};
  }
  SEPTULE_TRY(const gpu::Geometry* geometry, context.catalogue.find(invocation.text("gpu")));
  SEPTULE_TRY(const optimize::SliceProfiles profiles, optimize::slice_profiles(*geometry));
  SEPTULE_TRY(const LoadedModel model, load_model(invocation));
  const std::string path = invocation.text("FILE");
  const std::string source_name = source_name_of(path);
  SEPTULE_TRY(const std::string text, read_input(path));
  SEPTULE_TRY(const auto measured, interop::parse_mps_measurements({text, source_name}));
  std::vector<PredictedRun> runs;
  for (const interop::MpsRun& run : measured) {
    auto predicted = predict_run(run, model, *geometry, profiles);
    if (!predicted) {
      return Error{predicted.error().code,
                   fmt::format("{}: {}", source_name, predicted.error().message)};
    }
    runs.push_back(std::move(predicted).value());
  }
  if (invocation.is_given("explain")) {
    SEPTULE_TRY_STATUS(explain_runs(runs, invocation.text("explain"), *geometry, profiles));
  }
  const PredictView view{source_name, model, *geometry, profiles, runs};
  say_doubts(view);
  if (context.output.format() == Format::kCsv) {
    SEPTULE_TRY_STATUS(context.output.print(predict_csv(view)));
  } else {
    SEPTULE_TRY_STATUS(
        context.output.emit(predict_document(view), [&] { return predict_text(view); }));
  }
  for (const PredictedRun& run : runs) {
    if (!run.plan.is_feasible) {
      return Error{ErrorCode::kBlocked, infeasible_text(view, run)};
    }
  }
  return 0;
}

std::vector<OptionRecord> predict_options() {
  OptionRecord gpu = gpu_option(
      "The model whose slices are asked for; one with seven compute slices. The built-in networks "
      "know the A100-40GB.");
  gpu.default_text = std::string(learn::kTrainedGpu);
  OptionRecord output = output_option();
  output.choices.emplace_back("csv");
  std::vector<OptionRecord> options = {std::move(gpu)};
  for (OptionRecord& option : predict_model_options()) {
    options.push_back(std::move(option));
  }
  options.push_back({.name = "explain",
                     .short_name = 'e',
                     .value = "JOB",
                     .text = "Say for each slice what limits this job (all: every job): its serial "
                             "part, compute, unusable SMs or memory bandwidth."});
  options.push_back({.name = "jsonl",
                     .text =
                         "Answer each line of FILE or standard input with a line: "
                         "{\"mps_levels\":[100,50,14],\"step_time\":[[7],[7],[7]]}, null for an "
                         "absent job. A bad line gives {\"error\":...} and exit code 3 at the "
                         "end."});
  options.push_back(std::move(output));
  options.push_back(verbose_option());
  return options;
}

}  // namespace

Command predict_command() {
  return {
      .record =
          {.path = {"predict"},
           .summary = "from a short MPS co-run to the speed on every slice",
           .description =
               {"FILE holds the mean step times of one to seven jobs that shared a whole GPU under "
                "MPS, at each of several active thread percentages (docs/predict.md says how to "
                "measure them). A trained network gives each job's speed alone on each slice, with "
                "an interval, and the exact optimizer the layout that follows, with how sure it "
                "is.",
                "Whether a job's memory fits a slice is not predicted: declare memory_gib or "
                "smallest. A job that fits no slice, or jobs that no layout serves, end with exit "
                "code 5 after their speeds have been printed."},
           .arguments = {{.name = "FILE",
                          .text =
                              "MPS measurements as CSV (job,atp,step_s) or JSON; - for standard "
                              "input.",
                          .completion = CompletionKind::kFile}},
           .options = predict_options(),
           .examples = {{"septule predict mps_run.csv", "speeds and the best layout"},
                        {"septule predict --jsonl < runs.jsonl > speeds.jsonl",
                         "many co-runs, one a line, for a program"}},
           .exit_codes = {0, 1, 2, 3, 4, 5}},
      .run = run_predict};
}

}  // namespace septule::app
