#include "learn_train/slice_net_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "learn_train/slice_net_module.hpp"
#include "learn_train/torch_support.hpp"

namespace septule::learn_train {

namespace {

torch::Tensor cross_entropy(const torch::Tensor& logits, const SliceBatch& batch) {
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
              .filler_weight = options.filler_weight,
              .lone_weight = options.lone_weight,
              .features = kFeatures + (shows_counters() ? kCounterFeatures : 0)};
    for (std::size_t i = 0; i < is_known.size(); ++i) {
      if (is_known[i]) {
        maker_.class_index[i] = static_cast<int>(known_.size());
        known_.push_back(static_cast<int>(i));
      }
    }
    counter_scale_ = CounterScale::of(data, known_);
    for (int member = 0; member < options.members; ++member) {
      modules_.emplace_back(
          member,
          SliceNetModule::Shape{.features = maker_.features,
                                .classes = static_cast<std::int64_t>(known_.size())},
          stream("initial", member));
      adams_.emplace_back(modules_.back().tensors(), Adam::Options{});
    }
    for (const TrainingRow* row : first_rows(split.validate)) {
      validate_.push_back({.row = row});
    }
    batches_ = static_cast<int>(rows_.size()) / options.batch;
  }

  int steps() const { return options_.epochs ? *options_.epochs * batches_ : options_.steps; }
  int epochs_per_member() const { return (steps() + batches_ - 1) / batches_; }
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
    weights.settings = {{"width", SliceNetModule::kWidth},
                        {"layers", SliceNetModule::kLayers},
                        {"classes", static_cast<double>(known_.size())},
                        {"members", options_.members},
                        {"temperature", options_.temperature},
                        {"sd_floor", options_.sd_floor},
                        {"time_median_part", options_.time_median_part}};
    add_tensors(weights);
    add_classes(weights);
    if (shows_counters()) {
      weights.settings["counters"] = 1;
      add_counters(weights);
    }
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
  bool shows_counters() const { return options_.counters == SliceNetOptions::Counters::kShown; }
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
    return {{"steps", steps()},
            {"batch", options_.batch},
            {"members", options_.members},
            {"learning_rate", options_.learning_rate},
            {"dropout", options_.dropout},
            {"counters", shows_counters() ? 1.0 : 0.0},
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

  void add_counters(learn::NetworkWeights& weights) const {
    learn::Tensor mean{.name = "counter.mean", .shape = {static_cast<int>(kCounters)}, .data = {}};
    learn::Tensor sd{.name = "counter.sd", .shape = {static_cast<int>(kCounters)}, .data = {}};
    for (std::size_t i = 0; i < kCounters; ++i) {
      mean.data.push_back(static_cast<float>(counter_scale_.mean[i]));
      sd.data.push_back(static_cast<float>(counter_scale_.sd[i]));
    }
    weights.tensors.push_back(std::move(mean));
    weights.tensors.push_back(std::move(sd));
  }

  double learning_rate_at(int step) const {
    const double warm = std::min(1.0, (step + 1) / static_cast<double>(options_.warm_up_steps));
    const double part = step / static_cast<double>(steps());
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
    const int steps = std::min(batches_, this->steps() - first);
    for (int i = 0; i < steps; ++i) {
      const auto begin = static_cast<std::size_t>(i * options_.batch);
      const SliceBatch batch = shown_batch(
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
      const SliceBatch batch = maker_.make(validate_);
      record.validation_loss =
          cross_entropy(module.forward(batch, std::nullopt), batch).item<double>();
    }
    ++epochs_done_;
    return record;
  }

  SliceBatch shown_batch(std::span<const TrainingRow* const> rows, Rng& rng) const {
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
      for (std::size_t column = 0; column < kColumns && shows_counters(); ++column) {
        if (rng.uniform() < options_.counter_drop) {
          continue;
        }
        CounterValues values =
            counter_scale_.scaled(data_->classes[static_cast<std::size_t>(row->classes[column])]);
        for (double& value : values) {
          value += rng.normal(0, options_.counter_noise);
        }
        one.counters[column] = values;
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
  CounterScale counter_scale_;
  int batches_ = 0;  ///< per epoch
  int epochs_done_ = 0;
};

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

}  // namespace septule::learn_train
