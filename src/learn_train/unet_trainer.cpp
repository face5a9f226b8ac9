#include "learn_train/unet_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "learn/unet.hpp"
#include "learn_train/scores.hpp"
#include "learn_train/torch_support.hpp"
#include "predict/slice_regression.hpp"

namespace septule::learn_train {

namespace {

constexpr double kBatchNormMomentum = 0.01;  // of the new value; Keras counts the old one's: 0.99
constexpr double kBatchNormEpsilon = 1e-3;
constexpr double kKerasAdamEpsilon = 1e-7;
constexpr std::int64_t kPaddedRows = 4;
constexpr std::int64_t kPaddedColumns = 8;

/// Whether batch normalisation uses the batch's statistics (and learns from them) or the kept ones.
enum class Mode { kTraining, kEvaluation };

/// The network of miso.md 3.3 over named tensors, as learn::unet_form() names them.
class UnetModule {
 public:
  explicit UnetModule(std::uint64_t seed) : rng_(Rng(seed)) {
    add_pair("encoder0", 1, 32);
    add_pair("encoder1", 32, 64);
    add_pair("center", 64, 256);
    add_decoder("decoder1", 256, 64);
    add_decoder("decoder0", 64, 32);
    add_convolution("output", {1, 32, 1, 1});
  }

  /// Rows x 1 x 4 x 8 in, rows x 3 x 7 out.
  torch::Tensor forward(const torch::Tensor& input, Mode mode) const {
    const torch::Tensor skip0 = pair("encoder0", input, mode);
    const torch::Tensor skip1 = pair("encoder1", torch::max_pool2d(skip0, {2, 2}, {2, 2}), mode);
    const torch::Tensor center = pair("center", torch::max_pool2d(skip1, {2, 2}, {2, 2}), mode);
    const torch::Tensor up1 = decoder("decoder1", center, {skip1, mode});
    const torch::Tensor up0 = decoder("decoder0", up1, {skip0, mode});
    const torch::Tensor out = torch::conv2d(up0, tensor("output.weight"), tensor("output.bias"));
    return out.select(1, 0).slice(1, 0, kTargetSlices).slice(2, 0, kColumns);
  }

  NamedTensors& tensors() { return tensors_; }
  const NamedTensors& tensors() const { return tensors_; }
  NamedTensors parameters() const {
    NamedTensors chosen;
    for (const NamedTensor& one : tensors_) {
      if (one.value.requires_grad()) {
        chosen.push_back(one);
      }
    }
    return chosen;
  }

  Status load(const learn::NetworkWeights& weights) {
    for (NamedTensor& one : tensors_) {
      SEPTULE_TRY_STATUS(import_into(weights, one.name, one.value));
    }
    return {};
  }

 private:
  void add(std::string name, torch::Tensor value, bool is_trained) {
    value.set_requires_grad(is_trained);
    tensors_.push_back({std::move(name), std::move(value)});
  }
  void add_convolution(const std::string& name, const std::vector<std::int64_t>& shape) {
    // Glorot uniform; the sum of both fans is the same for a transposed convolution.
    const std::int64_t fans = (shape[0] + shape[1]) * shape[2] * shape[3];
    add(name + ".weight",
        uniform_tensor(shape, std::sqrt(6.0 / static_cast<double>(fans)), rng_.stream(name)),
        true);
    const bool is_transposed = name.ends_with(".up");
    add(name + ".bias", torch::zeros({shape[is_transposed ? 1 : 0]}), true);
  }
  void add_norm(const std::string& name, std::int64_t channels) {
    add(name + ".weight", torch::ones({channels}), true);
    add(name + ".bias", torch::zeros({channels}), true);
    add(name + ".running_mean", torch::zeros({channels}), false);
    add(name + ".running_var", torch::ones({channels}), false);
  }
  void add_pair(const std::string& name, std::int64_t in, std::int64_t out) {
    add_convolution(name + ".conv0", {out, in, 2, 2});
    add_norm(name + ".norm0", out);
    add_convolution(name + ".conv1", {out, out, 2, 2});
    add_norm(name + ".norm1", out);
  }
  void add_decoder(const std::string& name, std::int64_t in, std::int64_t out) {
    add_convolution(name + ".up", {in, out, 2, 2});
    add_norm(name + ".norm_up", 2 * out);
    add_pair(name, 2 * out, out);
  }

  struct Skip {
    torch::Tensor map;
    Mode mode;
  };

  const torch::Tensor& tensor(std::string_view name) const {
    const auto found =
        std::ranges::find_if(tensors_, [&](const NamedTensor& one) { return one.name == name; });
    SEPTULE_CHECK(found != tensors_.end(), "a layer asks for tensors that were made for it");
    return found->value;
  }
  torch::Tensor norm(const std::string& name, const torch::Tensor& input, Mode mode) const {
    return torch::relu(torch::batch_norm(input,
                                         tensor(name + ".weight"),
                                         tensor(name + ".bias"),
                                         tensor(name + ".running_mean"),
                                         tensor(name + ".running_var"),
                                         mode == Mode::kTraining,
                                         kBatchNormMomentum,
                                         kBatchNormEpsilon,
                                         false));
  }
  torch::Tensor convolution(const std::string& name, const torch::Tensor& input) const {
    // SAME padding of a 2x2 kernel: a column on the right and a row at the bottom.
    return torch::conv2d(torch::constant_pad_nd(input, {0, 1, 0, 1}),
                         tensor(name + ".weight"),
                         tensor(name + ".bias"));
  }
  torch::Tensor pair(const std::string& name, const torch::Tensor& input, Mode mode) const {
    const torch::Tensor first = norm(name + ".norm0", convolution(name + ".conv0", input), mode);
    return norm(name + ".norm1", convolution(name + ".conv1", first), mode);
  }
  torch::Tensor decoder(const std::string& name, const torch::Tensor& in, const Skip& skip) const {
    const torch::Tensor up =
        torch::conv_transpose2d(in, tensor(name + ".up.weight"), tensor(name + ".up.bias"), {2, 2});
    const torch::Tensor joint = norm(name + ".norm_up", torch::cat({skip.map, up}, 1), skip.mode);
    return pair(name, joint, skip.mode);
  }

  Rng rng_;
  NamedTensors tensors_;
};

template <class Cells>
void fill_row(torch::Tensor& padded, std::int64_t row, const Cells& cells) {
  auto into = padded.accessor<float, 4>();
  for (std::size_t level = 0; level < kLevels; ++level) {
    for (std::size_t column = 0; column < kColumns; ++column) {
      into[row][0][static_cast<std::int64_t>(level)][static_cast<std::int64_t>(column)] =
          static_cast<float>(cells[level][column]);
    }
  }
}

struct Batch {
  torch::Tensor input;
  torch::Tensor target;
};

Batch batch_of(const TrainingData& data, std::span<const int> rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  torch::Tensor input = torch::zeros({count, 1, kPaddedRows, kPaddedColumns});
  torch::Tensor target = torch::zeros({count, 1, kPaddedRows, kPaddedColumns});
  for (std::int64_t i = 0; i < count; ++i) {
    const TrainingRow& row = data.rows[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)])];
    fill_row(input, i, row.input);
    fill_row(target, i, row.target);
  }
  return {input, target.select(1, 0).slice(1, 0, kTargetSlices).slice(2, 0, kColumns).contiguous()};
}

std::vector<Batch> batches_of(const TrainingData& data, std::span<const int> rows, int size) {
  std::vector<Batch> batches;
  const auto step = static_cast<std::size_t>(size);
  for (std::size_t begin = 0; begin < rows.size(); begin += step) {
    batches.push_back(batch_of(data, rows.subspan(begin, std::min(step, rows.size() - begin))));
  }
  return batches;
}

constexpr int kEvaluationBatch = 256;
constexpr int kResiduals = 7;
/// A loss counts as better by this much only (Keras' default).
constexpr double kLeastGain = 1e-4;

/// Squared errors of one job: times on 7g, 4g, 3g, then speeds on 4g, 3g, 2g, 1g.
void add_residuals(const JobClass& job,
                   std::array<double, kTargetSlices> time,
                   std::array<MeanSum, kResiduals>& squares) {
  for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
    time[slice] = std::clamp(time[slice], learn::kUnetTimeMin, 1.0);
    const double error = time[slice] - job.time[slice];
    squares[slice].add(error * error);
  }
  const double four = time[0] / time[1];
  const double three = time[0] / time[2];
  const std::array<double, 4> speed = {four,
                                       three,
                                       predict::kMisoRegression.speed_2g(four, three),
                                       predict::kMisoRegression.speed_1g(four, three)};
  for (std::size_t i = 0; i < speed.size(); ++i) {
    if (job.speed[i + 1]) {
      const double error = speed[i] - *job.speed[i + 1];
      squares[kTargetSlices + i].add(error * error);
    }
  }
}

/// Mean column of the filler by number of real jobs: what stands in for an absent job.
learn::Tensor dummy_input_of(const TrainingData& data, std::span<const int> rows) {
  std::array<std::array<MeanSum, kLevels>, kColumns> means;
  for (const int index : rows) {
    const TrainingRow& row = data.rows[static_cast<std::size_t>(index)];
    for (std::size_t column = 0; column < kColumns; ++column) {
      for (std::size_t level = 0; level < kLevels && data.is_dummy(row.classes[column]); ++level) {
        means[static_cast<std::size_t>(row.active - 1)][level].add(row.input[level][column]);
      }
    }
  }
  learn::Tensor tensor{.name = "dummy_input",
                       .shape = {static_cast<int>(kColumns), static_cast<int>(kLevels)},
                       .data = {}};
  for (std::size_t active = 0; active < kColumns; ++active) {
    // With seven jobs no filler is left.
    const std::size_t from = std::min(active, kColumns - 2);
    for (std::size_t level = 0; level < kLevels; ++level) {
      tensor.data.push_back(static_cast<float>(means[from][level].mean().value_or(1)));
    }
  }
  return tensor;
}

class UnetTrainer final : public NetworkTrainer {
 public:
  UnetTrainer(const TrainingData& data, const TrainingSplit& split, const UnetOptions& options)
      : options_(options),
        module_(options.seed),
        adam_(module_.parameters(), {.epsilon = kKerasAdamEpsilon}),
        learning_rate_(options.learning_rate) {
    dummy_input_ = dummy_input_of(data, split.train);
    for (const int index : split.validate) {
      validated_.push_back(&data.rows[static_cast<std::size_t>(index)]);
    }
    data_ = &data;
    std::vector<int> shuffled = split.train;
    Rng(options.seed).stream("shuffle").shuffle(std::span<int>(shuffled));
    train_ = batches_of(data, shuffled, options.batch);
    validate_ = batches_of(data, split.validate, kEvaluationBatch);
    scored_ = batches_of(data, split.scored, kEvaluationBatch);
  }

  int epoch_count() const override { return options_.epochs; }
  int epochs_done() const override { return epochs_done_; }

  Result<EpochRecord> run_epoch() override {
    SEPTULE_CHECK(!is_done(), "an epoch is run only while some are left");
    return without_exceptions("training the U-Net",
                              [this]() -> Result<EpochRecord> { return train_epoch(); });
  }

  learn::NetworkWeights weights() const override {
    learn::NetworkWeights weights;
    weights.kind = "unet";
    for (const NamedTensor& one : module_.tensors()) {
      weights.tensors.push_back(exported(one.name, one.value));
    }
    weights.tensors.push_back(dummy_input_);
    weights.tensors.push_back(residual_sd());
    return weights;
  }

  learn::NetworkWeights state() const override {
    learn::NetworkWeights state;
    state.kind = "unet-checkpoint";
    for (const NamedTensor& one : module_.tensors()) {
      state.tensors.push_back(exported(one.name, one.value));
    }
    state.settings = {{"epochs_done", epochs_done_},
                      {"epochs", options_.epochs},
                      {"learning_rate", learning_rate_},
                      {"epochs_without_gain", epochs_without_gain_}};
    if (best_) {
      state.settings["best_validation_loss"] = *best_;
    }
    adam_.export_into(state);
    return state;
  }

  Status restore(const learn::NetworkWeights& state) override {
    return without_exceptions("restoring the U-Net", [&]() -> Status {
      const auto setting = [&](const char* name) {
        const auto found = state.settings.find(name);
        return found == state.settings.end() ? std::nullopt : std::optional(found->second);
      };
      const auto done = setting("epochs_done");
      const auto rate = setting("learning_rate");
      const auto waited = setting("epochs_without_gain");
      if (state.kind != "unet-checkpoint" || !done || !rate || !waited ||
          setting("epochs") != options_.epochs) {
        return Error{ErrorCode::kInvalidInput,
                     fmt::format("the checkpoint (\"{}\") is not of this training of the U-Net",
                                 state.kind)};
      }
      SEPTULE_TRY_STATUS(module_.load(state));
      SEPTULE_TRY_STATUS(adam_.restore(state));
      epochs_done_ = static_cast<int>(*done);
      learning_rate_ = *rate;
      epochs_without_gain_ = static_cast<int>(*waited);
      best_ = setting("best_validation_loss");
      return {};
    });
  }

 private:
  Result<EpochRecord> train_epoch() {
    EpochRecord record;
    record.epoch = epochs_done_ + 1;
    record.learning_rate = learning_rate_;
    std::vector<std::size_t> order(train_.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    Rng(options_.seed)
        .stream("order", static_cast<std::uint64_t>(epochs_done_))
        .shuffle(std::span<std::size_t>(order));
    double sum = 0;
    std::int64_t rows = 0;
    for (const std::size_t index : order) {
      const Batch& batch = train_[index];
      adam_.clear_gradients();
      const torch::Tensor loss =
          torch::mean(torch::abs(module_.forward(batch.input, Mode::kTraining) - batch.target));
      loss.backward();
      adam_.step(learning_rate_, [](const std::string&) { return 0.0; });
      sum += loss.item<double>() * static_cast<double>(batch.input.size(0));
      rows += batch.input.size(0);
    }
    record.train_loss = sum / static_cast<double>(rows);
    if (!std::isfinite(record.train_loss)) {
      return Error{
          ErrorCode::kFailed,
          fmt::format("training the U-Net: the loss of epoch {} is not finite", record.epoch)};
    }
    record.validation_loss = error_of(validate_);
    record.scored_error = error_of(scored_);
    lower_rate_on_plateau(*record.validation_loss);
    ++epochs_done_;
    return record;
  }

  /// Root mean square errors for real jobs of the validating rows: what learn::unet_form() asks
  /// for.
  learn::Tensor residual_sd() const {
    const torch::NoGradGuard no_grad;
    std::array<MeanSum, kResiduals> squares;
    std::size_t next = 0;
    for (const Batch& batch : validate_) {
      const torch::Tensor out = module_.forward(batch.input, Mode::kEvaluation).contiguous();
      const auto cells = out.accessor<float, 3>();
      for (std::int64_t i = 0; i < out.size(0); ++i) {
        const TrainingRow& row = *validated_[next++];
        for (std::size_t column = 0; column < kColumns; ++column) {
          const JobClass& job = data_->classes[static_cast<std::size_t>(row.classes[column])];
          const auto at = static_cast<std::int64_t>(column);
          if (!job.is_dummy) {
            add_residuals(job,
                          {static_cast<double>(cells[i][0][at]),
                           static_cast<double>(cells[i][1][at]),
                           static_cast<double>(cells[i][2][at])},
                          squares);
          }
        }
      }
    }
    learn::Tensor tensor{.name = "residual_sd", .shape = {kResiduals}, .data = {}};
    for (const MeanSum& one : squares) {
      tensor.data.push_back(static_cast<float>(std::sqrt(one.mean().value_or(0))));
    }
    return tensor;
  }

  std::optional<double> error_of(const std::vector<Batch>& batches) const {
    const torch::NoGradGuard no_grad;
    double sum = 0;
    std::int64_t cells = 0;
    for (const Batch& batch : batches) {
      sum += torch::abs(module_.forward(batch.input, Mode::kEvaluation) - batch.target)
                 .to(torch::kFloat64)
                 .sum()
                 .item<double>();
      cells += batch.target.numel();
    }
    return cells == 0 ? std::nullopt : std::optional(sum / static_cast<double>(cells));
  }

  void lower_rate_on_plateau(double loss) {
    if (!best_ || loss < *best_ - kLeastGain) {
      best_ = loss;
      epochs_without_gain_ = 0;
    } else if (++epochs_without_gain_ >= options_.patience) {
      learning_rate_ *= options_.rate_factor;
      epochs_without_gain_ = 0;
    }
  }

  UnetOptions options_;
  UnetModule module_;
  Adam adam_;
  double learning_rate_;
  int epochs_done_ = 0;
  int epochs_without_gain_ = 0;
  std::optional<double> best_;
  std::vector<Batch> train_;
  std::vector<Batch> validate_;
  std::vector<Batch> scored_;
  const TrainingData* data_ = nullptr;
  std::vector<const TrainingRow*> validated_;  ///< in the order of validate_
  learn::Tensor dummy_input_;
};

}  // namespace

Result<std::unique_ptr<NetworkTrainer>> make_unet_trainer(const TrainingData& data,
                                                          const TrainingSplit& split,
                                                          const UnetOptions& options) {
  if (split.train.empty() || split.validate.empty()) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{} rows train and {} validate; the U-Net needs both",
                             split.train.size(),
                             split.validate.size())};
  }
  using Made = Result<std::unique_ptr<NetworkTrainer>>;
  return without_exceptions("making the U-Net", [&]() -> Made {
    return std::unique_ptr<NetworkTrainer>(std::make_unique<UnetTrainer>(data, split, options));
  });
}

Result<std::vector<UnetCells>> run_unet(const learn::NetworkWeights& weights,
                                        std::span<const UnetCells> inputs) {
  using Made = Result<std::vector<UnetCells>>;
  return without_exceptions("running the U-Net", [&]() -> Made {
    const torch::NoGradGuard no_grad;
    UnetModule module(0);
    SEPTULE_TRY_STATUS(module.load(weights));
    std::vector<UnetCells> outputs;
    const auto count = static_cast<std::int64_t>(inputs.size());
    torch::Tensor padded = torch::zeros({count, 1, kPaddedRows, kPaddedColumns});
    for (std::int64_t i = 0; i < count; ++i) {
      fill_row(padded, i, inputs[static_cast<std::size_t>(i)]);
    }
    const torch::Tensor out = module.forward(padded, Mode::kEvaluation).contiguous();
    const auto cells = out.accessor<float, 3>();
    for (std::int64_t i = 0; i < count; ++i) {
      UnetCells& row = outputs.emplace_back();
      for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
        for (std::size_t column = 0; column < kColumns; ++column) {
          row[slice][column] = static_cast<double>(
              cells[i][static_cast<std::int64_t>(slice)][static_cast<std::int64_t>(column)]);
        }
      }
    }
    return outputs;
  });
}

}  // namespace septule::learn_train
