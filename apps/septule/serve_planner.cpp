#include "septule/serve_planner.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/work_budget.hpp"
#include "live/milp_solvers.hpp"
#include "septule/serve_node.hpp"
#include "septule/serve_split.hpp"
#include "serve/built_in_milp.hpp"
#include "serve/fleet_plan.hpp"
#include "serve/goodput_checker.hpp"
#include "serve/migrator_window.hpp"
#include "serve/retraining_search.hpp"
#include "serve/step_bound.hpp"
#include "serve/window_milp.hpp"

namespace septule::app {

namespace {

/// Where each tenant retrains its model: on the GPU with most of its requests, the first of equals.
std::vector<std::size_t> retraining_homes(const ServeInput& input,
                                          const std::vector<GpuShare>& shares) {
  std::vector<std::size_t> homes(input.tenants.size());
  std::vector<double> most(input.tenants.size(), -1);
  for (std::size_t g = 0; g < shares.size(); ++g) {
    for (const GpuShare::Part& part : shares[g].tenants) {
      const auto tenant = static_cast<std::size_t>(part.tenant);
      if (part.share > most[tenant]) {
        most[tenant] = part.share;
        homes[tenant] = g;
      }
    }
  }
  return homes;
}

/// A bound this near, relative, is reached: sums over steps are rounded.
constexpr double kReached = 1e-9;

/// The tenants that a GPU plans for, with their parts of the requests. A job is of one GPU only;
/// what the new model gains on the others is not counted.
std::vector<serve::AdmittedTenant> tenants_of(const ServeInput& input,
                                              const std::vector<GpuShare>& shares,
                                              std::size_t gpu) {
  const std::vector<std::size_t> homes = retraining_homes(input, shares);
  std::vector<serve::AdmittedTenant> tenants;
  for (const GpuShare::Part& part : shares[gpu].tenants) {
    tenants.push_back(input.tenants[static_cast<std::size_t>(part.tenant)]);
    if (homes[static_cast<std::size_t>(part.tenant)] != gpu) {
      tenants.back().tenant.retraining.reset();
    }
    for (double& rate : tenants.back().tenant.rate.values) {
      rate *= part.share;
    }
  }
  return tenants;
}

/// The rate that tenants are dealt out by: on one GPU the first of the window, on several the
/// largest of it, so that no GPU is short of its tenants later on.
double dealt_rate(const PlanSettings& settings, const serve::RateSeries& rate) {
  const serve::WindowSetup& window = settings.window;
  double largest = 0;
  for (int step = 0; step < (settings.gpus == 1 ? 1 : window.step_count); ++step) {
    const Duration begin =
        window.begin + Duration::nanoseconds(window.step.to_nanoseconds() * step);
    largest = std::max(largest, serve::mean_rate(rate, begin, window.step));
  }
  return largest;
}

/// The instances that tenants have on a GPU, as a share has them.
serve::LabelledLayout layout_of(const serve::GpuHoldings& holdings) {
  serve::LabelledLayout layout;
  for (const serve::Holding& holding : holdings) {
    layout.push_back({.placement = holding.placement, .label = holding.tenant});
  }
  return layout;
}

/// All tenants on one GPU, with what they have there.
std::vector<GpuShare> one_share(const PlanSettings& settings, const ServeInput& input) {
  GpuShare all;
  for (std::size_t m = 0; m < input.tenants.size(); ++m) {
    all.tenants.push_back({.tenant = static_cast<int>(m), .share = 1});
  }
  if (settings.initial == PlanSettings::Initial::kNode) {
    all.layout = layout_of(settings.current);
  }
  return {std::move(all)};
}

/// The greatest goodput for the rates that tenants are dealt out by.
Result<serve::FleetPlan> fleet_plan_of(const PlanSettings& settings, const ServeInput& input) {
  serve::FleetProblem problem{
      .lattice = input.lattice.get(), .tenants = {}, .gpu_count = settings.gpus};
  std::vector<std::size_t> served;
  for (std::size_t m = 0; m < input.tenants.size(); ++m) {
    const serve::AdmittedTenant& admitted = input.tenants[m];
    serve::FleetTenant tenant{.name = admitted.tenant.name,
                              .rate_rps = dealt_rate(settings, admitted.tenant.rate),
                              .weight = admitted.tenant.weight,
                              .accuracy = admitted.tenant.accuracy,
                              .throughput = {}};
    for (std::size_t size = 0; size < input.lattice->sizes().size(); ++size) {
      tenant.throughput[size] = admitted.throughput_rps(static_cast<int>(size));
    }
    if (tenant.rate_rps > 0) {
      served.push_back(m);
      problem.tenants.push_back(std::move(tenant));
    }
  }
  serve::FleetPlan whole;
  whole.instances.resize(input.tenants.size());
  if (!problem.tenants.empty()) {
    SEPTULE_TRY(const serve::FleetPlan plan,
                serve::plan_max_goodput(problem, {.units_max = settings.units_max}));
    whole.layouts = plan.layouts;
    whole.gpus = plan.gpus;
    for (std::size_t i = 0; i < served.size(); ++i) {
      whole.instances[served[i]] = plan.instances[i];
    }
  }
  return whole;
}

/// Who is on which GPU, and in which instances.
Result<std::vector<GpuShare>> shares_of(const PlanSettings& settings, const ServeInput& input) {
  if (settings.gpus == 1 && settings.initial != PlanSettings::Initial::kBest) {
    return one_share(settings, input);
  }
  SEPTULE_TRY(const serve::FleetPlan plan, fleet_plan_of(settings, input));
  return split_fleet(input, plan, settings.gpus);
}

/// The instances of `share` as a layout of the problem, whose labels begin with one for each tenant
/// that is served.
serve::LabelledLayout initial_of(const serve::GoodputProblem& problem, const GpuShare& share) {
  std::map<int, int> label_of;  // by tenant of the input
  for (std::size_t label = 0; label < problem.labels.size(); ++label) {
    if (!problem.labels[label].serves.empty()) {
      const int own = problem.labels[label].serves.front().tenant;
      label_of[share.tenants[static_cast<std::size_t>(own)].tenant] = static_cast<int>(label);
    }
  }
  serve::LabelledLayout layout;
  for (const serve::LabelledInstance& instance : share.layout) {
    layout.push_back({.placement = instance.placement, .label = label_of.at(instance.label)});
  }
  std::ranges::sort(layout);
  return layout;
}

Result<serve::GoodputPlan> plan_exactly(const PlanSettings& settings,
                                        const serve::GoodputProblem& problem) {
  WorkBudget budget(settings.units_max);
  return serve::plan_window(problem, budget);
}

/// The window ILP, which begins with the plan of the exact programs.
Result<serve::GoodputPlan> plan_by_milp(const PlanSettings& settings,
                                        const serve::GoodputProblem& problem) {
  std::unique_ptr<port::MilpSolver> solver = live::make_milp_solver();
  if (solver == nullptr) {
    solver = std::make_unique<serve::BuiltInMilp>();
  }
  const Result<serve::GoodputPlan> seed = plan_exactly(settings, problem);
  serve::WindowMilpOptions options;
  options.limits.elapsed = settings.time_limit;
  options.seed = seed ? &*seed : nullptr;
  return serve::plan_window_by_milp(problem, *solver, options);
}

Result<serve::GoodputProblem> problem_of(const PlanSettings& settings,
                                         const ServeInput& input,
                                         std::span<const serve::AdmittedTenant> tenants) {
  const serve::WindowSetup& window = settings.window;
  if (settings.mode == PlanSettings::Mode::kSeptule) {
    return serve::make_window_problem(*input.lattice, tenants, window);
  }
  std::vector<std::vector<double>> forecast;
  for (const serve::AdmittedTenant& tenant : tenants) {
    std::vector<double>& rates = forecast.emplace_back();
    for (int step = 0; step < window.step_count; ++step) {
      rates.push_back(serve::mean_rate(
          tenant.tenant.rate,
          window.begin + Duration::nanoseconds(window.step.to_nanoseconds() * step),
          window.step));
    }
  }
  return serve::migrator_problem(
      *input.lattice,
      tenants,
      forecast,
      {.step_count = window.step_count, .step = window.step, .pre_initialised = {}, .initial = {}});
}

/// The plan of one GPU of several may be without floors, which are then taken out of its problem
/// too: a tenant's part of the requests may have no instance there at first.
Result<serve::GoodputPlan> plan_of(const PlanSettings& settings, WindowPlan& gpu) {
  const auto plan = [&] {
    return settings.method == "milp" ? plan_by_milp(settings, gpu.problem)
                                     : plan_exactly(settings, gpu.problem);
  };
  Result<serve::GoodputPlan> kept = plan();
  if (kept || kept.error().code != ErrorCode::kBlocked || settings.gpus == 1) {
    return kept;
  }
  say_warning(
      fmt::format("GPU {} is planned without floors: {}", gpu.index.value(), kept.error().message));
  for (serve::GoodputTenant& tenant : gpu.problem.tenants) {
    tenant.floor_share = 0;
  }
  return plan();
}

/// A plan whose bound is far gets that of the steps by themselves, if it is nearer.
void tighten(const PlanSettings& settings, WindowPlan& gpu) {
  constexpr double kFar = 1e-3;
  serve::GoodputPlan& plan = gpu.plan;
  if (plan.bound <= plan.objective * (1 + kFar)) {
    return;
  }
  WorkBudget budget(settings.units_max);
  const Result<double> bound = serve::step_bound(gpu.problem, 1, budget);
  if (bound && *bound < plan.bound) {
    plan.bound = std::max(*bound, plan.objective);
    const bool is_reached = plan.objective >= *bound * (1 - kReached);
    plan.proof = is_reached ? serve::GoodputProof::kOptimal : plan.proof;
  }
}

/// However tenants are dealt out to the GPUs.
std::optional<double> fleet_bound_of(const PlanSettings& settings, const ServeInput& input) {
  if (settings.gpus == 1) {
    return std::nullopt;
  }
  const Result<serve::GoodputProblem> problem = problem_of(settings, input, input.tenants);
  if (!problem) {
    return std::nullopt;
  }
  WorkBudget budget(settings.units_max);
  const Result<double> bound = serve::step_bound(*problem, settings.gpus, budget);
  return bound ? std::optional(*bound) : std::nullopt;
}

/// A plan that the independent checker refuses is a bug, not a result.
serve::GoodputJudgement judged(const serve::GoodputProblem& problem,
                               const serve::GoodputPlan& plan) {
  serve::GoodputJudgement judgement = serve::check_goodput_plan(problem, plan);
  for (const serve::GoodputViolation& violation : judgement.violations) {
    say_error(fmt::format(
        "the independent checker refuses the plan of {}: {}", plan.method, violation.message));
  }
  SEPTULE_CHECK(judgement.violations.empty(), "a plan passes the independent checker");
  return judgement;
}

}  // namespace

std::vector<OptionRecord> plan_settings_options() {
  return {serving_gpus_option(64),
          {.name = "begin",
           .value = "SECONDS",
           .text = "Where in the rates the window begins.",
           .unit = "seconds",
           .default_text = "0",
           .min = 0,
           .max = 1e8},
          {.name = "steps",
           .value = "N",
           .text = "Steps of the window; 200 in MIGRator mode.",
           .default_text = "40",
           .min = 1,
           .max = 100000,
           .is_integer = true},
          {.name = "step",
           .value = "SECONDS",
           .text = "Length of a step, best no shorter than warm-ups; layouts change between steps "
                   "only. 1 in MIGRator mode.",
           .unit = "seconds",
           .default_text = "5",
           .min = 0.001,
           .max = 86400},
          {.name = "initial",
           .value = "STATE",
           .text = "What the window begins with: what is best for the rates at its begin (on "
                   "several GPUs: for its largest rates), ready, or nothing.",
           .default_text = "best",
           .choices = {"best", "nothing"}},
          {.name = "warm-up",
           .value = "QUANTILE",
           .text = "The quantile of each tenant's warm-up that is planned with.",
           .default_text = "p90",
           .choices = {"p50", "p90", "p99"}},
          {.name = "migrator",
           .text = "MIGRator mode (our reconstruction, its program is not public): every warm-up "
                   "takes 6 s, no MPS."},
          {.name = "method",
           .value = "METHOD",
           .text = "Who plans: exact (dynamic programs over layouts; with retraining a search of "
                   "them), milp (the whole window as one integer program, by CBC where it is "
                   "built in; slow).",
           .default_text = "exact",
           .choices = {"exact", "milp"}},
          {.name = "time-limit",
           .value = "SECONDS",
           .text = "With --method milp: for how long, by the wall clock.",
           .unit = "seconds",
           .default_text = "60",
           .min = 0.1,
           .max = 86400},
          {.name = "budget",
           .value = "UNITS",
           .text = "Work that may be done for each GPU; the best found until then is the answer.",
           .default_text = "400000000",
           .min = 1,
           .max = 1e12,
           .is_integer = true}};
}

Result<PlanSettings> plan_settings(const Invocation& invocation,
                                   const Context& context,
                                   const ServeInput& input,
                                   const std::optional<gpu::Inventory>& node) {
  PlanSettings settings;
  settings.mode = invocation.is_given("migrator") ? PlanSettings::Mode::kMigrator
                                                  : PlanSettings::Mode::kSeptule;
  settings.initial = invocation.text("initial") == "best" ? PlanSettings::Initial::kBest
                                                          : PlanSettings::Initial::kNothing;
  settings.gpus = static_cast<int>(invocation.number("gpus"));
  if (node) {
    if (invocation.is_given("initial")) {
      return Error{ErrorCode::kUsage,
                   "--state already says what the window begins with; leave --initial out"};
    }
    settings.initial = PlanSettings::Initial::kNode;
    settings.gpus = 1;
    settings.first_index = node->gpus.front().index;
    settings.current = holdings_on(*node, input).front();
  }
  settings.units_max = static_cast<std::int64_t>(invocation.number("budget"));
  settings.window.begin = seconds_to_duration(invocation.number("begin"));
  settings.window.step = seconds_to_duration(invocation.number("step"));
  settings.window.step_count = static_cast<int>(invocation.number("steps"));
  if (settings.mode == PlanSettings::Mode::kMigrator) {
    const serve::MigratorWindowOptions usual;
    settings.window.step = invocation.is_given("step") ? settings.window.step : usual.step;
    settings.window.step_count =
        invocation.is_given("steps") ? settings.window.step_count : usual.step_count;
  }
  SEPTULE_TRY_STATUS(check_rates_reach(
      input,
      settings.window.begin,
      Duration::nanoseconds(settings.window.step.to_nanoseconds() * settings.window.step_count)));
  settings.window.warm_up =
      warm_up_quantile(invocation.text("warm-up")).value_or(serve::WarmUpQuantile::kP90);
  settings.method = invocation.text("method");
  settings.time_limit = seconds_to_duration(invocation.number("time-limit"));
  const std::string& model = input.geometry->key();
  const ComputeSlices whole = input.geometry->facts().compute_slices.value_or(ComputeSlices(7));
  settings.window.driver = context.latencies.gpu_instance_create(model, whole).duration +
                           context.latencies.compute_instance_create(model).duration;
  return settings;
}

Result<ServePlan> plan_serving(const PlanSettings& settings, const ServeInput& input) {
  ServePlan out{.input = &input,
                .mode = settings.mode == PlanSettings::Mode::kMigrator
                            ? std::string(serve::kMigratorModeName)
                            : "septule",
                .gpu_count = settings.gpus,
                .gpus = {},
                .fleet_bound = {}};
  SEPTULE_TRY(const std::vector<GpuShare> shares, shares_of(settings, input));
  for (std::size_t g = 0; g < shares.size(); ++g) {
    if (shares[g].tenants.empty()) {
      continue;  // all requests are served elsewhere
    }
    WindowPlan gpu;
    gpu.gpu = static_cast<int>(g);
    gpu.index = GpuIndex(settings.first_index.value() + static_cast<int>(g));
    for (const GpuShare::Part& part : shares[g].tenants) {
      gpu.tenants.push_back(part.tenant);
    }
    const std::vector<serve::AdmittedTenant> tenants = tenants_of(input, shares, g);
    SEPTULE_TRY(gpu.problem, problem_of(settings, input, tenants));
    if (settings.initial != PlanSettings::Initial::kNothing) {
      gpu.problem.initial = initial_of(gpu.problem, shares[g]);
    }
    const auto begin = std::chrono::steady_clock::now();
    SEPTULE_TRY(gpu.plan, plan_of(settings, gpu));
    gpu.solve_time = Duration::nanoseconds(
        std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
    tighten(settings, gpu);
    gpu.judgement = judged(gpu.problem, gpu.plan);
    out.gpus.push_back(std::move(gpu));
  }
  out.fleet_bound = fleet_bound_of(settings, input);
  return out;
}

}  // namespace septule::app
