#include "septule/study_predictor.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/digest.hpp"
#include "base/text.hpp"
#include "interop/measured_columns_reader.hpp"
#include "interop/npy_reader.hpp"
#include "learn/learned_predictor.hpp"
#include "learn/left_out_part.hpp"
#include "learn/slice_models.hpp"
#include "septule/files.hpp"
#include "septule/inputs.hpp"

namespace septule::app {

namespace {

constexpr std::string_view kTable = "table";
/// Of mean step times over ten seconds, if nothing else is said [D].
constexpr double kMeasurementNoise = 0.02;

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalidInput, std::move(message)};
}

/// One learned predictor per run, each with a model of its own. Policies that remember signatures
/// also learn on line, which the paper's MISO does not.
class LearnedFactory final : public sim::PredictorFactory {
 public:
  explicit LearnedFactory(learn::NetworkWeights weights) : weights_(std::move(weights)) {}

  Result<std::unique_ptr<predict::Predictor>> make(const predict::SpeedBook& book,
                                                   const sched::PolicyVariant& policy,
                                                   std::uint64_t /*seed*/) const override {
    using learn::LearnedPredictor;
    SEPTULE_TRY(std::unique_ptr<predict::SliceModel> model, learn::make_slice_model(weights_));
    LearnedPredictor::Options options;
    options.knowledge = policy.knowledge;
    options.calibration = policy.knowledge == predict::Knowledge::kPerSignature
                              ? LearnedPredictor::Calibration::kOn
                              : LearnedPredictor::Calibration::kOff;
    SEPTULE_TRY(std::unique_ptr<LearnedPredictor> predictor,
                LearnedPredictor::make(book, std::move(model), options));
    return std::unique_ptr<predict::Predictor>(std::move(predictor));
  }

 private:
  learn::NetworkWeights weights_;
};

bool is_builtin(const std::string& name) {
  const std::vector<std::string_view> builtin = learn::builtin_model_names();
  return std::ranges::find(builtin, name) != builtin.end();
}

Result<learn::NetworkWeights> load_weights(const StudySettings& settings, Digest& digest) {
  const std::string name = settings.text("predictor");
  if (is_builtin(name)) {
    return learn::builtin_weights(name);
  }
  auto text = read_input(name, learn::kWeightsBytesMax);
  if (!text) {
    if (text.error().code != ErrorCode::kNotFound || is_meant_as_file(name)) {
      return text.error();
    }
    const std::vector<std::string_view> builtin = learn::builtin_model_names();
    std::vector<std::string> known = {std::string(kTable)};
    known.insert(known.end(), builtin.begin(), builtin.end());
    return settings.located("predictor",
                            Error{ErrorCode::kNotFound,
                                  fmt::format("{} is neither a predictor nor a file of weights; "
                                              "there are {}",
                                              quoted_for_message(name),
                                              joined_with_and(known))});
  }
  digest.add(*text);
  return learn::parse_weights(*text, source_name_of(name));
}

/// The model must know the levels at which jobs will be measured: it is asked about one job.
Status check_levels(const StudySettings& settings,
                    const learn::NetworkWeights& weights,
                    const sched::CharacterisationPlan& plan) {
  SEPTULE_TRY(const std::unique_ptr<predict::SliceModel> model, learn::make_slice_model(weights));
  predict::MpsMatrix matrix;
  for (const ActiveThreadPercentage atp : plan.levels) {
    matrix.levels.push_back({atp, {}});
    matrix.levels.back().step[0] = 100.0 / atp.value();
  }
  if (const auto answer = model->predict(matrix); !answer) {
    return settings.located(
        "predictor",
        invalid(fmt::format("{} cannot tell from the levels of characterisation runs: {}",
                            settings.text("predictor"),
                            answer.error().message)));
  }
  return {};
}

Status check_models(const StudySettings& settings, const sim::StudySpec& spec) {
  const ComputeSlices wanted(predict::kSliceComputeSlices.front());
  for (const sim::StudyCluster& cluster : spec.clusters) {
    if (cluster.geometry->compute_slices() != wanted) {
      return settings.located(
          "predictor",
          invalid(fmt::format("{} predicts the slices of GPUs with {} compute slices, and {} has "
                              "{}; expected other GPUs, or --predictor table",
                              settings.text("predictor"),
                              wanted.value(),
                              cluster.geometry->key(),
                              cluster.geometry->compute_slices().value())));
    }
  }
  return {};
}

/// The fold or family is left to the reader to judge.
Result<predict::MeasuredColumns> load_columns(const StudySettings& settings, Digest& digest) {
  const std::filesystem::path folder = settings.text("mps-data");
  constexpr std::array<const char*, 3> kNames = {
      "unet_input.npy", "unet_rows.csv", "unet_classes.csv"};
  std::array<std::string, 3> texts;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    auto text = read_input((folder / kNames[i]).string(), interop::kNpyBytesMax);
    if (!text) {
      return settings.located("mps-data", text.error());
    }
    texts[i] = std::move(text).value();
    digest.add(texts[i]);
  }
  auto columns = interop::read_measured_columns(
      {{texts[0], kNames[0]}, {texts[1], kNames[1]}, {texts[2], kNames[2]}},
      settings.text("mps-fold"));
  if (!columns) {
    const bool is_fold = columns.error().code == ErrorCode::kNotFound;
    return settings.located(is_fold ? "mps-fold" : "mps-data", columns.error());
  }
  return columns;
}

Status check_column_levels(const StudySettings& settings,
                           const predict::MeasuredColumns& columns,
                           const sched::CharacterisationPlan& plan) {
  for (const ActiveThreadPercentage atp : plan.levels) {
    if (std::ranges::find(columns.levels, atp) == columns.levels.end()) {
      return settings.located(
          "mps-data",
          invalid(fmt::format("holds no measurement at {} %; characterisation runs of this study "
                              "make one: expected levels of 100, 50 and 14 only",
                              atp.value())));
    }
  }
  return {};
}

Result<std::unique_ptr<sim::MpsMeasurementSource>> load_measurements(const StudySettings& settings,
                                                                     const sim::StudySpec& spec,
                                                                     Digest& digest) {
  const double noise =
      settings.is_given("mps-noise") ? settings.number("mps-noise") : kMeasurementNoise;
  if (!settings.is_given("mps-data")) {
    return std::unique_ptr<sim::MpsMeasurementSource>(std::make_unique<sim::NoisyTruth>(noise));
  }
  SEPTULE_TRY(predict::MeasuredColumns columns, load_columns(settings, digest));
  SEPTULE_TRY_STATUS(
      check_column_levels(settings, columns, spec.common.policy_setup.characterisation));
  return std::unique_ptr<sim::MpsMeasurementSource>(
      std::make_unique<sim::DrawnColumns>(std::move(columns), noise));
}

Status check_together(const StudySettings& settings) {
  const bool has_data = settings.is_given("mps-data");
  if (has_data != settings.is_given("mps-fold")) {
    return settings.located(has_data ? "mps-data" : "mps-fold",
                            invalid("expected --mps-data and --mps-fold together: the folder, and "
                                    "the part of it that the predictor was not trained on"));
  }
  if (settings.text("predictor") != kTable) {
    for (const char* name : {"error-mean", "error-sd"}) {
      if (settings.is_given(name)) {
        return settings.located(name,
                                invalid("a learned predictor makes errors of its own; expected "
                                        "this with --predictor table only"));
      }
    }
    return {};
  }
  for (const char* name : {"mps-data", "mps-noise"}) {
    if (settings.is_given(name)) {
      return settings.located(
          name, invalid("a table looks at no measurements; expected a learned --predictor"));
    }
  }
  return {};
}

std::string predictor_text(const StudySettings& settings, const learn::NetworkWeights& weights) {
  const std::string name = settings.text("predictor");
  return is_builtin(name) ? fmt::format("{} (built in)", name)
                          : fmt::format("{} ({}, seed {}, trained on {} rows)",
                                        source_name_of(name),
                                        weights.kind,
                                        weights.recipe.seed,
                                        weights.recipe.rows);
}

std::vector<std::string> cautions_of(const StudySettings& settings, const sim::StudySpec& spec) {
  std::vector<std::string> cautions;
  if (!settings.is_given("mps-data")) {
    cautions.emplace_back(
        "The network was trained on measured ones, so errors differ from docs/predict.md. Use "
        "--mps-data for measured ones.");
  }
  std::vector<std::string> others;
  for (const sim::StudyCluster& cluster : spec.clusters) {
    const std::string key = cluster.geometry->key();
    if (key != learn::kTrainedGpu && std::ranges::find(others, key) == others.end()) {
      others.push_back(key);
    }
  }
  if (!others.empty()) {
    cautions.push_back(fmt::format(
        "Networks are trained on measurements of an {}; how wrong they are on {} was not measured.",
        learn::kTrainedGpu,
        joined_with_and(others)));
  }
  return cautions;
}

std::string warning_of(const StudySettings& settings, const learn::NetworkWeights& weights) {
  const std::string fault =
      settings.is_given("mps-fold")
          ? learn::seen_part_warning(weights.recipe, settings.text("mps-fold"))
          : "";
  return fault.empty() ? fault
                       : fmt::format("--predictor {}: {}", settings.text("predictor"), fault);
}

}  // namespace

bool has_predicting_policy(const sim::StudySpec& spec) {
  return std::ranges::any_of(spec.policies,
                             [](const sched::PolicyVariant* policy) { return policy->has_error; });
}

Result<StudyPredictor> load_study_predictor(const StudySettings& settings,
                                            const sim::StudySpec& spec) {
  SEPTULE_TRY_STATUS(check_together(settings));
  StudyPredictor predictor;
  if (settings.text("predictor") == kTable) {
    return predictor;
  }
  Digest digest;
  SEPTULE_TRY(learn::NetworkWeights weights, load_weights(settings, digest));
  SEPTULE_TRY_STATUS(check_models(settings, spec));
  SEPTULE_TRY_STATUS(check_levels(settings, weights, spec.common.policy_setup.characterisation));
  SEPTULE_TRY(predictor.measurements, load_measurements(settings, spec, digest));
  predictor.text = predictor_text(settings, weights);
  predictor.cautions = cautions_of(settings, spec);
  if (has_predicting_policy(spec)) {
    predictor.warning = warning_of(settings, weights);
  }
  predictor.factory = std::make_unique<LearnedFactory>(std::move(weights));
  predictor.digest = digest.value();
  return predictor;
}

}  // namespace septule::app
