// septule-train: trains and judges networks with LibTorch. septule train predictor and septule
// train window start it with their own arguments.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "learn_train/network_trainer.hpp"
#include "septule/app.hpp"
#include "septule/cli.hpp"
#include "septule/interruption.hpp"
#include "septule/output.hpp"
#include "septule/train_record.hpp"
#include "septule/train_window_record.hpp"
#include "septule_train/evaluation.hpp"
#include "septule_train/evaluation_view.hpp"
#include "septule_train/training.hpp"
#include "septule_train/window_command.hpp"

namespace septule::train_app {

namespace {

constexpr const char* kGpuOfData = "A100-40GB";

/// OpenBLAS makes its threads before main() begins. They would take signals that are meant to end a
/// training in order, and wait for LibTorch's; so the program begins anew without them, unless
/// septule has seen to it.
void begin_with_one_thread(char** argv) {
  // No other thread of ours runs yet.
  const char* const threads = std::getenv("OPENBLAS_NUM_THREADS");  // NOLINT(concurrency-mt-unsafe)
  if (threads == nullptr || std::string_view(threads) != "1") {
    setenv("OPENBLAS_NUM_THREADS", "1", 1);  // NOLINT(concurrency-mt-unsafe)
    setenv("OMP_NUM_THREADS", "1", 1);       // NOLINT(concurrency-mt-unsafe)
    execv("/proc/self/exe", argv);           // if it fails, training is slower
  }
}

/// The same for whatever the environment did not reach.
void use_one_thread() {
  learn_train::use_one_torch_thread();
  using SetThreads = void (*)(int);
  void* const symbol = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (symbol == nullptr) {
    app::say_warning(
        "OpenBLAS is not in use (package libopenblas0-pthread): training will be very slow");
    return;
  }
  reinterpret_cast<SetThreads>(symbol)(1);
}

std::optional<int> number_of(const app::Invocation& invocation, const char* name) {
  return invocation.is_given(name) ? std::optional(static_cast<int>(invocation.number(name)))
                                   : std::nullopt;
}

Error usage(std::string message) {
  return Error{ErrorCode::kUsage, std::move(message)};
}

Status check_options(const app::Invocation& invocation) {
  const std::string folds = invocation.text("folds");
  if (invocation.is_given("evaluate") &&
      (!folds.empty() || invocation.is_given("fold") || invocation.is_given("counters") ||
       invocation.is_given("out"))) {
    return usage("--evaluate trains all parts; leave --folds, --fold, --counters and --out out");
  }
  if (invocation.is_given("counters") &&
      (folds != "family" || invocation.text("model") == "unet")) {
    return usage(
        "--counters is for our network and --folds family: a counter tells the jobs of "
        "the data apart, so that other figures would mean nothing");
  }
  if (invocation.is_given("fold") && folds.empty()) {
    return usage("--fold names a part of --folds mix or --folds family");
  }
  if (!folds.empty() && invocation.is_given("out")) {
    return usage("--out is for training on all rows; with --folds use --runs");
  }
  if (folds.empty() && !invocation.is_given("evaluate") && !invocation.is_given("out")) {
    return usage("where shall the weights go? Give a file with --out");
  }
  return {};
}

/// The parts that --folds and --fold ask for.
Result<std::vector<RunSpec>> specs_of(const app::Invocation& invocation,
                                      const learn_train::TrainingData& data,
                                      const RunSpec& base) {
  std::vector<RunSpec> specs;
  const std::string wanted = invocation.text("fold");
  std::vector<std::string> names;
  const bool is_by_mix = invocation.text("folds") == "mix";
  if (is_by_mix) {
    for (int fold = 0; fold < learn_train::kFolds; ++fold) {
      names.push_back(fmt::format("{}", fold));
    }
  } else {
    names = data.families();
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (wanted.empty() || wanted == names[i]) {
      RunSpec& spec = specs.emplace_back(base);
      spec.left_out = is_by_mix ? RunSpec::Part::kMix : RunSpec::Part::kFamily;
      spec.fold = is_by_mix ? static_cast<int>(i) : 0;
      spec.family = is_by_mix ? "" : names[i];
    }
  }
  if (specs.empty()) {
    return usage(fmt::format("--fold {} is no part of --folds {}; parts: {}",
                             quoted_for_message(wanted),
                             invocation.text("folds"),
                             joined_with_and(names)));
  }
  return specs;
}

Status make_folder(const std::string& folder) {
  std::error_code fault;
  std::filesystem::create_directories(folder, fault);
  return fault ? Status(Error{
                     ErrorCode::kFailed,
                     fmt::format(
                         "{}: cannot be made: {}", quoted_for_message(folder), fault.message())})
               : Status();
}

struct Call {
  const app::Invocation& invocation;
  app::Output& output;
  const Session& session;
  const gpu::Geometry& geometry;
};

Result<int> train_on_all(const Call& call, const RunSpec& spec) {
  const std::string out = call.invocation.text("out");
  SEPTULE_TRY(learn::NetworkWeights weights, train(spec, call.session, out));
  if (call.invocation.is_given("runs")) {
    EvaluationPlan plan;
    for (const RunSpec& one : evaluation_specs(*call.session.data, {spec.model}, spec.seed, 3)) {
      if (one.left_out == RunSpec::Part::kMix) {
        plan.specs.push_back(one);
      }
    }
    plan.runs = call.invocation.text("runs");
    plan.training = EvaluationPlan::Training::kNone;
    SEPTULE_TRY(const auto evaluation, evaluate(plan, call.session, call.geometry));
    if (!evaluation) {
      return Error{ErrorCode::kNotFound,
                   fmt::format("{}: does not hold the trainings of all folds with three seeds; "
                               "make them with septule train predictor --evaluate",
                               quoted_for_message(plan.runs))};
    }
    weights.recipe.metrics = recipe_metrics(evaluation->by_mix.front());
    SEPTULE_TRY_STATUS(write_weights_file(out, weights));
  }
  SEPTULE_TRY_STATUS(call.output.print(fmt::format(
      "{}: {} tensors, trained on {} rows\n", out, weights.tensors.size(), weights.recipe.rows)));
  return 0;
}

Result<int> train_and_judge(const Call& call, const RunSpec& base) {
  const app::Invocation& invocation = call.invocation;
  EvaluationPlan plan;
  plan.runs = invocation.text("runs");
  if (invocation.is_given("evaluate")) {
    std::vector<Model> models = {base.model};
    if (!invocation.is_given("model")) {
      models = {Model::kOurs, Model::kUnet};
    }
    plan.specs = evaluation_specs(
        *call.session.data, models, base.seed, static_cast<int>(invocation.number("seeds")));
    for (RunSpec& spec : plan.specs) {
      spec.epochs = base.epochs;
      spec.early_stop = base.early_stop;
    }
  } else {
    SEPTULE_TRY(plan.specs, specs_of(invocation, *call.session.data, base));
  }
  if (!plan.runs.empty()) {
    SEPTULE_TRY_STATUS(make_folder(plan.runs));
  }
  SEPTULE_TRY(const auto evaluation, evaluate(plan, call.session, call.geometry));
  if (!evaluation) {
    return Error{ErrorCode::kFailed, "a training that was allowed was not made"};
  }
  const Evaluation& figures = *evaluation;
  SEPTULE_TRY_STATUS(
      call.output.emit(evaluation_document(figures), [&] { return evaluation_text(figures); }));
  return 0;
}

Result<int> run_command(const app::Invocation& invocation, app::Context& context) {
  SEPTULE_TRY_STATUS(check_options(invocation));
  use_one_thread();
  SEPTULE_TRY(const learn_train::TrainingData data, load_data(invocation.text("data")));
  SEPTULE_TRY(const gpu::Geometry* geometry, context.catalogue.find(kGpuOfData));
  const app::Interruption interruption("the epoch under way is finished first");
  const Session session{.data = &data,
                        .interruption = &interruption,
                        .beginning = invocation.is_given("resume") ? Session::Beginning::kResume
                                                                   : Session::Beginning::kNew};
  RunSpec base;
  base.model = invocation.text("model") == "unet" ? Model::kUnet : Model::kOurs;
  base.seed = static_cast<std::uint64_t>(invocation.number("seed"));
  base.counters =
      invocation.is_given("counters") ? RunSpec::Counters::kShown : RunSpec::Counters::kHidden;
  base.epochs = number_of(invocation, "epochs");
  base.early_stop = number_of(invocation, "early-stop");
  const Call call{invocation, context.output, session, *geometry};
  const bool is_on_all = !invocation.is_given("evaluate") && !invocation.is_given("folds");
  Result<int> done = is_on_all ? train_on_all(call, base) : train_and_judge(call, base);
  if (const std::optional<int> signal = interruption.signal(); !done && signal) {
    app::say_error(done.error().message);
    return app::exit_code_of_signal(*signal);
  }
  return done;
}

int run(const std::vector<std::string>& arguments) {
  const std::vector<app::Command> commands = {
      {.record = app::train_predictor_record(), .run = run_command},
      {.record = app::train_window_record(),
       .run = [](const app::Invocation& invocation, app::Context& context) {
         use_one_thread();
         return run_window_command(invocation, context);
       }}};
  app::start_messages(app::Verbosity::kNormal);
  const auto parsed = app::parse_command_line(commands, arguments);
  if (!parsed) {
    app::say_error(parsed.error().message);
    return app::exit_code_of(parsed.error().code);
  }
  app::Output output(app::Format::kTable);
  if (parsed->command == nullptr) {
    return !output.print(parsed->text) ? 1 : (parsed->is_incomplete ? 2 : 0);
  }
  const app::Invocation invocation(parsed->command->record, parsed->values);
  if (invocation.is_given("verbose")) {
    app::start_messages(app::Verbosity::kVerbose);
  }
  if (const auto format = app::parse_format(invocation.text("output"))) {
    output.set_format(*format);
  }
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::LatencyTable latencies = gpu::load_builtin_latencies();
  const std::vector<CommandRecord> records = {parsed->command->record};
  app::Context context{catalogue, latencies, records, output};
  const Result<int> result = parsed->command->run(invocation, context);
  if (!result) {
    app::say_error(result.error().message);
    return app::exit_code_of(result.error().code);
  }
  return *result;
}

}  // namespace

}  // namespace septule::train_app

int main(int argc, char** argv) {
  // A closed pipe is a failed write (exit code 1), like a full disk.
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c)
  // So is a file that grows beyond the limit of `ulimit -f`.
  std::signal(SIGXFSZ, SIG_IGN);  // NOLINT(cert-err33-c)
  septule::train_app::begin_with_one_thread(argv);
  return septule::train_app::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
