#include "septule/window_run.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "gpu/layout_request.hpp"
#include "gpu/partition_checker.hpp"
#include "interop/window_table.hpp"
#include "learn/slice_models.hpp"
#include "learn/weights_file.hpp"
#include "optimize/answer_bound.hpp"
#include "optimize/switch_costs.hpp"
#include "optimize/window_check.hpp"
#include "septule/files.hpp"
#include "septule/inputs.hpp"

namespace septule::app {

namespace {

Result<std::vector<ActiveThreadPercentage>> splits_option(const Invocation& invocation) {
  std::vector<ActiveThreadPercentage> out;
  const std::string text = invocation.text("splits");
  if (text == "none") {
    return out;
  }
  for (const std::string_view item : split_outside_brackets(text, ',')) {
    const double number = parse_number(trimmed(item)).value_or(0);
    const int percent = number >= 1 && number <= 99 ? static_cast<int>(number) : 0;
    if (percent == 0 || static_cast<double>(percent) != number) {
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

/// A GPU cut as --current says: "mig-off" (the default) or a layout.
Result<gpu::ObservedGpu> fresh_gpu(const Invocation& invocation, const gpu::Geometry& geometry) {
  gpu::ObservedGpu gpu{
      .index =
          GpuIndex(static_cast<int>(invocation.is_given("index") ? invocation.number("index") : 0)),
      .uuid = {},
      .geometry = &geometry,
      .is_mig_enabled = false,
      .instances = {}};
  const std::string text = invocation.text("current");
  if (text == "mig-off") {
    return gpu;
  }
  const auto fault = [](const Error& error) {
    return Error{error.code, fmt::format("--current: {}", error.message)};
  };
  const Result<gpu::LayoutRequest> request = gpu::parse_layout_request(geometry, text);
  if (!request) {
    return fault(request.error());
  }
  for (const std::string& note : request->notes) {
    say_note(note);
  }
  const Result<gpu::Partition> placed = gpu::place_layout_request(geometry, *request);
  if (!placed) {
    return fault(placed.error());
  }
  const gpu::Partition& partition = *placed;
  const auto violations = gpu::check_partition(geometry, partition);
  if (!violations.empty()) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("--current: {}", violations.front().message)};
  }
  return inventory_after({.node = {}, .gpus = {gpu}},
                         {{.index = gpu.index, .partition = partition}})
      .gpus.front();
}

/// The GPU of --state that --index names; a window takes all of it.
Result<gpu::ObservedGpu> observed_gpu(const Invocation& invocation, const Context& context) {
  if (invocation.is_given("current")) {
    return Error{ErrorCode::kUsage, "--state already says how the GPU is cut; leave --current out"};
  }
  SEPTULE_TRY(gpu::Inventory inventory,
              load_inventory(invocation.text("state"), invocation, context));
  SEPTULE_TRY(const std::vector<GpuIndex> indices, selected_gpus(invocation, inventory));
  if (indices.size() != 1) {
    return Error{ErrorCode::kUsage,
                 fmt::format("a window is for one GPU, and {} are given: choose one with --index",
                             indices.size())};
  }
  const gpu::ObservedGpu& gpu = *find_gpu(inventory, indices.front());
  std::vector<std::string> held;
  for (const gpu::ObservedInstance& instance : gpu.instances) {
    if (instance.effective_hold() != gpu::Hold::kIdle) {
      held.push_back(gpu::observed_text(gpu, instance));
    }
  }
  if (!held.empty()) {
    return Error{ErrorCode::kBlocked,
                 fmt::format("a window takes the whole of GPU {}, and {} stay{}",
                             gpu.index.value(),
                             joined_with_and(held),
                             held.size() == 1 ? "s" : "")};
  }
  return gpu;
}

Result<gpu::ObservedGpu> window_gpu(const Invocation& invocation, const Context& context) {
  if (invocation.is_given("state")) {
    return observed_gpu(invocation, context);
  }
  SEPTULE_TRY(const gpu::Geometry* geometry, model_option(invocation, context));
  return geometry->has_profile_table()
             ? fresh_gpu(invocation, *geometry)
             : Result<gpu::ObservedGpu>(gpu::ObservedGpu{.geometry = geometry});
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
  if (question.gpu.is_mig_enabled) {
    question.problem.initial = question.gpu.partition();
  }
  return {};
}

}  // namespace

Result<WindowQuestion> load_window(const Invocation& invocation, const Context& context) {
  WindowQuestion question;
  SEPTULE_TRY(question.gpu, window_gpu(invocation, context));
  question.geometry = question.gpu.geometry;
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

Result<std::unique_ptr<learn::WindowAgent>> load_agent(const Invocation& invocation) {
  const std::string method = invocation.text("method");
  if (invocation.is_given("weights")) {
    const std::string path = invocation.text("weights");
    SEPTULE_TRY(const std::string bytes, read_input(path, learn::kWeightsBytesMax));
    SEPTULE_TRY(const learn::NetworkWeights weights,
                learn::parse_weights(bytes, source_name_of(path)));
    return learn::WindowAgent::make(weights);
  }
  if (method != "rl" && method != "all") {
    return std::unique_ptr<learn::WindowAgent>();
  }
  Result<std::unique_ptr<learn::WindowAgent>> agent = learn::WindowAgent::builtin();
  if (!agent && method == "all" && agent.error().code == ErrorCode::kNotFound) {
    return std::unique_ptr<learn::WindowAgent>();
  }
  return agent;
}

namespace {

/// An answer that the independent checker refuses is a bug, not a result.
void check_answer(const WindowQuestion& question, const optimize::WindowAnswer& answer) {
  const auto violations = optimize::check_window_answer(question.problem, answer);
  for (const plan::ScheduleViolation& violation : violations) {
    say_error(fmt::format(
        "the independent checker refuses the answer of {}: {}", answer.method, violation.message));
  }
  SEPTULE_CHECK(violations.empty(), "a window's answer passes the independent checker");
}

/// A single method, with a bound beside it.
Result<optimize::WindowAnswer> ask_method(const std::string& name,
                                          const optimize::WindowMethodSetup& setup,
                                          const optimize::WindowProblem& problem,
                                          WorkBudget& budget) {
  SEPTULE_TRY(const optimize::WindowMethod* method, optimize::find_window_method(name));
  SEPTULE_TRY(const auto optimizer, optimize::make_window_method(name, setup));
  // Half is for the bound; what searches until its work is used up gets what is enough.
  std::int64_t units = std::max<std::int64_t>(budget.units_left() / 2, 1);
  if (method->units_enough != nullptr) {
    units = std::min(units, method->units_enough(problem.jobs.size()));
  }
  WorkBudget own(units);
  SEPTULE_TRY(optimize::WindowAnswer answer, optimizer->optimize(problem, own));
  budget.spend(own.units_spent());
  const Result<std::optional<Duration>> bound = optimize::bound_answers(problem, budget);
  if (bound) {
    answer.certificate.lower_bound = std::max(answer.certificate.lower_bound, *bound);
  }
  return answer;
}

/// Windows for which the guard is asked beside `rl`: beyond, it takes seconds.
constexpr std::size_t kGuardedJobsMax = 16;

}  // namespace

Result<WindowFinding> find_window_answer(const Invocation& invocation,
                                         const WindowQuestion& question,
                                         const optimize::WindowOptimizer* learned) {
  const optimize::WindowMethodSetup setup{
      .learned = learned, .beam_width = static_cast<std::size_t>(invocation.number("beam-width"))};
  const std::string name = invocation.text("method");
  WorkBudget budget(static_cast<std::int64_t>(invocation.number("budget")));
  WindowFinding finding;
  SEPTULE_TRY(const auto portfolio, optimize::make_window_portfolio(setup));
  if (name == "all") {
    SEPTULE_TRY(optimize::PortfolioReport report, portfolio->run(question.problem, budget));
    finding.answer = std::move(report.answer);
    finding.outcomes = std::move(report.outcomes);
  } else {
    SEPTULE_TRY(finding.answer, ask_method(name, setup, question.problem, budget));
  }
  check_answer(question, finding.answer);
  if (name == "rl" && question.problem.jobs.size() <= kGuardedJobsMax) {
    Result<optimize::WindowAnswer> guard = portfolio->optimize(question.problem, budget);
    if (guard) {
      check_answer(question, *guard);
      finding.guard = *std::move(guard);
    }
  }
  return finding;
}

}  // namespace septule::app
