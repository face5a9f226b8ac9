#include "learn_train/slice_net_trainer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>
#include <utility>

#include "base/check.hpp"
#include "learn/slice_net.hpp"
#include "learn_train/torch_support.hpp"

namespace septule::learn_train {

namespace {

constexpr std::int64_t kFeatures = 10;
constexpr double kTimeLeast = 0.02;
constexpr std::int64_t kColumnCount = static_cast<std::int64_t>(kColumns);
/// Which levels a measurement shows: all, then each proper subset.
constexpr std::array<std::array<bool, kLevels>, 7> kLevelSubsets = {{{true, true, true},
                                                                     {true, true, false},
                                                                     {true, false, true},
                                                                     {false, true, true},
                                                                     {true, false, false},
                                                                     {false, true, false},
                                                                     {false, false, true}}};

/// What the network is shown of some measurements.
struct Batch {
  torch::Tensor features;  ///< [rows, columns, features]
  torch::Tensor present;   ///< [rows, columns, 1], 1 or 0
  torch::Tensor counts;    ///< [rows, 1], present columns
  torch::Tensor classes;   ///< [rows, columns], index of the class
  torch::Tensor weights;   ///< [rows, columns], in the loss
};

/// One measurement as it is shown.
struct Shown {
  const TrainingRow* row = nullptr;
  Fillers fillers = Fillers::kMeasured;
  std::array<bool, kLevels> levels{true, true, true};
};

/// Classes of the data to classes of the network, -1 = not known to it.
using ClassIndex = std::vector<int>;

struct BatchMaker {
  const TrainingData* data;
  ClassIndex class_index;
  double filler_weight;

  Batch make(std::span<const Shown> shown) const {
    const auto rows = static_cast<std::int64_t>(shown.size());
    Batch batch{.features = torch::zeros({rows, kColumnCount, kFeatures}),
                .present = torch::zeros({rows, kColumnCount, 1}),
                .counts = torch::zeros({rows, 1}),
                .classes = torch::zeros({rows, kColumnCount}, torch::kInt64),
                .weights = torch::zeros({rows, kColumnCount})};
    auto features = batch.features.accessor<float, 3>();
    auto present = batch.present.accessor<float, 3>();
    auto counts = batch.counts.accessor<float, 2>();
    auto classes = batch.classes.accessor<std::int64_t, 2>();
    auto weights = batch.weights.accessor<float, 2>();
    for (std::int64_t i = 0; i < rows; ++i) {
      const Shown& one = shown[static_cast<std::size_t>(i)];
      const TrainingRow& row = *one.row;
      const int count = one.fillers == Fillers::kMeasured ? static_cast<int>(kColumns) : row.active;
      counts[i][0] = static_cast<float>(count);
      for (std::int64_t column = 0; column < kColumnCount; ++column) {
        const auto at = static_cast<std::size_t>(column);
        const bool is_filler = data->is_dummy(row.classes[at]);
        if (is_filler && one.fillers == Fillers::kAbsent) {
          continue;
        }
        present[i][column][0] = 1;
        classes[i][column] = std::max(0, class_index[static_cast<std::size_t>(row.classes[at])]);
        weights[i][column] = static_cast<float>(is_filler ? filler_weight : 1);
        fill_features(one, at, count, features[i][column]);
      }
    }
    return batch;
  }

 private:
  template <class Into>
  static void fill_features(const Shown& one, std::size_t column, int count, Into into) {
    double largest = 0;
    for (std::size_t level = 0; level < kLevels; ++level) {
      largest = one.levels[level] ? std::max(largest, one.row->input[level][column]) : largest;
    }
    for (std::size_t level = 0; level < kLevels; ++level) {
      if (one.levels[level]) {
        const double time = one.row->input[level][column] / largest;
        const auto at = static_cast<std::int64_t>(level);
        into[at] = static_cast<float>(time);
        into[3 + at] = static_cast<float>(std::log(std::max(time, kTimeLeast)));
        into[6 + at] = 1;
      }
    }
    into[9] = static_cast<float>(static_cast<double>(count) / static_cast<double>(kColumns));
  }
};

/// Zeroes a part of `hidden` at random and scales the rest, so that its mean stays.
torch::Tensor with_dropout(const torch::Tensor& hidden, double probability, Rng& rng) {
  torch::Tensor mask = torch::empty_like(hidden);
  float* const values = mask.data_ptr<float>();
  const auto threshold = static_cast<std::uint64_t>(probability * 65536);
  const auto kept = static_cast<float>(1 / (1 - static_cast<double>(threshold) / 65536));
  std::uint64_t bits = 0;
  for (std::int64_t i = 0; i < mask.numel(); ++i) {
    bits = i % 4 == 0 ? rng.next() : bits >> 16U;  // four draws of 16 bits each
    values[i] = (bits & 0xFFFFU) < threshold ? 0.0F : kept;
  }
  return hidden * mask;
}

/// One member's tensors and its pass forward.
class SliceNetModule {
 public:
  SliceNetModule(int member, std::int64_t classes, Rng rng)
      : prefix_(fmt::format("member{}.", member)), rng_(rng) {
    add_matrix("input.weight", {kWidth, kFeatures}, 2);
    add_zeros("input.bias", kWidth);
    for (int layer = 1; layer < kLayers; ++layer) {
      const std::string name = fmt::format("layer{}.", layer);
      add_matrix(name + "own.weight", {kWidth, kWidth}, 1);
      add_matrix(name + "mean.weight", {kWidth, kWidth}, 1);
      add_matrix(name + "max.weight", {kWidth, kWidth}, 0.5);
      add_zeros(name + "bias", kWidth);
    }
    add_matrix("classes.weight", {classes, kWidth}, 0.5);
    add_zeros("classes.bias", classes);
  }

  /// Logits [rows, columns, classes]. With `dropout` the training's noise, without none.
  struct Dropout {
    double probability;
    Rng* rng;
  };
  torch::Tensor forward(const Batch& batch, std::optional<Dropout> dropout) const {
    const auto noisy = [&](const torch::Tensor& hidden) {
      return dropout ? with_dropout(hidden, dropout->probability, *dropout->rng) : hidden;
    };
    torch::Tensor hidden =
        torch::relu(torch::linear(batch.features, tensor("input.weight"), tensor("input.bias")));
    for (int layer = 1; layer < kLayers; ++layer) {
      const std::string name = fmt::format("layer{}.", layer);
      const torch::Tensor shown = hidden * batch.present;
      const torch::Tensor mean = shown.sum(1) / batch.counts;
      const torch::Tensor max = std::get<0>(shown.max(1));
      const torch::Tensor together = torch::matmul(mean, tensor(name + "mean.weight").t()) +
                                     torch::matmul(max, tensor(name + "max.weight").t());
      const torch::Tensor update =
          torch::relu(torch::linear(hidden, tensor(name + "own.weight"), tensor(name + "bias")) +
                      together.unsqueeze(1));
      hidden = noisy(layer == 1 ? update : hidden + update);
    }
    return torch::linear(hidden, tensor("classes.weight"), tensor("classes.bias"));
  }

  NamedTensors& tensors() { return tensors_; }
  const NamedTensors& tensors() const { return tensors_; }

 private:
  static constexpr std::int64_t kWidth = 64;
  static constexpr int kLayers = 4;

  void add_matrix(const std::string& name, const std::vector<std::int64_t>& shape, double gain) {
    const double sd = std::sqrt(gain / static_cast<double>(shape[1]));
    tensors_.push_back(
        {prefix_ + name, normal_tensor(shape, sd, rng_.stream(name)).set_requires_grad(true)});
  }
  void add_zeros(const std::string& name, std::int64_t length) {
    tensors_.push_back({prefix_ + name, torch::zeros({length}).set_requires_grad(true)});
  }
  const torch::Tensor& tensor(const std::string& name) const {
    const std::string whole = prefix_ + name;
    const auto found =
        std::ranges::find_if(tensors_, [&](const NamedTensor& one) { return one.name == whole; });
    SEPTULE_CHECK(found != tensors_.end(), "a layer asks for tensors that were made for it");
    return found->value;
  }

  std::string prefix_;
  Rng rng_;
  NamedTensors tensors_;
};

torch::Tensor cross_entropy(const torch::Tensor& logits, const Batch& batch) {
  const torch::Tensor chosen =
      torch::log_softmax(logits, -1).gather(-1, batch.classes.unsqueeze(-1)).squeeze(-1);
  return -(chosen * batch.weights).sum() / batch.weights.sum();
}

class SliceNetTrainer final : public NetworkTrainer {
 public:
  SliceNetTrainer(const TrainingData& data,
                  const TrainingSplit& split,
                  const SliceNetOptions& options)
      : data_(&data), options_(options) {
    rows_ = first_rows(split.train);
    std::vector<bool> is_known(data.classes.size());
    for (const TrainingRow* row : rows_) {
      for (const int job_class : row->classes) {
        is_known[static_cast<std::size_t>(job_class)] = true;
      }
    }
    maker_ = {.data = &data,
              .class_index = ClassIndex(data.classes.size(), -1),
              .filler_weight = options.filler_weight};
    for (std::size_t i = 0; i < is_known.size(); ++i) {
      if (is_known[i]) {
        maker_.class_index[i] = static_cast<int>(known_.size());
        known_.push_back(static_cast<int>(i));
      }
    }
    for (int member = 0; member < options.members; ++member) {
      modules_.emplace_back(
          member, static_cast<std::int64_t>(known_.size()), stream("initial", member));
      adams_.emplace_back(modules_.back().tensors(), Adam::Options{});
    }
    for (const TrainingRow* row : first_rows(split.validate)) {
      validate_.push_back({.row = row});
    }
    batches_ = static_cast<int>(rows_.size()) / options.batch;
  }

  int epochs_per_member() const { return (options_.steps + batches_ - 1) / batches_; }
  int epoch_count() const override { return epochs_per_member() * options_.members; }
  int epochs_done() const override { return epochs_done_; }

  Result<EpochRecord> run_epoch() override {
    SEPTULE_CHECK(!is_done(), "an epoch is run only while some are left");
    return without_exceptions("training the slice network",
                              [this]() -> Result<EpochRecord> { return train_epoch(); });
  }

  learn::NetworkWeights weights() const override {
    learn::NetworkWeights weights;
    weights.kind = "slice-net";
    weights.settings = {{"width", 64},
                        {"layers", 4},
                        {"classes", static_cast<double>(known_.size())},
                        {"members", options_.members},
                        {"temperature", options_.temperature},
                        {"sd_floor", options_.sd_floor},
                        {"time_median_part", options_.time_median_part}};
    add_tensors(weights);
    add_classes(weights);
    return weights;
  }

  learn::NetworkWeights state() const override {
    learn::NetworkWeights state;
    state.kind = "slice-net-checkpoint";
    add_tensors(state);
    state.settings = form_of_training();
    state.settings["epochs_done"] = epochs_done_;
    // Members are trained one after another: only the present one's optimizer has more to say.
    adams_[static_cast<std::size_t>(present_member())].export_into(state);
    return state;
  }

  Status restore(const learn::NetworkWeights& state) override {
    return without_exceptions("restoring the slice network", [&]() -> Status {
      const auto done = state.settings.find("epochs_done");
      std::map<std::string, double> form = state.settings;
      form.erase("epochs_done");
      form.erase("adam_steps");
      if (state.kind != "slice-net-checkpoint" || done == state.settings.end() ||
          form != form_of_training() || !(done->second >= 0 && done->second <= epoch_count())) {
        return Error{ErrorCode::kInvalidInput,
                     fmt::format("the checkpoint (\"{}\") is not of this training of the slice "
                                 "network",
                                 state.kind)};
      }
      for (SliceNetModule& module : modules_) {
        for (NamedTensor& one : module.tensors()) {
          SEPTULE_TRY_STATUS(import_into(state, one.name, one.value));
        }
      }
      epochs_done_ = static_cast<int>(done->second);
      return adams_[static_cast<std::size_t>(present_member())].restore(state);
    });
  }

 private:
  Rng stream(std::string_view name, int index) const {
    return Rng(options_.seed).stream(name, static_cast<std::uint64_t>(index));
  }
  int present_member() const {
    return std::min(epochs_done_ / epochs_per_member(), options_.members - 1);
  }

  std::vector<const TrainingRow*> first_rows(std::span<const int> rows) const {
    std::vector<const TrainingRow*> first;
    for (const int index : rows) {
      const TrainingRow& row = data_->rows[static_cast<std::size_t>(index)];
      if (first.empty() || first.back()->measurement != row.measurement) {
        first.push_back(&row);
      }
    }
    return first;
  }

  std::map<std::string, double> form_of_training() const {
    return {{"steps", options_.steps},
            {"batch", options_.batch},
            {"members", options_.members},
            {"learning_rate", options_.learning_rate},
            {"dropout", options_.dropout},
            {"measurements", static_cast<double>(rows_.size())},
            {"seed", static_cast<double>(options_.seed)}};
  }

  void add_tensors(learn::NetworkWeights& weights) const {
    for (const SliceNetModule& module : modules_) {
      for (const NamedTensor& one : module.tensors()) {
        weights.tensors.push_back(exported(one.name, one.value));
      }
    }
  }

  void add_classes(learn::NetworkWeights& weights) const {
    const auto count = static_cast<int>(known_.size());
    learn::Tensor is_job{.name = "class.is_job", .shape = {count}, .data = {}};
    learn::Tensor time{.name = "class.time", .shape = {count, kTargetSlices}, .data = {}};
    learn::Tensor speed{.name = "class.speed", .shape = {count, predict::kSlices}, .data = {}};
    for (const int index : known_) {
      const JobClass& job = data_->classes[static_cast<std::size_t>(index)];
      is_job.data.push_back(job.is_dummy ? 0.0F : 1.0F);
      for (const double value : job.time) {
        time.data.push_back(static_cast<float>(value));
      }
      for (const std::optional<double>& value : job.speed) {
        speed.data.push_back(static_cast<float>(value.value_or(0)));
      }
    }
    weights.tensors.push_back(std::move(is_job));
    weights.tensors.push_back(std::move(time));
    weights.tensors.push_back(std::move(speed));
  }

  double learning_rate_at(int step) const {
    const double warm = std::min(1.0, (step + 1) / static_cast<double>(options_.warm_up_steps));
    const double part = step / static_cast<double>(options_.steps);
    return options_.learning_rate * warm * 0.5 * (1 + std::cos(std::numbers::pi * part));
  }

  Result<EpochRecord> train_epoch() {
    const int member = present_member();
    const int epoch = epochs_done_ % epochs_per_member();
    const SliceNetModule& module = modules_[static_cast<std::size_t>(member)];
    Adam& adam = adams_[static_cast<std::size_t>(member)];
    std::vector<const TrainingRow*> order = rows_;
    Rng rng = stream("epoch", epochs_done_);
    rng.shuffle(std::span<const TrainingRow*>(order));
    EpochRecord record;
    record.epoch = epochs_done_ + 1;
    const int first = epoch * batches_;
    const int steps = std::min(batches_, options_.steps - first);
    for (int i = 0; i < steps; ++i) {
      const auto begin = static_cast<std::size_t>(i * options_.batch);
      const Batch batch = shown_batch(
          std::span(order).subspan(begin, static_cast<std::size_t>(options_.batch)), rng);
      record.learning_rate = learning_rate_at(first + i);
      adam.clear_gradients();
      const torch::Tensor loss = cross_entropy(
          module.forward(batch,
                         SliceNetModule::Dropout{.probability = options_.dropout, .rng = &rng}),
          batch);
      loss.backward();
      adam.step(record.learning_rate, [this](const std::string& name) {
        return name.ends_with("bias") ? 0.0 : options_.weight_decay;
      });
      record.train_loss += loss.item<double>() / steps;
    }
    if (!std::isfinite(record.train_loss)) {
      return Error{ErrorCode::kFailed,
                   fmt::format("training the slice network: the loss of epoch {} is not finite",
                               record.epoch)};
    }
    if (!validate_.empty()) {
      const torch::NoGradGuard no_grad;
      const Batch batch = maker_.make(validate_);
      record.validation_loss =
          cross_entropy(module.forward(batch, std::nullopt), batch).item<double>();
    }
    ++epochs_done_;
    return record;
  }

  Batch shown_batch(std::span<const TrainingRow* const> rows, Rng& rng) const {
    std::vector<Shown> shown;
    for (const TrainingRow* row : rows) {
      Shown& one = shown.emplace_back();
      one.row = row;
      if (rng.uniform() < options_.filler_drop) {
        one.fillers = Fillers::kAbsent;
      }
      if (rng.uniform() < options_.level_drop) {
        one.levels = kLevelSubsets[1 + rng.below(kLevelSubsets.size() - 1)];
      }
    }
    return maker_.make(shown);
  }

  const TrainingData* data_;
  SliceNetOptions options_;
  BatchMaker maker_{};
  std::vector<int> known_;  ///< classes of the data, by class of the network
  std::vector<const TrainingRow*> rows_;
  std::vector<Shown> validate_;
  std::vector<SliceNetModule> modules_;
  std::vector<Adam> adams_;
  int batches_ = 0;  ///< per epoch
  int epochs_done_ = 0;
};

/// A quantity of the classes under a belief: mean, median and spread, over those that have it.
struct Moments {
  double mean = 0;
  double median = 0;
  double variance_about(double centre) const {
    return second - 2 * centre * mean + centre * centre;
  }
  double second = 0;  ///< mean of squares
};

Moments moments_of(std::span<const double> belief, std::span<const double> values) {
  std::vector<std::pair<double, double>> by_value;  // value, probability
  double total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > 0) {
      by_value.emplace_back(values[i], belief[i]);
      total += belief[i];
    }
  }
  std::ranges::stable_sort(by_value, {}, &std::pair<double, double>::first);
  Moments moments;
  double below = 0;
  bool has_median = false;
  for (const auto& [value, probability] : by_value) {
    moments.mean += value * probability / total;
    moments.second += value * value * probability / total;
    below += probability / total;
    if (!has_median && below >= 0.5) {
      moments.median = value;
      has_median = true;
    }
  }
  return moments;
}

/// Column `at` of a tensor of classes.
std::vector<double> class_values(const learn::Tensor& tensor, std::size_t at) {
  const auto width = static_cast<std::size_t>(tensor.shape.back());
  std::vector<double> values;
  for (std::size_t i = at; i < tensor.data.size(); i += width) {
    values.push_back(static_cast<double>(tensor.data[i]));
  }
  return values;
}

predict::SlicePrediction prediction_of(const learn::NetworkWeights& weights,
                                       std::span<const double> belief) {
  const learn::Tensor& time = *weights.find("class.time");
  const learn::Tensor& speed = *weights.find("class.speed");
  const double median_part = weights.settings.at("time_median_part");
  const double floor = weights.settings.at("sd_floor");
  predict::SlicePrediction out;
  for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
    const Moments moments = moments_of(belief, class_values(time, slice));
    out.time[slice] = median_part * moments.median + (1 - median_part) * moments.mean;
    out.time_sd[slice] = std::sqrt(moments.variance_about(out.time[slice]) + floor * floor);
  }
  out.speed[0] = 1;
  for (std::size_t slice = 1; slice < predict::kSlices; ++slice) {
    const Moments moments = moments_of(belief, class_values(speed, slice));
    out.speed[slice] = moments.mean;
    out.speed_sd[slice] = std::sqrt(moments.variance_about(moments.mean) + floor * floor);
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<NetworkTrainer>> make_slice_net_trainer(const TrainingData& data,
                                                               const TrainingSplit& split,
                                                               const SliceNetOptions& options) {
  std::set<int> measurements;
  for (const int index : split.train) {
    measurements.insert(data.rows[static_cast<std::size_t>(index)].measurement);
  }
  if (measurements.size() < static_cast<std::size_t>(options.batch)) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{} measurements train; at least {} (a batch) are needed",
                             measurements.size(),
                             options.batch)};
  }
  using Made = Result<std::unique_ptr<NetworkTrainer>>;
  return without_exceptions("making the slice network", [&]() -> Made {
    return std::unique_ptr<NetworkTrainer>(std::make_unique<SliceNetTrainer>(data, split, options));
  });
}

Result<std::vector<predict::SlicePredictions>> run_slice_net(const learn::NetworkWeights& weights,
                                                             const TrainingData& data,
                                                             std::span<const int> rows,
                                                             Fillers fillers) {
  using Made = Result<std::vector<predict::SlicePredictions>>;
  return without_exceptions("running the slice network", [&]() -> Made {
    const torch::NoGradGuard no_grad;
    const learn::Tensor& is_job = *weights.find("class.is_job");
    const auto classes = static_cast<std::int64_t>(is_job.data.size());
    const auto members = static_cast<int>(weights.settings.at("members"));
    const BatchMaker maker{
        .data = &data, .class_index = ClassIndex(data.classes.size(), 0), .filler_weight = 1};
    std::vector<Shown> shown;
    for (const int index : rows) {
      shown.push_back({.row = &data.rows[static_cast<std::size_t>(index)], .fillers = fillers});
    }
    const Batch batch = maker.make(shown);
    torch::Tensor belief =
        torch::zeros({static_cast<std::int64_t>(rows.size()), kColumnCount, classes});
    for (int member = 0; member < members; ++member) {
      SliceNetModule module(member, classes, Rng(0));
      for (NamedTensor& one : module.tensors()) {
        SEPTULE_TRY_STATUS(import_into(weights, one.name, one.value));
      }
      torch::Tensor logits =
          module.forward(batch, std::nullopt) / weights.settings.at("temperature");
      for (std::int64_t k = 0; k < classes && fillers == Fillers::kAbsent; ++k) {
        if (is_job.data[static_cast<std::size_t>(k)] == 0) {
          logits.select(-1, k).fill_(-1e9);
        }
      }
      belief += torch::softmax(logits, -1) / members;
    }
    std::vector<predict::SlicePredictions> all;
    const auto cells = belief.accessor<float, 3>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      predict::SlicePredictions& one = all.emplace_back();
      for (std::size_t column = 0; column < kColumns; ++column) {
        if (fillers == Fillers::kAbsent && data.is_dummy(shown[i].row->classes[column])) {
          continue;
        }
        std::vector<double> here;
        for (std::int64_t k = 0; k < classes; ++k) {
          here.push_back(static_cast<double>(
              cells[static_cast<std::int64_t>(i)][static_cast<std::int64_t>(column)][k]));
        }
        one[column] = prediction_of(weights, here);
      }
    }
    return all;
  });
}

}  // namespace septule::learn_train
