#include "septule_train/window_run.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/digest.hpp"
#include "base/text.hpp"
#include "base/work_budget.hpp"
#include "job/metrics.hpp"
#include "learn/window_agent.hpp"
#include "learn_train/window_trainer.hpp"
#include "optimize/window_dp.hpp"
#include "optimize/window_methods.hpp"
#include "septule/files.hpp"
#include "septule/output.hpp"
#include "septule/study_runner.hpp"
#include "septule_train/training.hpp"

namespace septule::train_app {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kUnitsMax = std::int64_t{1} << 40U;
constexpr std::string_view kShareSuffix = "of_exact";
constexpr std::string_view kLossSuffix = "loss";
constexpr std::string_view kPlayedSuffix = "played_gain";

std::string curve_key(int updates, std::string_view what) {
  return fmt::format("at{:07}.{}", updates, what);
}

/// Windows whose best gain is known.
struct Watched {
  std::unique_ptr<learn_train::TrainingWindow> window;
  double exact_gain = 1;
};

double time_sharing_s(const optimize::WindowProblem& problem) {
  double sum = 0;
  for (const plan::WindowJob& job : problem.jobs) {
    sum += job.solo.to_seconds();
  }
  return sum;
}

/// A training under way.
class WindowTraining {
 public:
  WindowTraining(const WindowRunSpec& spec,
                 const learn_train::WindowSource& source,
                 const app::Interruption& interruption)
      : spec_(spec), source_(source), interruption_(interruption) {
    options_.seed = spec.seed;
    options_.updates = spec.updates.value_or(options_.updates);
    recipe_.command = spec.command();
    recipe_.seed = spec.seed;
    recipe_.data_digest = source.digest();
    recipe_.rows = static_cast<int>(learn_train::WindowSource::kPoolJobs * 3 / 5);
  }

  Result<learn::NetworkWeights> run() {
    const auto begin = Clock::now();
    if (spec_.beginning == WindowRunSpec::Beginning::kResume) {
      SEPTULE_TRY(std::optional<learn::NetworkWeights> finished, read(spec_.path));
      if (finished) {
        return *std::move(finished);
      }
    }
    SEPTULE_TRY(trainer_, learn_train::make_window_trainer(source_, options_));
    SEPTULE_TRY_STATUS(restore());
    SEPTULE_TRY_STATUS(save_checkpoint());  // a place that cannot be written is told at once
    SEPTULE_TRY_STATUS(find_exact_gains());
    SEPTULE_TRY_STATUS(train());
    learn::NetworkWeights weights = trainer_->weights();
    weights.recipe = recipe_;
    const std::chrono::duration<double> seconds = Clock::now() - begin;
    app::say_detail(fmt::format("trained in {:.0f} s", seconds.count()));
    SEPTULE_TRY_STATUS(write_weights_file(spec_.path, weights));
    std::error_code ignored;
    std::filesystem::remove(checkpoint_path(), ignored);
    return weights;
  }

 private:
  /// Sums since the last look.
  struct Since {
    double loss = 0;
    double gain = 0;
    double rounds = 0;  ///< with a loss
    double plays = 0;   ///< rounds in which an episode ended
  };
  static constexpr const char* kSinceLoss = "since.loss";
  static constexpr const char* kSinceGain = "since.gain";
  static constexpr const char* kSinceRounds = "since.rounds";
  static constexpr const char* kSincePlays = "since.plays";

  std::string checkpoint_path() const { return spec_.path + ".checkpoint"; }

  /// Weights or a checkpoint of this training; nothing if the file is not there.
  Result<std::optional<learn::NetworkWeights>> read(const std::string& path) const {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      return std::optional<learn::NetworkWeights>();
    }
    SEPTULE_TRY(const std::string bytes, app::read_input(path, learn::kWeightsBytesMax));
    SEPTULE_TRY(learn::NetworkWeights found, learn::parse_weights(bytes, path));
    if (found.recipe.command != recipe_.command ||
        found.recipe.data_digest != recipe_.data_digest) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("{}: was made by {}; expected {}. Remove it, or leave --resume out",
                               quoted_for_message(path),
                               quoted_for_message(found.recipe.command, 200),
                               quoted_for_message(recipe_.command, 200))};
    }
    return std::optional(std::move(found));
  }

  Status restore() {
    if (spec_.beginning != WindowRunSpec::Beginning::kResume) {
      return {};
    }
    SEPTULE_TRY(const std::optional<learn::NetworkWeights> state, read(checkpoint_path()));
    if (!state) {
      return {};
    }
    SEPTULE_TRY_STATUS(trainer_->restore(*state));
    recipe_.metrics = state->recipe.metrics;
    const auto take = [&](const char* name) {
      const auto node = recipe_.metrics.extract(name);
      return node.empty() ? 0.0 : node.mapped();
    };
    since_ = {.loss = take(kSinceLoss),
              .gain = take(kSinceGain),
              .rounds = take(kSinceRounds),
              .plays = take(kSincePlays)};
    app::say_note(fmt::format("going on after {} updates", trainer_->updates_done()));
    return {};
  }

  Status save_checkpoint() const {
    learn::NetworkWeights state = trainer_->state();
    state.recipe = recipe_;
    std::map<std::string, double>& metrics = state.recipe.metrics;
    metrics[kSinceLoss] = since_.loss;
    metrics[kSinceGain] = since_.gain;
    metrics[kSinceRounds] = since_.rounds;
    metrics[kSincePlays] = since_.plays;
    return write_weights_file(checkpoint_path(), state);
  }

  Status find_exact_gains() {
    for (int i = 0; i < kWatchedWindows && !interruption_.signal(); ++i) {
      Watched& one = watched_.emplace_back();
      one.window = source_.window(predict::PoolPart::kValidation, static_cast<std::uint64_t>(i));
      const optimize::WindowProblem& problem = one.window->problem();
      WorkBudget budget(kUnitsMax);
      SEPTULE_TRY(const optimize::WindowAnswer exact,
                  optimize::WindowDp().optimize(problem, budget));
      one.exact_gain = time_sharing_s(problem) / exact.time.to_seconds();
    }
    return {};
  }

  /// Writes down how the network as it stands does on the watched windows.
  Status look() {
    SEPTULE_TRY(const std::unique_ptr<learn::WindowAgent> agent,
                learn::WindowAgent::make(trainer_->weights()));
    double sum = 0;
    for (const Watched& one : watched_) {
      WorkBudget budget(kUnitsMax);
      double time = 0;
      for (const learn::ClosedGroup& group : agent->roll_out(one.window->times(), budget)) {
        time += static_cast<double>(group.time);
      }
      sum += time_sharing_s(one.window->problem()) / time / one.exact_gain;
    }
    const int updates = trainer_->updates_done();
    const double share = sum / static_cast<double>(watched_.size());
    recipe_.metrics[curve_key(updates, kShareSuffix)] = share;
    if (since_.rounds > 0) {
      recipe_.metrics[curve_key(updates, kLossSuffix)] = since_.loss / since_.rounds;
    }
    if (since_.plays > 0) {
      recipe_.metrics[curve_key(updates, kPlayedSuffix)] = since_.gain / since_.plays;
    }
    app::say_detail(
        fmt::format("after {} of {} updates: {:.2f} % of the exact gain on {} validation windows",
                    updates,
                    options_.updates,
                    100 * share,
                    watched_.size()));
    since_ = {};
    return {};
  }

  Status train() {
    const int every = std::max(1, options_.updates / kLooks);
    app::Progress progress("training the network for windows",
                           static_cast<std::size_t>(options_.updates - trainer_->updates_done()));
    if (trainer_->updates_done() == 0 && !interruption_.signal()) {
      SEPTULE_TRY_STATUS(look());
    }
    while (!trainer_->is_done()) {
      if (interruption_.signal()) {
        SEPTULE_TRY_STATUS(save_checkpoint());
        return Error{ErrorCode::kFailed,
                     fmt::format("interrupted after {} of {} updates; go on with --resume",
                                 trainer_->updates_done(),
                                 options_.updates)};
      }
      const int before = trainer_->updates_done();
      SEPTULE_TRY(const learn_train::WindowRound round, trainer_->run_round());
      note(round);
      for (int i = before; i < round.updates; ++i) {
        progress.advance();
      }
      if (round.updates / every != before / every || trainer_->is_done()) {
        SEPTULE_TRY_STATUS(look());
        if (!trainer_->is_done()) {
          SEPTULE_TRY_STATUS(save_checkpoint());
        }
      }
    }
    return {};
  }

  void note(const learn_train::WindowRound& round) {
    if (round.loss) {
      since_.loss += *round.loss;
      since_.rounds += 1;
    }
    if (round.gain) {
      since_.gain += *round.gain;
      since_.plays += 1;
    }
  }

  const WindowRunSpec& spec_;
  const learn_train::WindowSource& source_;
  const app::Interruption& interruption_;
  learn_train::WindowTrainingOptions options_;
  std::unique_ptr<learn_train::WindowTrainer> trainer_;
  learn::TrainingRecipe recipe_;
  std::vector<Watched> watched_;
  Since since_;
};

/// What a method came to on the windows.
struct Tried {
  const char* name;
  const char* text;
  std::vector<double> gains;
  std::vector<double> of_exact;
  std::vector<double> times_us;
};

report::MethodFigures figures_of(const Tried& tried) {
  report::MethodFigures figures;
  figures.name = tried.name;
  figures.text = tried.text;
  if (!tried.gains.empty()) {
    figures.gain = job::confidence_interval(tried.gains);
    figures.gain_max = std::ranges::max(tried.gains);
    figures.of_exact = job::confidence_interval(tried.of_exact);
    figures.of_exact_least = std::ranges::min(tried.of_exact);
    figures.decision_time_us = job::quantile(tried.times_us, 0.5);
  }
  return figures;
}

report::LinePlot curve_of(const learn::TrainingRecipe& recipe,
                          std::string_view suffix,
                          report::LinePlot plot) {
  report::PlotLine line;
  line.name = plot.title;
  for (const auto& [key, value] : recipe.metrics) {
    const std::size_t dot = key.find('.');
    if (!key.starts_with("at") || dot == std::string::npos || key.substr(dot + 1) != suffix) {
      continue;
    }
    if (const auto updates = parse_number(key.substr(2, dot - 2))) {
      line.points.push_back({.x = *updates, .y = value, .low = {}, .high = {}});
    }
  }
  plot.x = {
      .label = "updates of the network", .kind = report::AxisKind::kNumber, .min = {}, .max = {}};
  plot.shape = report::LineShape::kPoints;
  plot.lines.push_back(std::move(line));
  return plot;
}

}  // namespace

std::string WindowRunSpec::command() const {
  std::string text = fmt::format("septule train window --seed {}", seed);
  if (updates) {
    text += fmt::format(" --steps {}", *updates);
  }
  return text;
}

Result<learn::NetworkWeights> train_window_net(const WindowRunSpec& spec,
                                               const learn_train::WindowSource& source,
                                               const app::Interruption& interruption) {
  return WindowTraining(spec, source, interruption).run();
}

Result<report::MethodComparison> judge_window_net(const learn::NetworkWeights& weights,
                                                  const learn_train::WindowSource& source,
                                                  const WindowJudging& judging) {
  SEPTULE_TRY(const std::unique_ptr<learn::WindowAgent> agent, learn::WindowAgent::make(weights));
  std::vector<Tried> methods = {
      {"exact", "the best schedule of full groups with barriers", {}, {}, {}},
      {"rl", "the network, greedy, without a guard", {}, {}, {}},
      {"beam", "", {}, {}, {}},
      {"greedy", "", {}, {}, {}},
      {"mig-mps-default", "", {}, {}, {}},
      {"mig-only", "", {}, {}, {}},
      {"mps-only", "", {}, {}, {}},
      {"time-sharing", "one job after another", {}, {}, {}}};
  std::erase_if(methods, [](const Tried& one) {
    return std::ranges::none_of(
        optimize::window_methods(),
        [&](const optimize::WindowMethod& method) { return method.name == one.name; });
  });
  app::Progress progress("judging the network", static_cast<std::size_t>(judging.windows));
  for (int i = 0; i < judging.windows; ++i) {
    const auto window = source.window(judging.part, static_cast<std::uint64_t>(i));
    const double alone = time_sharing_s(window->problem());
    double exact_gain = 1;
    for (Tried& tried : methods) {
      SEPTULE_TRY(const auto method,
                  optimize::make_window_method(tried.name, {.learned = agent.get()}));
      WorkBudget budget(kUnitsMax);
      const auto begin = Clock::now();
      SEPTULE_TRY(const optimize::WindowAnswer answer, method->optimize(window->problem(), budget));
      const std::chrono::duration<double, std::micro> time = Clock::now() - begin;
      const double gain = alone / answer.time.to_seconds();
      exact_gain = &tried == &methods.front() ? gain : exact_gain;
      tried.gains.push_back(gain);
      tried.of_exact.push_back(gain / exact_gain);
      tried.times_us.push_back(time.count());
    }
    progress.advance();
  }
  report::MethodComparison comparison;
  comparison.title = fmt::format("Windows of {} jobs", predict::pool_part_name(judging.part));
  comparison.note = fmt::format(
      "{} windows of {} generated jobs, none of which the network was trained on; same "
      "windows for all methods, switching between cuts not counted.",
      judging.windows,
      learn::kWindowRows);
  for (const Tried& tried : methods) {
    comparison.methods.push_back(figures_of(tried));
  }
  return comparison;
}

std::vector<report::LinePlot> learning_curves(const learn::TrainingRecipe& recipe) {
  using report::AxisKind;
  std::vector<report::LinePlot> curves;
  const auto add = [&](std::string_view suffix, const char* title, AxisKind kind) {
    report::LinePlot plot;
    plot.title = title;
    plot.y = {.label = title, .kind = kind, .min = {}, .max = {}};
    curves.push_back(curve_of(recipe, suffix, std::move(plot)));
  };
  add(kShareSuffix,
      "gain as a share of the exact gain, windows of validation jobs",
      AxisKind::kPercent);
  add(kPlayedSuffix, "gain of the episodes played, exploration included", AxisKind::kNumber);
  add(kLossSuffix, "loss of the updates", AxisKind::kLog);
  return curves;
}

}  // namespace septule::train_app
