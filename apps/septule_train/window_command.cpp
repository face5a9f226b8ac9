#include "septule_train/window_command.hpp"

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "learn/slice_models.hpp"
#include "learn/window_agent.hpp"
#include "report/learning_report.hpp"
#include "report/svg_plot.hpp"
#include "septule/files.hpp"
#include "septule/interruption.hpp"
#include "septule/output.hpp"
#include "septule_train/window_run.hpp"

namespace septule::train_app {

namespace {

using Json = nlohmann::ordered_json;

/// The GPU whose templates the network learns.
constexpr const char* kGpu = "A100-80GB";

Status check_options(const app::Invocation& invocation) {
  const auto usage = [](const char* message) { return Error{ErrorCode::kUsage, message}; };
  if (!invocation.is_given("out") && !invocation.is_given("evaluate")) {
    return usage("nothing to do: give --out to train, --evaluate to judge, or both");
  }
  if (invocation.is_given("out") && invocation.is_given("weights")) {
    return usage("--weights names a network to judge; leave it out to judge the one just trained");
  }
  if (!invocation.is_given("out") &&
      (invocation.is_given("steps") || invocation.is_given("resume"))) {
    return usage("--steps and --resume are for training: give --out");
  }
  if (!invocation.is_given("evaluate") &&
      (invocation.is_given("windows") || invocation.is_given("part"))) {
    return usage("--windows and --part are for judging: give --evaluate");
  }
  return {};
}

Result<learn::NetworkWeights> weights_of(const app::Invocation& invocation,
                                         const learn_train::WindowSource& source,
                                         const app::Interruption& interruption) {
  if (invocation.is_given("out")) {
    WindowRunSpec spec;
    spec.seed = static_cast<std::uint64_t>(invocation.number("seed"));
    spec.path = invocation.text("out");
    if (invocation.is_given("steps")) {
      spec.updates = static_cast<int>(invocation.number("steps"));
    }
    if (invocation.is_given("resume")) {
      spec.beginning = WindowRunSpec::Beginning::kResume;
    }
    return train_window_net(spec, source, interruption);
  }
  const std::string path = invocation.text("weights");
  if (path.empty()) {
    return learn::builtin_weights(learn::kWindowNetName);
  }
  SEPTULE_TRY(const std::string bytes, app::read_input(path, learn::kWeightsBytesMax));
  return learn::parse_weights(bytes, path);
}

Json interval_json(const std::optional<job::Interval>& interval) {
  if (!interval) {
    return nullptr;
  }
  Json out{{"mean", interval->mean}};
  out["low"] = interval->low ? Json(*interval->low) : Json(nullptr);
  out["high"] = interval->high ? Json(*interval->high) : Json(nullptr);
  return out;
}

Json document_of(const report::LearningReport& learning, const learn::TrainingRecipe& recipe) {
  Json document;
  document["schema"] = "septule-window-training/1";
  document["command"] = recipe.command;
  document["seed"] = recipe.seed;
  document["curve"] = Json::array();
  for (const report::PlotPoint& point : learning.curves.front().lines.front().points) {
    document["curve"].push_back({{"updates", point.x}, {"of_exact", point.y}});
  }
  document["comparisons"] = Json::array();
  for (const report::MethodComparison& comparison : learning.comparisons) {
    Json rows = Json::array();
    for (const report::MethodFigures& method : comparison.methods) {
      Json row{{"name", method.name}, {"gain", interval_json(method.gain)}};
      row["gain_max"] = method.gain_max ? Json(*method.gain_max) : Json(nullptr);
      row["of_exact"] = interval_json(method.of_exact);
      row["of_exact_least"] = method.of_exact_least ? Json(*method.of_exact_least) : Json(nullptr);
      row["decision_us"] = method.decision_time_us ? Json(*method.decision_time_us) : Json(nullptr);
      rows.push_back(std::move(row));
    }
    document["comparisons"].push_back(
        {{"title", comparison.title}, {"note", comparison.note}, {"methods", std::move(rows)}});
  }
  return document;
}

std::string text_of(const report::LearningReport& learning) {
  std::string text;
  for (const report::PlotPoint& point : learning.curves.front().lines.front().points) {
    text += fmt::format("{:>8.0f} updates: {:.2f} % of the exact gain on validation windows\n",
                        point.x,
                        100 * point.y);
  }
  for (const report::MethodComparison& comparison : learning.comparisons) {
    text += "\n" + report::comparison_text(comparison);
  }
  return text;
}

Result<int> run(const app::Invocation& invocation,
                app::Context& context,
                const app::Interruption& interruption) {
  SEPTULE_TRY(const gpu::Geometry* geometry, context.catalogue.find(kGpu));
  SEPTULE_TRY(const gpu::SharingCatalogue templates, gpu::make_sharing_catalogue(*geometry, {}));
  SEPTULE_TRY(const auto source,
              learn_train::WindowSource::make(templates, learn_train::WindowSource::kPoolSeed));
  SEPTULE_TRY(const learn::NetworkWeights weights, weights_of(invocation, *source, interruption));
  report::LearningReport learning;
  learning.title = "The network for windows of jobs";
  learning.lead = fmt::format(
      "A dueling double deep Q-network for {} that chooses which jobs run "
      "together and how the GPU is cut for them",
      kGpu);
  learning.curves = learning_curves(weights.recipe);
  learning.command = weights.recipe.command;
  learning.version = app::version();
  learning.settings = {{"seed", fmt::format("{}", weights.recipe.seed)},
                       {"jobs that trained", fmt::format("{}", weights.recipe.rows)},
                       {"digest of all jobs", weights.recipe.data_digest}};
  if (invocation.is_given("evaluate")) {
    WindowJudging judging;
    judging.windows = static_cast<int>(invocation.number("windows"));
    judging.part = invocation.text("part") == "validation" ? predict::PoolPart::kValidation
                                                           : predict::PoolPart::kTest;
    SEPTULE_TRY(auto comparison, judge_window_net(weights, *source, judging));
    learning.comparisons.push_back(std::move(comparison));
  }
  if (invocation.is_given("curves")) {
    SEPTULE_TRY_STATUS(app::write_file(
        invocation.text("curves"),
        report::svg_line_plot(learning.curves.front(), report::Embedding::kStandalone)));
  }
  if (invocation.is_given("report")) {
    SEPTULE_TRY_STATUS(app::write_file(invocation.text("report"), report::learning_page(learning)));
  }
  SEPTULE_TRY_STATUS(context.output.emit(document_of(learning, weights.recipe),
                                         [&] { return text_of(learning); }));
  return 0;
}

}  // namespace

Result<int> run_window_command(const app::Invocation& invocation, app::Context& context) {
  SEPTULE_TRY_STATUS(check_options(invocation));
  const app::Interruption interruption("the round under way is finished first");
  Result<int> done = run(invocation, context, interruption);
  if (const std::optional<int> signal = interruption.signal(); !done && signal) {
    app::say_error(done.error().message);
    return app::exit_code_of_signal(*signal);
  }
  return done;
}

}  // namespace septule::train_app
