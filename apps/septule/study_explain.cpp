#include "septule/study_explain.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/job_story.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

std::optional<job::JobId> numbered(const job::Workload& workload, std::string_view text) {
  const auto number = parse_integer(text);
  const bool is_number =
      number && *number >= 0 && *number < static_cast<std::int64_t>(workload.jobs.size());
  return is_number ? std::optional(job::JobId(static_cast<int>(*number))) : std::nullopt;
}

/// Why there is no story: the job was left out of the simulation, or there is none.
Error no_story(const StudyJobs& jobs, const job::Workload& workload, const std::string& text) {
  const auto left_out = std::ranges::find(jobs.left_out, text, &interop::LeftOutJob::id);
  if (left_out != jobs.left_out.end()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("--explain: job {} (line {} of {}) is not simulated: {}",
                             quoted_for_message(text),
                             left_out->line,
                             jobs.source_name,
                             interop::trace_finding_text(left_out->why))};
  }
  std::vector<std::string> names;
  for (const job::JobSpec& job : workload.jobs) {
    names.push_back(job.name);
  }
  const std::vector<std::string> near = nearest_names(text, names, 3);
  return Error{
      ErrorCode::kNotFound,
      fmt::format("--explain: {} is no job of the trace; expected a name, or a number from "
                  "#0 to #{}{}",
                  quoted_for_message(text),
                  workload.jobs.size() - 1,
                  near.empty() ? "" : "; near it: " + joined_with_and(near))};
}

/// "#3" is the job with that number; any other text a name, else a number.
Result<job::JobId> find_job(const StudyJobs& jobs,
                            const job::Workload& workload,
                            const std::string& text) {
  if (text.starts_with('#')) {
    if (const auto id = numbered(workload, std::string_view(text).substr(1))) {
      return *id;
    }
  }
  const auto id = numbered(workload, text);
  const auto named = std::ranges::find(workload.jobs, text, &job::JobSpec::name);
  if (named != workload.jobs.end()) {
    if (id && *id != named->id) {
      say_note(fmt::format(
          "--explain: {} is the name of job {}, whose story this is; #{} is the job of that number",
          quoted_for_message(text),
          named->id.value(),
          id->value()));
    }
    return named->id;
  }
  const bool is_left_out =
      std::ranges::find(jobs.left_out, text, &interop::LeftOutJob::id) != jobs.left_out.end();
  if (id && !is_left_out) {
    return *id;
  }
  return no_story(jobs, workload, text);
}

Json optional_seconds(const std::optional<SimTime>& time) {
  return time ? Json(time->to_seconds()) : Json(nullptr);
}

Json story_document(const sim::RunRecording& recording,
                    const job::JobOutcome& outcome,
                    const std::string& name) {
  Json times = Json::object();
  for (int kind = 0; kind < job::kTimeKindCount; ++kind) {
    times[std::string(job::time_kind_name(static_cast<job::TimeKind>(kind)))] =
        outcome.times[static_cast<std::size_t>(kind)].to_seconds();
  }
  Json events = Json::array();
  for (const sim::StoryEvent& event : recording.story) {
    events.push_back({{"time_s", event.time.to_seconds()}, {"text", event.text}});
  }
  return {{"schema", "septule-job-story/1"},
          {"policy", recording.run.policy},
          {"cluster", recording.run.cluster},
          {"seed", recording.run.seed},
          {"job", outcome.id.value()},
          {"name", name},
          {"state", job::job_state_name(outcome.state)},
          {"submit_s", outcome.submit.to_seconds()},
          {"start_s", optional_seconds(outcome.first_start)},
          {"finish_s", optional_seconds(outcome.finish)},
          {"times_s", std::move(times)},
          {"events", std::move(events)}};
}

}  // namespace

Result<int> explain_job(const std::string& job,
                        sim::Study& study,
                        const FinishedStudy& finished,
                        const StudyRun& how,
                        Context& context) {
  const sim::Trial trial = study.trials().front();
  SEPTULE_TRY(const job::Workload workload, study.workload_of(trial));
  SEPTULE_TRY(const job::JobId id, find_job(*finished.jobs, workload, job));
  const sim::StudySpec& spec = study.spec();
  if (study.trials().size() > 1) {
    say_note(fmt::format("the story is told for policy {}, seed {} on {}",
                         spec.policies.front()->name,
                         trial.seed,
                         spec.clusters.front().name()));
  }
  SEPTULE_TRY_STATUS(choose_layouts(study, how));
  sim::RunRecording recording;
  recording.story_of = id;
  if (auto run = study.run_trial(trial, &recording); !run) {
    return run.error();
  }
  const auto at = static_cast<std::size_t>(id.value());
  const job::JobOutcome& outcome = recording.run.jobs[at];
  const std::string& name = workload.jobs[at].name;
  SEPTULE_TRY_STATUS(context.output.emit(story_document(recording, outcome, name), [&] {
    std::vector<report::StoryLine> lines;
    for (const sim::StoryEvent& event : recording.story) {
      lines.push_back({event.time, event.text});
    }
    return fmt::format("Policy {}, seed {}, {}; {}.\n",
                       recording.run.policy,
                       recording.run.seed,
                       recording.run.cluster,
                       trace_text(*finished.jobs, spec)) +
           report::job_story(outcome, name, lines);
  }));
  return 0;
}

}  // namespace septule::app
