#include "septule/window_run.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "gpu/layout_request.hpp"
#include "gpu/partition_checker.hpp"
#include "interop/window_table.hpp"
#include "optimize/switch_costs.hpp"
#include "optimize/window_check.hpp"
#include "septule/files.hpp"
#include "septule/inputs.hpp"

namespace septule::app {

namespace {

/// Work that a question may take: windows of 16 take some millions of units.
constexpr std::int64_t kUnitsMax = 400'000'000;

Result<std::vector<ActiveThreadPercentage>> splits_option(const Invocation& invocation) {
  std::vector<ActiveThreadPercentage> out;
  const std::string text = invocation.text("splits");
  if (text == "none") {
    return out;
  }
  for (const std::string_view item : split_outside_brackets(text, ',')) {
    const std::optional<double> number = parse_number(trimmed(item));
    const int percent =
        number.has_value() && *number >= 1 && *number <= 99 ? static_cast<int>(*number) : 0;
    if (percent == 0 || static_cast<double>(percent) != *number) {
      return Error{ErrorCode::kUsage,
                   fmt::format("--splits: {} is not a percentage; expected whole numbers from 1 to "
                               "99 separated by commas, or none",
                               quoted_for_message(trimmed(item)))};
    }
    out.emplace_back(percent);
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// --current: the GPU as it is cut now; "mig-off" (the default) or a layout.
Result<optimize::GpuCut> current_cut(const Invocation& invocation, const gpu::Geometry& geometry) {
  const std::string text = invocation.text("current");
  if (text == "mig-off") {
    return optimize::GpuCut();
  }
  SEPTULE_TRY(const gpu::LayoutRequest request, gpu::parse_layout_request(geometry, text));
  for (const std::string& note : request.notes) {
    say_note(note);
  }
  SEPTULE_TRY(gpu::Partition partition, gpu::place_layout_request(geometry, request));
  const auto violations = gpu::check_partition(geometry, partition);
  if (!violations.empty()) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("--current: {}", violations.front().message)};
  }
  return optimize::GpuCut(std::move(partition));
}

Status set_rules(const Invocation& invocation, const Context& context, WindowQuestion& question) {
  question.problem.rules.fairness = invocation.number("fairness");
  question.problem.rules.mps_users = invocation.is_given("share-users")
                                         ? plan::SharingRules::Users::kAnyUsers
                                         : plan::SharingRules::Users::kSameUserOnly;
  question.problem.clock = checked_value(optimize::parse_group_clock(invocation.text("clock")),
                                         "a choice of the record");
  if (!invocation.is_given("no-switch-costs")) {
    question.costs = std::make_unique<optimize::SwitchCosts>(
        optimize::make_switch_costs(*question.geometry, context.latencies));
  }
  SEPTULE_TRY(question.problem.initial, current_cut(invocation, *question.geometry));
  return {};
}

}  // namespace

Result<WindowQuestion> load_window(const Invocation& invocation, const Context& context) {
  WindowQuestion question;
  SEPTULE_TRY(question.geometry, model_option(invocation, context));
  const gpu::Geometry& geometry = *question.geometry;
  if (!geometry.has_profile_table()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("no profile table of {} has been published: its layouts are N/A",
                             geometry.key())};
  }
  gpu::SharingOptions sharing;
  sharing.concurrency_max = static_cast<int>(invocation.number("concurrency"));
  SEPTULE_TRY(sharing.percentages, splits_option(invocation));
  SEPTULE_TRY(gpu::SharingCatalogue catalogue, gpu::make_sharing_catalogue(geometry, sharing));
  question.catalogue = std::make_unique<gpu::SharingCatalogue>(std::move(catalogue));
  const std::string path = invocation.text("FILE");
  SEPTULE_TRY(const std::string text, read_input(path));
  const std::string source_name = source_name_of(path);
  SEPTULE_TRY(const interop::WindowTable table,
              interop::parse_window_table({text, source_name}, geometry));
  SEPTULE_TRY(question.input, make_window_jobs(table, *question.catalogue, source_name));
  for (const std::string& note : table.notes) {
    say_note(note);
  }
  for (const std::string& note : question.input.notes) {
    say_note(note);
  }
  SEPTULE_TRY_STATUS(set_rules(invocation, context, question));
  question.problem.jobs = question.input.jobs;
  question.problem.model = question.input.model.get();
  question.problem.catalogue = question.catalogue.get();
  question.problem.traits = question.input.traits;
  question.problem.costs = question.costs.get();
  return question;
}

Result<WindowFinding> find_window_answer(const Invocation& invocation,
                                         const WindowQuestion& question,
                                         const optimize::WindowOptimizer* learned) {
  const optimize::WindowMethodSetup setup{
      .learned = learned, .beam_width = static_cast<std::size_t>(invocation.number("beam-width"))};
  WorkBudget budget(kUnitsMax);
  WindowFinding finding;
  const std::string name = invocation.text("method");
  if (name == "all") {
    SEPTULE_TRY(const auto portfolio, optimize::make_window_portfolio(setup));
    SEPTULE_TRY(optimize::PortfolioReport report, portfolio->run(question.problem, budget));
    finding.answer = std::move(report.answer);
    finding.outcomes = std::move(report.outcomes);
  } else {
    SEPTULE_TRY(const auto method, optimize::make_window_method(name, setup));
    SEPTULE_TRY(finding.answer, method->optimize(question.problem, budget));
  }
  const auto violations = optimize::check_window_answer(question.problem, finding.answer);
  for (const plan::ScheduleViolation& violation : violations) {
    say_error(fmt::format("the independent checker refuses the answer of {}: {}",
                          finding.answer.method,
                          violation.message));
  }
  SEPTULE_CHECK(violations.empty(), "a window's answer passes the independent checker");
  return finding;
}

}  // namespace septule::app
