#include "septule_train/training.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "interop/npy_reader.hpp"
#include "learn_train/network_trainer.hpp"
#include "septule/files.hpp"
#include "septule/output.hpp"
#include "septule/study_runner.hpp"

namespace septule::train_app {

namespace {

constexpr int kCheckpointEpochs = 10;
constexpr const char* kWaited = "early_stop_waited";
constexpr const char* kLeastLoss = "early_stop_loss";

Result<learn_train::TrainingData> read_data(const std::filesystem::path& folder) {
  std::array<learn_train::TrainingFile, learn_train::kTrainingFiles.size()> files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].source_name = (folder / learn_train::kTrainingFiles[i]).string();
    SEPTULE_TRY(files[i].text, app::read_input(files[i].source_name, interop::kNpyBytesMax));
  }
  return learn_train::parse_training_data(files);
}

/// Fails if the weights are of another training than `spec` on this data.
Status check_recipe(const learn::TrainingRecipe& recipe,
                    const RunSpec& spec,
                    const Session& session,
                    const std::string& path) {
  if (recipe.command != spec.command() || recipe.data_digest != session.data->digest) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{}: was made by {} on data {}; expected {} on data {}. Remove it, or "
                             "leave --resume out",
                             quoted_for_message(path),
                             quoted_for_message(recipe.command, 200),
                             quoted_for_message(recipe.data_digest),
                             quoted_for_message(spec.command(), 200),
                             session.data->digest)};
  }
  return {};
}

Result<learn::NetworkWeights> read_weights(const std::string& path) {
  SEPTULE_TRY(const std::string bytes, app::read_input(path, learn::kWeightsBytesMax));
  return learn::parse_weights(bytes, path);
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// One training under way.
class Training {
 public:
  Training(const RunSpec& spec, const Session& session, std::string path)
      : spec_(spec), session_(session), path_(std::move(path)) {}

  Result<learn::NetworkWeights> run() {
    SEPTULE_TRY(trainer_, trainer_of(*session_.data, spec_));
    recipe_.command = spec_.command();
    recipe_.seed = spec_.seed;
    recipe_.data_digest = session_.data->digest;
    recipe_.rows = static_cast<int>(split_of(*session_.data, spec_).train.size());
    SEPTULE_TRY_STATUS(restore());
    SEPTULE_TRY_STATUS(save_checkpoint());  // a place that cannot be written is told at once
    const auto begin = std::chrono::steady_clock::now();
    SEPTULE_TRY_STATUS(run_epochs());
    recipe_.metrics.erase(kWaited);
    recipe_.metrics.erase(kLeastLoss);
    learn::NetworkWeights weights = trainer_->weights();
    weights.recipe = recipe_;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    app::say_detail(fmt::format("{}: trained in {:.1f} s", spec_.name(), seconds.count()));
    if (!path_.empty()) {
      SEPTULE_TRY_STATUS(write_weights_file(path_, weights));
      std::error_code ignored;
      std::filesystem::remove(checkpoint_path(), ignored);
    }
    return weights;
  }

 private:
  std::string checkpoint_path() const { return path_ + ".checkpoint"; }

  Status restore() {
    if (path_.empty() || session_.beginning != Session::Beginning::kResume ||
        !is_there(checkpoint_path())) {
      return {};
    }
    SEPTULE_TRY(const learn::NetworkWeights state, read_weights(checkpoint_path()));
    SEPTULE_TRY_STATUS(check_recipe(state.recipe, spec_, session_, checkpoint_path()));
    SEPTULE_TRY_STATUS(trainer_->restore(state));
    recipe_.metrics = state.recipe.metrics;
    app::say_note(
        fmt::format("{}: going on after epoch {}", spec_.name(), trainer_->epochs_done()));
    return {};
  }

  Status save_checkpoint() const {
    if (path_.empty()) {
      return {};
    }
    learn::NetworkWeights state = trainer_->state();
    state.recipe = recipe_;
    return write_weights_file(checkpoint_path(), state);
  }

  Status run_epochs() {
    app::Progress progress(
        "training " + spec_.name(),
        static_cast<std::size_t>(trainer_->epoch_count() - trainer_->epochs_done()));
    while (!trainer_->is_done() && !is_waiting_over()) {
      if (session_.interruption->signal()) {
        SEPTULE_TRY_STATUS(save_checkpoint());
        return Error{ErrorCode::kFailed,
                     fmt::format("interrupted after epoch {} of {}{}",
                                 trainer_->epochs_done(),
                                 trainer_->epoch_count(),
                                 path_.empty() ? "" : "; go on with --resume")};
      }
      SEPTULE_TRY(const learn_train::EpochRecord record, trainer_->run_epoch());
      note(record);
      progress.advance();
      if (trainer_->epochs_done() % kCheckpointEpochs == 0 && !trainer_->is_done()) {
        SEPTULE_TRY_STATUS(save_checkpoint());
      }
    }
    return {};
  }

  void note(const learn_train::EpochRecord& record) {
    if (record.scored_error) {
      recipe_.metrics[kLastEpochError] = *record.scored_error;
      const auto best = recipe_.metrics.find(kBestEpochError);
      if (best == recipe_.metrics.end() || *record.scored_error < best->second) {
        recipe_.metrics[kBestEpochError] = *record.scored_error;
        recipe_.metrics[kBestEpoch] = record.epoch;
      }
    }
    if (spec_.early_stop && record.validation_loss) {
      const auto least = recipe_.metrics.find(kLeastLoss);
      if (least == recipe_.metrics.end() || *record.validation_loss < least->second) {
        recipe_.metrics[kLeastLoss] = *record.validation_loss;
        recipe_.metrics[kWaited] = 0;
      } else {
        recipe_.metrics[kWaited] += 1;
      }
    }
    app::say_detail(fmt::format(
        "{}: epoch {} of {}, loss {:.5f}{}",
        spec_.name(),
        record.epoch,
        trainer_->epoch_count(),
        record.train_loss,
        record.validation_loss ? fmt::format(", inner loss {:.5f}", *record.validation_loss) : ""));
  }

  bool is_waiting_over() const {
    const auto waited = recipe_.metrics.find(kWaited);
    return spec_.early_stop && waited != recipe_.metrics.end() &&
           waited->second >= *spec_.early_stop;
  }

  const RunSpec& spec_;
  const Session& session_;
  std::string path_;
  std::unique_ptr<learn_train::NetworkTrainer> trainer_;
  learn::TrainingRecipe recipe_;
};

}  // namespace

Result<learn_train::TrainingData> load_data(const std::string& folder) {
  if (!folder.empty()) {
    return read_data(folder);
  }
  // One thread runs here, and nothing sets variables.
  const char* const shared = std::getenv("SEPTULE_SHARED");  // NOLINT(concurrency-mt-unsafe)
  std::vector<std::filesystem::path> candidates;
  if (shared != nullptr && *shared != '\0') {
    candidates.push_back(std::filesystem::path(shared) / "data/miso");
  }
  candidates.emplace_back("../shared/data/miso");
  candidates.emplace_back("data/miso");
  std::vector<std::string> looked;
  for (const std::filesystem::path& candidate : candidates) {
    if (is_there((candidate / learn_train::kTrainingFiles[0]).string())) {
      return read_data(candidate);
    }
    looked.push_back(candidate.string());
  }
  return Error{ErrorCode::kNotFound,
               fmt::format("no training data: {} is in none of {}; name its folder with --data "
                           "(docs/commands/train.md says what it holds and where it comes from)",
                           learn_train::kTrainingFiles[0],
                           joined_with_and(looked))};
}

Status write_weights_file(const std::string& path, const learn::NetworkWeights& weights) {
  SEPTULE_TRY_STATUS(learn::check_weights(weights));  // a training may diverge
  return app::write_file(path, learn::write_weights(weights));
}

Result<std::optional<learn::NetworkWeights>> finished(const RunSpec& spec,
                                                      const Session& session,
                                                      const std::string& path) {
  if (!is_there(path)) {
    return std::optional<learn::NetworkWeights>();
  }
  SEPTULE_TRY(learn::NetworkWeights weights, read_weights(path));
  SEPTULE_TRY_STATUS(check_recipe(weights.recipe, spec, session, path));
  return std::optional(std::move(weights));
}

Result<learn::NetworkWeights> train(const RunSpec& spec,
                                    const Session& session,
                                    const std::string& path) {
  if (!path.empty() && session.beginning == Session::Beginning::kResume) {
    SEPTULE_TRY(std::optional<learn::NetworkWeights> known, finished(spec, session, path));
    if (known) {
      return *std::move(known);
    }
  }
  return Training(spec, session, path).run();
}

}  // namespace septule::train_app
