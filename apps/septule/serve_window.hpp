#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "job/serving_record.hpp"
#include "septule/app.hpp"
#include "septule/serve_inputs.hpp"
#include "serve/goodput_checker.hpp"
#include "serve/goodput_problem.hpp"

namespace septule::app {

/// The plan of one GPU over a window, with what it was asked for and what the independent checker
/// made of it. `tenants` are indices into ServeInput::tenants.
struct WindowPlan {
  int gpu = 0;     ///< from 0 among the GPUs planned
  GpuIndex index;  ///< on its node; the same number on fresh GPUs
  std::vector<int> tenants;
  serve::GoodputProblem problem;
  serve::GoodputPlan plan;
  serve::GoodputJudgement judgement;
  Duration solve_time;  ///< of the planner, by the wall clock
};

/// All GPUs of a plan.
struct ServePlan {
  const ServeInput* input = nullptr;
  std::string mode;              ///< "septule" or serve::kMigratorModeName
  int gpu_count = 1;             ///< that there are
  std::vector<WindowPlan> gpus;  ///< those that have tenants
  /// Of the objective, however tenants are dealt out; nothing for one GPU.
  std::optional<double> fleet_bound;

  double goodput() const;
  double objective() const;
  double bound() const;  ///< of the objective, tenants split over GPUs as they are
  bool is_optimal() const;
};

/// What the plan would serve, as a run: for pages, pictures and tables. `policy` is its name there.
job::ServingRecord record_of(const ServePlan& plan);

/// "4g.40gb@0 bert, 3g.40gb@4 vgg retrains"; "empty".
std::string labelled_text(const serve::GoodputProblem& problem,
                          const serve::LabelledLayout& layout);

/// The plan as septule serve plan shows it: the document (docs/output.md,
/// "septule-serve-plan/1") ...
nlohmann::ordered_json serve_plan_document(const ServePlan& plan);
/// ... and the text for people: tenants, layouts over time, how good it is.
std::string serve_plan_text(const ServePlan& plan);
/// ... and figures for Prometheus, in its text form.
std::string serve_plan_metrics(const ServePlan& plan);

}  // namespace septule::app
