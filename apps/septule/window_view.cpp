#include "septule/window_view.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "gpu/partition.hpp"
#include "report/number_text.hpp"
#include "report/table.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;
using plan::ScheduledInstance;
using plan::ScheduledRun;

/// What is said of one run.
struct RunLine {
  const ScheduledRun* run = nullptr;
  std::string slot;      ///< "4g.40gb@0", "full", "7g.80gb@0 2c@4"
  std::string instance;  ///< "4g.40gb@0", "full"
  double begin_s = 0;
  double end_s = 0;
  double speed = 0;  ///< mean, relative to alone on the whole GPU
};

RunLine line_of(const gpu::Geometry& geometry,
                const ScheduledInstance& instance,
                const ScheduledRun& run) {
  RunLine line{.run = &run, .slot = "full", .instance = "full"};
  if (instance.placed.has_value()) {
    line.instance = gpu::placed_text(geometry, *instance.placed);
    line.slot = line.instance;
    const gpu::ComputeInstance& compute = instance.compute[static_cast<std::size_t>(run.compute)];
    if (!gpu::is_full(geometry, instance.placed->profile, compute)) {
      line.slot +=
          fmt::format(" {}c@{}", compute.placement.size.value(), compute.placement.start.value());
    }
  }
  return line;
}

double seconds(SimTime time) {
  return time.to_seconds();
}

/// The speed by which the clock kSteadyState reckons: in the company of the run's whole group.
double steady_speed(const WindowQuestion& question,
                    const plan::Schedule& schedule,
                    const ScheduledRun& run) {
  const ScheduledInstance& instance = schedule.instances[run.instance];
  std::vector<gpu::ComputePlacement> compute;
  for (const gpu::ComputeInstance& one : instance.compute) {
    compute.push_back(one.placement);
  }
  std::vector<predict::CoRunClient> clients = {
      {.job = run.job, .compute = run.compute, .atp = run.atp}};
  for (const ScheduledRun& other : schedule.runs) {
    if (other.job != run.job && other.instance == run.instance && other.begin() == run.begin()) {
      clients.push_back({.job = other.job, .compute = other.compute, .atp = other.atp});
    }
  }
  predict::CoRunPlace place{.profile = std::nullopt, .compute = compute};
  if (instance.placed.has_value()) {
    place.profile = instance.placed->profile;
  }
  std::vector<double> rates(clients.size());
  question.problem.model->rates(place, clients, rates);
  return rates.front();
}

/// Of each job of the window, in its order.
std::vector<RunLine> run_lines(const WindowQuestion& question, const WindowFinding& finding) {
  const plan::Schedule& schedule = finding.answer.schedule;
  std::vector<RunLine> lines;
  for (const ScheduledRun& run : schedule.runs) {
    RunLine line = line_of(*question.geometry, schedule.instances[run.instance], run);
    line.begin_s = seconds(run.begin());
    line.end_s = seconds(run.end());
    // A timeline without groups is what will happen, whatever the metric of groups.
    const bool is_steady =
        question.problem.clock == optimize::GroupClock::kSteadyState && !schedule.groups.empty();
    line.speed = is_steady ? steady_speed(question, schedule, run)
                           : question.problem.jobs[run.job].solo.to_seconds() /
                                 (run.end() - run.begin()).to_seconds();
    lines.push_back(std::move(line));
  }
  return lines;
}

double time_sharing_s(const WindowQuestion& question) {
  Duration sum;
  for (const plan::WindowJob& job : question.problem.jobs) {
    sum += job.solo;
  }
  return sum.to_seconds();
}

std::string atp_text(const ScheduledRun& run) {
  return run.atp.has_value() ? fmt::format("{}", run.atp->value()) : "-";
}

Json run_document(const WindowQuestion& question, const RunLine& line) {
  Json job{{"name", question.problem.jobs[line.run->job].name},
           {"slot", line.slot},
           {"instance", line.instance}};
  job["atp"] = line.run->atp.has_value() ? Json(line.run->atp->value()) : Json(nullptr);
  job["begin_s"] = line.begin_s;
  job["end_s"] = line.end_s;
  job["speed"] = line.speed;
  job["slowdown"] = 1 / line.speed;
  return job;
}

/// Ties by job.
void sort_by_begin(std::vector<RunLine>& lines) {
  std::ranges::sort(lines, [](const RunLine& a, const RunLine& b) {
    return std::tuple(a.run->begin(), a.run->job) < std::tuple(b.run->begin(), b.run->job);
  });
}

/// Lines by group; those of a timeline without groups all together.
std::vector<std::pair<const plan::ScheduledGroup*, std::vector<RunLine>>> grouped(
    const plan::Schedule& schedule, const std::vector<RunLine>& lines) {
  std::vector<std::pair<const plan::ScheduledGroup*, std::vector<RunLine>>> out;
  if (schedule.groups.empty()) {
    out.emplace_back(nullptr, lines);
    sort_by_begin(out.back().second);
    return out;
  }
  for (const plan::ScheduledGroup& group : schedule.groups) {
    std::vector<RunLine> own;
    for (const RunLine& line : lines) {
      if (std::ranges::find(group.jobs, line.run->job) != group.jobs.end()) {
        own.push_back(line);
      }
    }
    out.emplace_back(&group, std::move(own));
  }
  return out;
}

std::string number(double value, int digits = 3) {
  return fmt::format("{:.{}f}", value, digits);
}

/// Characters of the drawing's time axis.
constexpr int kDrawingWidth = 60;

/// One bar for each run over time, by instance: who is where when.
std::string drawing(const WindowQuestion& question,
                    const WindowFinding& finding,
                    std::vector<RunLine> lines) {
  const double end = finding.answer.schedule.makespan.to_seconds();
  if (lines.empty() || end <= 0) {
    return {};
  }
  sort_by_begin(lines);
  std::size_t width = 0;
  for (const RunLine& line : lines) {
    width = std::max(width, question.problem.jobs[line.run->job].name.size());
  }
  constexpr std::size_t kNameMax = 20;
  width = std::min(width, kNameMax);
  const auto column = [end](double at) {
    return std::clamp(static_cast<int>(std::lround(at / end * kDrawingWidth)), 0, kDrawingWidth);
  };
  std::string out;
  for (const RunLine& line : lines) {
    const int from = std::min(column(line.begin_s), kDrawingWidth - 1);
    const int until = std::max(column(line.end_s), from + 1);
    out += fmt::format("{:<{}} |{}{}{}| {}\n",
                       report::shortened_text(question.problem.jobs[line.run->job].name, width),
                       width,
                       std::string(static_cast<std::size_t>(from), ' '),
                       std::string(static_cast<std::size_t>(until - from), '='),
                       std::string(static_cast<std::size_t>(kDrawingWidth - until), ' '),
                       line.slot);
  }
  return out +
         fmt::format("{:<{}}  0{:>{}}\n", "", width, number(end, 1) + " s", kDrawingWidth - 1);
}

/// The slowest job, and how slow jobs may be.
std::string worst_text(const WindowQuestion& question, const std::vector<RunLine>& lines) {
  const auto worst = std::ranges::min_element(lines, {}, &RunLine::speed);
  if (worst == lines.end()) {
    return {};
  }
  const double floor = question.problem.rules.fairness;
  return fmt::format(
      "slowest is {} at {} of its speed alone; {}\n",
      quoted_for_message(question.problem.jobs[worst->run->job].name),
      number(worst->speed),
      floor > 0 ? fmt::format("the floor is {}", floor) : std::string("there is no floor"));
}

std::string quality_text(const WindowQuestion& question, const WindowFinding& finding) {
  const optimize::WindowAnswer& answer = finding.answer;
  const double time = answer.time.to_seconds();
  std::string out = fmt::format("{}: {} s, time sharing {} s: gain {}\n",
                                answer.method,
                                number(time),
                                number(time_sharing_s(question)),
                                number(time_sharing_s(question) / time));
  if (answer.certificate.proof == plan::Proof::kOptimal) {
    out += fmt::format("proven best among {}\n", answer.certificate.scope);
  } else if (answer.method == "exact") {
    out += "not proven best: the work of --budget ended first\n";
  }
  if (answer.certificate.lower_bound.has_value()) {
    const double bound = answer.certificate.lower_bound->to_seconds();
    out += fmt::format("no schedule takes less than {} s: at most {:.1f} % could be gained\n",
                       number(bound),
                       100 * (1 - bound / time));
  }
  if (finding.guard.has_value()) {
    const double guard = finding.guard->time.to_seconds();
    out += fmt::format("the best of all methods ({}) takes {} s: {} takes {:.1f} % longer\n",
                       finding.guard->method,
                       number(guard),
                       answer.method,
                       100 * (time / guard - 1));
  }
  out +=
      fmt::format("re-cutting takes {} s of it\n", number(answer.schedule.recutting.to_seconds()));
  return out + worst_text(question, run_lines(question, finding));
}

std::string outcomes_text(const WindowQuestion& question, const WindowFinding& finding) {
  if (finding.outcomes.empty()) {
    return {};
  }
  report::Table table(
      {{"METHOD"}, {"TIME s", report::Align::kRight}, {"GAIN", report::Align::kRight}, {"REMARK"}});
  for (const optimize::MethodOutcome& outcome : finding.outcomes) {
    std::string remark = outcome.name == finding.answer.method ? "delivered" : "";
    if (outcome.error.has_value()) {
      remark = outcome.error->message;
    }
    table.add_row({std::string(outcome.name),
                   outcome.time.has_value() ? number(outcome.time->to_seconds()) : "N/A",
                   outcome.time.has_value()
                       ? number(time_sharing_s(question) / outcome.time->to_seconds())
                       : "N/A",
                   std::move(remark)});
  }
  return "\n" + table.text();
}

Json outcomes_document(const WindowFinding& finding) {
  Json methods = Json::array();
  for (const optimize::MethodOutcome& outcome : finding.outcomes) {
    Json one{{"name", outcome.name}};
    one["time_s"] = outcome.time.has_value() ? Json(outcome.time->to_seconds()) : Json(nullptr);
    one["error"] = outcome.error.has_value() ? Json(outcome.error->message) : Json(nullptr);
    methods.push_back(std::move(one));
  }
  return methods;
}

}  // namespace

Json window_document(const WindowQuestion& question, const WindowFinding& finding) {
  const optimize::WindowAnswer& answer = finding.answer;
  const double time = answer.time.to_seconds();
  Json document{
      {"schema", "septule-window/1"}, {"gpu", question.geometry->key()}, {"feasible", true}};
  document["method"] = finding.outcomes.empty() ? std::string(answer.method) : "all";
  document["won_by"] = answer.method;
  document["clock"] = optimize::group_clock_name(question.problem.clock);
  document["gain"] = time > 0 ? Json(time_sharing_s(question) / time) : Json(nullptr);
  document["time_s"] = time;
  document["time_sharing_s"] = time_sharing_s(question);
  document["bound_s"] = answer.certificate.lower_bound.has_value()
                            ? Json(answer.certificate.lower_bound->to_seconds())
                            : Json(nullptr);
  document["proof"] = plan::proof_name(answer.certificate.proof);
  document["scope"] =
      answer.certificate.scope.empty() ? Json(nullptr) : Json(answer.certificate.scope);
  document["recutting_s"] = answer.schedule.recutting.to_seconds();
  const std::vector<RunLine> lines = run_lines(question, finding);
  document["fairness_floor"] = question.problem.rules.fairness;
  const auto worst = std::ranges::min_element(lines, {}, &RunLine::speed);
  document["speed_min"] = worst == lines.end() ? Json(nullptr) : Json(worst->speed);
  document["guard"] = finding.guard.has_value() ? Json{{"won_by", finding.guard->method},
                                                       {"time_s", finding.guard->time.to_seconds()}}
                                                : Json(nullptr);
  Json groups = Json::array();
  Json runs = Json::array();
  for (const auto& [group, own] : grouped(answer.schedule, lines)) {
    Json jobs = Json::array();
    for (const RunLine& line : own) {
      jobs.push_back(run_document(question, line));
    }
    if (group == nullptr) {
      runs = std::move(jobs);
      continue;
    }
    groups.push_back(Json{{"template", group->template_name},
                          {"begin_s", seconds(group->begin)},
                          {"end_s", seconds(group->end)},
                          {"jobs", std::move(jobs)}});
  }
  document["groups"] = std::move(groups);
  document["runs"] = std::move(runs);
  document["methods"] = outcomes_document(finding);
  document["notes"] = question.input.notes;
  return document;
}

std::string window_text(const WindowQuestion& question, const WindowFinding& finding) {
  const plan::Schedule& schedule = finding.answer.schedule;
  const std::vector<RunLine> lines = run_lines(question, finding);
  std::vector<report::Table::Column> columns = {{"JOB"},
                                                {"SLOT"},
                                                {"ATP", report::Align::kRight},
                                                {"BEGIN s", report::Align::kRight},
                                                {"END s", report::Align::kRight},
                                                {"SPEED", report::Align::kRight},
                                                {"SLOWDOWN", report::Align::kRight}};
  const bool has_groups = !schedule.groups.empty();
  if (has_groups) {
    columns.insert(columns.begin(), {"GROUP"});
  }
  report::Table table(std::move(columns));
  std::size_t index = 0;
  for (const auto& [group, own] : grouped(schedule, lines)) {
    ++index;
    for (const RunLine& line : own) {
      std::vector<std::string> row = {question.problem.jobs[line.run->job].name,
                                      line.slot,
                                      atp_text(*line.run),
                                      number(line.begin_s),
                                      number(line.end_s),
                                      number(line.speed),
                                      number(1 / line.speed, 2)};
      if (has_groups) {
        row.insert(row.begin(),
                   &line == &own.front() ? fmt::format("{}: {}", index, group->template_name)
                                         : std::string());
      }
      table.add_row(std::move(row));
    }
  }
  return table.text() + "\n" + drawing(question, finding, lines) + "\n" +
         quality_text(question, finding) + outcomes_text(question, finding);
}

}  // namespace septule::app
